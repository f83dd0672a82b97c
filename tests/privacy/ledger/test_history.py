"""The history: changes are noticed, and everybody can work out its hashes."""

import contextlib
import csv
import hashlib
import json
import shutil
import sqlite3

import pytest
from ledger_helpers import change, forge, forget, raw, releases, spend

from cloakgp.privacy.ledger import LedgerError, LedgerTampered, book, names
from cloakgp.privacy.ledger.history import ORIGIN


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
