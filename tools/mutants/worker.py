"""Runs mutmut on the folder it is started in; for ``functions.run``."""

import sys
import time
from typing import Any

import mutmut.__main__ as mutmut
from mutmut import stats
from mutmut.state import state

from tools.mutants import operators
from tools.mutants.plugin import starters

#: Seconds between lines that say how far a run has come.
PAUSE = 20.0
#: Files whose mutants are tested, in this order.
SOURCES = sys.argv[2:]
#: Which of these files a mutant is in, by name; -1 if in none.
PLACES: dict[str, int] = {}

collect = mutmut.collect_source_file_mutation_data
estimated_seconds = mutmut.estimated_worst_case_time


def of_these_sources(**options: Any) -> Any:
    """Collect mutants as mutmut does, and keep those of the files that were asked for."""
    mutants, files = collect(**options)
    for data, name, _ in mutants:
        PLACES[name] = SOURCES.index(str(data.path)) if str(data.path) in SOURCES else -1
    return [each for each in mutants if PLACES[each[1]] >= 0], files


def file_by_file(mutant: str) -> tuple[int, float]:
    """Return what mutants are sorted by: their file, then how long its tests take."""
    return PLACES[mutant], estimated_seconds(mutant)


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
    mutmut.collect_source_file_mutation_data = of_these_sources
    mutmut.estimated_worst_case_time = file_by_file
    mutmut.print_status = stats.print_status = calm_print
    mutmut._run((), int(sys.argv[1]))
