"""Are the published values as the model expects?  A check that costs nothing, for anybody.

Two tests share the error rate.  Under the model the whitened values are standard normal, so their
sum of squares is χ².  And other public priors may explain the values far better: the ratio of
their evidence to the model's has a mean of 1 if the model is right, so that it exceeds 1/α with a
chance of at most α (Markov's inequality), whatever the priors are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, logsumexp

from cloakgp.errors import ParameterError
from cloakgp.gp.defaults import default_family
from cloakgp.gp.family import Family, Setting
from cloakgp.release.card import card
from cloakgp.release.decode import decode, measurements, posterior_mixtures, prior_weights
from cloakgp.release.decoder import Decoder
from cloakgp.release.file.cost import MOST_BYTES
from cloakgp.release.mixture import Mixture, posterior_weights
from cloakgp.release.settings import same_setting
from cloakgp.release.spec import ReleaseSpec

if TYPE_CHECKING:
    from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: An alarm is raised below this: for a model that is right, in at most this share of releases.
ALARM = 0.05


@dataclass(frozen=True)
class Candidates:
    """Decoders of several settings and how much each is believed in beforehand."""

    decoders: Sequence[Decoder]
    prior: Array

    def log_evidence(self, s: Array) -> float:
        """Return log p(s), averaged over the settings."""
        scores = [decoder.log_evidence(s) for decoder in self.decoders]
        return float(logsumexp(scores, b=self.prior))


def surprise(model: Candidates, others: Candidates | None, s: Array) -> float:
    """Return a p-value: small if the published values s (r,) are not what the model expects."""
    if not len(s):
        return 1.0
    weights = posterior_weights(model.decoders, model.prior, s)
    squares = np.array([np.sum(decoder.whitened(s) ** 2) for decoder in model.decoders])
    size = float(weights @ chdtrc(len(s), squares))
    if others is None:
        return size
    ratio = others.log_evidence(s) - model.log_evidence(s)
    return min(1.0, 2.0 * min(size, math.exp(-max(ratio, 0.0))))


#: Settings of the default family, at most: those of eight inputs.
MOST_OF_DEFAULT = 820
#: Units of several outputs are ratios of bounds, so scales are known up to rounding.
LAST_DIGITS = 1e-12


@dataclass(frozen=True)
class FitCheck:
    """Whether the published numbers are as the model expects.  False if they are not.

    Attributes
    ----------
    p_value : float
        The probability of numbers at least as odd, if the model is right.
    alarm : bool
        Whether that is so little that the model is probably wrong, and its bands with it.
    learnt : bool
        Whether the prior was learnt, or fixed.
    """

    p_value: float
    alarm: bool
    learnt: bool = False

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not self.alarm:
            return f"The published numbers are as the model expects (p = {self.p_value:.2g})."
        odd = f"The published numbers are NOT what the model expects (p = {self.p_value:.2g}): "
        if self.learnt:
            return odd + "the truth is unlike all of its priors, and bands may miss it."
        return (
            odd + "its kernel, noise or mean is probably wrong, and bands may miss the truth. "
            "Leave the kernel out, or say learn=True, to have it learnt."
        )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return card(self.sentence, good=not self.alarm)

    def __bool__(self) -> bool:
        return not self.alarm


def can_be_checked(release: Release) -> bool:
    """Tell whether there is a probability of what was published that can be computed."""
    noisy = all(part.noisy.noise_std > 0.0 for part in release.parts)
    return release.spec.decode == "bayes" and noisy and _is_small(release)


def check_fit(release: Release) -> FitCheck:
    """Test the model of every output column; the least p-value counts, for all of them together."""
    if not can_be_checked(release):
        raise ParameterError(
            "a check of the fit needs {decode:'bayes'} and noise: without them there is no "
            "probability of what was published; and so few published rows that a fixed prior can "
            "be compared with the default family of priors in 4 GiB of memory"
        )
    if "fit" not in release.found:
        release.found["fit"] = _checked(release)
    known: FitCheck = release.found["fit"]
    return known


def _checked(release: Release) -> FitCheck:
    spec = release.spec
    own = [_candidates(spec, mixture) for mixture in posterior_mixtures(release)]
    others: list[Candidates | None] = [None] * len(own)
    if spec.family is None:
        wide = _with_default_family(spec)
        others = [_candidates(wide, mixture) for mixture in decode(wide, measurements(release))]
    p_values = [
        surprise(model, other, mixture.s)
        for model, other, mixture in zip(own, others, posterior_mixtures(release), strict=True)
    ]
    p_value = min(1.0, len(p_values) * min(p_values))
    return FitCheck(p_value, p_value < ALARM, spec.family is not None)


def _is_small(release: Release) -> bool:
    """Tell whether a fixed prior can be compared with the default family: a matrix for each."""
    spec = release.spec
    rows = sum(len(part.sketch.matrix) for part in release.parts)
    return spec.family is not None or 16 * MOST_OF_DEFAULT * len(spec.lo) * rows**2 <= MOST_BYTES


def hyperparameters(release: Release) -> pd.DataFrame:
    """Return a table of the settings, most believed first."""
    spec, mixtures = release.spec, posterior_mixtures(release)
    if spec.family is None:
        rows = [{"kernel": str(spec.model.kernel), "prior": 1.0}]
        if spec.likelihood is None:
            rows[0]["noise_std"] = float(np.sqrt(spec.model.scatter))
    else:
        scatter = "noise_std" if spec.likelihood is None else "scatter_std"
        rows = [
            {
                "kernel": str(spec.family.build_kernel(setting)),
                "level_std": float(np.sqrt(setting.level)),
                scatter: float(np.sqrt(setting.noise_variance)),
                "prior": setting.weight,
            }
            for setting in spec.family.settings
        ]
    table = pd.DataFrame(rows)
    for column, mixture in enumerate(mixtures):
        weight = np.zeros(len(table))
        weight[list(mixture.settings)] = mixture.weights
        table["weight" if len(mixtures) == 1 else f"weight_{column}"] = weight
    first = "weight" if len(mixtures) == 1 else "weight_0"
    return table.sort_values(first, ascending=False, kind="stable").reset_index(drop=True)


def has_default_family(spec: ReleaseSpec) -> bool:
    """Tell whether the prior is learnt from the family that there is if no kernel is given."""
    family = spec.family
    if family is None:
        return False
    usual = _default_family(spec)
    return (
        same_setting(usual.kernels, family.kernels)
        and len(usual.settings) == len(family.settings)
        and all(
            [n for n, _ in one.variances] == [n for n, _ in other.variances]
            and np.allclose(_numbers(one), _numbers(other), rtol=LAST_DIGITS, atol=0.0)
            for one, other in zip(usual.settings, family.settings, strict=True)
        )
    )


def _numbers(setting: Setting) -> list[float]:
    own = [setting.level, setting.noise_variance, setting.weight]
    return [*(variance for _, variance in setting.variances), *own]


def _candidates(spec: ReleaseSpec, mixture: Mixture) -> Candidates:
    """Return the settings that have a say, with what was believed of each beforehand."""
    return Candidates(mixture.decoders, prior_weights(spec)[list(mixture.settings)])


def _with_default_family(spec: ReleaseSpec) -> ReleaseSpec:
    """Return the same with the default family of priors instead of a fixed one."""
    return replace(spec, family=_default_family(spec))


def _default_family(spec: ReleaseSpec) -> Family:
    """Return the family of priors that there is if no kernel is given."""
    scale = 1.0 if spec.likelihood is not None else float(spec.width)
    return default_family(spec.X, spec.outcome.scales, scale, spec.counts, spec.spreads)
