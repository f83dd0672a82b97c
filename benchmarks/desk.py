"""What a person at a desk waits for: plans, fits and first predictions, and starts of commands.

    python benchmarks/desk.py [--quick] [--runs N] [--append FILE]

Every case runs in a process of its own, which makes its data and loads the package first: CPU
seconds of one thread, the least of a few runs, since other work on the machine only adds to them;
memory is the largest of the process, everything that is loaded included.  Beside it stands what
0.2.0 took on a machine of the same kind, and in every process a fixed piece of NumPy is timed, so
that machines can be compared.  What was measured is kept in build/bench.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kept import busy, in_a_process, kept
from rich.console import Console
from tables import Table, append, duration, verdict

#: What is asked of every case: CPU seconds, and MB.
CPU_SECONDS, MEGABYTES = 2.0, 300.0
POINTS, RUNS = 200, 3

#: Kind of outputs, people, inputs; and plan, fit and first predictions together in 0.2.0.
CASES = (
    ("numbers", 2000, 1, 6.0),
    ("numbers", 2000, 2, 8.6),
    ("numbers", 4000, 1, 2.9),
    ("numbers", 4000, 2, 14.2),
    ("numbers", 4000, 10, None),
    ("labels", 1000, 5, 7.7),
    ("labels", 4000, 2, None),
    ("ten classes", 1500, 8, 30.0),
    ("counts", 1500, 2, 30.0),
)
QUICK = CASES[:2]
#: Growth: inputs and people.
GROWTH = tuple((inputs, people) for inputs in (1, 2) for people in (500, 1000, 2000, 4000, 16_000))
#: Commands, what they may take, and what 0.2.0 took.
STARTS = (
    ("cloakgp --help", ("-m", "cloakgp", "--help"), 0.5, 1.8),
    ("the first estimator", ("-c", "from cloakgp import PrivateGPRegressor"), 0.8, 1.6),
    ("scikit-learn's base and pandas alone", ("-c", "import sklearn.base, pandas"), None, None),
)


def yardstick() -> float:
    """Return the CPU time of a product of two matrices and a million exponentials."""
    A = np.random.default_rng(0).standard_normal((400, 400))
    start = time.process_time()
    for _ in range(10):
        A @ A
        np.exp(A.ravel().repeat(6))
    return time.process_time() - start


def made(kind: str, people: int, inputs: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return an estimator with its defaults, and data for it."""
    from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor

    rng = np.random.default_rng(0)
    X = rng.uniform(size=(people, inputs))
    f = np.sin(5.0 * X[:, 0]) + 0.3 * X[:, -1]
    noise = 0.3 * rng.standard_normal(people)
    if kind == "labels":
        return PrivateGPClassifier(classes=[0, 1]), X, (f + noise > 0.5).astype(int)
    if kind == "ten classes":
        classes = list(range(10))
        return PrivateGPClassifier(classes=classes), X, np.minimum(10 * X[:, 0], 9).astype(int)
    if kind == "counts":
        return PrivateGPCountRegressor(cap=10), X, np.minimum(rng.poisson(np.exp(f)), 10)
    return PrivateGPRegressor(bounds=(-3.0, 3.0)), X, np.clip(f + noise, -3.0, 3.0)


def measure(task: dict[str, Any]) -> dict[str, float]:
    """Measure one case, in this process."""
    model, X, y = made(task["kind"], task["people"], task["inputs"])
    points = np.random.default_rng(1).uniform(size=(POINTS, task["inputs"]))
    speed, start = yardstick(), time.process_time()
    plan = model.plan(X)
    planned = time.process_time()
    model.fit(X, y, plan=plan)
    fitted = time.process_time()
    if hasattr(model, "predict_proba"):
        model.predict_proba(points)
    else:
        model.predict(points, return_std=True)
    ended = time.process_time()
    return {
        "plan": planned - start,
        "fit": fitted - planned,
        "predict": ended - fitted,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "yardstick": speed,
    }


def least(task: dict[str, Any], runs: int) -> dict[str, float]:
    """Return the run of least CPU time."""

    def found() -> dict[str, Any]:
        each = [in_a_process(__file__, task) or {} for _ in range(runs)]
        return min(each, key=total)

    return kept({"script": "desk", "runs": runs, **task}, found)


