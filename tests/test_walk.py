"""Whoever follows a job through the source walks forward, through as few files as is said."""

import importlib.util
import re
import warnings
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
SCRIPT = PROJECT / "benchmarks" / "walk.py"
PAGE = (PROJECT / "docs" / "architecture.md").read_text()


@pytest.mark.slow
def test_no_job_walks_in_a_circle(tmp_path):
    spec = importlib.util.spec_from_file_location("walk", SCRIPT)
    walk = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walk)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, job in walk.jobs(tmp_path, 20).items():
            job()  # imports and caches
            files, both_ways = walk.walk(job, cache(walk.file_of))
            assert both_ways == [], name
            said = int(re.search(rf"\| `?{re.escape(name)}`? \| (\d+) \|", PAGE)[1])
            assert len({file for pair in files for file in pair}) == pytest.approx(said, abs=4), (
                name
            )
            rooms = {(Path(a).parts[0], Path(b).parts[0]) for a, b in files}
            # A command hands over a function that shows the next step on the terminal.
            rooms -= {("app", "cli")}
            found = {(a, b) for a, b in rooms if a != b}
            assert found, name
            assert [(a, b) for a, b in found if (b, a) in found] == [], name
