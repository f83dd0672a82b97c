import pytest
from ledger_helpers import CAP, ListStore, opening

from cloakgp.privacy.ledger import Ledger, sqlite, writing


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """What waits for ever should fail soon; processes of their own wait as long as always."""
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 10.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def ledger(path):
    return Ledger(path).open("people", *CAP, create=True)


@pytest.fixture
def store():
    store = ListStore()
    writing.create(store, "me")
    opening(cap=(50.0, 1e-5)).record(store)
    return store
