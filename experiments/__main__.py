"""Run the items and put the page together.

    python -m experiments [--quick] [--only NAME …] [--jobs 2] [--again] [--page] [--list]
    python -m experiments --confirm [--only NAME …]

Finished items are kept; one whose code is as it was is not run again.  Ctrl-C stops at once and
loses only what is not finished, and of long items only the part that was under way.  ``--confirm``
asks whether code that changed since still gives the same numbers, by short runs of both.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from rich.console import Console

from experiments import page, registry, store
from experiments.confirm import confirm
from experiments.runner import run_all

QUICK_RESULTS = store.SCRATCH / "quick"


def main(words: list[str] | None = None) -> int:
    options = parse(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    items = registry.find()
    if options.list:
        for name, title, place in registry.EXPECTED:
            print(f"{name:24} {place:24} {title}{'' if name in items else ' (missing)'}")
        return 0
    unknown = set(options.only) - set(items)
    if unknown:
        sys.exit(f"--only: no item is called {', '.join(sorted(unknown))}; see --list")
    results: Path = options.out or (QUICK_RESULTS if options.quick else store.RESULTS)
    console = Console(width=None if sys.stdout.isatty() else 120)
    failed: dict[str, str] = {}
    wanted = [item for name, item in items.items() if not options.only or name in options.only]
    if options.confirm:
        all_same = confirm(wanted, results, lambda text: console.print(text, highlight=False))
        page.assemble(results)
        return 0 if all_same else 1
    if not options.page:
        due = [i for i in wanted if options.again or not store.fresh(i, results, options.quick)]
        for item in wanted:
            if item not in due:
                console.print(f"{item.name}: kept, nothing it depends on has changed", style="dim")
        try:
            failed = run_all(due, results, options.quick, options.jobs, console)
        except KeyboardInterrupt:
            page.assemble(results)
            console.print("stopped; what was finished is kept, run again to go on")
            return 130
    written = page.assemble(results)
    console.print(f"page: {os.path.relpath(written)}")
    for name, why in failed.items():
        console.print(f"{name} failed:\n{why}", style="red", markup=False)
    return 1 if failed else 0


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments", description="Make the results again.")
    parser.add_argument("--quick", action="store_true", help="a short version, not in docs/")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these items only")
    parser.add_argument("--jobs", type=int, default=2, help="items at the same time (2)")
    parser.add_argument("--again", action="store_true", help="also what has not changed")
    parser.add_argument("--page", action="store_true", help="only put the page together")
    parser.add_argument("--confirm", action="store_true", help="compare short runs then and now")
    parser.add_argument("--list", action="store_true", help="say which items there are")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the results here")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
