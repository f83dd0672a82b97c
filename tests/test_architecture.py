"""The page about the architecture says what the source does."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from test_layout import ROOMS, ROOT, early_imports, files, imports

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from tools import architecture  # noqa: E402

PAGE = (PROJECT / "docs" / "architecture.md").read_text()
PICTURE = (PROJECT / "docs" / "architecture.svg").read_text()
#: Folders are rooms, but for the examples; files beside them are not.
FOLDERS = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()} - {"datasets"}


def drawn(picture):
    """Return the arrows of a picture: from, to, and whether they are dashed."""
    arrows = set()
    for path in re.findall(r"<path [^>]*marker-end.*?</path>", picture):
        one, other, late = re.search(r"<title>(\w+) → (\w+)( \(late\))?</title>", path).groups()
        assert ("stroke-dasharray" in path) == bool(late)
        arrows.add((one, other, bool(late)))
    return arrows


arrows, table = cache(architecture.arrows), cache(architecture.table)


@cache
def imported():
    """Return what the source imports between rooms: when loaded, and at all."""
    early, ever = set(), set()
    for room in FOLDERS:
        for path in files(room):
            early |= {(room, module.split(".")[1]) for module in early_imports(path)}
            ours = (name for name in imports(path) if name.startswith("cloakgp."))
            ever |= {(room, name.split(".")[1]) for name in ours}
    between = {(one, other) for one, other in ever if other in FOLDERS and one != other}
    return {(*pair, pair not in early) for pair in between}


def test_the_arrows_of_the_picture_are_the_imports_there_are():
    assert drawn(PICTURE) == imported()


def test_a_picture_with_one_arrow_more_or_less_is_caught():
    real = arrows()
    some = min(real)
    assert drawn(architecture.picture(real - {some})) == imported() - {some}
    assert drawn(architecture.picture(real | {("gp", "design", False)})) != imported()


def test_the_picture_is_what_the_tool_draws():
    assert architecture.picture(arrows()) == PICTURE


def test_no_arrow_leads_back_but_those_that_are_loaded_late():
    assert set(architecture.ORDER) == FOLDERS
    assert [room for room in ROOMS if room in FOLDERS] == list(architecture.ORDER)
    place = architecture.ORDER.index
    assert all(late or place(other) < place(one) for one, other, late in drawn(PICTURE))


def test_every_room_is_on_the_page_and_in_the_picture():
    rooms = re.findall(r"^\| `(\w+)` \|", PAGE, re.M)
    assert rooms == list(architecture.ORDER)
    for room in FOLDERS:
        assert f">{room}</text>" in PICTURE
    assert {*architecture.WAY, "estimators", "app", "cli", "web"} == FOLDERS


@cache
def lines_of(path):
    """Count the lines that are neither blank, comment nor docstring."""
    text, told = path.read_text(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(re.match(r"\s*[^\s#]", line)) and n not in told for n, line in lines)


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("privacy/mechanism", r"`privacy/mechanism/` .*?about ([\d,]+) lines"),
        (".", r"out of about ([\d,]+)"),
        ("privacy/choice", r"`privacy/choice/` \(about ([\d,]+) lines"),
        ("privacy/accounting", r"`privacy/accounting/` \(about ([\d,]+)"),
        ("privacy/ledger", r"`privacy/ledger/` \(about ([\d,]+)"),
    ],
)
def test_the_core_is_as_small_as_the_page_says(folder, words):
    said = int(re.search(words, PAGE)[1].replace(",", ""))
    assert sum(map(lines_of, files(folder))) == pytest.approx(said, rel=0.05)


@pytest.mark.parametrize("name", re.findall(r"`([\w/]+\.py)`", PAGE))
def test_every_file_that_the_page_names_is_there(name):
    places = [ROOT / name, PROJECT / name, ROOT / "privacy" / "mechanism" / name]
    assert any(place.is_file() for place in places)


def test_the_table_of_files_is_what_the_tool_writes():
    page = (PROJECT / "CONTRIBUTING.md").read_text()
    assert architecture.with_table(page, table()) == page


def test_every_file_says_what_it_is_for():
    rows = table().splitlines()[2:]
    assert [row for row in rows if row.endswith("|  |")] == []