def total(found: dict[str, float]) -> float:
    return found["plan"] + found["fit"] + found["predict"]


def desk(cases: Any, runs: int) -> Table:
    table = Table(
        "At a desk",
        (
            *("outputs, people × inputs", "plan", "fit", "first predictions", "together"),
            *("÷ NumPy", "0.2.0", "memory", "goal"),
        ),
        (
            f"Default settings; CPU time of one thread, least of {runs} runs; predictions at "
            f"{POINTS} points. ÷ NumPy: in units of ten products of 400 × 400 matrices with ten "
            "million exponentials, in the same process. Memory: of the whole process, what is "
            f"loaded included. Goal: {CPU_SECONDS:g} s and {MEGABYTES:g} MB.",
            "0.2.0: as measured on another day, on a machine of the same kind; of 4,000 people the "
            "fit alone, of ten classes and of counts about.",
        ),
    )
    for kind, people, inputs, before in cases:
        found = least({"kind": kind, "people": people, "inputs": inputs}, runs)
        whole = total(found)
        table.rows.append(
            (
                f"{kind}, {people:,} × {inputs}",
                *(duration(found[part]) for part in ("plan", "fit", "predict")),
                duration(whole),
                f"{whole / found['yardstick']:.1f}",
                "" if before is None else duration(before),
                f"{found['megabytes']:.0f} MB",
                verdict([whole <= CPU_SECONDS and found["megabytes"] <= MEGABYTES]),
            )
        )
    return table


def growth(cases: Any, runs: int) -> Table:
    table = Table(
        "Growth at a desk",
        ("people, inputs", "time", "exponent", "memory"),
        (
            "Plan, fit and first predictions of numbers. Exponent: of time, from the line above. "
            "Above 4,000 people, who are gathered at 300 places, time no longer grows with them.",
        ),
    )
    before: tuple[int, int, float] | None = None
    for inputs, people in cases:
        found = least({"kind": "numbers", "people": people, "inputs": inputs}, runs)
        whole, power = total(found), ""
        if before is not None and before[0] == inputs:
            power = f"{math.log(whole / before[2]) / math.log(people / before[1]):.1f}"
        before = inputs, people, whole
        memory = f"{found['megabytes']:.0f} MB"
        table.rows.append((f"{people:,}, {inputs}", duration(whole), power, memory))
    return table


def starts(runs: int) -> Table:
    table = Table(
        "Starts",
        ("", "time", "modules", "0.2.0", "goal"),
        (
            f"CPU time of a new process, least of {runs + 2} runs; modules: how many Python has "
            "loaded at the end (`-X importtime`).",
        ),
    )
    for name, words, goal, before in STARTS:
        found = kept({"script": "start", "words": words, "runs": runs}, timed(words, runs + 2))
        table.rows.append(
            (
                name,
                duration(found["seconds"]),
                str(found["modules"]),
                "" if before is None else duration(before),
                "" if goal is None else f"{duration(goal)}: {verdict([found['seconds'] <= goal])}",
            )
        )
    return table


def timed(words: tuple[str, ...], runs: int) -> Callable[[], dict[str, Any]]:
    """Return what measures a new Python with these words."""

    def run() -> dict[str, Any]:
        each = []
        for _ in range(runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            each.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        command = [sys.executable, "-X", "importtime", *words]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        return {"seconds": min(each), "modules": told.count("import time:") - 1}

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few small cases, once")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help="of each case")
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the tables to this file")
    parser.add_argument("--worker", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.worker:
        task, path = options.worker
        Path(path).write_text(json.dumps(measure(json.loads(task))))
        return
    runs = 1 if options.quick else options.runs
    tables = [
        desk(QUICK if options.quick else CASES, runs),
        growth(GROWTH[:2] if options.quick else GROWTH, runs),
        starts(runs),
    ]
    tables[-1].notes += (busy() + ".",)
    console = Console()
    for table in tables:
        table.print(console)
    append(options.append, *tables)


if __name__ == "__main__":
    main()
