"""What a person at a desk waits for: plans, fits and first predictions, and starts of commands.

    python benchmarks/desk.py [--quick] [--runs N] [--append FILE]

Every case runs in a process of its own, which makes its data and loads the package first: CPU
seconds of one thread, the least of a few runs, since other work on the machine only adds to them;
memory is the largest of the process, everything that is loaded included.  Growth is that with the
number of people, inputs, classes and settings, with its exponent.  Beside it stands what 0.2.0 took
on a machine of the same kind, and in every process a fixed piece of NumPy is timed, so that
machines can be compared.  What was measured is kept in build/bench.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kept import FOLDER, ROOT, busy, environment, in_a_process, kept
from rich.console import Console
from tables import Table, append, duration, exponent, verdict

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
#: The planner's preview: people and inputs, what it may take, and what 0.2.0 took.
PREVIEWS = ((20_000, 2, 1.0, 16.0), (20_000, 8, 1.0, None))
#: Growth: by what, and cases of increasing size; ``settings`` is how many the prior has.
GROWTH: dict[str, list[dict[str, Any]]] = {
    "people, 1 input": [{"people": n} for n in (500, 1000, 2000, 4000, 16_000)],
    "people, 2 inputs": [{"people": n, "inputs": 2} for n in (500, 1000, 2000, 4000, 16_000)],
    "inputs, 1,000 people": [{"inputs": n} for n in (1, 2, 5, 10, 30)],
    "classes, 1,000 people, 2 inputs": [
        {"kind": f"{n} classes", "inputs": 2} for n in (2, 4, 7, 10)
    ],
    "settings, 1,000 people, 2 inputs": [{"inputs": 2, "settings": n} for n in (1, 20, 400)],
}
#: Commands, what they may take, and what 0.2.0 took.
RELEASE = FOLDER / "desk.cloakgp"
EXAMPLE = ROOT / "examples" / "heights.csv", ROOT / "examples" / "release.toml"
STARTS = (
    ("cloakgp --help", ("-m", "cloakgp", "--help"), 0.5, 1.8),
    ("cloakgp verify, 300 people", ("-m", "cloakgp", "verify", str(RELEASE)), 0.5, 2.2),
    (
        "cloakgp plan, the example",
        ("-m", "cloakgp", "plan", str(EXAMPLE[0]), "--config", str(EXAMPLE[1])),
        None,
        2.4,
    ),
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
    if kind.endswith("classes"):
        count = 10 if kind == "ten classes" else int(kind.split()[0])
        model = PrivateGPClassifier(classes=list(range(count)))
        return model, X, np.minimum(count * X[:, 0], count - 1).astype(int)
    if kind == "counts":
        return PrivateGPCountRegressor(cap=10), X, np.minimum(rng.poisson(np.exp(f)), 10)
    return PrivateGPRegressor(bounds=(-3.0, 3.0)), X, np.clip(f + noise, -3.0, 3.0)


def measure(task: dict[str, Any]) -> dict[str, float]:
    """Measure one case, in this process."""
    model, X, y = made(task["kind"], task["people"], task["inputs"])
    if "preview" in task:
        return preview(model, X)
    if "settings" in task:
        limit_settings(task["settings"])
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


def preview(model: Any, X: np.ndarray) -> dict[str, float]:
    """Measure what the planner does before it shows a plan."""
    from cloakgp.release.sketch import PREVIEW_GAP

    model.design_gap = PREVIEW_GAP
    speed, start = yardstick(), time.process_time()
    _ = model.plan(X).noise_std
    took = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"plan": took, "fit": 0.0, "predict": 0.0, "megabytes": memory, "yardstick": speed}


def limit_settings(most: int) -> None:
    """Let a model have so many settings of its default prior, evenly taken from all."""
    from dataclasses import replace

    from cloakgp.estimators import priors

    every = priors.default_family

    def some(*given: Any, **named: Any) -> Any:
        family = every(*given, **named)
        chosen = np.linspace(0, len(family.settings) - 1, most).astype(int)
        kept = [family.settings[number] for number in chosen]
        whole = sum(setting.weight for setting in kept)
        return replace(family, settings=tuple(replace(s, weight=s.weight / whole) for s in kept))

    priors.default_family = some


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


def previews(runs: int) -> Table:
    table = Table(
        "The planner's preview",
        ("people × inputs", "time", "0.2.0", "memory", "goal"),
        (
            "Until the page can show what a release would be: numbers, default settings. 0.2.0: of "
            "20,000 homes.",
        ),
    )
    for people, inputs, goal, before in PREVIEWS:
        task = {"kind": "numbers", "people": people, "inputs": inputs, "preview": True}
        found = least(task, runs)
        table.rows.append(
            (
                f"{people:,} × {inputs}",
                duration(found["plan"]),
                "" if before is None else duration(before),
                f"{found['megabytes']:.0f} MB",
                f"{duration(goal)}: {verdict([found['plan'] <= goal])}",
            )
        )
    return table


def growth(cases: dict[str, list[dict[str, Any]]], runs: int) -> Table:
    table = Table(
        "Growth at a desk",
        ("what grows", "time", "exponent", "memory", "exponent of memory"),
        (
            "Plan, fit and first predictions, of numbers unless there are classes. Exponents: from "
            "the line above. Memory: of the whole process, of which libraries are 200 MB or so. "
            "Above 4,000 people, who are gathered at 300 places, time no longer grows with them.",
        ),
    )
    for what, sizes in cases.items():
        before: tuple[int, float, float] | None = None
        axis, _, rest = what.partition(", ")
        for case in sizes:
            size = int(case["kind"].split()[0]) if axis == "classes" else case[axis]
            task = {"kind": "numbers", "people": 1000, "inputs": 1, **case}
            found = least(task, runs)
            whole, memory, powers = total(found), found["megabytes"], ("", "")
            if before is not None:
                times = size / before[0]
                powers = exponent(whole, before[1], times), exponent(memory, before[2], times)
            before = size, whole, memory
            table.rows.append(
                (
                    f"{size:,} {axis}, {rest}",
                    duration(whole),
                    powers[0],
                    f"{memory:.0f} MB",
                    powers[1],
                )
            )
    return table


def starts(runs: int) -> Table:
    table = Table(
        "Starts",
        ("", "time", "modules", "0.2.0", "goal"),
        (
            f"CPU time of a new process, least of {runs + 2} runs, with modules that are compiled "
            "already; modules: how many Python has loaded at the end (`-X importtime`).",
        ),
    )
    make_release()
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


def make_release() -> None:
    """Publish what ``verify`` checks: a release of 300 people who do not exist."""
    from cloakgp import PrivateGPRegressor

    _, X, y = made("numbers", 300, 1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    PrivateGPRegressor(bounds=(-3.0, 3.0)).fit(X, y).release_.save(RELEASE)


def timed(words: tuple[str, ...], runs: int) -> Callable[[], dict[str, Any]]:
    """Return what measures a new Python with these words."""

    def run() -> dict[str, Any]:
        each = []
        command = [sys.executable, "-X", "importtime", *words]
        options: Any = {"check": True, "env": environment(), "capture_output": True, "text": True}
        subprocess.run(command, **options)  # compiles what is not compiled yet
        for _ in range(runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], **options)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            each.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        told = subprocess.run(command, **options).stderr
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
        previews(runs),
        growth(
            {what: GROWTH[what][:2] for what in list(GROWTH)[:1]} if options.quick else GROWTH, 1
        ),
        starts(runs),
    ]
    tables[-1].notes += (busy() + ".",)
    console = Console()
    for table in tables:
        table.print(console)
    append(options.append, *tables)


if __name__ == "__main__":
    main()
