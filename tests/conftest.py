"""How tests start, which examples Hypothesis tries, and what ``make quick`` leaves out.

A test starts as a new process does: with nothing released.  Hypothesis tries the same examples in
every run, so that a run that fails fails again; ``HYPOTHESIS_PROFILE=random`` looks for new ones.
"""

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from postgres_server import SHARED, Server

from cloakgp.estimators.spending import forget

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

#: Names of tests that take long, as ``--record-long`` has found; ``make quick`` leaves them out.
LONG = Path(__file__).parent / "long.txt"
#: Seconds on an idle machine beyond which a case, and with it its test, is said to take long.
SECONDS = 0.15


def pytest_addoption(parser):
    parser.addoption("--record-long", action="store_true", help=f"write {LONG.name} anew")


def pytest_configure(config):
    # Tests fit the same people again and again; those of the warning itself ask for it.
    config.addinivalue_line("filterwarnings", "ignore::cloakgp.RepeatedSpendWarning")
    if config.getoption("record_long") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(items):
    names = set(LONG.read_text().split())
    for item in items:
        if getattr(item, "originalname", None) in names:
            item.add_marker("long")
    # What takes seconds comes first, so that in the end no process waits for another's last test.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish():
    # Thousands of tests and their modules stay until the end: the collector need not ask each time.
    # Nor need it run after every 700 objects: libraries that tests use do work whenever it does.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


class Recorder:
    """Writes down which tests took long."""

    def __init__(self):
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self):
        long = {case for case, seconds in self.seconds.items() if seconds > SECONDS}
        names = {case.split("::")[1].split("[")[0] for case in long}
        LONG.write_text("".join(f"{name}\n" for name in sorted(names)))


@pytest.fixture(autouse=True)
def nothing_released():
    forget()


@pytest.fixture
def unspent(monkeypatch):
    """Fail if a choice is made or noise is drawn."""
    drawn = (f"mechanism.release.add_discrete_{noise}" for noise in ("gaussian", "laplace"))
    for name in (*drawn, "choice.utility.choose"):
        monkeypatch.setattr(f"cloakgp.privacy.{name}", lambda *_, **__: pytest.fail("spent"))


@pytest.fixture(scope="module")
def few_settings():
    """Settle few settings of a learnt prior of labels or counts: tests of decoding settle all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cloakgp.release.mixture.MOST_SETTLED", 3)
        yield


@pytest.fixture(scope="module")
def one_start():
    """Look for centres once: how good they are is not what is checked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cloakgp.gp.inducing._KMEANS_STARTS", 1)
        yield


@pytest.fixture(scope="module")
def coarse_maps():
    """Maps of few places, for tests that look at what is around them: each place takes time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("drawing.views", "drawing.contours", "plot.maps", "report.maps"):
            patch.setattr(f"cloakgp.{name}.MAP_PLACES", 11)
        patch.setattr("cloakgp.drawing.views.grid.__defaults__", (11,))
        patch.setattr("cloakgp.report.model.SIDE_PLACES", 11)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of its own, for all tests of this process that ask for one."""
    if SHARED in os.environ:
        server = Server.of_others(os.environ[SHARED])
        yield server
        server.leave()
        return
    server = Server()
    try:
        yield server.start()
    finally:
        server.remove()
