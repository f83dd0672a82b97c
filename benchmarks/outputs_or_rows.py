"""What it costs to protect whole rows instead of outputs, for one curve: errors, bands, a picture.

    python benchmarks/outputs_or_rows.py [--people 2000] [--trials 4] [--out FILE.png]

Made-up people of known heights by age (``datasets.make_heights``), all defaults.  The error is that
of the curve at the ages of the people (RMSE in cm), coverage that of its 95 % bands there.  Noise
is repeatable, for these trials alone.  ``--out docs/outputs-or-rows.png`` draws the picture.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from cloakgp import PrivateGPRegressor  # noqa: E402
from cloakgp.datasets import make_heights  # noqa: E402

ROWS = {"protect": "rows", "box": {"age": (0, 90)}}
KINDS = {
    "outputs": {},
    "whole rows, replace": {**ROWS, "neighbours": "replace"},
    "whole rows, add or remove": {**ROWS, "neighbours": "add-remove"},
}
EPSILONS = (0.3, 1.0, 3.0)
AGES = np.arange(91.0)[:, None]


def curve() -> np.ndarray:
    """Return the height that people of each age have on average, of so many that it is exact."""
    many = make_heights(400_000, random_state=99).groupby("age")["height_cm"].mean()
    return many.reindex(range(91)).to_numpy()


def fit(kind: str, epsilon: float, count: int, seed: int):
    """Return a trial release, and how many people have each age."""
    people = make_heights(count, random_state=seed)
    model = PrivateGPRegressor(bounds=(40, 200), epsilon=epsilon, random_state=seed, **KINDS[kind])
    more = {"people": count} if KINDS[kind] else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = model.fit(people[["age"]], people["height_cm"], **more).release_
    return release, np.bincount(people["age"], minlength=91)


def measure(kind: str, epsilon: float, count: int, trials: int, truth: np.ndarray) -> tuple:
    """Return the error of the curve where people are, and how often its bands hold it."""
    errors, held = [], []
    for seed in range(trials):
        release, each = fit(kind, epsilon, count, seed)
        mean, (low, high) = release.predict(AGES), release.predict_interval(AGES)
        errors.append(np.sqrt(np.average((mean - truth) ** 2, weights=each)))
        held.append(np.average((low <= truth) & (truth <= high), weights=each))
    return float(np.mean(errors)), float(np.mean(held))


def draw(count: int, truth: np.ndarray, path: Path) -> None:
    """Draw one release of each kind at ε = 1, with the curve that everybody would like to know."""
    figure = Figure(figsize=(11.0, 4.0), layout="constrained")
    panels = figure.subplots(1, len(KINDS), sharey=True)
    for ax, kind in zip(panels, KINDS, strict=True):
        release, _ = fit(kind, 1.0, count, 0)
        low, high = release.predict_interval(AGES)
        ax.fill_between(AGES[:, 0], low, high, color="#C9E4F5", lw=0, label="95 % band")
        ax.plot(AGES[:, 0], release.predict(AGES), color="#0072B2", lw=2.2, label="published")
        ax.plot(AGES[:, 0], truth, color="#222222", lw=1.0, ls=(0, (4, 3)), label="truth")
        ax.set(title=kind, xlabel="age", xlim=(0, 90), ylim=(60, 190))
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("height in cm")
    panels[0].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    truth = curve()
    if asked.out is not None:
        draw(asked.people, truth, asked.out)
    print(f"| protected | {' | '.join(f'ε = {each:g}' for each in EPSILONS)} |")
    print("|---" * (len(EPSILONS) + 1) + "|")
    for kind in KINDS:
        found = [measure(kind, each, asked.people, asked.trials, truth) for each in EPSILONS]
        cells = [f"{error:.1f} cm, {100 * held:.0f} %" for error, held in found]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
