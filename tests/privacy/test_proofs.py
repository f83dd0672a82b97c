"""Each proof is tied to the code it is about, and its inequalities hold in long arithmetic.

After a change of the core: read the proof again, mend it, then write the fingerprint that the
failing test prints into the page.
"""

import ast
import hashlib
import re
from pathlib import Path

import mpmath as mp
import pytest
from reference import profile_50_digits

import cloakgp.privacy
from cloakgp.privacy import gaussian_sigma

CORE = Path(cloakgp.privacy.__file__).parent
PAGES = sorted(page for page in (CORE / "proofs").glob("*.md") if page.name != "README.md")


def definitions(source):
    """Return name -> syntax tree of the top-level functions and classes, without docstrings."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            found[node.name] = ast.dump(node)
    return found


def proven(page):
    return re.findall(r"`(\w+\.py)::(\w+)`", re.search(r"^Proves: (.*)$", page, re.M)[1])


def fingerprint(pairs):
    trees = {name: definitions((CORE / name).read_text()) for name, _ in pairs}
    text = "\n".join(trees[file][function] for file, function in pairs)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_proof_is_of_the_code_as_it_is(page):
    text = page.read_text()
    recorded = re.search(r"^Fingerprint: (\w+)$", text, re.M)[1]
    assert recorded == fingerprint(proven(text)), (
        f"code proven in {page.name} has changed: check the proof, then record its fingerprint"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_proof_has_all_its_parts_and_its_tests_exist(page):
    text = page.read_text()
    for part in ("## Claim", "## Assumptions", "## Proof", "## Tests"):
        assert part in text
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    named = re.findall(r"`(test_\w+)`", text.split("## Tests")[1])
    assert named
    for name in named:
        assert f"def {name}(" in tests, f"{page.name} names {name}, which does not exist"


def test_every_function_that_a_release_or_a_selection_relies_on_is_in_a_proof():
    covered = {name for page in PAGES for _, name in proven(page.read_text())}
    helpers = {"frozen", "_as_floats", "checked_budget", "checked_delta", "_positive"}
    helpers |= {"_rows", "_numbers", "_kept", "_checked_bounds", "_checked_loss"}
    files = ("sketch.py", "sensitivity.py", "calibration.py")
    for file in (*files, "accounting.py", "filter.py", "selection.py", "utility.py"):
        for name in definitions((CORE / file).read_text()):
            assert name in covered | helpers, f"{file}::{name} is in no proof"


def test_a_changed_function_changes_the_fingerprint():
    before = definitions("def f(x):\n    'text'\n    return x + 1\n")
    assert before == definitions("def f(x):\n    'other text'\n    return x + 1  # why\n")
    assert before != definitions("def f(x):\n    'text'\n    return x + 2\n")


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
