"""Errors say what became of the budget, as far as it is known."""

import errno
import os
import re
from types import SimpleNamespace

import pytest
from command_line import SECRET, SELECT, SPEND, account, fails, people, run

from cloakgp import Ledger, PrivateGPRegressor, Release
from cloakgp.app.spending import least_cost, what_is_left
from cloakgp.app.tables.files import to_csv
from cloakgp.privacy import Budget, BudgetExceeded, Spend
from cloakgp.privacy.mechanism import release as core


def test_a_release_that_cannot_be_saved_is_not_spent(data, tmp_path, monkeypatch):
    save = Release.save

    def fail(release, path):
        if release.private:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(release, path)

    monkeypatch.setattr(Release, "save", fail)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "no privacy budget was spent")


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("command", ["release", "select"])
def test_an_error_after_the_commit_says_that_the_spend_is_wasted(
    command, mechanism, data, tmp_path, book, monkeypatch
):
    def broken(*_, **__):
        raise RuntimeError(f"overflow in {SECRET}")

    monkeypatch.setattr(core, f"add_discrete_{mechanism}", broken)
    words = (*(SPEND if command == "release" else SELECT), "--mechanism", mechanism)
    result = run(command, data, *words, *account(book), "--out", tmp_path / "out")
    text = fails(result, "WAS spent", "it is wasted", "cloakgp budget history")
    assert SECRET not in text
    assert "no privacy budget" not in text
    assert book.spent("people") > 1.9
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["release", "select"])
def test_past_the_cap_the_refusal_says_plainly_that_nothing_was_spent(
    command, data, tmp_path, book
):
    words = SPEND if command == "release" else SELECT
    book.spend("people", [Spend("pure", 2.0)], what="before", parameters={}, release_id="before")
    before = book.verify()
    result = run(command, data, *words, *account(book), "--out", tmp_path / "out")
    text = fails(result, "requested", "spent", "remain")
    assert text.endswith("Nothing was published, so no privacy budget was spent.")
    assert "wasted" not in text
    assert book.verify() == before
    assert not (tmp_path / "out").exists()


def failing(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_release_that_cannot_be_saved_says_what_the_ledger_says(
    data, tmp_path, book, monkeypatch
):
    save = Release.save
    monkeypatch.setattr(Release, "save", lambda r, path: failing() if r.private else save(r, path))
    words = (*account(book), "--out", tmp_path / "out")
    text = fails(run("release", data, *SPEND, *words), "WAS spent", "it is wasted")
    assert "no privacy budget was spent" not in text
    assert "If " not in text
    assert book.spent("people") > 1.9
    assert not (tmp_path / "out").exists()


def test_an_error_before_the_spend_says_that_nothing_was_spent(data, tmp_path, book):
    """Also with a ledger: it is known that the spend is not in it."""
    frame = people().astype(object)
    frame.loc[3, "height"] = "tall"
    data.write_bytes(to_csv(frame))
    words = (*account(book), "--out", tmp_path / "out")
    text = fails(run("release", data, *SPEND, *words), "no privacy budget was spent")
    assert "wasted" not in text
    assert "recorded" not in text
    assert book.spent("people") == 0.0


def test_a_ledger_that_cannot_be_read_afterwards_is_the_only_doubt(
    data, tmp_path, book, monkeypatch
):
    spend = Ledger.spend

    def spend_and_lose(ledger, *args, **options):
        spend(ledger, *args, **options)
        os.rename(ledger.path, tmp_path / "lost")
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Ledger, "spend", spend_and_lose)
    words = (*account(book), "--out", tmp_path / "out")
    text = fails(run("release", data, *SPEND, *words), "The ledger cannot be read now")
    assert "WAS spent" not in text
    assert "no privacy budget was spent" not in text


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("mechanism", ["Laplace", "Gaussian"])
def test_what_is_left_for_whole_rows_fits_and_more_does_not(neighbours, mechanism, tmp_path):
    """A ledger counts what replacing costs, and what is said to be left can be asked for."""
    book = Ledger(tmp_path / "l.db")
    book.open("people", 2.0, 1e-5, create=True)
    book.spend("people", [Spend("pure", 0.5)], what="-", parameters={}, release_id="one")
    said = what_is_left(SimpleNamespace(ledger=book.name, dataset="people", neighbours=neighbours))
    left = float(re.search(rf"([\d.]+) with {mechanism}", said)[1])
    if mechanism == "Laplace":
        assert left == (1.5 if neighbours == "replace" else 0.75)
    for epsilon, fits in ((1.002 * left, False), (left, True)):
        budget = (
            Budget(epsilon, 1e-5)
            if mechanism == "Gaussian"
            else Budget(epsilon, 0.0, mechanism="laplace")
        )
        model = PrivateGPRegressor(
            epsilon=epsilon, neighbours=neighbours, mechanism=mechanism.lower()
        )
        requested, rest = least_cost(model, book.balances("people")[0])
        assert (requested <= rest) == fits
        spends = [Spend.of(budget, neighbours)]
        record = {"what": "-", "parameters": {}, "release_id": f"at {epsilon}"}
        if fits:
            book.spend("people", spends, **record)
        else:
            with pytest.raises(BudgetExceeded):
                book.spend("people", spends, **record)
