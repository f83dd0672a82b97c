"""The account of a fit: a ledger in whatever form, and no password that shows."""

import pickle

import numpy as np
import pytest
from postgres_server import ESCAPED, PASSWORD
from sklearn.base import clone

from cloakgp import (
    Ledger,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
)
from cloakgp.estimators.spending import open_account
from cloakgp.privacy import Spend, total_guarantee
from cloakgp.privacy.ledger import LedgerError

ADDRESS = "postgresql://alice:hush%2Fhush@server/budgets"


def estimators(**more):
    return (
        PrivateGPRegressor(bounds=(0, 1), **more),
        PrivateGPClassifier(classes=(0, 1), **more),
        PrivateGPCountRegressor(cap=3, **more),
        PrivateGridSearch(PrivateGPRegressor(bounds=(0, 1)), {"rank": [1, 2]}, **more),
    )


@pytest.mark.parametrize("model", estimators(ledger=ADDRESS, dataset="people"), ids=type)
def test_an_address_becomes_a_ledger_that_hides_its_password(model):
    later = clone(model).set_params(ledger=None).set_params(ledger=ADDRESS)
    for each in (model, clone(model), later):
        assert isinstance(each.ledger, Ledger)
        assert each.ledger.address.keywords()["password"] == "hush/hush"
        told = (repr(each), str(each.get_params()), repr(pickle.dumps(each)), repr(vars(each)))
        for text in (*told, each._repr_html_() if hasattr(each, "_repr_html_") else ""):
            assert "hush" not in text
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.ledger == model.ledger
    assert "password" not in loaded.ledger.address.keywords()


@pytest.mark.parametrize("given", [None, "budget.ledger", Ledger("budget.ledger")])
@pytest.mark.parametrize("number", range(4))
def test_anything_else_is_kept_as_it_is(given, number):
    model = estimators(ledger=given, dataset="people")[number]
    assert model.ledger is given
    assert clone(model).get_params()["ledger"] == given


def test_an_address_that_cannot_be_read_is_refused_at_once_and_not_repeated():
    with pytest.raises(ValueError, match="not repeated") as caught:
        PrivateGPRegressor(ledger="postgresql://u:hu/sh@h/db")
    assert "hu/sh" not in str(caught.value)


def test_a_parameter_that_was_never_set_is_missing():
    empty = PrivateGPRegressor.__new__(PrivateGPRegressor)
    assert not hasattr(empty, "ledger")
    assert hasattr(PrivateGPRegressor, "ledger")


def test_ledger_and_data_set_belong_together(tmp_path):
    assert open_account(None, None) is None
    ledger = Ledger(tmp_path / "a.ledger")
    assert open_account(ledger, "people") == (ledger, "people")
    assert open_account(str(ledger.path), "people") == (ledger, "people")
    for wrong in ((ledger, None), (None, "people"), (ledger, 3)):
        with pytest.raises(ValueError, match="ledger and dataset belong together"):
            open_account(*wrong)


def test_a_fit_spends_on_a_server_and_its_release_knows_nothing_of_it(postgres, tmp_path):
    address = postgres.address(schema="fit")
    ledger = Ledger(address).open("people", 1.0, 1e-5, create=True)
    X = np.linspace(0, 9, 12)[:, None]
    model = PrivateGPRegressor(bounds=(0, 1), epsilon=0.9, ledger=address, dataset="people")
    model.fit(X, np.full(12, 0.5))
    assert ledger.spent("people") == total_guarantee([Spend("pure", 0.9)], 1e-5) > 0.8999
    assert ledger.history()[-1].facts["release_id"] == model.release_.release_id
    with pytest.raises(ValueError, match="does not allow this"):
        model.fit(X, np.full(12, 0.5))
    path = tmp_path / "r.cloakgp"
    model.release_.save(path)
    told = (path.read_bytes(), pickle.dumps(model), repr(model).encode())
    told += (model.release_.statement().encode(), repr(Release.load(path)).encode())
    for text in told:
        for secret in (PASSWORD, ESCAPED):
            assert secret.encode() not in text


@pytest.mark.parametrize("address", ["host=h password=s3cret", "postgresql//u:s3cret@h/db"])
def test_an_address_that_was_mistyped_is_refused_before_it_can_be_shown(address):
    with pytest.raises(LedgerError, match="not repeated here") as caught:
        PrivateGPRegressor(bounds=(0, 1), ledger=address, dataset="people")
    assert "s3cret" not in str(caught.value)
