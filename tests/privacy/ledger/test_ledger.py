"""The budget: what fits under a cap, what was spent, and what is left."""

import contextlib
import doctest
import math
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_helpers import CAP, TENTH, forge, forged_spend, gaussian, raw, releases, spend
from scipy.optimize import brentq

from cloakgp.privacy import gaussian_sigma
from cloakgp.privacy.accounting.filter import filter_allowance, filter_spends, gaussian_equivalent
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.accounting.totals import total_guarantee
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError, accounts, rounded_down
from cloakgp.privacy.ledger import ledger as ledger_module


@pytest.mark.parametrize("cap", [(1.0, 1e-5), (0.1, 1e-6), (3.0, 1e-2), (1e-4, 1e-12), (50.0, 0.5)])
def test_one_release_for_the_whole_cap_fits_and_no_second_one(path, cap):
    ledger = Ledger(path)
    ledger.open("people", *cap, create=True)
    assert ledger.remaining("people") == cap[0]
    assert spend(ledger, "all", [gaussian(*cap)]).spent <= cap[0]
    with pytest.raises(BudgetExceeded):
        spend(ledger, "more", [gaussian(*cap)])
    assert releases(ledger) == ["all"]


def test_a_release_a_little_too_large_is_refused(ledger):
    with pytest.raises(BudgetExceeded):
        spend(ledger, spends=[gaussian(CAP[0] * (1 + 1e-6))])
    assert ledger.spent("people") == 0.0


def test_a_refusal_says_requested_spent_and_remaining_separately_and_records_nothing(ledger):
    spend(ledger, "first", [gaussian(0.5)])
    before = ledger.history()
    with pytest.raises(BudgetExceeded) as caught:
        spend(ledger, "second", [gaussian(0.9)])
    left = ledger.remaining("people")
    text = str(caught.value)
    for part in ("requested epsilon = 0.9", "spent epsilon = 0.5", "cap epsilon = 1", "1e-05"):
        assert part in text
    assert f"remaining epsilon = {rounded_down(left)}" in text
    assert caught.value.requested == pytest.approx(0.9)
    assert caught.value.spent == pytest.approx(0.5)
    assert caught.value.remaining == left
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    assert ledger.history() == before


@pytest.mark.parametrize(
    "before", [[], [gaussian(0.5)], [Spend("bounded-range", 0.3)], [TENTH] * 9]
)
def test_what_remains_can_be_spent_and_hardly_more(ledger, before):
    for number, each in enumerate(before):
        spend(ledger, f"b{number}", [each])
    left = ledger.remaining("people")
    assert 0 < left <= CAP[0]
    if left < CAP[0]:
        with pytest.raises(BudgetExceeded):
            spend(ledger, "too much", [gaussian(left * (1 + 1e-3))])
    spend(ledger, "rest", [gaussian(left)])
    assert ledger.spent("people") <= CAP[0]
    assert ledger.remaining("people") < 0.01


def test_nothing_remains_when_everything_is_spent(ledger):
    spend(ledger, spends=[gaussian(CAP[0])])
    assert ledger.remaining() == {"people": 0.0}
    assert ledger.spent() == {"people": pytest.approx(CAP[0])}


def test_several_spends_of_one_release_are_taken_together_or_not_at_all(ledger):
    spend(ledger, "both", [Spend("bounded-range", 0.2), gaussian(0.5)])
    with pytest.raises(BudgetExceeded):
        spend(ledger, "third", [Spend("pure", 0.1), gaussian(0.8)])
    assert releases(ledger) == ["both"]
    kinds = [each["kind"] for each in ledger.history("people")[-1].facts["spends"]]
    assert kinds == ["bounded-range", "gaussian"]


def reference_fits(taken, new):
    """The rule in its own words: all of them by Σε, or the first exactly, others as Gaussians."""
    first, *rest = [*taken, new]
    pure = all(each.kind != "gaussian" for each in (first, *rest))
    if pure and math.fsum(each.size for each in (first, *rest)) <= CAP[0]:
        return True
    room = filter_allowance([first], *CAP)
    return math.fsum(gaussian_equivalent(each).size ** 2 for each in rest) <= room


