import pytest
from ledger_helpers import CAP

from cloakgp.privacy.ledger import Ledger, sqlite


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
