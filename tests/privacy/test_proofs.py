"""Each proof is tied to the code it is about, and its inequalities hold in long arithmetic.

After a change of the core: read the proof again, correct it, then write the fingerprint that the
failing test prints into the page.
"""

import hashlib
import re
import shutil
from pathlib import Path

import mpmath as mp
import pytest
from privacy.fingerprints import Core, Module, plain_lines, proves
from reference import profile_50_digits

import cloakgp.privacy
from cloakgp.privacy import gaussian_sigma
from cloakgp.privacy.ledger.tables import DIGESTS

ROOT = Path(cloakgp.privacy.__file__).parent
CORE = Core(ROOT)


@pytest.mark.parametrize("page", CORE.pages, ids=lambda page: page.stem)
def test_the_proof_is_of_the_code_as_it_is(page):
    text = page.read_text()
    recorded = re.search(r"^Fingerprint: (\w+)$", text, re.M)[1]
    right = CORE.fingerprint(proves(text))
    assert recorded == right, (
        f"code or constants that {page.name} is about have changed: read the proof again, correct "
        f"it, then record this in it: Fingerprint: {right}"
    )


@pytest.mark.parametrize("page", CORE.pages, ids=lambda page: page.stem)
def test_the_proof_has_all_its_parts_and_its_tests_exist(page):
    text = page.read_text()
    for part in ("## Claim", "## Assumptions", "## Proof", "## Tests"):
        assert part in text
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", text.split("## Tests")[1])
    assert named
    for name in named:
        assert f"def {name}(" in tests, f"{page.name} names {name}, which does not exist"


def test_everything_in_the_core_is_in_a_proof_or_a_helper_with_a_reason():
    assert CORE.unproven() == [], "prove it, or list it with the reason in privacy/README.md"


def test_helpers_exist_and_are_in_no_proof():
    known = {f"{path}::{name}" for path, module in CORE.modules.items() for name in module.nodes}
    helpers = CORE.helpers()
    assert helpers
    assert set(helpers) <= known
    assert not set(helpers) & CORE.proven()


def test_the_core_holds_nothing_but_sources_and_proofs():
    """Compiled code would be seen by no guard."""
    files = [path for path in ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.suffix for path in files} == {".py", ".md", ".sql"}
    # SQL is part of a proof by its hash, which is a constant of proven code.
    hashes = {hashlib.sha256(p.read_bytes()).hexdigest() for p in files if p.suffix == ".sql"}
    assert hashes == set(DIGESTS.values())


@pytest.mark.parametrize("page", CORE.pages, ids=lambda page: page.stem)
def test_the_proof_lies_beside_what_it_is_about_and_is_named_on_it(page):
    for path, name in proves(page.read_text()):
        assert (ROOT / path).parent == page.parent
        lines = (ROOT / path).read_text().split("\n")
        places = [i for i, line in enumerate(lines) if re.match(rf"(def|class) {name}\b", line)]
        for place in places:
            while lines[place - 1].startswith("@"):
                place -= 1
            assert lines[place - 1] == f"# Proof: {page.name}", f"{path}::{name}"


def test_every_link_between_proofs_leads_somewhere():
    for page in ROOT.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / link).is_file(), f"{page.name} links to {link}"


# --- the guard itself


@pytest.fixture
def tree(tmp_path):
    """A copy of the core, to be changed."""
    return Path(shutil.copytree(ROOT, tmp_path / "privacy"))


def stale(tree):
    """Return the pages whose fingerprints do not fit the tree."""
    core = Core(tree)
    return {
        page.stem
        for page in core.pages
        if CORE.fingerprint(proves(page.read_text())) != core.fingerprint(proves(page.read_text()))
    }


