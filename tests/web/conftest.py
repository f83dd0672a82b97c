"""A table, the planner of it, and a browser that holds the key."""

import time
from types import SimpleNamespace

import pytest
from command_line import people
from sklearn.gaussian_process.kernels import RBF
from starlette.testclient import TestClient
from table_fixtures import book, data, undrawn  # noqa: F401
from web_cases import FORM, HOST, ORIGIN

from cloakgp import PrivateGPRegressor
from cloakgp.web.planner import Planner
from cloakgp.web.routes import planner_app
from cloakgp.web.session import Session
from cloakgp.web.tasks import Worker


@pytest.fixture
def planner(data, tmp_path, book):  # noqa: F811
    return Planner(data, tmp_path / "out", {"ledger": str(book.path), "dataset": "people"})


@pytest.fixture
def worker():
    found = Worker()
    yield found
    found.close()


@pytest.fixture
def desk(planner, worker):
    """The server, and a browser that has opened its link."""
    session = Session("127.0.0.1", 8000)
    app = planner_app(planner, session, worker)
    client = TestClient(app, base_url=f"http://{HOST}")
    assert client.get("/", params={"key": session.key}).status_code == 200

    def ask(path, form=FORM, **more):
        """Send the form, wait for the work that it begins, and return the last answer."""
        first = client.post(path, data=form | more, headers=ORIGIN)
        told = first.json()
        if "task" not in told:
            return SimpleNamespace(status=first.status_code, **told)
        answer = {"state": "working"}
        for _ in range(60):
            answer = client.get(f"/task/{told['task']}").json()
            if answer["state"] != "working":
                break
            time.sleep(0.01)
        return SimpleNamespace(status=first.status_code, first=told["html"], **answer)

    return SimpleNamespace(client=client, ask=ask, planner=planner, worker=worker, session=session)


@pytest.fixture
def saved_release():
    """A release that was made elsewhere."""
    frame = people()
    model = PrivateGPRegressor(900 * RBF(20.0), bounds=(40, 200))
    return model.fit(frame[["age"]], frame["height"]).release_
