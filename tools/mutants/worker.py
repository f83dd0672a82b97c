"""Runs mutmut on the folder it is started in; for ``functions.run``."""

import sys

import mutmut.__main__ as mutmut
from mutmut.state import state

from tools.mutants import operators


def quickest_first(_: object) -> list[str]:
    """Return all tests in the order in which mutants meet them, for the run without mutant."""
    return sorted(state().duration_by_test, key=state().duration_by_test.__getitem__)


if __name__ == "__main__":
    operators.install()
    mutmut.tests_for_mutant_names = quickest_first
    mutmut._run((), int(sys.argv[1]))