def edit(path, pattern, replacement):
    source = path.read_text()
    changed, count = re.subn(pattern, replacement, source, count=1, flags=re.M)
    assert count == 1
    path.write_text(changed)


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "page"),
    [
        ("mechanism/noise.py", r"^TAIL = .*", "TAIL = 0.0", "discrete"),
        ("mechanism/noise.py", r"^TAIL = .*", "TAIL = 0.0", "release"),
        ("mechanism/calibration.py", r"^HAIR = .*", "HAIR = 1e-11", "calibration"),
        ("mechanism/calibration.py", r"^HAIR = .*", "HAIR = 1e-11", "discrete"),  # imported there
        (
            "mechanism/calibration.py",
            r"^SMALLEST_DELTA, .*",
            "SMALLEST_DELTA, x = 0, 1",
            "calibration",
        ),
        ("choice/losses.py", r"^EVALUATION_ERROR = .*", "EVALUATION_ERROR = 0.0", "utility"),
        ("choice/utility.py", r"^SENSITIVITY_ERROR = .*", "SENSITIVITY_ERROR = 0.0", "utility"),
        ("mechanism/calibration.py", r"^GRID_COST = .*", "GRID_COST = 0.0", "totals"),
        ("mechanism/calibration.py", r"^GRID_COST = .*", "GRID_COST = 1.0", "release"),
        ("choice/selection.py", r"^NORMALISED_BITS = .*", "NORMALISED_BITS = 2", "selection"),
        (
            "mechanism/sensitivity.py",
            r"^LARGEST_GRAM_GROUP = .*",
            "LARGEST_GRAM_GROUP = 2 * BLOCK",
            "groups",
        ),
        ("mechanism/numbers.py", r"^REAL = .*", "REAL = str", "calibration"),
        (
            "mechanism/calibration.py",
            r"^from scipy.special import .*",
            "from math import erfcx",
            "calibration",
        ),
        ("mechanism/calibration.py", r"^HAIR = .*", r"\g<0>\nHAIR *= 0.0", "calibration"),
        ("mechanism/calibration.py", r"^HAIR = .*", r"\g<0>\nHAIR = 0.0", "calibration"),
        (
            "mechanism/calibration.py",
            r"^HAIR = .*",
            r"\g<0>\nif True:\n    HAIR = 0.0",
            "calibration",
        ),
        ("mechanism/sensitivity.py", r"^def _ceil_sqrt", "@frozen\n\\g<0>", "groups"),
        (
            "mechanism/budget.py",
            r"^@dataclass\(frozen=True\)\nclass B",
            "@dataclass\nclass B",
            "composition",
        ),
        ("mechanism/release.py", r" \* budget\.parts", "", "release"),
    ],
)
def test_a_change_of_code_or_of_a_constant_makes_its_proof_stale(
    tree, file, pattern, replacement, page
):
    edit(tree / file, pattern, replacement)
    assert page in stale(tree)


def test_comments_docstrings_and_blank_lines_do_not(tree):
    for path in tree.rglob("*.py"):
        source = re.sub(r'^ *"""\w', r"\g<0>Other words # of", path.read_text(), flags=re.M)
        path.write_text(source.replace("\n\n\n", "\n\n\n\n# why\n\n"))
    assert "Other words # of" in (tree / "mechanism/release.py").read_text()
    assert stale(tree) == set()


@pytest.mark.parametrize("place", ["new.py", "folder/new.py", "folder/__init__.py", "a/b/new.py"])
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(y):\n    return y\n", "::f"),
        ("class C:\n    pass\n", "::C"),
        ("LIMIT = 3\n", "::LIMIT"),
        ("A, (B, *C) = 1, (2, 3)\n", "::B"),
        ("async def f(y):\n    return y\n", "::f"),
        ("try:\n    pass\nexcept ValueError:\n    def f(y):\n        return y\n", "::f"),
        ("print('loaded')\n", ": print('loaded')"),
        ("from math import *\n", ": from math import *"),
    ],
)
def test_a_new_file_anywhere_in_the_core_needs_a_proof(tmp_path, place, source, name):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('"""What it is for."""\n' + source)
    assert f"{place}{name}" in Core(tmp_path).unproven()


def test_a_file_that_moved_takes_its_proof_with_it_or_fails(tree):
    (tree / "elsewhere").mkdir()
    (tree / "mechanism/release.py").rename(tree / "elsewhere" / "release.py")
    with pytest.raises(LookupError, match=r"release\.py::\w+, which does not exist"):
        Core(tree).unproven()
    for page in Core(tree).pages:
        page.write_text(
            page.read_text().replace("`mechanism/release.py::", "`elsewhere/release.py::")
        )
    assert Core(tree).unproven() == []


AWKWARD = '''
"""Module."""
import math as m
from math import pi
LIMIT, _OTHER = 1, "a # no comment"  # a comment
class C:
    """Class."""
    size: int = LIMIT  # why

@property
@m.cache  # "why"
def f(x, y="#"):
    """Doc # string

    of several lines.
    """
    # a comment with 'quotes" in it
    text = f"{x!r:>{y}} # {LIMIT} \u03b5 {'#'}" f\'\'\'a

  {x} # kept \x20
\'\'\' "é#"  # cut ε

    def inner():
        "é"; return 1 # cut
    return text, pi
'''


