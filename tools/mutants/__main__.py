"""``python -m tools.mutants [modules]``: test the mutants, then report."""

from __future__ import annotations

import argparse
import sys

from tools.mutants import constants, functions
from tools.mutants.modules import MODULES
from tools.mutants.report import is_listed, report
from tools.mutants.server import shared_server


def main() -> int:
    """Return 1 if a survivor is not listed, or if a listed mutant does not survive."""
    parser = argparse.ArgumentParser(prog="tools.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", choices=[[], *MODULES], help="all if none is named")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--fresh", action="store_true", help="forget all earlier results")
    parser.add_argument("--report", action="store_true", help="only report on earlier results")
    options = parser.parse_args()
    modules = [MODULES[name] for name in options.modules or MODULES]
    if not options.report:
        for module in modules:
            print(f"\n{module.name}", flush=True)
            functions.prepare(module, fresh=options.fresh)
            if functions.forget_survivors(module, is_listed):
                constants.forget_survivors(module, is_listed)
            with shared_server(module):
                functions.run(module, options.jobs)
                constants.run(module)
            report([module], keep=True)
    return 0 if report(modules, keep=not options.report) else 1


if __name__ == "__main__":
    sys.exit(main())
