"""One thread of linear algebra, whatever the environment says.

The matrices here are small, and there are many of them: further threads spend their time waiting
for one another, on a busy machine tens of times as much as the work takes.  So every public entry
runs inside of ``one_thread``, and what it calls need not care; the few places that factor a matrix
of thousands of rows do so inside of ``threads_for``, with the threads that the user has set.

The limit of BLAS is that of the process: while one Python thread is inside, linear algebra of the
others has one thread, too.  The first one in sets the limit, and the last one out lifts it.  The
limit of OpenMP, which k-means uses, is that of each Python thread.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any, NamedTuple, TypeVar

from threadpoolctl import ThreadpoolController

_Entry = TypeVar("_Entry", bound=Callable[..., Any])


#: The rows from which on a matrix is left to the threads that the user has set.
LARGE = 4000


class _Libraries(NamedTuple):
    """The libraries with threads of their own that are loaded."""

    blas: ThreadpoolController
    openmp: ThreadpoolController


_found: tuple[int, _Libraries] | None = None  # and how many modules were loaded at that time
_here = threading.local()  # ``libraries`` that are limited for this Python thread
_lock = threading.Lock()
_inside = 0  # so many Python threads are inside
_former: list[tuple[Any, int]] = []  # libraries of BLAS and the threads that they had
_limited: ThreadpoolController | None = None  # what was limited last


@contextmanager
def one_thread() -> Iterator[None]:
    """Give linear algebra one thread inside, and its former number afterwards."""
    outer, libraries = getattr(_here, "libraries", None), _libraries()
    if outer is libraries:
        yield
        return
    with libraries.openmp.limit(limits=1):
        _enter(libraries.blas)
        _here.libraries = libraries
        try:
            yield
        finally:
            _here.libraries = outer
            _leave()


@contextmanager
def threads_for(rows: int) -> Iterator[None]:
    """Inside of ``one_thread``, give a matrix of so many rows the user's threads if it is large.

    While other Python threads are inside as well, there is one thread for everybody.
    """
    libraries = getattr(_here, "libraries", None)
    if rows < LARGE or libraries is None:
        yield
        return
    _leave()
    try:
        yield
    finally:
        _enter(libraries.blas)


def single_threaded(entry: _Entry) -> _Entry:
    """Run a function, or every public method and property of a class, with one thread."""
    if not isinstance(entry, type):
        return _guarded(entry)
    for name, member in list(vars(entry).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, staticmethod | classmethod):
            setattr(entry, name, type(member)(_guarded(member.__func__)))
        elif isinstance(member, property):
            setattr(entry, name, property(_guarded(member.fget)))  # type: ignore[type-var]
        elif isinstance(member, cached_property):
            member.func = _guarded(member.func)
        elif callable(member) and not isinstance(member, type):
            setattr(entry, name, _guarded(member))
    return entry


def _guarded(function: _Entry) -> _Entry:
    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with one_thread():
            return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def _libraries() -> _Libraries:
    """Return the libraries that are loaded now; looking for them takes milliseconds."""
    global _found
    # SciPy and scikit-learn bring their own, which come with their modules and may come late.
    modules = len(sys.modules)
    if _found is None or _found[0] != modules:
        loaded = ThreadpoolController()
        libraries = _Libraries(*(loaded.select(user_api=api) for api in ("blas", "openmp")))
        if _found is not None and _paths(_found[1]) == _paths(libraries):
            libraries = _found[1]
        _found = modules, libraries
    return _found[1]


def _paths(libraries: _Libraries) -> list[str]:
    return [library.filepath for part in libraries for library in part.lib_controllers]


def _enter(blas: ThreadpoolController) -> None:
    global _inside, _limited
    with _lock:
        if _limited is not blas:  # nobody is inside, or libraries were loaded since
            for library in blas.lib_controllers:
                _former.append((library, library.num_threads))
                _set_threads(library, 1)
            _limited = blas
        _inside += 1


def _leave() -> None:
    global _inside, _limited
    with _lock:
        _inside -= 1
        if not _inside:
            while _former:
                _set_threads(*_former.pop())
            _limited = None


def _set_threads(library: Any, number: int) -> None:
    # threadpoolctl 3.8 lets the first Python thread alone change OpenBLAS and ignores the others.
    # Here the one that lifts the limit need not be the one that set it.
    free = getattr(library, "clear_controlling_thread", lambda **_: None)
    free(force=True)
    library.set_num_threads(number)
    free(force=True)