def test_the_text_of_code_is_the_same_in_every_version_of_python():
    """f-strings are one token up to Python 3.11 and many from 3.12 on."""
    assert [line for line in plain_lines(AWKWARD) if line is not None] == [
        "import math as m",
        "from math import pi",
        'LIMIT, _OTHER = 1, "a # no comment"',
        "class C:",
        "    size: int = LIMIT",
        "@property",
        "@m.cache",
        'def f(x, y="#"):',
        "    text = f\"{x!r:>{y}} # {LIMIT} \u03b5 {'#'}\" f'''a",
        "",
        "  {x} # kept  ",
        "''' \"é#\"",
        "    def inner():",
        "        ; return 1",
        "    return text, pi",
    ]
    module = Module(AWKWARD)
    assert module.text("f").startswith("@property\n@m.cache\ndef f")
    assert module.text("LIMIT") == module.text("_OTHER") == 'LIMIT, _OTHER = 1, "a # no comment"'


def test_constants_are_followed_through_other_constants_and_modules(tmp_path):
    (tmp_path / "a.py").write_text("ONE = 1\nTWO = ONE + 1\ndef unused():\n    return ONE\n")
    (tmp_path / "room").mkdir()
    (tmp_path / "room/__init__.py").write_text("THREE = 3\n")
    (tmp_path / "room/b.py").write_text(
        "from cloakgp.privacy import a, room\n"
        "from cloakgp.privacy.a import TWO as two, unused\n"
        "import cloakgp.privacy.a as whole\n"
        "def f():\n    return two + unused()\n"
        "def g():\n    return a.TWO\n"
        "def h():\n    return whole.ONE + room.THREE\n"
    )

    def used(name):
        found = {}
        Core(tmp_path).used("room/b.py", name, found)
        return set(found)

    assert used("f") == {("a.py", "TWO"), ("a.py", "ONE")}
    assert used("g") == {("a.py", "TWO"), ("a.py", "ONE")}
    assert used("h") == {("a.py", "ONE"), ("room/__init__.py", "THREE")}


@pytest.mark.parametrize("S", [1.0, 1.7, 10.0, 1e3])
def test_the_two_inequalities_of_the_discrete_lemma(S):
    with mp.workdps(60):
        S, tau = mp.mpf(S), 60
        reach = int(8 * S) + 2
        c = mp.nsum(lambda x: mp.npdf(x, 0, S), [-mp.inf, mp.inf]) if S < 20 else mp.mpf(1)
        assert c + mp.mpf(10) ** -50 >= 1
        assert mp.log(c) <= 1 / (8 * S**2)
        for x in range(0, reach, max(1, reach // 50)):
            p = mp.npdf(x, 0, S) / c
            w = mp.quad(lambda t: mp.npdf(t, 0, S), [x - mp.mpf(1) / 2, x + mp.mpf(1) / 2])
            assert p <= mp.exp(1 / (8 * S**2)) * w
            assert w <= mp.exp((tau**2 + 1) / (8 * S**2)) * p


@pytest.mark.parametrize("steps", [16, 64, 200])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_discrete_mechanism_is_private_as_the_lemma_says(steps, epsilon):
    """One dimension and a grid so coarse that the exact δ can be summed term by term."""
    sigma = gaussian_sigma(epsilon, 0.01)
    with mp.workdps(40):
        S = mp.mpf(sigma) * steps
        kappa = (60**2 + 2) / (8 * S**2)
        exact = {0: mp.mpf(0), kappa: mp.mpf(0)}
        grid = range(-int(14 * S), int(14 * S) + 1)
        weight = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * S**2)) for x in grid}
        Z = sum(weight.values())
        for x in grid:
            there = weight.get(x - steps, mp.mpf(0))
            for extra in exact:
                exact[extra] += max(mp.mpf(0), weight[x] - mp.exp(epsilon + extra) * there) / Z
        continuous = profile_50_digits(sigma, epsilon)
        assert exact[kappa] <= mp.exp(kappa) * continuous
        # and the grid, coarse as it is, is hardly to be told from the continuum
        assert abs(exact[0] / continuous - 1) < 30 / S**2
