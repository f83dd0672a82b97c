"""Learnt hyperparameters of classes and counts: Newton steps under every setting that has a say.

The first step, from the prior mean, is the same linear map for all settings, so its evidence is
quick: it tells which settings are worth settling.  Each of those then settles where it agrees with
the published values, and has its say by the evidence there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloakgp.decode.decoder import Newton
from cloakgp.decode.mixture import Mixture, posterior_weights
from cloakgp.decode.settings import decoders_of_settings
from cloakgp.gp.likelihoods import linearise
from cloakgp.gp.scaled import ScaledModel

Array = NDArray[np.float64]

#: Settings are settled if they have this share of the best one's weight, and at most so many.
WORTH_SETTLING, MOST_SETTLED = 1e-4, 24


def settle_settings(
    newton: Newton, models: Sequence[ScaledModel], prior: Array, s: Array, start: Array
) -> Mixture:
    """Return the posterior of f, averaged over the settings, for the published values s (r,).

    ``start`` (N,) are the latent values that the first step starts from; the noise variance of a
    model is the scatter of single people's latent values around f.
    """
    pseudo = linearise(newton.likelihood, start).noise
    noise = {scatter: pseudo + scatter for scatter in {m.scatter for m in models}}
    linear = [model.with_noise(noise[model.scatter]) for model in models]
    weights = posterior_weights(decoders_of_settings(newton.step(start), linear), prior, s)
    order = np.argsort(-weights, kind="stable")[:MOST_SETTLED]
    kept = [int(k) for k in order if weights[k] >= WORTH_SETTLING * weights[order[0]]]
    settled = [_newton_of(newton, models[k]).settle(start, s) for k in kept]
    return Mixture.by_evidence(settled, prior[kept], s, kept)


def _newton_of(newton: Newton, model: ScaledModel) -> Newton:
    own = replace(newton.decoder, model=model.prepared())
    return replace(newton, decoder=own, scatter=model.scatter)
