import pytest
from ledger_helpers import CAP

from cloakgp.privacy.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def ledger(path):
    return Ledger(path).open("people", *CAP, create=True)
