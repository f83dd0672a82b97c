"""Data flows one way: who may import what."""

import ast
import sys
from pathlib import Path

import pytest

import cloakgp

ROOT = Path(cloakgp.__file__).parent
#: Ways to load or run code whose name no reader of a file sees.
HIDDEN = {"importlib", "runpy", "pkgutil", "ctypes", "__import__", "exec", "eval", "compile"}


def imports(path):
    """Return every module that a file imports, at any depth; relative imports are refused."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Name) and node.id in HIDDEN:
            found.add(node.id)
    return found


def files(folder, root=ROOT):
    """Return all sources below a folder, at any depth."""
    return sorted((root / folder).rglob("*.py"))


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def forbidden_in_the_core(path):
    """Return what a file of the trusted core imports and may not."""
    return {
        name
        for name in imports(path)
        if name.split(".")[0] in HIDDEN
        or not (
            name.split(".")[0] in sys.stdlib_module_names
            or name.split(".")[0] in ("numpy", "opendp")
            # Workers sum and count blocks.
            or (name.split(".")[0] == "joblib" and path.name in ("gathered.py", "bounds.py"))
            or (name == "psycopg" and path.name == "postgres.py")  # the driver of a server
            or f"{name}.".startswith(("scipy.special.", "cloakgp.privacy."))
        )
    }


def forbidden_in_public_maths(path):
    """Return what a file of the model or of the designs imports and may not."""
    ours = {name for name in imports(path) if f"{name}.".startswith("cloakgp.")}
    allowed = ("cloakgp.gp.", "cloakgp.design.", "cloakgp.errors.")
    return {name for name in ours if not f"{name}.".startswith(allowed)}


def offenders(paths, rule):
    """Return the files that break a rule, each with what the rule finds in it."""
    found = {name_of(path): rule(path) for path in paths}
    assert found, "there is nothing to check"
    return {name: what for name, what in found.items() if what}


def test_the_trusted_core_imports_numpy_scipy_special_and_opendp_only():
    assert offenders(files("privacy"), forbidden_in_the_core) == {}


def test_public_maths_never_reaches_for_private_values():
    assert offenders(files("gp") + files("design"), forbidden_in_public_maths) == {}


def test_the_model_does_not_know_of_designs():
    def designs(path):
        return {name for name in imports(path) if name.startswith("cloakgp.design")}

    assert offenders(files("gp"), designs) == {}


def private_names(path):
    """Return the underscore names of other modules that a file imports."""
    public = {"cloakgp._version", "cloakgp._version.__version__"}
    ours = {name for name in imports(path) if name.startswith("cloakgp.")} - public
    return {name for name in ours if name.rsplit(".", 1)[1].startswith("_")}


def test_no_module_imports_private_names_of_another():
    assert offenders(files("."), private_names) == {}


def test_a_private_name_of_another_module_is_caught(tmp_path):
    path = tmp_path / "new.py"
    path.write_text("from cloakgp.plot.canvas import _range, finish\n")
    assert private_names(path) == {"cloakgp.plot.canvas._range"}


#: Rooms from the first to the last that X, y and s pass through.  A room imports from those before
#: it; ``plan``, ``release`` and ``cli`` load ``plot`` when a picture is asked for, and not before;
#: ``cli`` loads ``web`` when its command runs.
ROOMS = (
    "errors",
    "files",
    "privacy",
    "inputs",
    "columns",
    "gp",
    "kernels",
    "design",
    "decode",
    "plan",
    "release",
)
ROOMS = (*ROOMS, "plot", "estimators", "datasets", "cli", "web")
#: Functions of ours that may import, and what: those that draw, and the command that serves pages.
LATE = dict.fromkeys(("plan/plan.py", "release/release.py", "cli/outputs.py"), "cloakgp.plot.draw")
LATE |= {"cli/commands/web.py": "cloakgp.web"}
#: The doors of the command line and of the package.
DOORS = ("__main__.py", "__init__.py")


def late_imports(path):
    """Return modules of ours that are imported inside functions."""
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    return {
        inner.module
        for function in functions
        for inner in ast.walk(function)
        if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("cloakgp")
    }


def early_imports(path, places="cloakgp."):
    """Return modules of ours that are imported when a file is, without those for types alone."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = [ast.Pass()]
    modules = [n.module or "" for n in tree.body if isinstance(n, ast.ImportFrom)]
    modules += [alias.name for n in tree.body if isinstance(n, ast.Import) for alias in n.names]
    return {module for module in modules if module.startswith(places)}


