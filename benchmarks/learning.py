"""How long a fit that learns its prior takes, beside a fit with a fixed kernel.

    python benchmarks/learning.py [people] [repetitions]

Processor seconds of `PrivateGPRegressor(...).fit(X, y)` and of the first `predict`, which weighs
the settings, for one and for two inputs: the median of a few repetitions, and the ratio.  The goal
is a ratio of at most 4 with 2,000 people.  Processor time is measured, so that other work on the
machine counts little.
"""

import os

# One thread: processor time of several threads adds up, whatever they gain.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import sys  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402

import numpy as np  # noqa: E402

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


def main(people, repetitions):
    warnings.simplefilter("ignore", NotPrivateWarning)
    rng = np.random.default_rng(0)
    print(f"{people:,} people, ε = 1, median of {repetitions} fits, processor seconds")
    print(f"{'':>10}{'':>18}{'fixed':>10}{'learnt':>10}{'ratio':>8}")
    for inputs in (1, 2):
        X = rng.uniform(size=(people, inputs))
        y = np.clip(0.5 + 0.3 * np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(people), 0, 1)
        taken = {
            learn: np.median([seconds(learn, X, y) for _ in range(repetitions)], axis=0)
            for learn in (False, "auto")
        }
        for what, fixed, learnt in zip(
            ("fit", "fit and predict"), taken[False], taken["auto"], strict=True
        ):
            ratio = learnt / fixed
            missed = "" if ratio <= GOAL else f"  above {GOAL:g}"
            name = f"{inputs} input{'s' if inputs > 1 else ''}"
            print(f"{name:>10}{what:>18}{fixed:>10.2f}{learnt:>10.2f}{ratio:>8.1f}{missed}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*given, *(2000, 3)[len(given) :])
