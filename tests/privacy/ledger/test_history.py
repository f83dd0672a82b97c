"""The history: changes are noticed, and everybody can work out its hashes."""

import contextlib
import csv
import hashlib
import io
import json
import math
import shutil
import sqlite3

import pytest
from ledger_helpers import change, forge, forget, raw, releases, spend

from cloakgp.privacy.ledger import LedgerError, LedgerTampered, book, names
from cloakgp.privacy.ledger.history import (
    LONGEST_ENTRY,
    ORIGIN,
    Entry,
    as_csv,
    as_jsonl,
    canonical,
    link,
    verified,
    written,
)


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE history SET entry = replace(entry, '\"size\":', '\"size\":0') WHERE sequence = 4"],
        ["UPDATE history SET entry = replace(entry, '1.0', '9.0') WHERE sequence = 2"],
        ["UPDATE history SET entry = entry || ' ' WHERE sequence = 5"],
        ["UPDATE history SET entry = x'ff00' WHERE sequence = 5"],
        ["UPDATE history SET hash = upper(hash) WHERE sequence = 3"],
        ["DELETE FROM history WHERE sequence = 5"],
        ["DELETE FROM history WHERE sequence = 3"],
        ["DELETE FROM history WHERE sequence = 1"],
        ["DELETE FROM history"],
        ["DELETE FROM history", f"UPDATE head SET sequence = 0, hash = '{ORIGIN}'"],
        [
            "DELETE FROM history WHERE sequence = 4",
            "UPDATE history SET sequence = 4 WHERE sequence = 5",
            "UPDATE head SET sequence = 4",
        ],
        [
            "UPDATE history SET sequence = 9 WHERE sequence = 4",
            "UPDATE history SET sequence = 4 WHERE sequence = 5",
            "UPDATE history SET sequence = 5 WHERE sequence = 9",
        ],
        ["INSERT INTO history SELECT 6, entry, hash FROM history WHERE sequence = 5"],
        ["UPDATE head SET sequence = 4"],
        ["DELETE FROM head"],
        ["UPDATE secret SET key = randomblob(32)"],
        ["DELETE FROM secret"],
        ["ALTER TABLE history ADD COLUMN note TEXT"],
        ["CREATE TRIGGER quiet AFTER INSERT ON history BEGIN DELETE FROM head; END"],
    ],
)
def test_an_edited_removed_or_reordered_entry_is_detected_and_stops_all_spending(
    ledger, path, statements
):
    for number in range(3):
        spend(ledger, f"r{number}")
    ledger.verify()
    change(path, *statements)
    for act in (ledger.verify, ledger.history, ledger.spent, lambda: spend(ledger, "r9")):
        with pytest.raises(LedgerTampered, match="not as it was written"):
            act()
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert (
            raw.execute("SELECT count(*) FROM history WHERE entry LIKE '%r9%'").fetchone()[0] == 0
        )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE history SET entry = ''",
        "DELETE FROM history",
        "INSERT OR REPLACE INTO history VALUES (1, '', '')",
        "REPLACE INTO history VALUES (2, '', '')",
        "INSERT INTO history VALUES (9, '', '')",
    ],
)
def test_the_file_itself_refuses_changes_of_the_history(ledger, path, statement):
    with (
        contextlib.closing(sqlite3.connect(path)) as raw,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        raw.execute(statement)
    ledger.verify()


@pytest.mark.parametrize(
    "facts", ["{}", "[]", "not JSON", '{"event":"created","format":1}', '{"event":"opened"}']
)
def test_an_entry_that_makes_no_sense_is_refused_though_its_hash_fits(ledger, path, facts):
    with raw(path) as connection:
        forge(connection, facts)
    with pytest.raises(LedgerTampered):
        spend(ledger)


def test_a_ledger_of_another_version_is_not_touched(ledger, path, monkeypatch):
    monkeypatch.setattr(book, "FORMAT", 2)
    forget()
    with pytest.raises(LedgerError, match="another version"):
        spend(ledger)


def test_missing_triggers_are_noticed(ledger, path):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TRIGGER no_delete")
    with pytest.raises(LedgerTampered, match="triggers"):
        spend(ledger)


def test_an_old_copy_is_sound_in_itself_and_found_out_by_a_hash_kept_elsewhere(
    ledger, path, tmp_path
):
    spend(ledger, "r1")
    old = tmp_path / "copy"
    shutil.copy(path, old)
    kept = ledger.verify()
    spend(ledger, "r2")
    later = ledger.verify()
    assert ledger.verify(kept) == later
    shutil.copy(old, path)
    ledger.verify(kept)
    with pytest.raises(LedgerTampered, match="older copy"):
        ledger.verify(later)


def test_a_clock_that_jumps_is_noted_and_changes_no_order(ledger, monkeypatch):
    times = ["2030-01-01T00:00:00.000000+00:00", "2020-01-01T00:00:00.000000+00:00"]
    for number, now in enumerate((*times, "2020-01-02T00:00:00.000000+00:00")):
        monkeypatch.setattr(names, "now", lambda now=now: now)
        spend(ledger, f"r{number}")
    facts = [entry.facts for entry in ledger.history("people")][1:]
    assert [each["release_id"] for each in facts] == ["r0", "r1", "r2"]
    assert [each["when"] for each in facts][:2] == times
    assert ["clock_went_back" in each for each in facts] == [False, True, False]
    assert len(releases(ledger)) == 3
    ledger.verify()


def test_a_spend_records_what_when_who_and_the_parameters(ledger, monkeypatch):
    parameters = {"kernel": "RBF(20)", "bounds": [40, 200], "note": "naïve\nβ"}
    receipt = spend(
        ledger, what="heights by age", parameters=parameters, stated=(0.3, 1e-5), who="me"
    )
    entry = ledger.history("people")[-1]
    assert entry.facts["parameters"] == parameters
    assert entry.facts["what"] == "heights by age"
    assert entry.facts["stated"] == [0.3, 1e-5]
    assert entry.facts["who"] == "me"
    assert entry.facts["when"] == receipt.when
    assert receipt.when.endswith("+00:00")
    assert (receipt.sequence, receipt.hash) == (entry.sequence, entry.hash)
    assert receipt.spent == ledger.spent("people")
    assert "@" in ledger.history()[0].facts["who"]
    assert ledger.history()[0].facts["format"] == 1
    monkeypatch.setenv("CLOAKGP_WHO", "the committee")
    spend(ledger, "r2")
    assert ledger.history()[-1].facts["who"] == "the committee"


def test_an_auditor_can_work_out_every_hash_from_an_export(ledger):
    spend(ledger, "r1", parameters={"β": [1, 0.1]})
    previous = "0" * 64
    for line in ledger.export().splitlines():
        row = json.loads(line)
        facts = json.dumps(row["facts"], sort_keys=True, separators=(",", ":"))
        text = f"{row['sequence']}\n{previous}\n{facts}"
        assert row["previous"] == previous
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert row["hash"] == previous
    assert previous == ledger.verify()
    rows = list(csv.DictReader(ledger.export("csv").splitlines()))
    assert [row["event"] for row in rows] == ["created", "opened", "spent"]
    assert rows[-1]["hash"] == previous
    assert json.loads(rows[-1]["facts"]) == ledger.history()[-1].facts
    with pytest.raises(LedgerError, match="form"):
        ledger.export("xml")


# ------------------------------------------------------------------------------ without any file


def rows_of(*facts):
    """Return rows as a store would keep them."""
    rows, previous = [], ORIGIN
    for number, each in enumerate(facts, start=1):
        entry = each if isinstance(each, bytes) else canonical(each).encode()
        previous = link(number, previous, entry)
        rows.append((number, entry, previous.encode()))
    return rows


def test_the_hash_of_an_entry_covers_its_place_the_hash_before_it_and_its_json():
    entry = b'{"a":1}'
    assert link(7, "ab", entry) == hashlib.sha256(b"7\nab\n" + entry).hexdigest()


def test_facts_are_written_in_one_way():
    assert canonical({"b": [1, 0.1], "a": "\u00e9"}) == r'{"a":"\u00e9","b":[1,0.1]}'
    assert written({"b": 1, "a": 2}) == '{"a":2,"b":1}'


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, b"x"])
def test_facts_that_json_cannot_hold_are_refused(value):
    with pytest.raises(LedgerError, match=r"plain JSON.*Nothing was spent"):
        written({"parameters": value})


