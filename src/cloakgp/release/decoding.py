"""From published facts to the decoder of each output column.

Where the outputs are f itself there is one decoder; classes and counts are decoded by Newton steps,
each of them the decoding of a regression (``decode.Newton``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloakgp.decode.decoder import Decoder, Newton, decoding, finite
from cloakgp.plan.parts import Part
from cloakgp.release.published import Published

Array = NDArray[np.float64]


def decoders_of(release: Published) -> list[Decoder]:
    """Return the decoder of each output column, found once for each release."""
    if "decoders" not in release.__dict__:
        release.__dict__["decoders"] = find_decoders(release)
    found: list[Decoder] = release.__dict__["decoders"]
    return found


def find_decoders(release: Published) -> list[Decoder]:
    """Return the decoder of each output column, found anew."""
    columns = range(release.outputs)
    if release.facts.likelihood is None:
        return [_linear(release, column) for column in columns]
    return [_settled(release, column) for column in columns]


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
            linear = release.facts.likelihood is None
            if linear:
                decoder = decoders_of(release)[column]
            else:
                decoder = _newton(release, column).step(_start(release, column))
            finite(decoder.mean(point, values_of(release, column)))
            if linear:
                parts = decoder.uncertainty(point)
                finite(np.concatenate([parts.latent, parts.dp, parts.observation]))


def _used(release: Published) -> tuple[Part, ...]:
    """Return the iterations that are decoded together: the paper uses the last one alone."""
    return release.parts if release.facts.decode == "bayes" else release.parts[-1:]


def _column(s: Array, column: int, outputs: int) -> Array:
    return s.reshape(len(s), outputs)[:, column]


def _linear(release: Published, column: int) -> Decoder:
    T = np.vstack([part.sketch.rounded for part in _used(release)])
    decoder = release.facts.decoder(T, column)
    # The noise that was really added counts, should it be more than was needed.
    return replace(decoder, noise_std=release.noisy.noise_std)


def _newton(release: Published, column: int) -> Newton:
    facts = release.facts
    assert facts.likelihood is not None
    lo, hi = float(facts.lo[column]), float(facts.hi[column])
    return Newton(_linear(release, column), facts.likelihood, lo, hi - lo)


def _start(release: Published, column: int) -> Array:
    facts = release.facts
    return np.full(len(facts.model.X), facts.prior_mean[column])


def _settled(release: Published, column: int) -> Decoder:
    facts, newton, f = release.facts, _newton(release, column), _start(release, column)
    if facts.decode == "bayes":
        return newton.settle(f, values_of(release, column))
    # The paper's: one step for each iteration, each from where the one before it ended.
    for number, part in enumerate(release.parts):
        last = replace(newton.decoder, T=part.sketch.rounded)
        decoder = replace(newton, decoder=last).step(f)
        if number < len(release.later):
            f = decoder.mean(facts.model.X, _column(part.noisy.s, column, release.outputs))
    return decoder
