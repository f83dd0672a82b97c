"""Long tasks in a thread of their own, so that pages are answered meanwhile.

One task at a time: a new plan replaces one that nobody waits for any more.  A release is never cut
short, and nothing replaces it.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, Literal

Step = Callable[[str], None]
State = Literal["working", "done", "failed", "cancelled"]

#: Tasks that are remembered, for pages that still ask for them.
MAX_REMEMBERED_TASKS = 20


class Busy(RuntimeError):
    """A release is under way, and nothing else is begun before it has ended."""


class Cancelled(BaseException):
    """Raised inside of a cancelled task: not an ``Exception``, so that no handler catches it."""


class Task:
    """One task: how far it is, and its result."""

    def __init__(self, number: int, run: Callable[[Step], Any], *, must_finish: bool) -> None:
        self.number, self.must_finish = number, must_finish
        self.step_text, self.begun = "Waiting", time.monotonic()
        self.result: Any = None
        self.error: BaseException | None = None
        self._run, self._lock = run, threading.Lock()
        self._ended, self._cancelled = False, False
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> State:
        """How far it is."""
        if self._cancelled:
            return "cancelled"
        if not self._ended:
            return "working"
        return "done" if self.error is None else "failed"

    @property
    def seconds(self) -> float:
        """How long ago it was begun."""
        return time.monotonic() - self.begun

    def start(self, before: Task | None) -> None:
        """Begin as soon as the task before has ended."""
        self._thread = threading.Thread(
            target=self._work, args=(before,), daemon=not self.must_finish
        )
        self._thread.start()

    def cancel(self) -> bool:
        """Stop at the next line of Python; what must finish goes on."""
        with self._lock:
            if self.must_finish or self._ended or self._cancelled:
                return False
            self._cancelled = True
            thread = self._thread
            if thread is not None and thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident), ctypes.py_object(Cancelled)
                )
        return True

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _report(self, text: str) -> None:
        self.step_text = text

    def _work(self, before: Task | None) -> None:
        with contextlib.suppress(Cancelled):  # it may come at any line, the last one included
            try:
                if before is not None:
                    before.wait()
                self.result = self._run(self._report)
            except Cancelled:
                raise
            except BaseException as error:
                _forget_values(error)
                self.error = error
            finally:
                with self._lock:
                    self._ended = True


def _forget_values(error: BaseException | None) -> None:
    """Let go of what the functions that failed had at hand: private outputs may be among it."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class Worker:
    """Runs one task at a time."""

    def __init__(self) -> None:
        self._tasks: dict[int, Task] = {}
        self._lock, self._last = threading.Lock(), 0

    def start(self, run: Callable[[Step], Any], *, must_finish: bool = False) -> Task:
        """Begin a task in place of the running one, unless that one ``must_finish``."""
        with self._lock:
            before = self.current
            if before is not None and before.must_finish:
                raise Busy("A release is under way; wait until it has ended.")
            if before is not None:
                before.cancel()
            previous = self._tasks.get(self._last)
            self._last += 1
            task = self._tasks[self._last] = Task(self._last, run, must_finish=must_finish)
            self._tasks.pop(self._last - MAX_REMEMBERED_TASKS, None)
            task.start(previous)
        return task

    @property
    def current(self) -> Task | None:
        """The running task."""
        last = self._tasks.get(self._last)
        return last if last is not None and last.state == "working" else None

    def find(self, number: int) -> Task | None:
        """Return a task by its number."""
        return self._tasks.get(number)

    def close(self) -> None:
        """Cancel what can be cancelled, and wait for the rest."""
        if (task := self.current) is not None:
            task.cancel()
            if task.must_finish:
                task.wait()
