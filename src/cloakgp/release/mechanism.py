"""Which noise: Laplace noise on sums over cells, or Gaussian noise on the best sketch for it.

Both are forecast under the same public prior, before anything is read, and the better one is taken.
Where it is clear that no sketch with Gaussian noise is as good, its forecast is a certified bound.
Laplace noise hides a person who speaks in few numbers better and needs no δ; Gaussian noise is for
large δ, many outputs, or owners of many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloakgp.design import Design
from cloakgp.design.bayes import rough_bayes
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.release.sketch import choose_design, make_sketch, pose_problem
from cloakgp.release.spec import ReleaseSpec

#: How exact a design for Gaussian noise is that is compared, a hundredth of the variance; one that
#: is better then is made as exact as was asked for if it has at most so many entries.
COMPARED_GAP, MAX_EXACT_ENTRIES = 1e-2, 100_000


@dataclass(frozen=True)
class MechanismForecast:
    """What one of the mechanisms would give."""

    mechanism: Mechanism
    error_std: float  # the typical error of the prediction, privacy included
    noise_std: float  # of the noise in each published number, in units of a person's move
    published_values: int
    variance: float  # the square of the error, in units of the prior
    exact: bool = True  # or the error is at least this: enough where the other one is better


def choose_mechanism(
    specs: Sequence[ReleaseSpec],
) -> tuple[ReleaseSpec, Design, tuple[MechanismForecast, ...]]:
    """Return the specification with the best forecast, its design, and all forecasts.

    The specifications differ in their mechanism, and in what follows from it, alone.
    """
    forecasts: list[MechanismForecast] = []
    designs: list[Design] = []
    for spec in specs:
        problem = pose_problem(spec)
        if designs and spec.design == "bayes":
            best = min(forecast.variance for forecast in forecasts)
            prior = problem.prior(spec.noise_std)
            design, bound = rough_bayes(prior, COMPARED_GAP, start=designs[-1].T, target=best)
        else:
            design, bound, best = choose_design(spec), 0.0, np.inf
        designs.append(design)
        if bound >= best:
            forecasts.append(_forecast(spec, design.rank, bound, exact=False))
        else:
            sketch = make_sketch(spec, design).rounded
            # Of the sketch that would be published: owners of rows have their price.
            variance = problem.variance_left(sketch, spec.noise_std)
            forecasts.append(_forecast(spec, len(sketch), variance))
    number = min(range(len(specs)), key=lambda one: forecasts[one].variance)
    spec, design = specs[number], designs[number]
    if spec.design == "bayes" and design.gap > spec.gap and design.T.size <= MAX_EXACT_ENTRIES:
        design = choose_design(spec, near=design)
    return spec, design, tuple(forecasts)


def _forecast(
    spec: ReleaseSpec, rows: int, variance: float, exact: bool = True
) -> MechanismForecast:
    return MechanismForecast(
        spec.mechanism,
        float(np.mean(spec.unit) * np.sqrt(variance)),
        spec.noise_std,
        spec.published_values(rows),
        variance,
        exact,
    )


def explain_choice(spec: ReleaseSpec, forecasts: Sequence[MechanismForecast]) -> str:
    """Say in a sentence which noise it is, and why."""
    named = {forecast.mechanism: forecast for forecast in forecasts}
    if len(named) < 2:
        return ""
    laplace, gaussian = named["laplace"].error_std, named["gaussian"].error_std
    scale = f" ({spec.outcome.scale})" if spec.outcome.scale else ""
    if spec.mechanism == "laplace":
        least = "" if named["gaussian"].exact else "at least "
        return (
            f"Laplace noise was chosen: a typical error of {laplace:.3g}{scale} is forecast, "
            f"{least}{gaussian:.3g} with Gaussian noise, and no delta is needed."
        )
    reasons = [f"delta={spec.budget.delta:g}"]
    reasons += [f"{len(spec.lo)} outputs"] if len(spec.lo) > 1 else []
    reasons += ["owners of several rows"] if spec.groups is not None else []
    return (
        f"Gaussian noise was chosen: a typical error of {gaussian:.3g}{scale} is forecast, "
        f"{laplace:.3g} with Laplace noise, which {_and(reasons)} would cost more."
    )


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
