"""The Laplace family: likelihoods with a canonical link, one Newton step at a time.

For a canonical link the gradient of the log likelihood is t − mean(f), linear in the outputs t.  So
one Newton step from a public f₀ is ordinary regression on pseudo-outputs: with W = mean'(f₀),

    f_new = (K⁻¹ + W)⁻¹ (W f₀ + t − mean(f₀)) = K (K + W⁻¹)⁻¹ ỹ,    ỹ = f₀ + W⁻¹ (t − mean(f₀)),

which is linear in t, never inverts K, and fits every model of this folder.  Public maths: f₀ is
public, and t comes in only through a sketch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]

#: Weights are kept above this share of the largest: a person whose outcome is certain under f₀ has
#: W = 0 and an infinite pseudo-noise.
SMALLEST_WEIGHT = 1e-10


class Likelihood(Protocol):
    """A likelihood with canonical link: E[t | f] = mean(f), var[t | f] = mean'(f)."""

    def mean(self, f: Array) -> Array:
        """Return E[t | f]."""

    def weight(self, f: Array) -> Array:
        """Return W = −∂² log p(t | f)/∂f² = mean'(f)."""


@dataclass(frozen=True)
class Bernoulli:
    """Two classes through the logistic link; t is 0 or 1."""

    def mean(self, f: Array) -> Array:
        return expit(f)

    def weight(self, f: Array) -> Array:
        return expit(f) * expit(-f)


@dataclass(frozen=True)
class Poisson:
    """Counts through the logarithm; the expected count is exposure · e^f."""

    exposure: Array  # (N,)

    def mean(self, f: Array) -> Array:
        return self.exposure * np.exp(f)

    def weight(self, f: Array) -> Array:
        return self.mean(f)


@dataclass(frozen=True)
class PseudoOutputs:
    """ỹ = ``offset`` + ``slope`` t, observed with variance ``noise``: one Newton step from f₀."""

    offset: Array  # (N,)
    slope: Array  # (N,)
    noise: Array  # (N,)


def linearise(likelihood: Likelihood, f0: Array) -> PseudoOutputs:
    """Return the pseudo-outputs of a Newton step from ``f0``."""
    W = likelihood.weight(f0)
    W = np.maximum(W, SMALLEST_WEIGHT * float(W.max(initial=1.0)))
    return PseudoOutputs(offset=f0 - likelihood.mean(f0) / W, slope=1.0 / W, noise=1.0 / W)
