"""Print what version 0.2.0 gave on the unexpected truths, as CSV, interval scores included.

    PYTHONPATH=OLD/src:OLD python experiments/printed/unexpected_0_2_0.py > score-0.2.0.csv

OLD is a checkout of 0.2.0 (f8a544b), whose own results have no interval scores.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from cloakgp import PrivateGPRegressor, __version__
from experiments.draw import LEAST_WEIGHT, Drawer, rmse
from experiments.item import Run
from experiments.items import unexpected as old
from experiments.truths import BOUNDS, PEOPLE, TRUTHS

SIZES, RELEASES = (300, 2_000), 20  # what is printed ends with 2,000 people on a line, ε = 3
SCORES = Path(__file__).parents[1] / "scores.py"


def main() -> None:
    if __version__ != "0.2.0":
        sys.exit(f"this is for 0.2.0, and {__version__} is on the path")
    scores = _load(SCORES)
    run = Run(False, Path(tempfile.mkdtemp()))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["truth", "N", "epsilon", "rmse", "coverage", "score"])
    for n in SIZES:
        for people in PEOPLE:
            X = PEOPLE[people](n, run.rng("people", people, n))
            at = X[run.rng("places", people, n).choice(n, old.PLACES, replace=False)]
            for epsilon in old.EPSILONS:
                model = PrivateGPRegressor(bounds=BOUNDS, epsilon=epsilon, delta=old.DELTA)
                drawer = Drawer(model.plan(X), at, X=X)
                for truth in (truth for truth in TRUTHS if truth.people == people):
                    y = truth.draw(X, run.rng("outputs", truth.name, n))
                    rng = run.rng("noise", truth.name, n, epsilon, old.LEARNT)
                    found = _measured(scores, drawer, y, truth.mean(at), rng)
                    out.writerow([truth.name, n, epsilon, *(f"{each:.6g}" for each in found)])
                    sys.stdout.flush()


def _measured(scores: Any, drawer: Any, y: Any, f: Any, rng: Any) -> tuple[float, ...]:
    """Return error, coverage and interval score of a release, as ``Drawer.held`` weighs it."""
    facts = drawer._facts
    noise = rng.standard_normal((RELEASES, len(drawer._T)))
    s = drawer._told(y) + facts.noise_std * noise
    means = np.array([seen.means(s) for seen in drawer._seen])
    stds = np.array([seen.std for seen in drawer._seen])
    score = np.log(facts.belief) + np.array([seen.log_evidence(s) for seen in drawer._seen]).T
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    weights[weights < LEAST_WEIGHT] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    low, high = (scores.mixture_quantile(weights, means, stds, q) for q in (0.025, 0.975))
    error = float(np.mean(rmse(np.einsum("nk,knp->np", weights, means), f)))
    covered = float(np.mean((low <= f) & (f <= high)))
    return error, covered, scores.interval_score(low, high, f)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("scores", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
