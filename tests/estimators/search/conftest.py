"""What the tests of a search share."""

import pytest
from search_cases import X, searching


@pytest.fixture(scope="module")
def usual():
    """A plan that tests only read."""
    return searching().plan(X)
