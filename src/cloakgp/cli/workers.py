"""The workers of a command: threads that read blocks of a table side by side.

Arrow and NumPy let go of Python's lock while they work, so threads of one process are enough.  In
Python, ``joblib.parallel_config`` also takes processes and a Dask cluster.
"""

from __future__ import annotations

from typing import Any

import joblib

#: Threads, unless told; each holds a block of up to a million rows.
MOST_THREADS = 4


def threads(jobs: int | None) -> Any:
    """Return a context in which so many blocks are read at a time; None: one for each processor."""
    count = min(joblib.cpu_count(), MOST_THREADS) if jobs is None else jobs
    return joblib.parallel_config(backend="threading", n_jobs=count)
