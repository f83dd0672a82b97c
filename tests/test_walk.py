"""Whoever follows a job through the source walks forward: no two rooms call each other."""

import importlib.util
import warnings
from functools import cache
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "walk.py"


@pytest.mark.slow
def test_no_job_walks_in_a_circle(tmp_path):
    spec = importlib.util.spec_from_file_location("walk", SCRIPT)
    walk = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walk)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, job in walk.jobs(tmp_path, 20).items():
            job()  # imports and caches
            files = walk.walk(job, cache(walk.file_of))
            rooms = {(Path(a).parts[0], Path(b).parts[0]) for a, b in files}
            # A command hands over a function that shows the next step on the terminal.
            rooms -= {("app", "cli")}
            found = {(a, b) for a, b in rooms if a != b}
            assert found, name
            assert [(a, b) for a, b in found if (b, a) in found] == [], name
