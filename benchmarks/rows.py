"""What it costs to protect whole rows: errors and bands beside those of protected outputs.

    python benchmarks/rows.py [--trials 6] [--only-counts] [--append FILE]

Made-up people on one input in [0, 1], evenly spread, unevenly, and with a gap between them; curves
that are smooth, wavy or have steps; outputs scatter by a tenth of their bounds.  The error is that
of the curve where people are (RMSE, in units of the bounds), coverage that of 95 % bands, where
people are and evenly over the box, where nobody may be.  Noise is repeatable, for these trials
alone.

The second table asks what coarse counts would be worth before cells are chosen: the forecast error
where people are, with cells for the density that there is, over that with cells for an even one.
Once as if counts cost nothing, and once as if 15 % of the budget bought exact ones: no real counts
are as good.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import warnings  # noqa: E402
from copy import copy  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from rich.console import Console  # noqa: E402
from tables import Table, append, verdict  # noqa: E402

from cloakgp import PrivateGPRegressor  # noqa: E402
from cloakgp.design.bayes.problem import DenseProblem  # noqa: E402
from cloakgp.release.sketch import choose_design, make_sketch, pose_problem  # noqa: E402

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
#: What coarse counts would cost, as a share of the budget.
COUNTS_SHARE = 0.15
MIDDLES = (np.arange(256) + 0.5) / 256
DENSITIES = {
    "even": np.ones(256),
    "uneven": MIDDLES * (1 - MIDDLES) ** 5,
    "gap": np.where(MIDDLES < 0.3, 0.5 / 0.3, np.where(MIDDLES > 0.8, 0.5 / 0.2, 1e-3)),
    "spike": np.where(np.abs(MIDDLES - 0.475) < 0.025, 12.4, 0.4),
    "fading": np.exp(-MIDDLES / 0.12),
    "two bells": np.exp(-0.5 * ((MIDDLES - 0.2) / 0.04) ** 2) / 0.04
    + np.exp(-0.5 * ((MIDDLES - 0.7) / 0.1) ** 2) / 0.1,
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


def planned(people, epsilon, density):
    """Return what is known of a release for people who are spread like this, and its plan."""
    model = PrivateGPRegressor(
        bounds=(0, 1), epsilon=epsilon, mechanism="laplace", protect="rows", box={"x": (0, 1)}
    )
    plan = model.plan(people=people)
    share = density / density.sum()
    counted = copy(plan.spec.model)
    counted.counts = np.maximum(people * share, 1e-3)
    counted = counted.with_noise(np.full(len(share), plan.spec.model.noise_variance))
    return replace(plan.spec, model=counted, points=plan.spec.X, weights=share), plan


def error(spec, T):
    """Return the forecast error where people are, after sums over the cells of T."""
    problem = pose_problem(spec)
    C = problem.C * np.sqrt(problem.weights)[:, None]
    dense = DenseProblem(C, problem.diagonal, problem.factor, spec.noise_std, problem.floor)
    return np.sqrt(problem.floor + dense.decode(T)[2])


def worth_of_counts():
    """Forecast what it is worth to know the density before cells are chosen."""
    rows = []
    for people, epsilon in SIZES:
        cells = []
        for density in DENSITIES.values():
            spec, plan = planned(people, epsilon, density)
            less, _ = planned(people, (1.0 - COUNTS_SHARE) * epsilon, density)
            plain = error(spec, plan.sketch.rounded)
            own = [(one, make_sketch(one, choose_design(one)).rounded) for one in (spec, less)]
            ratios = [error(one, T) / plain for one, T in own]
            cells.append("{:.2f}, {:.2f}".format(*ratios))
        rows.append((f"{people:,}", f"{epsilon:g}", *cells))
    columns = ("N", "ε", *(f"{name}: free, paid" for name in DENSITIES))
    return Table("Cells that know the density, over cells that do not", columns, (), rows)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--only-counts", action="store_true", help="the second table alone")
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the table to this file")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise is repeatable here, and each fit says so
        made = [] if options.only_counts else [measure(options.trials)]
        made.append(worth_of_counts())
    for table in made:
        table.print(Console())
        append(options.append, table)


if __name__ == "__main__":
    main()
