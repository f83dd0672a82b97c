"""Data flows one way: who may import what."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

import cloakgp

ROOT = Path(cloakgp.__file__).parent
#: Ways to load or run code whose name no reader of a file sees.
HIDDEN = {"importlib", "runpy", "pkgutil", "ctypes", "__import__", "exec", "eval", "compile"}


def imports(path):
    """Return every module that a file imports, at any depth; relative imports are refused."""
    found, relative = imports_of(path.read_text())
    assert not relative, f"{path.name} uses a relative import"
    return set(found)


@cache
def imports_of(source):
    """Return what a source imports or runs, and whether an import is relative."""
    found, relative = set(), False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            relative |= node.level > 0
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Name) and node.id in HIDDEN:
            found.add(node.id)
    return frozenset(found), relative


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
            or (name.split(".")[0] == "joblib" and path.name in ("bins.py",))
            or (name == "psycopg" and path.name == "postgres.py")  # the driver of a server
            or f"{name}.".startswith(("scipy.special.", "cloakgp.privacy.", "cloakgp.errors."))
        )
    }


def forbidden_in_public_maths(path):
    """Return what a file of the model or of the designs imports and may not."""
    ours = {name for name in imports(path) if f"{name}.".startswith("cloakgp.")}
    allowed = ("cloakgp.gp.", "cloakgp.design.", "cloakgp.errors.", "cloakgp.threads.")
    # Tables of public numbers, and nothing else of ``data``, where outputs are checked.
    allowed += ("cloakgp.data.rows.", "cloakgp.data.kd_tree.", "cloakgp.data.partition.")
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
#: it; ``release`` and ``app`` load ``plot`` and ``report`` when a picture or a page is asked for,
#: and not before; ``cli`` loads ``web`` when its command runs.  ``drawing`` is what the renderers
#: share (``report`` as SVG, ``plot`` with matplotlib), so neither draws on the other.
ROOMS = ("errors", "files", "threads", "privacy", "data", "columns", "gp", "kernels", "design")
ROOMS = (*ROOMS, "release", "drawing", "report", "plot")
ROOMS = (*ROOMS, "estimators", "datasets", "app", "web", "cli")
#: Functions of ours that may import, and what: those that draw, and the command that serves pages.
LATE = {
    "release/plan.py": {"cloakgp.plot.draw"},
    "release/postprocessing.py": {"cloakgp.report.exchange"},
    "release/release.py": {"cloakgp.plot.draw", "cloakgp.report.page"},
    "app/outputs.py": {"cloakgp.plot.draw"},
    "cli/commands/web.py": {"cloakgp.web"},
}
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
    return {module for module in modules_of(path.read_text()) if module.startswith(places)}


@cache
def modules_of(source):
    """Return what a source imports before anything else of it runs."""
    body = ast.parse(source).body
    modules = [n.module or "" for n in body if isinstance(n, ast.ImportFrom)]
    return modules + [alias.name for n in body if isinstance(n, ast.Import) for alias in n.names]


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
    assert late == LATE


SERVERS = ("starlette", "uvicorn", "jinja2")


def test_libraries_that_serve_pages_are_for_the_pages_alone():
    def served(path):
        return [name for name in imports(path) if name.split(".")[0] in SERVERS]

    assert offenders({*files(".")} - {*files("web")}, served) == {}


def test_pages_are_loaded_when_their_command_runs():
    """Starlette and its kin are an extra that most commands never need."""

    def pages(path):
        return early_imports(path, ("cloakgp.web",))

    assert offenders(files("cli"), pages) == {}


#: What speaks to a terminal: for the command line alone.
TERMINAL = {"print", "input", "typer", "click", "rich", "sys.stdout", "sys.stderr", "sys.stdin"}


def terminal_words(path):
    """Return what a file uses of a terminal."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    used = {n.id for n in nodes if isinstance(n, ast.Name)} & {"print", "input"}
    used |= {ast.unparse(n) for n in nodes if isinstance(n, ast.Attribute)}
    return (used | {name.split(".")[0] for name in imports(path)}) & TERMINAL


def test_what_command_line_and_pages_share_speaks_to_neither():
    assert offenders(files("app"), terminal_words) == {}


def test_speaking_to_a_terminal_is_caught(tmp_path):
    path = tmp_path / "new.py"
    path.write_text("import sys\nfrom rich.text import Text\nprint(1, file=sys.stderr)\n")
    assert terminal_words(path) == {"print", "rich", "sys.stderr"}


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


def repeated_classes(paths):
    """Return the names that several classes have, with the files of each."""
    found = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(path.name)
    return {name: where for name, where in found.items() if len(where) > 1}


def test_one_name_is_one_class():
    assert repeated_classes(files(".")) == {}


def test_a_second_class_of_one_name_is_caught(tmp_path):
    for name in ("one.py", "other.py"):
        (tmp_path / name).write_text("class Frame:\n    pass\n")
    assert repeated_classes(files(".", tmp_path)) == {"Frame": ["one.py", "other.py"]}
