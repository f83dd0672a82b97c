"""What it costs to protect whole rows: errors and bands beside those of protected outputs.

    python benchmarks/rows.py [--trials 6] [--append FILE]

Made-up people on one input in [0, 1], evenly spread, unevenly, and with a gap between them; curves
that are smooth, wavy or have steps; outputs scatter by a tenth of their bounds.  The error is that
of the curve where people are (RMSE, in units of the bounds), coverage that of 95 % bands, where
people are and evenly over the box, where nobody may be.  Noise is repeatable, for these trials
alone.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from rich.console import Console  # noqa: E402
from tables import Table, append, verdict  # noqa: E402

from cloakgp import PrivateGPRegressor  # noqa: E402

MODES = ("outputs", "replace", "add-remove")
#: Errors of whole rows over those of protected outputs, on average, at most.
GOALS = {"replace": 1.4, "add-remove": 1.05}
SCATTER, LOOKED_AT = 0.1, 200
SIZES = ((500, 1.0), (2000, 0.3), (2000, 1.0), (2000, 3.0))
TRUTHS = {
    "smooth": lambda x: 0.5 + 0.3 * np.sin(2.5 * x),
    "waves": lambda x: 0.5 + 0.3 * np.sin(25.0 * x),
    "steps": lambda x: np.where(x < 0.33, 0.3, np.where(x < 0.7, 0.75, 0.45)),
}
PEOPLE = {
    "even": lambda rng, n: rng.uniform(0, 1, n),
    "uneven": lambda rng, n: rng.beta(2, 6, n),
    "gap": lambda rng, n: np.where(
        rng.random(n) < 0.5, 0.3 * rng.random(n), 0.8 + 0.2 * rng.random(n)
    ),
}


def trial(truth, people, n, epsilon, mode, seed):
    """Return the squared error where people are, and the coverage there and over the box."""
    rng = np.random.default_rng(seed)
    x = people(rng, n)
    y = truth(x) + SCATTER * rng.standard_normal(n)
    more = {} if mode == "outputs" else {"protect": "rows", "box": {"x": (0, 1)}}
    if mode != "outputs":
        more["neighbours"] = mode
    model = PrivateGPRegressor(bounds=(0, 1), epsilon=epsilon, random_state=seed, **more)
    model.fit(pd.DataFrame({"x": x}), y, **({} if mode == "outputs" else {"people": n}))
    covered = []
    for points in (x[:LOOKED_AT], (np.arange(100) + 0.5) / 100):
        low, high = model.predict_interval(pd.DataFrame({"x": points}))
        covered.append(float(np.mean((truth(points) >= low) & (truth(points) <= high))))
    mean = model.predict(pd.DataFrame({"x": x[:LOOKED_AT]}))
    return float(np.mean((mean - truth(x[:LOOKED_AT])) ** 2)), *covered


def measure(trials):
    ratios = {mode: [] for mode in GOALS}
    table = Table(
        "Whole rows, beside outputs alone",
        ("curve, people", "N", "ε", *(f"{mode}: error, bands" for mode in MODES)),
    )
    for name, truth in TRUTHS.items():
        for spread, people in PEOPLE.items():
            for n, epsilon in SIZES:
                errors, cells = {}, []
                for mode in MODES:
                    found = [trial(truth, people, n, epsilon, mode, k) for k in range(trials)]
                    squared, here, over = np.mean(found, axis=0)
                    errors[mode] = np.sqrt(squared)
                    cells.append(f"{errors[mode]:.4f}, {100 * here:.0f} % ({100 * over:.0f} %)")
                for mode, kept in ratios.items():
                    kept.append(errors[mode] / errors["outputs"])
                table.rows.append((f"{name}, {spread}", f"{n:,}", f"{epsilon:g}", *cells))
    means = {mode: float(np.exp(np.mean(np.log(kept)))) for mode, kept in ratios.items()}
    told = ", ".join(f"{mode} {mean:.2f} (goal {GOALS[mode]:g})" for mode, mean in means.items())
    met = verdict(mean <= GOALS[mode] for mode, mean in means.items())
    notes = (
        f"Geometric means of errors over those of protected outputs: {told}; {met}.",
        f"{trials} trials each. In brackets: bands evenly over the box, also where nobody is.",
    )
    return Table(table.title, table.columns, notes, table.rows)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the table to this file")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise is repeatable here, and each fit says so
        table = measure(options.trials)
    table.print(Console())
    append(options.append, table)


if __name__ == "__main__":
    main()
