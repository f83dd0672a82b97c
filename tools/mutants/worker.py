"""Runs mutmut on the folder it is started in; for ``functions.run``."""

import sys
import time

import mutmut.__main__ as mutmut
from mutmut import stats
from mutmut.state import state

from tools.mutants import operators
from tools.mutants.plugin import starters

#: Seconds between lines that say how far a run has come.
PAUSE = 20.0


def quickest_first(_: object) -> list[str]:
    """Return all tests in the order in which mutants meet them, for the run without mutant.

    Tests that start processes are given to every function: what happens in a process that was
    started is not seen by mutmut.
    """
    seconds = state().duration_by_test
    started = starters() & set(seconds)
    for tests in state().tests_by_mangled_function_name.values():
        tests |= started
    return sorted(seconds, key=seconds.__getitem__)


def calm_print(text: str, force_output: bool = False, *, last: list[float] = [0.0]) -> None:  # noqa: B006
    """Print how far a run has come, now and then, in place of a spinner."""
    if force_output or time.monotonic() > last[0] + PAUSE:
        last[0] = time.monotonic()
        print(f"    {text}", flush=True)


if __name__ == "__main__":
    operators.install()
    mutmut.tests_for_mutant_names = quickest_first
    mutmut.print_status = stats.print_status = calm_print
    mutmut._run((), int(sys.argv[1]))
