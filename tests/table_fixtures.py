"""What tests of commands and of pages start from: tables, a ledger, a release, and no pictures."""

import pytest
from command_line import outcomes, people
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Ledger, PrivateGPRegressor
from cloakgp.app.tables.files import to_csv


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    return path


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "budget.ledger").open("people", 3.0, 1e-5, create=True)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave pictures out, for tests that run many commands and look at none of them."""
    monkeypatch.setattr("cloakgp.app.outputs.release_picture", lambda release: b"")


@pytest.fixture(autouse=True)
def soon_settled(few_settings):
    """Commands write what there is, however many settings it was learnt from."""


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_bytes(to_csv(outcomes()))
    return path


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A release file that tests only read."""
    frame = people()
    model = PrivateGPRegressor(900 * RBF(20.0), bounds=(40, 200)).fit(
        frame[["age"]], frame["height"]
    )
    path = tmp_path_factory.mktemp("saved") / "release.cloakgp"
    model.release_.save(path)
    return path
