"""How long a fit that learns its prior takes, beside a fit with a fixed kernel.

    python benchmarks/learning.py [--people N] [--repetitions R] [--append FILE]

Processor seconds of `PrivateGPRegressor(...).fit(X, y)` and of the first `predict`, which weighs
the settings, for one and for two inputs: the median of a few repetitions, and the ratio.  The goal
is a ratio of at most 4 with 2,000 people.  Processor time is measured, so that other work on the
machine counts little.
"""

import os

# One thread: processor time of several threads adds up, whatever they gain.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from tables import Table, append, duration  # noqa: E402

from cloakgp import PrivateGPRegressor  # noqa: E402
from cloakgp.errors import NotPrivateWarning  # noqa: E402

GOAL, POINTS = 4.0, 100


def seconds(learn, X, y):
    """Return what a fit takes, and what it takes with the first predictions."""
    # A seed, since the outputs are made up and fitted again and again.
    model = PrivateGPRegressor(bounds=(0.0, 1.0), learn=learn, random_state=0)
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    model.predict(X[:POINTS], return_std=True)
    return fitted - start, time.process_time() - start


def measure(people, repetitions):
    """Return a table of fits with a fixed and with a learnt prior."""
    table = Table(
        "What learning the prior takes",
        (f"{people:,} people", "fixed", "learnt", "ratio"),
        (
            f"Default settings, ε = 1; CPU time, median of {repetitions} fits. Predictions: the "
            f"first, at {POINTS} points, which weigh the settings. Goal: at most {GOAL:g} times.",
        ),
    )
    rng = np.random.default_rng(0)
    for inputs in (1, 2):
        X = rng.uniform(size=(people, inputs))
        y = np.clip(0.5 + 0.3 * np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(people), 0, 1)
        fixed, learnt = (
            np.median([seconds(learn, X, y) for _ in range(repetitions)], axis=0)
            for learn in (False, "auto")
        )
        name = "one input" if inputs == 1 else "two inputs"
        for what, before, now in zip(("fit", "fit and predict"), fixed, learnt, strict=True):
            ratio = f"{now / before:.1f}" + ("" if now <= GOAL * before else " (missed)")
            table.rows.append((f"{name}, {what}", duration(before), duration(now), ratio))
    return table


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the table to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)
    table = measure(options.people, options.repetitions)
    table.print(Console())
    append(options.append, table)


if __name__ == "__main__":
    main()