def ways_back(path):
    """Return the rooms that a file imports from although they come after its own."""
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__", "_version"):
        return set()
    reached = {module.split(".")[1] for module in early_imports(path)} - {"_version", room}
    return reached - set(ROOMS[: ROOMS.index(room)])


def test_rooms_are_walked_in_one_direction():
    assert offenders(files("."), ways_back) == {}


def test_imports_inside_functions_are_for_pictures_pages_and_a_quick_start_alone():
    late = offenders([path for path in files(".") if name_of(path) not in DOORS], late_imports)
    assert late == {name: {module} for name, module in LATE.items()}


SERVERS = ("starlette", "uvicorn", "jinja2")


def test_libraries_that_serve_pages_are_for_the_pages_alone():
    def served(path):
        return [name for name in imports(path) if name.split(".")[0] in SERVERS]

    assert offenders({*files(".")} - {*files("web")}, served) == {}


def test_what_draws_is_loaded_when_a_picture_is_asked_for():
    """It takes half a second, which most commands never need."""

    def drawing(path):
        return early_imports(path, ("cloakgp.plot", "matplotlib"))

    assert offenders({*files(".")} - {*files("plot")}, drawing) == {}


def test_the_rules_of_rooms_can_fail(tmp_path):
    path = tmp_path / "new.py"
    path.write_text("import matplotlib.pyplot as plt\nfrom cloakgp.plot.draw import plot_plan\n")
    drawing = {"matplotlib.pyplot", "cloakgp.plot.draw"}
    assert early_imports(path, ("cloakgp.plot", "matplotlib")) == drawing
    path.write_text("from cloakgp.cli.app import app\ndef f():\n    from cloakgp.gp import exact\n")
    assert early_imports(path) == {"cloakgp.cli.app"}
    assert late_imports(path) == {"cloakgp.gp"}


@pytest.mark.parametrize("place", ["new.py", "room/new.py", "room/__init__.py", "a/b/new.py"])
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import pandas\n", "pandas"),
        ("from cloakgp.gp import exact\n", "cloakgp.gp"),
        ("from cloakgp import gp\n", "cloakgp.gp"),
        ("import scipy.stats\n", "scipy.stats"),
        ("from scipy import linalg\n", "scipy.linalg"),
        ("import cloakgp.privacy_extra\n", "cloakgp.privacy_extra"),
        ("def f():\n    import pandas\n", "pandas"),
        ("import importlib\n", "importlib"),
        ("f = __import__\n", "__import__"),
    ],
)
def test_a_forbidden_import_is_caught_wherever_the_file_lies(tmp_path, place, source, name):
    path = tmp_path / "privacy" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    assert path in files("privacy", tmp_path)
    assert name in forbidden_in_the_core(path)


