"""From published facts to the posterior of each output column.

Where the outputs are f itself decoding is linear; classes and counts are decoded by Newton steps,
each of them the decoding of a regression (``decode.Newton``).  With a family of priors each of its
settings decodes, and the published values say how much each counts (``decode.mixture``).  Several
releases that are combined decode as one: their sketches are stacked, each with its own noise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from cloakgp.decode.decoder import Decoder, Newton, decoding, finite
from cloakgp.decode.latent import settle_settings
from cloakgp.decode.mixture import Mixture
from cloakgp.plan.facts import Facts
from cloakgp.plan.parts import Part
from cloakgp.release.published import Published

Array = NDArray[np.float64]


def mixtures_of(release: Published) -> list[Mixture]:
    """Return the posterior of each output column, found once for each release."""
    if "mixtures" not in release.found:
        release.found["mixtures"] = find_mixtures(release)
    known: list[Mixture] = release.found["mixtures"]
    return known


def find_mixtures(release: Published) -> list[Mixture]:
    """Return the posterior of each output column, found anew."""
    find = _linear if release.facts.likelihood is None else _latent
    return [find(release, column) for column in range(release.outputs)]


def posteriors_under(release: Published, facts: Facts) -> list[Mixture]:
    """Return what the posterior of each output column would be with other public facts."""
    return find_mixtures(replace(release, facts=facts))


def values_of(release: Published, column: int) -> Array:
    """Return the published values of one output column that its decoder takes."""
    return np.concatenate(
        [_column(part.noisy.s, column, release.outputs) for part in _used(release)]
    )


def check_decoding(release: Published) -> None:
    """Decode at one point of the workload, or raise ``DecodeError`` if that is impossible.

    Of Newton steps only the first is taken: all of them until they settle may take long, and those
    who want to know the guarantee alone do not need them.
    """
    point = release.facts.points[:1]
    with decoding():
        for column in range(release.outputs):
            if release.facts.likelihood is None:
                mixture = mixtures_of(release)[column]
            else:
                step = _newton(release, column).step(release.facts.prior_latents(column))
                mixture = Mixture((step,), np.ones(1), values_of(release, column))
            finite(mixture.mean(point))
            if release.facts.likelihood is None:
                parts = mixture.uncertainty(point)
                finite(np.concatenate([parts.latent, parts.dp, parts.observation]))


def _used(release: Published) -> tuple[Part, ...]:
    """Return the iterations that are decoded together: the paper uses the last one alone."""
    return release.parts if release.facts.decode == "bayes" else release.parts[-1:]


def _column(s: Array, column: int, outputs: int) -> Array:
    return s.reshape(len(s), outputs)[:, column]


def _sketch(release: Published) -> Array:
    """Return the sketch to decode; of several releases one block for each, on rows of its own."""
    if len(release.members) == 1:
        return np.vstack([part.sketch.rounded for part in _used(release)])
    whole = [np.vstack([part.sketch.rounded for part in m.parts]) for m in release.members]
    blocks = [m.facts.heard(T) for m, T in zip(release.members, whole, strict=True)]
    stacked: Array = block_diag(*blocks)
    return stacked


def _with_noise(release: Published, decoder: Decoder) -> Decoder:
    """Return a decoder for the noise that was really added, should it be more than was needed."""
    if len(release.members) == 1:
        return replace(decoder, noise_std=release.noisy.noise_std)
    stds = [np.full(len(part.sketch.matrix), part.noisy.noise_std) for part in release.parts]
    return replace(decoder, noise_std=np.concatenate(stds))


def _linear(release: Published, column: int) -> Mixture:
    facts = release.facts
    decoders = [_with_noise(release, d) for d in facts.decoders(_sketch(release), column)]
    return Mixture.by_evidence(decoders, facts.belief, values_of(release, column))


def _newton(release: Published, column: int) -> Newton:
    facts = release.facts
    decoder = _with_noise(release, facts.decoder(_sketch(release), column))
    return facts.newton(decoder, column)


def _latent(release: Published, column: int) -> Mixture:
    facts, newton = release.facts, _newton(release, column)
    s, start = values_of(release, column), facts.prior_latents(column)
    if facts.family is not None:
        return settle_settings(newton, facts.models, facts.belief, s, start)
    decoder = newton.settle(start, s) if facts.decode == "bayes" else _last_step(release, column)
    return Mixture((decoder,), np.ones(1), s)


def _last_step(release: Published, column: int) -> Decoder:
    """Return the paper's: one step for each iteration, each from where the one before it ended."""
    newton, f = _newton(release, column), release.facts.prior_latents(column)
    for number, part in enumerate(release.parts):
        last = replace(newton.decoder, T=release.facts.heard(part.sketch.rounded))
        decoder = replace(newton, decoder=last).step(f)
        if number < len(release.later):
            f = decoder.mean(release.facts.X, _column(part.noisy.s, column, release.outputs))
    return decoder
