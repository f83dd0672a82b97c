"""What tests of commands and of pages start from: tables, a ledger, a release, and no pictures."""

import pytest
from command_line import outcomes, people
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Ledger, PrivateGPRegressor
from cloakgp.app import outputs
from cloakgp.app.tables.files import to_csv
from cloakgp.report.html import Html

RELEASE_PICTURE = outputs.release_picture


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
def seldom_drawn(undrawn):
    """Tests of commands ask for ``drawn`` if they look at pictures."""


@pytest.fixture
def drawn(monkeypatch, undrawn):
    """Draw the pictures of commands."""
    monkeypatch.setattr("cloakgp.app.outputs.release_picture", RELEASE_PICTURE)


@pytest.fixture
def plain(monkeypatch, undrawn):
    """Leave rehearsals and the pictures of the page out, too: maps of many settings take long."""
    monkeypatch.setattr("cloakgp.app.publish.rehearse", lambda *_: None)
    monkeypatch.setattr("cloakgp.report.page.figures", lambda *_: Html(""))


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
