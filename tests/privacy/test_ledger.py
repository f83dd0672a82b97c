"""The ledger: no interleaving, crash or fault spends more than the cap, and changes are noticed."""

import contextlib
import copy
import csv
import hashlib
import json
import math
import multiprocessing
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import cloakgp
from cloakgp import PrivateGPRegressor
from cloakgp.privacy import gaussian_sigma, ledger
from cloakgp.privacy.accounting import Spend, total_guarantee
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError, LedgerTampered

CAP = (1.0, 1e-5)
X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, -5.0]])
#: Ten of these fit under the cap, and eleven do not.
TENTH = Spend("gaussian", 1.0 / (gaussian_sigma(*CAP) * math.sqrt(10.5)))

#: A process of its own that loads the ledger and little else, waits for a word, and then acts.
WORKER = f"""
import os, signal, sqlite3, sys, time, types
for name, folder in (("cloakgp", {str(Path(cloakgp.__file__).parent)!r}),
                     ("cloakgp.privacy", {str(Path(ledger.__file__).parent)!r})):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from cloakgp.privacy import ledger as module
from cloakgp.privacy.accounting import Spend
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError
ledger = Ledger(sys.argv[1])
def say(word):
    os.write(1, f"{{word}}\\n".encode())  # in one piece, whoever else writes
def spend(release_id, parameters={{}}):
    return ledger.spend("people", [Spend("gaussian", float(sys.argv[2]))], what="a release",
                        parameters=parameters, release_id=release_id)
say("ready")
name = sys.stdin.readline().strip()
"""
ACTIONS = {
    # Eight processes at once; forked, since loading NumPy takes longer than the race.
    "race": """
children = []
for child in range(8):
    children.append(os.fork())
    if not children[-1]:
        try:
            spend(f"{name}-{child}")
            say(f"{name}-{child} spent")
        except BudgetExceeded:
            say(f"{name}-{child} refused")
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
""",
    "open": """
ledger.open("people", 1.0, 1e-5)
say("opened")
""",
    # As a release does it: first the commit, then the noise, in the middle of which it is killed.
    "die between commit and noise": """
spend(name)
say("committed")
time.sleep(60)
""",
    # A second connection keeps the log of SQLite from being tidied away.
    "die and leave a log": """
other = sqlite3.connect(sys.argv[1])
other.execute("SELECT * FROM history").fetchone()
spend(name)
say("committed")
time.sleep(60)
""",
    "die before the commit": """
append = module._append
def written(*args):
    entry = append(*args)
    say("written")
    time.sleep(60)
    return entry
module._append = written
spend(name)
""",
    "spend until killed": """
for turn in range(10_000):
    spend(f"{name}-{turn}")
    say(f"{name}-{turn}")
""",
    "full disk": """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(name), int(name)))
try:
    spend("too much", {"note": "x" * 50_000})
    say("spent")
except LedgerError as error:
    say(f"error: {error}")
""",
}


