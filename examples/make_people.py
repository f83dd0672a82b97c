"""Write a folder of Parquet files with made-up people, any number of them: age and income.

    python make_people.py people --rows 10000000

A file holds up to a million rows, and one file is in memory at a time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows of a file.
FILE_ROWS = 1_000_000


def make_people(rows: int, rng: np.random.Generator) -> pa.Table:
    """Return people whose income rises until they are 50 and falls slowly after that."""
    age = np.floor(18.0 + 72.0 * rng.beta(1.6, 2.4, rows))
    typical = 52_000.0 - 14.0 * np.abs(age - 50.0) ** 2 * np.where(age < 50.0, 1.6, 0.6)
    income = np.maximum(typical + rng.gamma(2.0, 6_000.0, rows) - 12_000.0, 0.0)
    return pa.table({"age": age.astype(np.int16), "income": income.round(-1)})


def main() -> None:
    """Read the options and write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, options.rows, FILE_ROWS)):
        people = make_people(min(FILE_ROWS, options.rows - start), rng)
        pq.write_table(people, options.folder / f"part-{number:05}.parquet")


if __name__ == "__main__":
    main()