def test_facts_nested_without_end_are_refused():
    endless = []
    endless.append(endless)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(LedgerError, match="plain JSON"):
            written({"parameters": value})


def test_an_entry_may_be_so_long_and_no_longer():
    room = LONGEST_ENTRY - len('{"a":""}')
    assert len(written({"a": "x" * room})) == LONGEST_ENTRY
    with pytest.raises(LedgerError, match=r"more than 65536 characters.*Nothing was spent"):
        written({"a": "x" * (room + 1)})


def test_rows_are_read_with_their_hashes_checked_from_any_entry_on():
    rows = rows_of({"n": 1}, {"n": 2}, {"n": 3})
    entries = list(verified(rows, 0, ORIGIN, "the ledger"))
    assert [entry.facts for entry in entries] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [entry.sequence for entry in entries] == [1, 2, 3]
    assert [entry.previous for entry in entries] == [ORIGIN, *(e.hash for e in entries[:2])]
    assert [entry.hash.encode() for entry in entries] == [row[2] for row in rows]
    assert list(verified(rows[1:], 1, entries[0].hash, "the ledger")) == entries[1:]
    assert list(verified([], 3, entries[2].hash, "the ledger")) == []


@pytest.mark.parametrize(
    ("place", "row"),
    [
        (0, (3, None, None)),
        (1, (2, None, None)),
        (1, (2, "a string", b"")),
        (1, (None, b"{}", b"")),
        (1, (2, b"{}", None)),
    ],
)
def test_a_row_that_was_changed_is_named(place, row):
    rows = rows_of({"n": 1}, {"n": 2}, {"n": 3})
    rows[place] = row
    with pytest.raises(LedgerTampered, match=f"the ledger FILE .*entry {place + 1} was edited"):
        list(verified(rows, 0, ORIGIN, "FILE"))


