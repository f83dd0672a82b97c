"""The examples of the gallery: each has its parts in order, none gives noise a seed, some run here.

All of them run when the site is built (``make docs``); here only the quickest do.
"""

import ast
import re
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from cloakgp import Release
from cloakgp.estimators.spending import forget

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
#: What examples may import beside the standard library: cloakgp, what it needs, and its extras.
ALLOWED = {"cloakgp", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}
#: Below a second or two each, once the libraries are loaded.
QUICK = ("07_learnt_or_fixed", "09_two_hospitals", "11_team_ledger", "12_categories_and_dates")
#: Places that exist on one machine alone, and data that are not part of the repository.
ELSEWHERE = re.compile(
    r"(?<![\w:/])/(home|root|tmp|Users|work|mnt|var)/|\.\./|shared/data|https?://"
)
#: A heading in the prose of a cell: a line, and another of as many dashes.
HEADING = re.compile(r"^# (?P<title>\S.*)\n# (?P<line>-+)$", re.M)

every = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def calls(tree):
    """Return every call of a script with the name that it calls, in the order of the source."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    names = [getattr(node.func, "attr", getattr(node.func, "id", "")) for node in found]
    return list(zip(names, found, strict=True))


def test_there_are_at_least_eleven_and_they_are_numbered():
    assert len(SCRIPTS) >= 11
    numbers = [int(script.stem.split("_")[1]) for script in SCRIPTS]
    assert numbers == list(range(1, len(SCRIPTS) + 1))
    titles = {ast.get_docstring(ast.parse(script.read_text())).split("\n")[0] for script in SCRIPTS}
    assert len(titles) == len(SCRIPTS)


@every
def test_an_example_begins_with_a_title_and_the_question(script):
    title, line, empty, *introduction = ast.get_docstring(ast.parse(script.read_text())).split("\n")
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert empty == ""
    assert len(" ".join(introduction)) > 200


@every
def test_an_example_says_what_may_be_concluded_and_asks_what_if(script):
    text = script.read_text()
    headings = [found["title"] for found in HEADING.finditer(text)]
    assert all(len(found["title"]) == len(found["line"]) for found in HEADING.finditer(text))
    assert any(re.fullmatch(r"What an? \w+ may conclude", title) for title in headings)
    assert headings[-1].startswith("What if ")
    assert headings[-1].endswith("?")
    assert 40 <= len(text.splitlines()) <= 110


@every
def test_an_example_plans_before_it_spends_and_draws(script):
    found = calls(ast.parse(script.read_text()))
    names = [name for name, _ in found]
    # What is fitted to X alone spends nothing.
    spends = [n for n, (name, call) in enumerate(found) if name == "fit" and len(call.args) == 2]
    assert names.index("plan") < spends[0]
    assert {"plot", "subplots"} & set(names)


@every
def test_noise_has_no_seed_and_made_up_data_have_one(script):
    for name, call in calls(ast.parse(script.read_text())):
        given = {keyword.arg for keyword in call.keywords}
        assert "random_state" not in given or name.startswith("make_"), f"line {call.lineno}"
        assert name != "default_rng" or call.args, f"line {call.lineno}"
    assert "np.random.seed" not in script.read_text()


@every
def test_an_example_needs_nothing_from_elsewhere(script):
    text = script.read_text()
    assert not ELSEWHERE.search(text)
    for node in ast.walk(ast.parse(text)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules = [node.module]
        for module in modules:
            top = module.split(".")[0]
            assert top in ALLOWED or top in sys.stdlib_module_names, module
            assert "._" not in module


def test_places_of_one_machine_are_noticed():
    assert ELSEWHERE.search('open("/home/anna/heights.csv")')
    assert ELSEWHERE.search('read_csv("../shared/data/x.csv")')
    assert not ELSEWHERE.search('Ledger("postgresql://alice@server/budgets")')


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_an_example_runs_without_a_warning_and_its_releases_are_private(name, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    forget()  # an example is run as if nothing had been released before
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            left = runpy.run_path(str(GALLERY / f"plot_{name}.py"))
        figures = [value for value in left.values() if isinstance(value, Figure)]
        assert figures
        for figure in figures:
            figure.canvas.draw()
    finally:
        plt.close("all")
        forget()
    releases = [getattr(value, "release_", value) for value in left.values()]
    releases = [release for release in releases if isinstance(release, Release)]
    assert releases
    assert all(release.private for release in releases)
    assert capsys.readouterr().out.count("\n") >= 4
