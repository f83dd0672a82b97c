"""No interleaving and no crash spends more than the cap or loses a spend, with real processes."""

import time

import pytest
from ledger_helpers import (
    CAP,
    TENTH,
    go,
    heard,
    kill,
    killed_after,
    opened_at_once,
    releases,
    spend,
    spend_in_threads_and_forks,
    start,
)

from cloakgp.privacy.accounting.totals import total_guarantee
from cloakgp.privacy.ledger import Ledger, LedgerError, sqlite

pytestmark = pytest.mark.slow  # real processes


def test_32_processes_racing_for_a_budget_that_fits_10_spends_give_exactly_10(ledger, path):
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
    assert set(releases(ledger)) == winners
    assert len(releases(ledger)) == len(winners) == 10
    assert ledger.spent("people") <= CAP[0]
    ledger.verify()


def test_processes_that_make_the_same_ledger_at_once_make_one(path):
    assert opened_at_once(path) == ["created", "opened"]


def test_kill_9_between_commit_and_noise_wastes_a_spend_and_never_loses_one(ledger, path):
    killed_after(path, "die between commit and noise", "committed")
    assert releases(ledger) == ["victim"]
    assert ledger.spent("people") == pytest.approx(total_guarantee([TENTH], CAP[1]))
    spend(ledger, "next")
    ledger.verify()
    assert releases(ledger) == ["victim", "next"]


def test_kill_9_before_the_commit_counts_nothing_and_locks_nobody_out(ledger, path):
    killed_after(path, "die before the commit", "written")
    assert releases(ledger) == []
    spend(ledger, "victim")
    ledger.verify()


def test_whatever_was_acknowledged_before_a_kill_at_any_moment_is_in_the_ledger(path):
    ledger = Ledger(path)
    ledger.open("people", 50.0, 1e-5, create=True)
    workers = [start(path, "spend until killed", 1e-3) for _ in range(4)]
    for number, worker in enumerate(workers):
        heard(worker, "ready")
        go(worker, f"w{number}")
    acknowledged = [heard(workers[0], "w0-")]
    for number, worker in enumerate(workers):
        time.sleep(0.037 * (number + 1))
        kill(worker)
        acknowledged += worker.stdout.read().split("\n")[:-1]
    found = releases(ledger)
    assert set(acknowledged) <= set(found)
    assert len(found) <= len(acknowledged) + len(workers)
    ledger.verify()


@pytest.mark.parametrize("limit", [4096, 40_000])  # neither the journal fits, nor the commit
def test_a_disk_that_is_full_is_explained_and_nothing_is_spent(ledger, path, limit):
    """No file of the worker may grow beyond the limit."""
    before = ledger.history()
    worker = start(path, "full disk")
    heard(worker, "ready")
    go(worker, limit)
    line = heard(worker, "error False: ")
    worker.communicate()
    assert "full" in line
    assert line.endswith("Nothing was spent.")
    assert ledger.history() == before
    ledger.verify()
    spend(ledger)


def test_a_spend_for_which_no_page_is_left_is_explained_and_not_counted(ledger, monkeypatch):
    connect = sqlite.connect

    def tight(path, purpose):
        connection = connect(path, purpose)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    before = ledger.history()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "connect", tight)
        with pytest.raises(LedgerError, match=r"the disk is full.*Nothing was spent"):
            spend(ledger, parameters={"note": "x" * 50_000})
    assert ledger.history() == before
    spend(ledger, parameters={"note": "x" * 50_000})


def test_threads_and_forks_share_a_budget(ledger):
    spend_in_threads_and_forks(ledger, 8)
    assert len(releases(ledger)) == 10
    ledger.verify()
