"""One BLAS thread: the many small products of the solvers are slower with more."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_libraries = ThreadpoolController()


def single_threaded(solver: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """Run a solver with one BLAS thread."""

    @wraps(solver)
    def run(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        with _libraries.limit(limits=1, user_api="blas"):
            return solver(*args, **kwargs)

    return run