def start(path, action, size=TENTH.size):
    """Start a worker; it has loaded everything when this returns, and waits."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER + ACTIONS[action], str(path), repr(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return worker


def go(worker, word):
    worker.stdin.write(f"{word}\n")
    worker.stdin.flush()


def heard(worker, word):
    """Wait for a word of the worker."""
    line = worker.stdout.readline().strip()
    assert line.startswith(word), (line, word)
    return line


def kill(worker):
    worker.send_signal(signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def book(path):
    book = Ledger(path)
    book.open("people", *CAP)
    return book


def spend(book, release_id="r1", spends=(TENTH,), dataset="people", **more):
    return book.spend(
        dataset, spends, **{"what": "a release", "parameters": {}} | more, release_id=release_id
    )


def gaussian(epsilon, delta=CAP[1]):
    return Spend("gaussian", 1.0 / gaussian_sigma(epsilon, delta))


def releases(book, dataset="people"):
    facts = [entry.facts for entry in book.history(dataset)]
    return [each["release_id"] for each in facts if each["event"] == "spent"]


# ----------------------------------------------------------------------------------- real processes


def test_32_processes_racing_for_a_budget_that_fits_10_spends_give_exactly_10(book, path):
    workers = [start(path, "race") for _ in range(4)]
    for worker in workers:
        heard(worker, "ready")
    for number, worker in enumerate(workers):
        go(worker, f"racer-{number}")
    lines = [line for worker in workers for line in worker.communicate()[0].splitlines()]
    results = dict(line.split() for line in lines)
    assert len(results) == 32
    assert list(results.values()).count("refused") == 22
    winners = {name for name, result in results.items() if result == "spent"}
    assert set(releases(book)) == winners
    assert len(releases(book)) == len(winners) == 10
    assert book.spent("people") <= CAP[0]
    book.verify()


def test_processes_that_make_the_same_ledger_at_once_make_one(path):
    workers = [start(path, "open") for _ in range(4)]
    for worker in workers:
        heard(worker, "ready")
    for worker in workers:
        go(worker, "now")
    for worker in workers:
        heard(worker, "opened")
        worker.communicate()
    assert [entry.facts["event"] for entry in Ledger(path).history()] == ["created", "opened"]


@pytest.mark.parametrize("action", ["die between commit and noise", "die and leave a log"])
def test_kill_9_between_commit_and_noise_wastes_a_spend_and_never_loses_one(book, path, action):
    worker = start(path, action)
    heard(worker, "ready")
    go(worker, "victim")
    heard(worker, "committed")
    kill(worker)
    log = path.with_name(path.name + "-wal")
    if action == "die and leave a log":
        assert log.stat().st_size > 0
    assert releases(book) == ["victim"]
    assert book.spent("people") == pytest.approx(total_guarantee([TENTH], CAP[1]))
    spend(book, "next")
    book.verify()
    assert releases(book) == ["victim", "next"]
    assert not log.exists()


def test_kill_9_before_the_commit_counts_nothing_and_locks_nobody_out(book, path):
    worker = start(path, "die before the commit")
    heard(worker, "ready")
    go(worker, "victim")
    heard(worker, "written")
    kill(worker)
    assert releases(book) == []
    spend(book, "victim")
    book.verify()


def test_whatever_was_acknowledged_before_a_kill_at_any_moment_is_in_the_ledger(path):
    book = Ledger(path)
    book.open("people", 50.0, 1e-5)
    acknowledged = []
    workers = [start(path, "spend until killed", 1e-3) for _ in range(4)]
    for number, worker in enumerate(workers):
        heard(worker, "ready")
        go(worker, f"w{number}")
    for number, worker in enumerate(workers):
        time.sleep(0.037 * (number + 1))
        kill(worker)
        acknowledged += worker.stdout.read().split("\n")[:-1]
    found = releases(book)
    assert acknowledged
    assert set(acknowledged) <= set(found)
    assert len(found) <= len(acknowledged) + len(workers)
    book.verify()


@pytest.mark.parametrize(
    ("limit", "fate"),
    [
        (4096, "Nothing was spent"),  # not even the lock file fits
        (40_000, "No noise may be drawn"),  # the commit does not fit
    ],
)
def test_a_disk_that_is_full_is_explained_and_nothing_is_spent(book, path, limit, fate):
    """No file of the worker may grow beyond the limit."""
    before = book.history()
    worker = start(path, "full disk")
    heard(worker, "ready")
    go(worker, limit)
    line = heard(worker, "error: ")
    worker.communicate()
    assert "full" in line
    assert fate in line
    assert book.history() == before
    book.verify()
    spend(book)


def test_a_spend_for_which_no_page_is_left_is_explained_and_not_counted(book, monkeypatch):
    connect = ledger._connect

    def tight(path, purpose):
        connection = connect(path, purpose)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    before = book.history()
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "_connect", tight)
        with pytest.raises(LedgerError, match=r"the disk is full.*Nothing was spent"):
            spend(book, parameters={"note": "x" * 50_000})
    assert book.history() == before
    spend(book, parameters={"note": "x" * 50_000})


def test_threads_and_forks_share_a_budget(book):
    def attempt(name):
        with contextlib.suppress(BudgetExceeded):
            spend(book, name)

    threads = [threading.Thread(target=attempt, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=attempt, args=(f"f{n}",)) for n in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert len(releases(book)) == 10
    book.verify()


# --------------------------------------------------------------------------------------- the budget


@pytest.mark.parametrize("cap", [(1.0, 1e-5), (0.1, 1e-6), (3.0, 1e-2), (1e-4, 1e-12), (50.0, 0.5)])
def test_one_release_for_the_whole_cap_fits_and_no_second_one(path, cap):
    book = Ledger(path)
    book.open("people", *cap)
    assert book.remaining("people") == cap[0]
    assert spend(book, "all", [gaussian(*cap)]).spent <= cap[0]
    with pytest.raises(BudgetExceeded):
        spend(book, "more", [gaussian(*cap)])
    assert releases(book) == ["all"]


def test_a_release_a_little_too_large_is_refused(book):
    with pytest.raises(BudgetExceeded):
        spend(book, spends=[gaussian(CAP[0] * (1 + 1e-6))])
    assert book.spent("people") == 0.0


def test_a_refusal_says_requested_spent_and_remaining_separately_and_records_nothing(book):
    spend(book, "first", [gaussian(0.5)])
    before = book.history()
    with pytest.raises(BudgetExceeded) as caught:
        spend(book, "second", [gaussian(0.9)])
    left = book.remaining("people")
    text = str(caught.value)
    for part in ("requested epsilon = 0.9", "spent epsilon = 0.5", "cap epsilon = 1", "1e-05"):
        assert part in text
    assert f"remaining epsilon = {ledger.rounded_down(left)}" in text
    assert caught.value.requested == pytest.approx(0.9)
    assert caught.value.spent == pytest.approx(0.5)
    assert caught.value.remaining == left
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    assert book.history() == before


@pytest.mark.parametrize(
    "before", [[], [gaussian(0.5)], [Spend("bounded-range", 0.3)], [TENTH] * 9]
)
def test_what_remains_can_be_spent_and_hardly_more(book, before):
    for number, each in enumerate(before):
        spend(book, f"b{number}", [each])
    left = book.remaining("people")
    assert 0 < left <= CAP[0]
    if left < CAP[0]:
        with pytest.raises(BudgetExceeded):
            spend(book, "too much", [gaussian(left * (1 + 1e-3))])
    spend(book, "rest", [gaussian(left)])
    assert book.spent("people") <= CAP[0]
    assert book.remaining("people") < 0.01


def test_nothing_remains_when_everything_is_spent(book):
    spend(book, spends=[gaussian(CAP[0])])
    assert book.remaining() == {"people": 0.0}
    assert book.spent() == {"people": pytest.approx(CAP[0])}


def test_several_spends_of_one_release_are_taken_together_or_not_at_all(book):
    spend(book, "both", [Spend("bounded-range", 0.2), gaussian(0.5)])
    with pytest.raises(BudgetExceeded):
        spend(book, "third", [Spend("pure", 0.1), gaussian(0.8)])
    assert releases(book) == ["both"]
    kinds = [each["kind"] for each in book.history("people")[-1].facts["spends"]]
    assert kinds == ["bounded-range", "gaussian"]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.builds(
            Spend,
            st.sampled_from(["gaussian", "gaussian", "bounded-range", "pure"]),
            st.floats(0.05, 0.4),
        ),
        max_size=4,
    )
)
def test_any_order_of_spends_is_taken_as_the_reference_takes_it(wanted):
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "ledger")
        book.open("people", *CAP)
        taken = []
        for number, each in enumerate(wanted):
            fits = total_guarantee([*taken, each], CAP[1]) <= CAP[0]
            with contextlib.nullcontext() if fits else pytest.raises(BudgetExceeded):
                spend(book, f"r{number}", [each])
            taken += [each] if fits else []
        assert book.spent("people") == (total_guarantee(taken, CAP[1]) if taken else 0.0)


def test_data_sets_have_budgets_of_their_own(book):
    book.open("others", 0.5, 1e-6)
    spend(book, spends=[gaussian(CAP[0])])
    assert book.remaining("others") == 0.5
    assert [balance.dataset for balance in book.balances()] == ["people", "others"]
    assert book.balances("people")[0].releases == 1


def test_a_release_id_is_spent_on_once(book):
    spend(book, "r1")
    book.open("others", *CAP)
    for dataset in ("people", "others"):
        with pytest.raises(LedgerError, match="spend twice"):
            spend(book, "r1", dataset=dataset)
    assert releases(book) == ["r1"]


def test_opening_again_is_harmless_with_the_same_cap_and_refused_with_another(book):
    spend(book)
    before = book.history()
    book.open("people", *CAP)
    for cap in ((2.0, 1e-5), (0.5, 1e-5), (1.0, 1e-6)):
        with pytest.raises(LedgerError, match="a cap that could be changed would be none"):
            book.open("people", *cap)
    assert book.history() == before


@pytest.mark.parametrize(
    "cap", [(0.0, 1e-5), (-1.0, 1e-5), (math.nan, 1e-5), (1.0, 0.0), (99.0, 1e-5)]
)
def test_a_cap_that_makes_no_sense_is_refused_and_makes_no_file(path, cap):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        Ledger(path).open("people", *cap)
    assert not path.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"dataset": "unknown"},
        {"dataset": ""},
        {"what": "two\nlines"},
        {"release_id": " r"},
        {"release_id": None},
        {"spends": []},
        {"parameters": {"x": math.inf}},
        {"parameters": {"x": np.arange(3)}},
        {"parameters": {"x": "y" * (1 << 16)}},
        {"inputs": [["a"]]},
        {"inputs": [[math.nan]]},
        {"inputs": np.zeros((0, 2))},
    ],
)
def test_a_spend_that_makes_no_sense_is_refused_and_not_counted(book, wrong):
    before = book.history()
    with pytest.raises(LedgerError):
        spend(book, **wrong)
    assert book.history() == before


# --------------------------------------------------------------------------------------- the inputs


def test_the_same_inputs_under_another_name_are_noticed_in_any_order_of_rows(book):
    book.open("first", *CAP, inputs=X)
    with pytest.raises(LedgerError, match="'first' has exactly these inputs"):
        book.open("second", *CAP, inputs=X[[2, 0, 1]])
    assert "second" not in book.spent()
    book.open("second", *CAP, inputs=X[::-1], allow_same_inputs=True)
    assert book.history("second")[0].facts["same_inputs_as"] == ["first"]
    spend(book, "s1", dataset="second", inputs=X)
    book.open("second", *CAP, inputs=X)
    assert len(book.history("second")) == 2


def test_the_first_inputs_that_are_spent_on_are_remembered(book):
    spend(book, "r1", inputs=X)
    spend(book, "r2", inputs=X[[1, 2, 0]])
    with pytest.raises(LedgerError, match="is this the right name"):
        spend(book, "r3", inputs=X + 1)
    book.open("others", *CAP)
    with pytest.raises(LedgerError, match="'people' has exactly these inputs"):
        spend(book, "r4", dataset="others", inputs=X)
    assert releases(book) == ["r1", "r2"]
    assert releases(book, "others") == []


def test_a_name_with_the_inputs_of_another_data_set_is_told_whose_they_are(book):
    book.open("first", *CAP, inputs=X)
    book.open("second", *CAP, inputs=X + 1)
    with pytest.raises(LedgerError, match="they are those of 'first'"):
        spend(book, dataset="second", inputs=X)


def test_the_same_people_may_have_further_inputs_if_that_is_said(book):
    book.open("first", *CAP, inputs=X)
    with pytest.raises(LedgerError, match="allow_other_inputs"):
        book.open("first", *CAP, inputs=X[:, :1])
    book.open("first", *CAP, inputs=X[:, :1], allow_other_inputs=True)
    for number, inputs in enumerate((X, X[:, 0])):
        spend(book, f"f{number}", dataset="first", inputs=inputs)
    assert book.balances("first")[0].releases == 2


def test_the_fingerprint_tells_tables_apart_and_needs_the_key(path):
    def mark(rows, key=b"key"):
        return ledger._Book(path, key).fingerprint(ledger._digest(rows))

    assert mark([[0.0, 1.0]]) == mark([[-0.0, 1.0]]) == mark(np.array([[0, 1]]))
    tables = [[[0.0, 1.0]], [[1.0, 0.0]], [[0.0], [1.0]], [[0.0, 1.0]] * 2, [[0.0, 1.0 + 1e-15]]]
    assert len({mark(table) for table in tables}) == len(tables)
    assert mark(X) != mark(X, b"other")


def test_the_key_is_in_no_export_and_differs_between_ledgers(tmp_path):
    books = [Ledger(tmp_path / name) for name in "ab"]
    keys = []
    for book in books:
        book.open("people", *CAP, inputs=X)
        with contextlib.closing(sqlite3.connect(book.path)) as raw:
            keys += raw.execute("SELECT key FROM secret").fetchone()
        assert keys[-1].hex() not in book.export()
    assert keys[0] != keys[1]
    assert len({book.history()[-1].facts["inputs"] for book in books}) == 2


# -------------------------------------------------------------------------------------- the history


def change(path, *statements):
    """Change the file as somebody with a tool of their own would, triggers back in place."""
    with contextlib.closing(sqlite3.connect(path)) as raw:
        triggers = raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = triggers.fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            raw.execute(statement)
        for _, sql in triggers:
            raw.execute(sql)
        raw.commit()


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
        ["DELETE FROM history", f"UPDATE head SET sequence = 0, hash = '{ledger.ORIGIN}'"],
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
    book, path, statements
):
    for number in range(3):
        spend(book, f"r{number}")
    book.verify()
    change(path, *statements)
    for act in (book.verify, book.history, book.spent, lambda: spend(book, "r9")):
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
def test_the_file_itself_refuses_changes_of_the_history(book, path, statement):
    with (
        contextlib.closing(sqlite3.connect(path)) as raw,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        raw.execute(statement)
    book.verify()


@pytest.mark.parametrize(
    "facts", ["{}", "[]", "not JSON", '{"event":"created","format":1}', '{"event":"opened"}']
)
def test_an_entry_that_makes_no_sense_is_refused_though_its_hash_fits(book, path, facts):
    sequence = len(book.history()) + 1
    link = ledger._link(sequence, book.verify(), facts.encode())
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("INSERT INTO history VALUES (?, ?, ?)", (sequence, facts, link))
        raw.execute("UPDATE head SET sequence = ?, hash = ?", (sequence, link))
        raw.commit()
    with pytest.raises(LedgerTampered):
        spend(book)


def test_a_ledger_of_another_version_is_not_touched(book, path, monkeypatch):
    monkeypatch.setattr(ledger, "FORMAT", 2)
    with pytest.raises(LedgerError, match="another version"):
        spend(book)


def test_missing_triggers_are_noticed(book, path):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TRIGGER no_delete")
    with pytest.raises(LedgerTampered, match="triggers"):
        spend(book)


def test_an_old_copy_is_sound_in_itself_and_found_out_by_a_hash_kept_elsewhere(
    book, path, tmp_path
):
    spend(book, "r1")
    old = tmp_path / "copy"
    shutil.copy(path, old)
    kept = book.verify()
    spend(book, "r2")
    later = book.verify()
    assert book.verify(kept) == later
    shutil.copy(old, path)
    book.verify(kept)
    with pytest.raises(LedgerTampered, match="older copy"):
        book.verify(later)


def test_a_clock_that_jumps_is_noted_and_changes_no_order(book, monkeypatch):
    times = ["2030-01-01T00:00:00.000000+00:00", "2020-01-01T00:00:00.000000+00:00"]
    for number, now in enumerate((*times, "2020-01-02T00:00:00.000000+00:00")):
        monkeypatch.setattr(ledger, "_now", lambda now=now: now)
        spend(book, f"r{number}")
    facts = [entry.facts for entry in book.history("people")][1:]
    assert [each["release_id"] for each in facts] == ["r0", "r1", "r2"]
    assert [each["when"] for each in facts][:2] == times
    assert ["clock_went_back" in each for each in facts] == [False, True, False]
    assert len(releases(book)) == 3
    book.verify()


def test_a_spend_records_what_when_who_and_the_parameters(book, monkeypatch):
    parameters = {"kernel": "RBF(20)", "bounds": [40, 200], "note": "naïve\nβ"}
    receipt = spend(
        book, what="heights by age", parameters=parameters, stated=(0.3, 1e-5), who="me"
    )
    entry = book.history("people")[-1]
    assert entry.facts["parameters"] == parameters
    assert entry.facts["what"] == "heights by age"
    assert entry.facts["stated"] == [0.3, 1e-5]
    assert entry.facts["who"] == "me"
    assert entry.facts["when"] == receipt.when
    assert receipt.when.endswith("+00:00")
    assert (receipt.sequence, receipt.hash) == (entry.sequence, entry.hash)
    assert receipt.spent == book.spent("people")
    assert "@" in book.history()[0].facts["who"]
    monkeypatch.setenv("CLOAKGP_WHO", "the committee")
    spend(book, "r2")
    assert book.history()[-1].facts["who"] == "the committee"


def test_an_auditor_can_work_out_every_hash_from_an_export(book):
    spend(book, "r1", parameters={"β": [1, 0.1]})
    previous = "0" * 64
    for line in book.export().splitlines():
        row = json.loads(line)
        facts = json.dumps(row["facts"], sort_keys=True, separators=(",", ":"))
        text = f"{row['sequence']}\n{previous}\n{facts}"
        assert row["previous"] == previous
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert row["hash"] == previous
    assert previous == book.verify()
    rows = list(csv.DictReader(book.export("csv").splitlines()))
    assert [row["event"] for row in rows] == ["created", "opened", "spent"]
    assert rows[-1]["hash"] == previous
    assert json.loads(rows[-1]["facts"]) == book.history()[-1].facts
    with pytest.raises(LedgerError, match="form"):
        book.export("xml")


# ----------------------------------------------------------------------------------------- the file


def as_nobody(act):
    """Run something without the rights of root, and return the error it ends in."""
    if os.geteuid() != 0:
        with pytest.raises(LedgerError) as caught:
            act()
        return str(caught.value)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()

    def run():
        os.setgid(65534)
        os.setuid(65534)
        try:
            act()
            theirs.send("no error")
        except BaseException as error:
            theirs.send(f"{type(error).__name__}: {error}")

    child = fork.Process(target=run)
    child.start()
    assert ours.poll(30)
    text = ours.recv()
    child.join()
    assert text.startswith("LedgerError: "), text
    return text


@pytest.fixture
def public():
    """A folder that other users may enter; those of pytest are closed to them."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("folder_mode", [0o777, 0o555])
