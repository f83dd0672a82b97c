"""How large the source is, and how the main jobs walk through it: files, crossings, ways back.

    python benchmarks/walk.py            # two tables, and every pair of files that call each other
    python benchmarks/walk.py --rooms    # the same between rooms (folders of src/cloakgp)

A crossing is a call from one file of the package into another, with whatever other libraries do in
between left out.  A two-way pair is a pair of files of which each calls into the other during one
job: a reader who follows the job walks in a circle there.  To read a property of a value is to look
at it and not to walk on, so properties make visits and crossings, and no two-way pairs.  What is
wrapped around public entries (``threads``, and old names of keywords in ``estimators/parameters``)
counts as another library: it calls what it wraps and does nothing else.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd

import cloakgp
from cloakgp import PrivateGPClassifier, PrivateGPRegressor, PrivateGridSearch
from cloakgp.datasets import make_heights
from cloakgp.release.release import Release

ROOT = Path(cloakgp.__file__).parent
#: Functions around public entries.
WRAPPERS = {str(ROOT / "threads.py"), str(ROOT / "estimators" / "parameters.py")}


def walk(
    job: Callable[[], object], place: Callable[[str], str]
) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Run a job: count the calls from one place of the package into another, and find ways back."""
    crossings: Counter[tuple[str, str]] = Counter()
    steps: set[tuple[str, str]] = set()
    looked_at = properties()

    def ours(name: str) -> bool:
        return name.startswith(str(ROOT)) and name not in WRAPPERS

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not ours(name) or frame.f_code.co_name == "<module>":
            return
        caller = frame.f_back
        while caller is not None and not ours(caller.f_code.co_filename):
            caller = caller.f_back
        if caller is not None and place(caller.f_code.co_filename) != place(name):
            pair = place(caller.f_code.co_filename), place(name)
            crossings[pair] += 1
            if frame.f_code not in looked_at:
                steps.add(pair)

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return crossings, sorted(f"{a} ↔ {b}" for a, b in steps if a < b and (b, a) in steps)


def properties() -> set[CodeType]:
    """Return the code of every property of the package's classes."""
    modules = [m for name, m in sys.modules.items() if name.split(".")[0] == "cloakgp"]
    members = [
        member
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        for member in vars(kind).values()
    ]
    getters = [m.fget for m in members if isinstance(m, property)]
    getters += [m.func for m in members if isinstance(m, cached_property)]
    return {inspect.unwrap(getter).__code__ for getter in getters if getter is not None}


def lines_of_code(text: str) -> int:
    """Count the lines that are neither blank, comment nor docstring."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and n not in told for n, line in lines)


def importers(sources: dict[str, str]) -> Counter[str]:
    """Count for each module how many others import from it; ``sources`` are texts by module."""
    found: set[tuple[str, str]] = set()
    for name, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                inner = {f"{node.module}.{alias.name}" for alias in node.names} & sources.keys()
                found |= {(name, module) for module in inner or {node.module or ""}}
    return Counter(module for _, module in found if module in sources)


def sizes() -> dict[str, int]:
    """Return how large the source is, by what is counted."""
    paths = {
        ".".join(("cloakgp", *path.relative_to(ROOT).with_suffix("").parts)): path
        for path in ROOT.rglob("*.py")
    }
    sources = {name.removesuffix(".__init__"): path.read_text() for name, path in paths.items()}
    modules = [name for name in paths if not name.endswith("__init__")]
    core = [text for name, text in sources.items() if name.startswith("cloakgp.privacy.mechanism")]
    by_module = importers(sources)
    classes = Counter(
        node.name
        for text in sources.values()
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
    )
    return {
        "files": len(sources),
        "lines of code": sum(map(lines_of_code, sources.values())),
        "lines of code of privacy/mechanism": sum(map(lines_of_code, core)),
        "modules below 60 lines": sum(sources[m].count("\n") < 60 for m in modules),
        "modules with one importer": sum(by_module[m] == 1 for m in modules),
        "class names that are more than one class": sum(n > 1 for n in classes.values()),
    }


def file_of(name: str) -> str:
    """Return a source file's path below the package."""
    return str(Path(name).relative_to(ROOT))


def room_of(name: str) -> str:
    """Return the folder of a source file, or the file itself if it stands alone."""
    return Path(name).relative_to(ROOT).parts[0]


def jobs(folder: Path, count: int = 60) -> dict[str, Callable[[], object]]:
    """Return the main jobs, each ready to run on so many made-up people."""
    from typer.testing import CliRunner

    from cloakgp.cli.app import app

    people = make_heights(count)
    X, y = people[["age"]], people["height_cm"]
    labels = np.where(X["age"] > 30, "yes", "no")
    data = folder / "people.csv"
    people.to_csv(data, index=False)
    regressor = PrivateGPRegressor(bounds=(40, 200))
    search = PrivateGridSearch(
        PrivateGPRegressor(bounds=(40, 200)),
        {"noise_variance": [100.0, 400.0]},
        epsilon=0.5,
    )
    saved = folder / "saved.cloakgp"
    PrivateGPRegressor(bounds=(40, 200)).fit(X, y).release_.save(saved)
    release, *fresh = [Release.load(saved) for _ in range(3)]
    points = pd.DataFrame({"age": np.linspace(0, 80, 5)})
    command = ["release", str(data), "--inputs", "age", "--output", "height_cm"]
    command += ["--bounds", "40,200", "--out", str(folder / "out"), "--yes", "--force"]

    def released() -> None:
        answer = CliRunner().invoke(app, command)
        assert answer.exit_code == 0, answer.output

    return {
        "Regressor.fit": lambda: regressor.fit(X, y),
        "Classifier.fit": lambda: PrivateGPClassifier(classes=["no", "yes"]).fit(X, labels),
        "GridSearch.fit": lambda: search.fit(X, y),
        "cloakgp release": released,
        "load": lambda: Release.load(saved),
        "verify": lambda: release.verify(),
        "predict": lambda: fresh.pop().predict(points, return_std=True),
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", action="store_true", help="between folders, not files")
    place = room_of if parser.parse_args().rooms else file_of
    warnings.simplefilter("ignore")
    print("| source | |\n|---|---|")
    for name, count in sizes().items():
        print(f"| {name} | {count:,} |")
    print("\n| job | places | crossings | two-way pairs |\n|---|---|---|---|")
    circles: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, job in jobs(Path(folder)).items():
            job()  # imports and caches
            found, both = walk(job, place)
            visited = {side for pair in found for side in pair}
            circles[name] = both
            print(f"| {name} | {len(visited)} | {sum(found.values()):,} | {len(both)} |")
    for name, both in circles.items():
        for pair in both:
            print(f"{name}: {pair}")


if __name__ == "__main__":
    main()
