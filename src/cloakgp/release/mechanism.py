"""Which noise: Laplace noise on sums over cells, or Gaussian noise on the best sketch for it.

Both are forecast under the same public prior, before anything is read, and the better one is taken.
Laplace noise hides a person who speaks in few numbers better and needs no δ; Gaussian noise is for
large δ, many outputs, or owners of many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cloakgp.design import Design
from cloakgp.design.bayes.problem import DenseProblem
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.release.sketch import choose_design, make_sketch, problem_of
from cloakgp.release.spec import ReleaseSpec

#: How exact the design of a mechanism is that is only compared.
COMPARED_GAP = 1e-2


@dataclass(frozen=True)
class MechanismForecast:
    """What one of the mechanisms would give."""

    mechanism: Mechanism
    error_std: float  # the typical error of the prediction, privacy included
    noise_std: float  # of the noise in each published number, in units of a person's move
    published_values: int


def choose_mechanism(
    specs: Sequence[ReleaseSpec],
) -> tuple[ReleaseSpec, Design, tuple[MechanismForecast, ...]]:
    """Return the specification with the best forecast, its design, and all forecasts.

    The specifications differ in their mechanism, and in what follows from it, alone.
    """
    designs = [choose_design(replace(spec, gap=max(spec.gap, COMPARED_GAP))) for spec in specs]
    forecasts = tuple(map(_forecast, specs, designs))
    best = min(range(len(specs)), key=lambda number: forecasts[number].error_std)
    spec, design = specs[best], designs[best]
    if spec.design == "bayes" and design.gap > spec.gap:
        design = choose_design(spec, near=design)
    return spec, design, forecasts


def _forecast(spec: ReleaseSpec, design: Design) -> MechanismForecast:
    """Forecast with the sketch that would be published: owners of several rows have their price."""
    problem, T = problem_of(spec), make_sketch(spec, design).rounded
    dense = DenseProblem(
        problem.C * np.sqrt(problem.weights)[:, None],
        problem.diagonal,
        problem.factor,
        spec.noise_std,
        problem.floor,
    )
    variance = problem.floor + dense.decode(T)[2]
    return MechanismForecast(
        spec.mechanism,
        float(np.mean(spec.unit) * np.sqrt(variance)),
        spec.noise_std,
        len(T) * len(spec.lo) * spec.iterations,
    )


def explain_choice(spec: ReleaseSpec, forecasts: Sequence[MechanismForecast]) -> str:
    """Say in a sentence which noise it is, and why."""
    named = {forecast.mechanism: forecast for forecast in forecasts}
    if len(named) < 2:
        return ""
    laplace, gaussian = named["laplace"].error_std, named["gaussian"].error_std
    scale = f" ({spec.outcome.scale})" if spec.outcome.scale else ""
    if spec.mechanism == "laplace":
        return (
            f"Laplace noise was chosen: a typical error of {laplace:.3g}{scale} is forecast, "
            f"{gaussian:.3g} with Gaussian noise, and no delta is needed."
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