def test_a_read_only_ledger_can_be_read_but_not_spent_on(public, folder_mode):
    path = public / "budget.ledger"
    book = Ledger(path)
    book.open("people", *CAP)
    spend(book, "r1")
    before = book.history()
    path.chmod(0o444)
    public.chmod(folder_mode)
    text = as_nobody(lambda: spend(book, "r2"))
    assert "read-only" in text or "cannot be opened" in text
    assert "Nothing was spent" in text

    def read_then_complain():
        assert book.history() == before
        assert book.spent("people") > 0
        raise LedgerError("was read")

    assert "was read" in as_nobody(read_then_complain)
    path.chmod(0o644)
    public.chmod(0o755)
    assert book.history() == before


def test_a_ledger_that_may_not_be_read_or_made_is_explained(public):
    book = Ledger(public / "budget.ledger")
    book.open("people", *CAP)
    book.path.chmod(0o600)
    assert "cannot be" in as_nobody(book.history)
    assert "cannot be" in as_nobody(lambda: spend(book))
    other = Ledger(public / "other.ledger")
    assert "cannot be" in as_nobody(lambda: other.open("people", *CAP))
    assert not other.path.exists()


NOT_A_LEDGER = {
    "noise": bytes(range(256)) * 40,
    "text": b"age,height\n1,2\n",
    "half a header": b"SQLite format 3\x00" + b"\x00" * 30,
    "empty": b"",
}


