"""Are the published values as the model expects?  A check that costs nothing, for anybody.

Two tests share the error rate.  Under the model the whitened values are standard normal, so their
sum of squares is χ².  And other public priors may explain the values far better: the ratio of
their evidence to the model's has a mean of 1 if the model is right, so that it exceeds 1/α with a
chance of at most α (Markov's inequality), whatever the priors are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, logsumexp

from cloakgp.decode.decoder import Decoder
from cloakgp.decode.mixture import posterior_weights

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
