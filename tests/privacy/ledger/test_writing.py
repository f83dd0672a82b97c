"""What is written under the lock, and what a commit that goes wrong has done."""

import hashlib
import json

import pytest
from ledger_helpers import ListStore, opening, spending

from cloakgp.privacy.ledger import LedgerError, writing
from cloakgp.privacy.ledger.book import read_all, read_on, recall
from cloakgp.privacy.ledger.errors import CommitFailed


def test_the_first_entry_tells_the_format_and_a_hash_of_the_key():
    store = ListStore()
    writing.create(store, "me")
    facts = json.loads(store.rows[0][1])
    assert facts == {
        "event": "created",
        "format": 1,
        "key": hashlib.sha256(store.key).hexdigest(),
        "when": facts["when"],
        "who": "me",
    }


def test_a_ledger_that_may_have_been_made_or_not_is_asked_for_again(monkeypatch):
    def broken(key, rows):
        raise CommitFailed("the server is gone.")

    store = ListStore()
    monkeypatch.setattr(store, "create", broken)
    words = r"^the server is gone\. Nothing was spent\. Whether the ledger was made is seen when"
    with pytest.raises(LedgerError, match=words) as caught:
        writing.create(store, "me")
    assert type(caught.value) is LedgerError


def test_a_commit_that_failed_and_left_nothing_says_so(store):
    store.commit_error = "lost"
    with pytest.raises(LedgerError, match=r"the commit failed\. Nothing was spent\.$") as caught:
        spending("r1").record(store)
    assert caught.value.recorded is False
    assert store.settled == 1  # nobody looks while the commit may still be going on
    store.commit_error = None
    spending("r1").record(store)
    assert store.settled == 1


def test_a_commit_that_failed_and_left_the_spend_says_that_it_is_wasted(store):
    store.commit_error = "kept"
    with pytest.raises(LedgerError) as caught:
        spending("r1").record(store)
    assert caught.value.recorded is True
    assert str(caught.value) == (
        "the commit failed. The spend is in the ledger, but perhaps not safely on the disk, so no "
        "noise may be drawn: it is wasted."
    )


def test_a_commit_that_failed_on_a_ledger_that_cannot_be_read_leaves_it_open(store):
    read_on(store, recall(store))
    store.commit_error = "lost"

    def break_down():
        store.readable = False

    store.before_write = break_down
    with pytest.raises(CommitFailed) as caught:
        spending("r1").record(store)
    assert caught.value.recorded is None
    assert str(caught.value) == (
        "the commit failed. Whether the spend was recorded cannot be seen until the ledger can be "
        "read again (`cloakgp budget history`). No noise may be drawn."
    )


def test_a_commit_that_failed_while_opening_has_spent_nothing(store):
    store.commit_error = "lost"
    with pytest.raises(LedgerError, match=r"Nothing was spent\. Open the data set again") as caught:
        opening("others").record(store)
    assert caught.value.recorded is False
    store.commit_error = None
    opening("others").record(store)


def test_an_entry_is_written_with_its_time_its_author_and_a_note_if_the_clock_went_back(
    store, monkeypatch
):
    monkeypatch.setattr(writing.names, "now", lambda: "1999")
    made, _ = spending("r1").record(store)
    facts = json.loads(store.rows[-1][1])
    assert made.facts == facts
    assert (facts["when"], facts["who"], facts["clock_went_back"]) == ("1999", "me", True)
    made, _ = spending("r2").record(store)
    assert "clock_went_back" not in made.facts  # not earlier than the last one
    assert made == read_all(store, lambda entry: entry)[1][-1]


def test_which_inputs_an_opening_takes(store):
    """In memory, where all of it takes no time; in a file it is the same."""
    opening("a", table=b"1").record(store)
    opening("a", table=b"1").record(store)
    opening("b").record(store)
    before = len(store.rows)
    for wrong, words in (
        (opening("b", table=b"1"), "'a' has exactly these inputs"),
        (opening("c", table=b"1"), "'a' has exactly these inputs"),
        (opening("a", table=b"2"), "not those that 'a' has had so far. Is"),
        (opening("a", cap=(2.0, 1e-5)), "a cap that could be changed would be none"),
    ):
        with pytest.raises(LedgerError, match=words):
            wrong.record(store)
    opening("a").record(store)
    assert len(store.rows) == before
    opening("b", table=b"1", same=True).record(store)
    assert json.loads(store.rows[-1][1])["same_inputs_as"] == ["a"]
    opening("b", table=b"2", other=True).record(store)
    with pytest.raises(LedgerError, match="that 'a' has had so far; they are those of 'b'"):
        opening("a", table=b"2").record(store)
    found = read_on(store, recall(store))
    assert found.account("b").inputs == {found.mark(b"1"), found.mark(b"2")}


def test_which_inputs_a_spend_takes(store):
    opening("a", table=b"1").record(store)
    spending("r1", dataset="a").record(store)
    spending("r2", dataset="a", table=b"1").record(store)
    with pytest.raises(LedgerError, match=r"that 'a' has had so far\. Is"):
        spending("r3", dataset="a", table=b"2").record(store)
    with pytest.raises(LedgerError, match="'a' has exactly these inputs"):
        spending("r3", table=b"1").record(store)
    spending("r3", table=b"2").record(store)
    with pytest.raises(LedgerError, match="that 'a' has had so far; they are those of 'people'"):
        spending("r4", dataset="a", table=b"2").record(store)
    with pytest.raises(LedgerError, match="release 'r1' is in the ledger already"):
        spending("r1").record(store)
    found = read_on(store, recall(store))
    assert found.account("people").inputs == {found.mark(b"2")}
    assert (found.account("a").releases, found.account("people").releases) == (2, 1)