@pytest.mark.parametrize("content", NOT_A_LEDGER.values(), ids=NOT_A_LEDGER.keys())
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_was(path, content):
    path.write_bytes(content)
    book = Ledger(path)
    acts = [book.history, lambda: spend(book)]
    if content:  # nothing is lost if an empty file becomes a ledger
        acts.append(lambda: book.open("people", *CAP))
    for act in acts:
        with pytest.raises(LedgerError, match="ledger"):
            act()
    assert path.read_bytes() == content


def test_another_database_is_refused_and_left_as_it_was(path):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE history (note TEXT)")
    before = path.read_bytes()
    book = Ledger(path)
    for act in (book.history, lambda: spend(book), lambda: book.open("people", *CAP)):
        with pytest.raises(LedgerError, match="not a ledger"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize("page", [0, 1, 2, 3])
def test_a_damaged_page_never_passes_as_an_emptier_ledger(book, path, page):
    """Every page is overwritten in turn: either an error, or every spend is still there."""
    for number in range(9):
        spend(book, f"r{number}", parameters={"note": "x" * 300})
    before = book.history()
    with open(path, "r+b") as file:
        file.seek(page * 4096 + (100 if page == 0 else 0))
        file.write(b"\xa5" * 2000)
    try:
        after = book.history()
    except LedgerError as error:
        after, text = None, str(error)
    if after is not None:
        assert after == before
        return
    assert "damaged" in text or "not as it was written" in text
    with pytest.raises(LedgerError):
        spend(book, "more")


def test_a_file_cut_short_is_refused(book, path):
    for number in range(9):
        spend(book, f"r{number}", parameters={"note": "x" * 3000})
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 8192)
    for act in (book.verify, lambda: spend(book, "more")):
        with pytest.raises(LedgerError, match=r"damaged|not as it was written"):
            act()


