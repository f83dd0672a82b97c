"""Every test starts as a new process does: with nothing released."""

import pytest

from cloakgp.estimators.repeats import forget


def pytest_configure(config):
    # Tests fit the same people again and again; those of the warning itself ask for it.
    config.addinivalue_line("filterwarnings", "ignore::cloakgp.RepeatedSpendWarning")


@pytest.fixture(autouse=True)
def nothing_released():
    forget()


@pytest.fixture
def unspent(monkeypatch):
    """Fail if a choice is made or noise is drawn."""
    for name in ("sketch._add_discrete_gaussian", "utility.choose"):
        monkeypatch.setattr(f"cloakgp.privacy.{name}", lambda *_, **__: pytest.fail("spent"))
