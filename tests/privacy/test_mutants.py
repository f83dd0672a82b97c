"""What SECURITY.md says of mutation testing is what the last complete runs found."""

import re
import tomllib
from collections import Counter

import pytest

from tools.mutants.modules import CORE, LIST, MODULES, ROOT, forgotten
from tools.mutants.record import COUNTS, has_changed, recorded, sources

ROOMS = ("mechanism", "choice", "accounting", "ledger")


def sums():
    """Return the counts of each room all of whose modules are recorded, and of all rooms."""
    known, found = recorded(), {}
    for room in (*ROOMS, "all"):
        mine = [name for name in MODULES if room in ("all", room_of(name))]
        if all(name in known for name in mine):
            found[room] = Counter()
            for name in mine:
                found[room].update({count: known[name][count] for count in COUNTS})
    return found


def room_of(name):
    [room] = {path.relative_to(CORE).parts[0] for path in MODULES[name].source_files()}
    return room


def test_every_file_of_the_core_is_mutated():
    assert forgotten() == []
    assert {room_of(name) for name in MODULES} == set(ROOMS)
    assert set(recorded()) <= set(MODULES)


@pytest.mark.parametrize("name", recorded())
def test_every_mutant_is_killed_or_stopped_or_listed(name):
    counts = recorded()[name]
    assert counts["mutants"] == counts["killed"] + counts["stopped"] + counts["listed"]


@pytest.mark.parametrize("name", recorded())
def test_the_list_has_a_line_for_all_that_survived(name):
    """Different changes may lead to the same line, so that there can be a few lines less."""
    entries = tomllib.loads(LIST.read_text())["mutant"]
    mine = [entry for entry in entries if entry["module"] == name]
    lines = sum(1 if isinstance(e["after"], str) else len(e["after"]) for e in mine)
    assert 0.9 * recorded()[name]["listed"] <= lines <= recorded()[name]["listed"]


def test_security_states_the_sums_for_each_room():
    text = (ROOT / "SECURITY.md").read_text()
    rows = re.findall(r"^\| `?(?:privacy/)?(\w+)/?`? \|((?: [\d,]+ \|){4})$", text, re.MULTILINE)
    stated = {room: [int(n.replace(",", "")) for n in row.split("|")[:-1]] for room, row in rows}
    assert stated == {room: [counts[c] for c in COUNTS] for room, counts in sums().items()}


def test_a_module_that_changed_since_its_record_is_noticed(monkeypatch):
    module = MODULES["calibration"]
    known = {"calibration": {"sources": sources(module)}}
    monkeypatch.setattr("tools.mutants.record.recorded", lambda: known)
    assert not has_changed(module)
    known["calibration"]["sources"] = sources(MODULES["release"])
    assert has_changed(module)
    assert has_changed(MODULES["release"])  # it has no record


def test_words_about_the_code_change_no_record(tmp_path, monkeypatch):
    module = MODULES["calibration"]
    before = sources(module)
    monkeypatch.setattr("tools.mutants.record.ROOT", tmp_path)
    for path in module.source_files():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f'"""Other words."""\n# A comment.\n{code_of(path)}')
    assert sources(module) == before
    (tmp_path / path).write_text((tmp_path / path).read_text().replace("2.0", "3.0"))
    assert sources(module) != before


def code_of(path):
    """Return a source without the docstring of its module."""
    return (ROOT / path).read_text().split('"""', 2)[2]
