"""Tables, releases and ledgers that commands are run on."""

import pytest
from command_line import outcomes, people
from sklearn.gaussian_process.kernels import RBF
from table_fixtures import book, data, undrawn  # noqa: F401

from cloakgp import PrivateGPRegressor
from cloakgp.cli.tables import to_csv


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
