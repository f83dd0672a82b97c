"""Keys of every type, made once by the real ssh-keygen."""

import pytest
from signature_cases import TYPES, make_key


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Files of private keys by their type, each with its public one beside it."""
    folder = tmp_path_factory.mktemp("keys")
    return {type: make_key(folder / type, *options) for type, options in TYPES.items()}


@pytest.fixture(scope="session")
def office(tmp_path_factory):
    """The key of a publisher."""
    return make_key(tmp_path_factory.mktemp("office") / "office")
