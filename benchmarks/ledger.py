"""How long a ledger takes when its history is long.

    python benchmarks/ledger.py [--quick] [--before FOLDER] [--append FILE]

Prints CPU times for the first read by a process and for a spend after it, at 10³, 10⁴ and 10⁵
entries, and their ratios to 10³.  ``--before`` is the ``src`` folder of an earlier version, timed
in the same run.  The long histories are written by the functions of the ledger itself, in
one transaction.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from tables import Table, append, duration

from cloakgp.privacy import Ledger
from cloakgp.privacy.ledger import writing
from cloakgp.privacy.ledger.book import Book, Memory, read_on
from cloakgp.privacy.ledger.history import Entry
from cloakgp.privacy.ledger.sqlite import SQLiteStore

SIZES = (1_000, 10_000, 100_000)
#: Spends so small that all of them, and many more, fit.
SIZE = 1e-5
PARAMETERS = {
    "task": "regression",
    "design": "bayes",
    "decode": "bayes",
    "calibration": "analytic",
    "people": 1000,
    "published_values": 12,
    "sigma": 1e5,
}

#: What is timed, in a process of its own; it runs with earlier versions, too.
TIMED = """
import json, sys, time
from cloakgp.privacy import Ledger, Spend
def seconds(act):
    start = time.process_time()
    act()
    return time.process_time() - start
ledger = Ledger(sys.argv[1])
spend = lambda name: ledger.spend("people", [Spend("gaussian", float(sys.argv[2]))],
    what="a release", parameters={}, release_id=name)
first = seconds(lambda: ledger.spent("people"))
spends = [seconds(lambda: spend(f"{sys.argv[3]}-{turn}")) for turn in range(int(sys.argv[4]))]
print(json.dumps([first, sorted(spends)[len(spends) // 2]]))
"""


def build(path: Path, entries: int) -> None:
    """Make a ledger with so many entries, all in one transaction."""
    Ledger(path).open("people", 1.0, 1e-5, create=True)
    store = SQLiteStore(path)
    book: Book = read_on(store, Memory(store.name))
    with store.write() as transaction:
        while book.sequence < entries:
            name = f"release-{book.sequence:032x}"
            facts = {"event": "spent", "dataset": "people", "what": "PrivateGPRegressor.fit"}
            facts |= {"spends": [{"kind": "gaussian", "size": SIZE}], "stated": [1e-4, 1e-5]}
            facts |= {"release_id": name, "parameters": PARAMETERS, "inputs": None}
            made: Entry = writing.append(transaction, book, facts, "bench@here")
            book.sequence, book.hash, book.when = made.sequence, made.hash, made.facts["when"]


def timed(source: str, path: Path, name: str, turns: int) -> tuple[float, float]:
    """Return seconds of CPU for the first read and for a spend."""
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", TIMED, str(path), repr(SIZE), name, str(turns)]
    found = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    first, spend = json.loads(found.stdout)
    return first, spend


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 10⁴ entries")
    parser.add_argument("--before", metavar="FOLDER", help="src folder of an earlier version")
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the table to this file")
    options = parser.parse_args()
    sizes = SIZES[:2] if options.quick else SIZES
    now = str(Path(__file__).resolve().parents[1] / "src")
    versions = {"now": now} | ({"before": options.before} if options.before else {})
    table = Table(
        "A ledger with a long history",
        ("entries", "first read", "ratio", "a spend after it", "ratio"),
        ("CPU time in a process of its own, and its ratio to that at 1,000 entries.",),
    )
    with tempfile.TemporaryDirectory() as folder:
        for version, source in versions.items():
            base: tuple[float, float] | None = None
            for entries in sizes:
                path = Path(folder) / f"{version}-{entries}.ledger"
                build(path, entries)
                turns = 9 if version == "now" else 3
                rounds = [timed(source, path, f"{turn}", turns) for turn in range(3)]
                first, spend = (statistics.median(column) for column in zip(*rounds, strict=True))
                base = base or (first, spend)
                ratios = (f"{first / base[0]:.1f}", f"{spend / base[1]:.1f}")
                cells = (duration(first), ratios[0], duration(spend), ratios[1])
                name = f"{entries:,}" if version == "now" else f"{entries:,}, before"
                table.rows.append((name, *cells))
    table.print(Console())
    append(options.append, table)


if __name__ == "__main__":
    main()