@pytest.mark.slow
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
        ledger = Ledger(Path(folder) / "ledger")
        ledger.open("people", *CAP, create=True)
        taken = []
        for number, each in enumerate(wanted):
            fits = reference_fits(taken, each)
            with contextlib.nullcontext() if fits else pytest.raises(BudgetExceeded):
                spend(ledger, f"r{number}", [each])
            taken += [each] if fits else []
        rest = math.fsum(gaussian_equivalent(each).size ** 2 for each in taken[1:])
        total = total_guarantee(filter_spends(taken[:1], rest), CAP[1])
        if all(each.kind != "gaussian" for each in taken):
            total = min(total, math.fsum(each.size for each in taken))
        assert ledger.spent("people") == pytest.approx(total, rel=1e-12)


def test_data_sets_have_budgets_of_their_own(ledger):
    ledger.open("others", 0.5, 1e-6)
    spend(ledger, spends=[gaussian(CAP[0])])
    assert ledger.remaining("others") == 0.5
    assert ledger.spent("others") == 0.0
    assert ledger.spent("people") > 0.9
    assert [balance.dataset for balance in ledger.balances()] == ["people", "others"]
    assert ledger.balances("people")[0].releases == 1


def test_whoever_makes_and_opens_a_ledger_is_named_in_it(path):
    ledger = Ledger(path).open("people", *CAP, create=True, who="ada")
    assert [entry.facts["who"] for entry in ledger.history()] == ["ada", "ada"]


def test_a_ledger_is_named_and_known_by_its_file_or_its_address_without_the_password(tmp_path):
    here, there = Ledger(tmp_path / "a"), Ledger("postgresql://alice:secret@server/budgets")
    assert (here.name, here.address) == (str(tmp_path / "a"), None)
    assert (there.name, there.path) == ("postgresql://alice@server/budgets", None)
    again = Ledger("postgresql://alice@server/budgets")
    assert there == again
    assert hash(there) == hash(again) != hash(here)


def test_an_unknown_data_set_has_no_history(ledger):
    for act in (ledger.history, ledger.spent, ledger.remaining, ledger.balances):
        with pytest.raises(LedgerError, match=r"no data set 'peple' \(it has: 'people'\)"):
            act("peple")


def test_a_release_id_is_spent_on_once(ledger):
    spend(ledger, "r1")
    ledger.open("others", *CAP)
    for dataset in ("people", "others"):
        with pytest.raises(LedgerError, match="spend twice"):
            spend(ledger, "r1", dataset=dataset)
    assert releases(ledger) == ["r1"]


def test_opening_again_is_harmless_with_the_same_cap_and_refused_with_another(ledger):
    spend(ledger)
    before = ledger.history()
    ledger.open("people", *CAP)
    for cap in ((2.0, 1e-5), (0.5, 1e-5), (1.0, 1e-6)):
        with pytest.raises(LedgerError, match="a cap that could be changed would be none"):
            ledger.open("people", *cap, create=True)
    assert ledger.history() == before


@pytest.mark.parametrize(
    "cap", [(0.0, 1e-5), (-1.0, 1e-5), (math.nan, 1e-5), (1.0, -1e-9), (99.0, 1e-5), (99.0, 0.0)]
)
def test_a_cap_that_makes_no_sense_is_refused_and_makes_no_file(path, cap):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        Ledger(path).open("people", *cap, create=True)
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
def test_a_spend_that_makes_no_sense_is_refused_and_not_counted(ledger, wrong):
    before = ledger.history()
    with pytest.raises(LedgerError):
        spend(ledger, **wrong)
    assert ledger.history() == before


@pytest.mark.parametrize("name", ["dataset", "what", "release_id"])
def test_a_name_that_cannot_be_printed_is_refused_by_its_parameter(ledger, name):
    with pytest.raises(LedgerError, match=f"^{name} must be"):
        spend(ledger, **{name: "two\nlines"})


def test_spends_that_are_none_and_statements_that_are_no_numbers_are_refused_by_name(ledger):
    with pytest.raises(LedgerError, match=r"^spends is empty"):
        spend(ledger, spends=[])
    with pytest.raises(ValueError, match=r"^stated must be a number"):
        spend(ledger, stated=("1", 1e-5))


def test_a_receipt_tells_what_was_recorded(ledger):
    receipt = spend(ledger, "r1")
    entry = ledger.history("people")[-1]
    assert (receipt.dataset, receipt.release_id) == ("people", "r1")
    assert (receipt.sequence, receipt.hash) == (entry.sequence, entry.hash)
    assert (receipt.when, receipt.spent) == (entry.facts["when"], ledger.spent("people"))