def test_a_ledger_that_others_keep_busy_is_explained(book, path, monkeypatch):
    monkeypatch.setattr(ledger, "BUSY_SECONDS", 0.05)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"busy.*Nothing was spent"):
            spend(book)
        assert book.spent("people") == 0.0  # readers need not wait
    spend(book)


def test_reading_never_makes_a_file(path):
    book = Ledger(path)
    for act in (book.history, book.spent, book.remaining, book.export, book.verify, book.balances):
        with pytest.raises(LedgerError, match="there is no ledger"):
            act()
    with pytest.raises(LedgerError, match="there is no ledger"):
        spend(book)
    assert os.listdir(path.parent) == []


def test_missing_folders_and_folders_are_explained(tmp_path):
    with pytest.raises(LedgerError, match="does not exist; make it first"):
        Ledger(tmp_path / "no" / "ledger").open("people", *CAP)
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(tmp_path).open("people", *CAP)


def test_nothing_is_left_beside_the_file(book, path):
    spend(book)
    book.verify()
    assert os.listdir(path.parent) == [path.name]
    with contextlib.closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_commit_waits_for_the_disk(book, path):
    with contextlib.closing(ledger._connect(path, "write")) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)


@pytest.mark.parametrize("form", [str, Path, "sqlite:///{}".format, lambda path: f"{path} ?#%41é"])
def test_a_ledger_is_named_by_a_path_or_an_address(path, form):
    book = Ledger(form(path))
    book.open("people", *CAP)
    assert book.path.is_file()
    assert book.path.parent == path.parent
    spend(book)
    assert book.path.name in repr(book)


