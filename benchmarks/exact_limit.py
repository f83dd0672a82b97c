"""How long a plan of the exact model takes, by the number of people.

    python benchmarks/exact_limit.py [most people]

Processor seconds of `PrivateGPRegressor(...).plan(X)` with default settings, for one and for five
inputs, and their ratio to the line before.  `estimators.priors.MOST_EXACT` is where that reaches
about a minute; beyond it, inducing inputs are asked for.  Processor time is measured, so that other
work on the machine counts little; with two cores a plan takes somewhat less.
"""

import sys
import time

import numpy as np

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.estimators import priors

MODELS = {
    "1 input": (1, PrivateGPRegressor(bounds=(0.0, 1.0))),
    "5 inputs": (5, PrivateGPRegressor(bounds=(0.0, 1.0))),
    "5 inputs, classes": (5, PrivateGPClassifier(classes=["no", "yes"])),
}


def seconds(model, X):
    start = time.process_time()
    model.plan(X)
    return time.process_time() - start


def main(most):
    priors.MOST_EXACT = max(priors.MOST_EXACT, most)
    print(f"{'people':>8}" + "".join(f"{name:>26}" for name in MODELS))
    before: dict[str, float] = {}
    people = 500
    while people <= most:
        line = f"{people:>8}"
        for name, (inputs, model) in MODELS.items():
            X = np.random.default_rng(0).uniform(size=(people, inputs))
            taken = seconds(model, X)
            ratio = f" (x {taken / before[name]:.1f})" if name in before else ""
            line += f"{f'{taken:.1f} s{ratio}':>26}"
            before[name] = taken
        print(line, flush=True)
        people *= 2


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
