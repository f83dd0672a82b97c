"""What a release has learnt about its prior, and whether the published numbers agree with it.

Both follow from what was published: anybody can look, as often as wanted, at no cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cloakgp.decode.misfit import ALARM, Candidates, surprise
from cloakgp.decode.mixture import Mixture
from cloakgp.gp.defaults import default_family
from cloakgp.gp.family import Setting
from cloakgp.plan.equality import same_setting
from cloakgp.plan.facts import Facts
from cloakgp.release.decoding import mixtures_of, posteriors_under
from cloakgp.release.published import Published

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

    def __bool__(self) -> bool:
        return not self.alarm


def can_be_checked(release: Published) -> bool:
    """Tell whether there is a probability of what was published."""
    return release.facts.decode == "bayes" and all(p.noisy.noise_std > 0.0 for p in release.parts)


def check_fit(release: Published) -> FitCheck:
    """Test the model of every output column; the least p-value counts, for all of them together."""
    if not can_be_checked(release):
        raise ValueError(
            "a check of the fit needs decode='bayes' and noise: without them there is no "
            "probability of what was published"
        )
    if "fit" not in release.found:
        release.found["fit"] = _checked(release)
    known: FitCheck = release.found["fit"]
    return known


def _checked(release: Published) -> FitCheck:
    facts = release.facts
    own = [_candidates(facts, mixture) for mixture in mixtures_of(release)]
    others: list[Candidates | None] = [None] * len(own)
    if facts.family is None:
        wide = _with_default_family(facts)
        others = [_candidates(wide, mixture) for mixture in posteriors_under(release, wide)]
    p_values = [
        surprise(model, other, mixture.s)
        for model, other, mixture in zip(own, others, mixtures_of(release), strict=True)
    ]
    p_value = min(1.0, len(p_values) * min(p_values))
    return FitCheck(p_value, p_value < ALARM, facts.family is not None)


def hyperparameters(release: Published) -> pd.DataFrame:
    """Return a table of the settings, most believed first."""
    facts, mixtures = release.facts, mixtures_of(release)
    if facts.family is None:
        rows = [{"kernel": str(facts.model.kernel), "prior": 1.0}]
        if facts.likelihood is None:
            rows[0]["noise_std"] = float(np.sqrt(facts.model.scatter))
    else:
        scatter = "noise_std" if facts.likelihood is None else "scatter_std"
        rows = [
            {
                "kernel": str(facts.family.kernel_of(setting)),
                "level_std": float(np.sqrt(setting.level)),
                scatter: float(np.sqrt(setting.noise_variance)),
                "prior": setting.weight,
            }
            for setting in facts.family.settings
        ]
    table = pd.DataFrame(rows)
    for column, mixture in enumerate(mixtures):
        weight = np.zeros(len(table))
        weight[list(mixture.settings)] = mixture.weights
        table["weight" if len(mixtures) == 1 else f"weight_{column}"] = weight
    first = "weight" if len(mixtures) == 1 else "weight_0"
    return table.sort_values(first, ascending=False, kind="stable").reset_index(drop=True)


def has_default_family(facts: Facts) -> bool:
    """Tell whether the prior is learnt from the family that there is if no kernel is given."""
    family = facts.family
    if family is None:
        return False
    usual = default_family(facts.X, facts.outcome.scales, facts.scale, facts.counts, facts.spreads)
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


def _candidates(facts: Facts, mixture: Mixture) -> Candidates:
    """Return the settings that have a say, with what was believed of each beforehand."""
    return Candidates(mixture.decoders, facts.belief[list(mixture.settings)])


def _with_default_family(facts: Facts) -> Facts:
    """Return the same facts with the default family of priors instead of a fixed one."""
    family = default_family(facts.X, facts.outcome.scales, facts.scale, facts.counts, facts.spreads)
    return replace(facts, family=family)
