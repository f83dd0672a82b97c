"""Blocks are read by threads of this process, as many as were asked for."""

import threading

import joblib
import pytest

from cloakgp.cli import workers
from cloakgp.cli.workers import threads


def names(_):
    return threading.current_thread().name, threading.get_native_id()


@pytest.mark.parametrize(
    ("jobs", "processors", "count"), [(3, 1, 3), (None, 2, 2), (None, 64, workers.MOST_THREADS)]
)
def test_so_many_threads_read(jobs, processors, count, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: processors)
    with threads(jobs):
        parallel = joblib.Parallel()
        found = parallel(joblib.delayed(names)(i) for i in range(20))
    assert parallel.n_jobs == count
    assert all(name != "MainThread" for name, _ in found)


def test_one_thread_is_the_main_one():
    with threads(1):
        assert joblib.Parallel()(joblib.delayed(names)(0) for _ in range(1))[0][0] == "MainThread"