@pytest.mark.parametrize("wrong", ["place", "hash", "previous", "order"])
def test_a_row_in_the_wrong_place_or_with_the_wrong_hash_is_refused(wrong):
    rows = rows_of({"n": 1}, {"n": 2}, {"n": 3})
    start, previous = 0, ORIGIN
    if wrong == "place":
        rows[1] = (9, *rows[1][1:])
    elif wrong == "hash":
        rows[2] = (*rows[2][:2], rows[1][2])
    elif wrong == "previous":
        previous = "1" * 64
    else:
        rows[0], rows[1] = rows[1], rows[0]
    with pytest.raises(LedgerTampered, match="was edited, removed or moved"):
        list(verified(rows, start, previous, "the ledger"))


@pytest.mark.parametrize("entry", [b"", b"{", b"\xff", b"[" * 100_000])
def test_an_entry_that_is_no_json_makes_no_sense_though_its_hash_fits(entry):
    with pytest.raises(LedgerTampered, match=r"the ledger FILE .*entry 1 makes no sense"):
        list(verified(rows_of(entry), 0, ORIGIN, "FILE"))


def test_exports_hold_every_entry_and_show_the_usual_facts_in_columns():
    facts = {"event": "spent", "when": "t", "who": "me", "dataset": "d", "what": "w, x"}
    entry = Entry(1, facts | {"release_id": "r"}, ORIGIN, "h")
    created = Entry(2, {"event": "created", "when": "t", "who": "me"}, "h", "i")
    assert [json.loads(line) for line in as_jsonl([entry, created]).splitlines()] == [
        {"facts": each.facts, "hash": each.hash, "previous": each.previous, "sequence": number}
        for number, each in ((1, entry), (2, created))
    ]
    head, first, second = csv.reader(as_csv([entry, created]).splitlines())
    names = "sequence when who event dataset what release_id facts previous hash"
    assert head == names.split()
    assert first == ["1", "t", "me", "spent", "d", "w, x", "r", canonical(entry.facts), ORIGIN, "h"]
    assert second == ["2", "t", "me", "created", "", "", "", canonical(created.facts), "h", "i"]
    assert as_csv([entry]).count("\r") == 0


def test_an_entry_tells_the_data_set_it_is_about_in_its_one_form():
    assert Entry(1, {"dataset": "cafe\u0301"}, "", "").dataset == "caf\u00e9"
    assert Entry(1, {}, "", "").dataset == ""


def test_no_fact_in_a_table_for_auditors_is_a_formula():
    facts = {"event": "spent", "when": "2030", "who": "@alice", "dataset": "=1+1"}
    facts |= {"what": "-x", "release_id": "+r"}
    [_, row] = csv.reader(io.StringIO(as_csv([Entry(1, facts, "0", "h")])))
    assert row[1:7] == ["2030", "'@alice", "spent", "'=1+1", "'-x", "'+r"]
    assert json.loads(row[7]) == facts  # to the letter, for whoever works out the hash
    [_, row] = csv.reader(io.StringIO(as_csv([Entry(1, {"event": "created"}, "0", "h")])))
    assert row[:7] == ["1", "", "", "created", "", "", ""]
