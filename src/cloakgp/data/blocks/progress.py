"""Passes over the rows of a table, for whoever wants to watch how far they have come.

Whoever makes a pass tells how many rows were read, a public number, and nothing else goes through
here.  Nobody watches unless ``watched`` is entered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

#: Told how many more rows have been read.
Done = Callable[[int], object]
#: Told the name of a pass that begins and how many rows it has.
Watch = Callable[[str, int], Done]

_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Show every pass that begins inside to ``watch``."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def passes(rows: int, *names: str) -> Done:
    """Return what is to be told of rows that were read, in passes of these names one by one."""
    watch = _watch.get()
    if watch is None:
        return lambda more: None
    return _Passes(watch, rows, list(names))


class _Passes:
    """Passes one after another; the next begins when all rows of one have been read."""

    def __init__(self, watch: Watch, rows: int, names: list[str]) -> None:
        self.watch, self.rows, self.names = watch, rows, names
        self._begin()

    def _begin(self) -> None:
        self.left, self.done = self.rows, self.watch(self.names.pop(0), self.rows)

    def __call__(self, more: int) -> None:
        self.left -= more
        self.done(more)
        if self.left <= 0 and self.names:
            self._begin()