def test_a_total_that_is_no_number_never_fits(ledger, monkeypatch):
    spend(ledger, "r1")
    before = ledger.verify()
    for wrong in (math.nan, math.inf, -math.inf):
        monkeypatch.setattr(accounts, "filter_allowance", lambda *_, wrong=wrong: wrong)
        accounts.allowance.cache_clear()
        with pytest.raises(BudgetExceeded):
            spend(ledger, "r2")
    accounts.allowance.cache_clear()
    assert ledger.verify() == before


def test_sizes_chosen_by_what_was_seen_are_held_to_the_cap(tmp_path):
    """After a small release the largest release and the largest selection that fit are tried."""
    small = Spend("gaussian", 0.5 / gaussian_sigma(*CAP))
    room = filter_allowance([small], *CAP)
    for kind in ("gaussian", "pure", "bounded-range"):
        ledger = Ledger(tmp_path / kind).open("people", *CAP, create=True)
        spend(ledger, "first", [small])
        too_large = brentq(
            lambda size, kind=kind: gaussian_equivalent(Spend(kind, size)).size ** 2 - room,
            1e-3,
            3.0,
            xtol=1e-13,
        )
        with pytest.raises(BudgetExceeded):
            spend(ledger, "second", [Spend(kind, too_large * (1 + 1e-9))])
        spend(ledger, "second", [Spend(kind, too_large * (1 - 1e-9))])
        assert ledger.remaining("people") == 0.0


def test_composed_and_decomposed_letters_are_one_name(path):
    ledger = Ledger(path).open("caf\u00e9", *CAP, create=True)
    ledger.open("cafe\u0301", *CAP)
    assert list(ledger.spent()) == ["caf\u00e9"]
    receipt = spend(ledger, "r1", dataset="cafe\u0301")
    assert receipt.dataset == "caf\u00e9"
    for name in ("caf\u00e9", "cafe\u0301"):
        assert ledger.spent(name) == receipt.spent > 0
        assert ledger.remaining(name) < CAP[0]
        assert len(ledger.history(name)) == 2
        assert ledger.balances(name)[0].dataset == "caf\u00e9"


def test_a_ledger_with_decomposed_names_still_opens(ledger, path):
    facts = ledger.history()[-1].facts | {"dataset": "cafe\u0301"}
    with raw(path) as connection:
        forge(connection, facts)
        forged_spend(connection, "r1", dataset="cafe\u0301")
    spend(ledger, "r2", dataset="caf\u00e9")
    assert ledger.balances("caf\u00e9")[0].releases == 2
    assert len(ledger.history("caf\u00e9")) == 3
    ledger.verify()


def test_the_example_of_the_ledger_runs():
    assert doctest.testmod(ledger_module).attempted >= 3
    assert doctest.testmod(ledger_module).failed == 0


def test_a_cap_without_delta_is_for_purely_private_releases_alone(path):
    ledger = Ledger(path).open("people", 1.0, 0.0, create=True)
    ledger.open("people", 1.0, 0)  # the same cap
    assert (ledger.remaining("people"), ledger.remaining("people", "pure")) == (0.0, 1.0)
    with pytest.raises(BudgetExceeded, match="Gaussian noise needs a cap with a delta above 0"):
        spend(ledger, "gaussian", [Spend("gaussian", 1e-3)])
    for number in range(10):  # ten times 0.1 is 1
        spend(ledger, f"r{number}", [Spend("pure", 0.1)])
    assert ledger.spent("people") == 1.0
    with pytest.raises(BudgetExceeded, match=r"requested epsilon = 0.0001, .* at delta = 0\."):
        spend(ledger, "more", [Spend("pure", 1e-4)])
    (balance,) = ledger.balances("people")
    assert (balance.delta, balance.remaining, balance.remaining_pure) == (0.0, 0.0, 0.0)


def test_what_remains_for_a_purely_private_release_is_the_rest_of_the_sum(ledger):
    spend(ledger, "r1", [Spend("pure", 0.25), Spend("bounded-range", 0.25)])
    left = ledger.remaining("people", "pure")
    assert left == 0.5
    assert ledger.remaining(kind="pure") == {"people": left}
    assert 0.5 < ledger.remaining("people") < CAP[0]
    spend(ledger, "r2", [Spend("pure", left)])
    assert ledger.spent("people") == CAP[0]
    assert (ledger.remaining("people", "pure"), ledger.remaining("people")) == (0.0, 0.0)
