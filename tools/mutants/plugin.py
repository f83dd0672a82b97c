"""How pytest runs against a mutant: repeatable, without luxury, and not for ever."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

#: A test that uses this many times the processor time of its ordinary run, and SECONDS, hangs.
TIMES, SECONDS = 10.0, 4.0
#: What mutmut reports as a time limit.
TIME_IS_UP = 36
#: Tests that start processes, by name: mutmut does not see which functions these call.
STARTERS = Path(os.environ.get("MUTANTS_STARTERS", os.devnull))
#: Tests that have failed for a mutant: they come first for the next one, which is often like it.
KILLERS = Path("killers.txt")
#: A mutant that fills the memory fails.
BYTES = 8 << 30

# The same examples every time, and a failing one is not made smaller: nobody will read it.
settings.register_profile(
    "mutants",
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def pytest_configure() -> None:
    """Use these settings instead of those of the tests."""
    settings.load_profile("mutants")


@cache
def _durations() -> dict[str, float]:
    found = Path("mutmut-stats.json")
    return json.loads(found.read_text())["duration_by_test"] if found.exists() else {}


def _is_mutant() -> bool:
    return "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", "")


def pytest_sessionstart() -> None:
    """Forget what the unchanged code has computed in the process that this one is a fork of."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "cloakgp":
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    if _is_mutant():
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give mutmut the name by which it asks for the number of a test (gone in pytest 9).

    Tests that have noticed most mutants so far come first; all others are as quick as before.
    """
    for item in items:
        item._nodeid = item.nodeid  # type: ignore[attr-defined]
    if _is_mutant() and KILLERS.exists():
        kills = Counter(KILLERS.read_text().splitlines())
        items.sort(key=lambda item: -kills[item.nodeid])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note which test has failed for a mutant."""
    if report.failed and _is_mutant():
        with KILLERS.open("a") as file:
            file.write(f"{report.nodeid}\n")


def starters() -> set[str]:
    """Return the tests that start processes, as far as they have been run without a mutant."""
    return set(STARTERS.read_text().splitlines()) if STARTERS.exists() else set()


def _watch(event: str, _: object) -> None:
    """Note the test that is running when a process is started."""
    if event in ("os.fork", "subprocess.Popen") and _running:
        test = _running.pop()
        with STARTERS.open("a") as file:
            file.write(f"{test}\n")


_running: list[str] = []
sys.addaudithook(_watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a mutant that hangs: by processor time, since other processes may be busy."""
    if not _is_mutant():
        _running[:] = [item.nodeid]
        try:
            return (yield)
        finally:
            _running.clear()
    signal.signal(signal.SIGPROF, lambda *_: os._exit(TIME_IS_UP))
    limit = TIMES * _durations().get(item.nodeid, 0.0) + SECONDS
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
