"""Work runs beside the pages, one piece at a time; plans can be cancelled, a release cannot."""

import threading
import time
import traceback

import pytest

from cloakgp.web.tasks import Busy, Worker


def endless(started):
    def run(step):
        step("running")
        started.set()
        while True:
            time.sleep(0.001)

    return run


def ends(task, seconds=5.0):
    task.wait(seconds)
    return task.state


def test_work_says_how_far_it_is_and_what_came_of_it():
    task = Worker().start(lambda step: step("thinking") or 7)
    assert ends(task) == "done"
    assert (task.result, task.step_text) == (7, "thinking")


def test_an_error_is_kept():
    task = Worker().start(lambda step: 1 / 0)
    assert ends(task) == "failed"
    assert isinstance(task.error, ZeroDivisionError)


def test_cancelled_work_really_stops():
    worker, started = Worker(), threading.Event()
    task = worker.start(endless(started))
    assert started.wait(5)
    assert task.state == "working"
    assert task.cancel()
    task.wait(5)
    assert not task._thread.is_alive()
    assert task.state == "cancelled"
    assert not task.cancel()


def test_a_handler_of_errors_does_not_take_a_cancellation():
    started = threading.Event()

    def stubborn(step):
        while True:
            try:
                started.set()
                time.sleep(0.001)
            except Exception:
                continue

    task = Worker().start(stubborn)
    assert started.wait(5)
    task.cancel()
    task.wait(5)
    assert not task._thread.is_alive()


def test_newer_work_takes_the_place_of_older():
    worker, started = Worker(), threading.Event()
    older = worker.start(endless(started))
    assert started.wait(5)
    newer = worker.start(lambda step: "new")
    assert ends(newer) == "done"
    assert older.state == "cancelled"
    assert worker.find(newer.number) is newer
    assert worker.current is None


def test_a_release_is_neither_cancelled_nor_replaced():
    worker, go = Worker(), threading.Event()
    release = worker.start(lambda step: go.wait(5), must_finish=True)
    assert not release.cancel()
    with pytest.raises(Busy, match="under way"):
        worker.start(lambda step: None)
    with pytest.raises(Busy, match="under way"):
        worker.start(lambda step: None, must_finish=True)
    threading.Timer(0.05, go.set).start()
    worker.close()  # waits for it
    assert release.state == "done"
    assert release.result is True


def test_a_release_waits_until_a_cancelled_plan_has_ended():
    worker, started = Worker(), threading.Event()
    plan = worker.start(endless(started))
    assert started.wait(5)
    release = worker.start(lambda step: plan._thread.is_alive(), must_finish=True)
    assert ends(release) == "done"
    assert release.result is False


def test_an_error_holds_nothing_that_failed_functions_had_at_hand(worker):
    def inner(secret):
        raise ValueError("it failed")

    def fails(step):
        private = ["81.25", "77.5"]
        try:
            inner(private)
        except ValueError as error:
            raise RuntimeError("so did this") from error

    piece = worker.start(fails)
    piece.wait(10)
    found, frames = piece.error, 0
    while found is not None:
        for frame, _ in traceback.walk_tb(found.__traceback__):
            if frame.f_code.co_name in ("fails", "inner"):
                frames += 1
                assert not frame.f_locals
        found = found.__cause__
    assert frames == 3