@pytest.mark.parametrize("place", ["gp/new.py", "gp/kernels/new.py", "design/a/b/new.py"])
def test_private_values_in_public_maths_are_caught_wherever_the_file_lies(tmp_path, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text("from cloakgp.privacy import release\n")
    assert path in files("gp", tmp_path) + files("design", tmp_path)
    assert "cloakgp.privacy.release" in forbidden_in_public_maths(path)


def test_a_relative_import_is_refused(tmp_path):
    path = tmp_path / "new.py"
    path.write_text("from ..gp import exact\n")
    with pytest.raises(AssertionError, match="relative import"):
        imports(path)


def writes(path):
    """Return the calls of a file that put something on the disk by themselves."""
    tree = ast.parse(path.read_text())
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    found = attributes & {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile"}
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        words = [a.value for a in call.args if isinstance(a, ast.Constant)]
        if ast.unparse(call.func) == "open" and any(str(w)[:1] in "wxa" for w in words):
            found.add("open")
        if ast.unparse(call.func) in ("os.replace", "os.rename"):
            found.add(ast.unparse(call.func))
    return found


#: A ledger is no file that is written whole: SQLite keeps it, and its name may not be taken.
WRITERS = {"files.py", "privacy/ledger/sqlite.py"}


def test_files_are_written_by_one_writer():
    assert set(offenders(files("."), writes)) <= WRITERS


def test_another_writer_is_caught(tmp_path):
    path = tmp_path / "new.py"
    path.write_text('open(p, "w")\np.write_text(s)\nos.replace(a, b)\nopen(p, "rb")\n')
    assert writes(path) == {"open", "write_text", "os.replace"}


TESTS = Path(__file__).parent
#: Modules without a test module of their own, and why.
WITHOUT_TESTS = {
    "_version.py": "one string",
    "columns.py": "a public name for inputs/columns, where the tests are",
    "kernels.py": "a public name for gp/kernels, where the tests are",
    "inputs/columns/kinds/column.py": "test_kinds.py: every kind keeps the same interface",
    "inputs/columns/kinds/number.py": "test_kinds.py: every kind keeps the same interface",
    "inputs/columns/kinds/boolean.py": "test_kinds.py: every kind keeps the same interface",
    "gp/kernels/to_json.py": "test_json.py: what is written is read again",
    "gp/kernels/from_json.py": "test_json.py: what is written is read again",
    "gp/kernels/parameters.py": "test_json.py: writing and reading refuse by the same table",
    "privacy/ledger/store.py": "a protocol; test_sqlite.py and the store of test_book.py follow it",
    "plan/outcomes/outcome.py": "test_outcomes.py: every kind keeps the same interface",
    "plan/outcomes/numbers.py": "test_outcomes.py: every kind keeps the same interface",
    "plan/outcomes/labels.py": "test_outcomes.py: every kind keeps the same interface",
    "plan/outcomes/counts.py": "test_outcomes.py: every kind keeps the same interface",
    "plan/search.py": "estimators/search/test_planning.py: a search makes its plan",
    "plan/search_forecast.py": "estimators/search/test_planning.py: a search makes its plan",
    "release/published.py": "test_release.py: a release is these facts and what they can do",
    "release/verify.py": "test_release.py: every lie of a file is reported",
    "release/file/manifest.py": "test_release.py: what is saved is loaded to the last bit",
    "release/file/refusal.py": "one error, which every test of a refusal meets",
    "release/file/schema.py": "test_contents.py: what no release can hold is refused",
    "estimators/search/delegates.py": "test_search.py: a search predicts as its release does",
    "cli/reports.py": "commands/: what each command prints",
}


def untested(root=ROOT, tests=TESTS):
    """Return the modules that have no test module in the same place."""
    modules = [path.relative_to(root) for path in files(".", root) if path.name != "__init__.py"]
    return {
        module.as_posix()
        for module in modules
        if not (tests / module.parent / f"test_{module.stem.strip('_')}.py").is_file()
    }


def test_every_module_has_a_test_module_or_a_reason():
    assert untested() == set(WITHOUT_TESTS)


def test_a_module_without_tests_is_noticed(tmp_path):
    for name in ("a/b/one.py", "a/b/two.py", "a/__init__.py", "__main__.py"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).touch()
    for name in ("a/b/test_one.py", "a/test_two.py", "test_main.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).touch()
    assert untested(tmp_path / "src", tmp_path / "tests") == {"a/b/two.py"}