def test_relative_names_keep_their_meaning_when_the_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    books = [Ledger("a.ledger"), Ledger("sqlite:///a.ledger")]
    monkeypatch.chdir("/")
    assert books[0].path == books[1].path == tmp_path / "a.ledger"
    assert books[0] == books[1]
    assert len({*books}) == 1


@pytest.mark.parametrize("name", ["", "postgresql://host/db", "sqlite://", "sqlite:///", "a\0b"])
def test_names_that_are_no_file_are_refused(name):
    with pytest.raises(LedgerError):
        Ledger(name)


def test_a_ledger_can_be_copied_pickled_and_cloned_and_holds_nothing_open(book):
    for twin in (copy.deepcopy(book), pickle.loads(pickle.dumps(book))):
        assert vars(twin) == {"path": book.path}
        assert twin.spent() == book.spent()
    model = clone(PrivateGPRegressor(ledger=book, dataset="people"))
    assert model.ledger == book
    with book as same:
        assert same is book
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for number in range(5):
        spend(book, f"r{number}")
    if files:
        assert len(os.listdir("/proc/self/fd")) <= files


def test_what_is_shown_as_remaining_is_never_more_than_that():
    for value in (0.99999, 1.23456, 0.5, 1e-4, 49.99996, 0.00012345):
        shown = float(ledger.rounded_down(value))
        assert shown <= value
        assert shown == pytest.approx(value, rel=1e-3)
    assert ledger.rounded_down(0.0) == "0"
