"""What a refusal says, to the letter: what is wrong, what became of the spend, what to do."""

import pickle

import pytest

from cloakgp.privacy.ledger import BudgetExceeded, LedgerError, LedgerTampered, errors, inputs

#: Made when they are compared, not before.
REFUSALS = (
    lambda: errors.tampered("FILE", "its key was changed"),
    lambda: errors.damaged("FILE"),
    lambda: errors.empty("FILE"),
    lambda: errors.bereft("FILE", "FILE-wal"),
    lambda: errors.missing("FILE"),
    lambda: inputs.other_inputs("people", []),
    lambda: inputs.other_inputs("people", ["others", "more"]),
    lambda: inputs.same_inputs(["others", "more"]),
    lambda: errors.unbegun("PLACE"),
    lambda: errors.moved("FILE", "PLACE"),
)
WORDS = (
    "the ledger FILE is not as it was written (its key was changed), so it cannot be trusted. "
    "Nothing is spent on it. Find out who changed it, and go back to a copy whose last hash you "
    "know.",
    "the ledger FILE is damaged, or is no ledger at all. Nothing is spent on it. Check the "
    "name; if it is right, restore the latest copy and count everything released since as "
    "spent.",
    "FILE is empty, and an empty file is not a ledger: its contents may have been lost, and "
    "with them the record of what was spent. Nothing is spent on it. Restore the latest copy. "
    "Only if there never was a ledger, remove the file and ask for a new one.",
    "there is no ledger at FILE, but FILE-wal is left of one: it may have been lost, and with "
    "it the record of what was spent. Restore the latest copy. Only if nothing was ever spent, "
    "remove that file, too, and ask for a new ledger.",
    "there is no ledger at FILE. Check the name, or ask for a new one: Ledger(...).open(..., "
    "create=True) or `cloakgp budget open ... --new`.",
    "the inputs are not those that 'people' has had so far. Is this the right name? Nothing was "
    "spent. If they describe the same people in another way, say so: Ledger(...).open(..., "
    "inputs=X, allow_other_inputs=True) or `cloakgp budget open ... --other-inputs`.",
    "the inputs are not those that 'people' has had so far; they are those of 'others'. Is this "
    "the right name? Nothing was spent. If they describe the same people in another way, say "
    "so: Ledger(...).open(..., inputs=X, allow_other_inputs=True) or `cloakgp budget open ... "
    "--other-inputs`.",
    "the data set 'others' has exactly these inputs, and the same people under another name "
    "would get a second budget. Nothing was spent. Use that name, or say that they are other "
    "people, which is recorded: Ledger(...).open(..., inputs=X, allow_same_inputs=True) or "
    "`cloakgp budget open ... --same-inputs`.",
    "the tables of PLACE are empty: either no ledger was made there yet, or its entries were "
    "lost, and with them the record of what was spent. Only if there never was one, ask for a "
    "new one: Ledger(...).open(..., create=True) or `cloakgp budget open ... --new`.",
    "the ledger FILE is closed: it was moved to PLACE. Nothing was spent; spend there.",
)


@pytest.mark.parametrize(("make", "words"), [*zip(REFUSALS, WORDS, strict=True)])
def test_a_refusal_says_exactly_this(make, words):
    error = make()
    assert str(error) == words
    assert error.recorded is False
    assert isinstance(error, LedgerError)


def test_only_changes_count_as_tampering():
    assert [type(make()) for make in REFUSALS] == [LedgerTampered] + [LedgerError] * 9


def test_a_commit_that_failed_leaves_it_open_what_was_recorded():
    assert errors.CommitFailed("x").recorded is None
    assert LedgerError.recorded is False


def test_what_an_error_knows_survives_a_pickle():
    wasted = LedgerError("wasted")
    wasted.recorded = True
    exceeded = BudgetExceeded("too much", 1.0, 2.0, 3.0)
    for error in (wasted, exceeded):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert vars(again) == vars(error)
    assert (exceeded.requested, exceeded.spent, exceeded.remaining) == (1.0, 2.0, 3.0)
    assert str(exceeded) == "too much"
