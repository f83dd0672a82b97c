"""What tests of commands and of pages start from: a table, a ledger, and no pictures."""

import pytest
from command_line import people

from cloakgp import Ledger
from cloakgp.cli.tables import to_csv


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
    monkeypatch.setattr("cloakgp.cli.outputs.picture_of_release", lambda release: b"")
