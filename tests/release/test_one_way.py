"""Whoever follows a release through the source from its file to a prediction walks in no circle."""

import importlib.util
from functools import cache
from pathlib import Path

import pytest

from cloakgp import Release

TESTS = Path(__file__).parents[1]
SAVED = sorted((TESTS / "saved").glob("releases-*/*.cloakgp"))


@pytest.fixture(scope="module")
def walk():
    """Return the module that counts calls from file to file."""
    spec = importlib.util.spec_from_file_location("walk", TESTS.parent / "benchmarks" / "walk.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def circles(walk, job):
    """Return the pairs of rooms of which each calls into the other."""
    found, _ = walk.walk(job, cache(walk.file_of))
    calls = {tuple(Path(name).parts[0] for name in pair) for pair in found}
    assert calls
    return {(a, b) for a, b in calls if a != b and (b, a) in calls}


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_release_is_loaded_verified_used_and_saved_without_a_way_back(walk, path, tmp_path):
    release = Release.load(path)
    points = release.spec.encoding.frame(release.spec.codes_of(release.spec.points))
    jobs = {
        "load": lambda: Release.load(path),
        "verify": lambda: release.verify(),
        "predict": lambda: release.predict(points),
        "state": lambda: release.statement(),
        "save": lambda: release.save(tmp_path / "again"),
    }
    for name, job in jobs.items():
        assert circles(walk, job) == set(), name


def test_a_way_back_is_noticed(walk):
    space = {}
    for name, source in (("b.py", "def call(f): f()"), ("a.py", "def start(): call(lambda: 1)")):
        exec(compile(source, str(walk.ROOT / name), "exec"), space)
    assert circles(walk, space["start"]) == {("a.py", "b.py"), ("b.py", "a.py")}
