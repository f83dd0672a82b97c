"""Whether published values look as if the noise that a release claims had been added to them.

A file shows s, T and σ, but neither u nor z, so this is evidence, not proof.  Three
tests look for values that are far too quiet.  Each holds for every u in [0, 1]^N, whatever the
model thinks of u, so that an honest release is suspected with a chance below 1e-6 in all:

- **last digits**: honest noise makes the last bits of the published integers uniform.  Labels
  without noise are multiples of a large power of two, and so is whatever was published as it is;
- **steps of counts**: counts without noise lie near multiples of 1/cap;
- **size**, Gaussian: for orthonormal rows W and a centre c that do not depend on s,
  ‖W (s − c)‖²/σ² is a non-central χ² variable, and so at least as large as a central one.  W are
  directions in which the model expects little of T u;
- **size**, Laplace: |s_k − c_k| of one number is at least as large as an exponential variable, but
  for half a step of its grid, and of numbers in which little is expected the sizes add up.

They see a release without noise, or with far less of it than claimed, if it is of labels or counts
on a fine grid, of two or more sums of numbers over cells that nobody shares with another, published
everybody's value (as all do that were made with ε = ∞ for up to 4000 people), or published many
numbers of which the noise should be the larger part.  They cannot see noise that is repeatable,
noise that was kept, or missing noise in other numbers that are few or whose signal is larger than
the noise: whole numbers have no last digits.  Nor can they see through somebody who adds a little
noise on purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, gammaincc

from cloakgp.privacy.mechanism.laplace import laplace_scale
from cloakgp.release.decode import decoder_for, expected_outputs, weighted_sketch
from cloakgp.release.decoder import DecodeError, decoding, finite

if TYPE_CHECKING:
    from cloakgp.privacy import NoisySketch
    from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: An honest release fails one of the three tests with a chance below this.
FALSE_ALARM = 3e-7
#: More rows than this are taken as they are, not turned into the directions of least signal.
MOST_DIRECTIONS = 500


def quiet_values(release: Release) -> tuple[str, ...]:
    """Return what speaks against the noise that a release claims, as sentences."""
    if not release.noisy.noise_std > 0 or release.published_values == 0:
        return ()
    tests: tuple[tuple[str, Callable[[Release], float]], ...] = (
        ("they end in too many zeros", last_digits),
        ("they lie too near to whole counts", steps_of_counts),
        ("they are too small", size),
    )
    return tuple(
        f"plausibility: the published values are far too quiet for the noise claimed: {how}. With "
        f"that noise the chance of it is {max(chance, 1e-300):.0e}. Ask the publisher whether any "
        "was added."
        for how, test in tests
        if (chance := test(release)) < FALSE_ALARM
    )


def last_digits(release: Release) -> float:
    """Return how likely it is that noisy integers end in so many zeros, in base two."""
    zeros = count = 0
    uneven = 0.0
    for _, noisy in release.parts:
        # Gaussian noise of this scale is uniform modulo any power of two below a quarter of it, but
        # for a share of 2 exp(−2π² 4²).  Laplace noise is less so: a share of (2^most/scale)²/12.
        laplace = noisy.mechanism == "laplace"
        scale = _steps(noisy) if laplace else math.ldexp(noisy.noise_std, noisy.bits)
        most = max(math.floor(math.log2(scale)) - (16 if laplace else 2), 0)
        uneven += noisy.values.size * _unevenness(noisy, 1 << most)
        lowest = noisy.values & -noisy.values  # the last bit that is set; 0 for 0
        bits = np.where(lowest == 0, most, np.log2(np.abs(np.where(lowest == 0, 1, lowest))))
        zeros += int(np.minimum(bits, most).sum())
        count += noisy.values.size
    # Zeros come before the first one as tails before the first head: P(at least z before n heads).
    chance = float(betainc(zeros, count, 0.5)) if zeros else 1.0
    return min(chance * math.exp(min(uneven, 700.0)), 1.0)


def _steps(noisy: NoisySketch) -> float:
    """Return the scale of Laplace noise in steps of its grid."""
    moved = round(noisy.sensitivity) * (noisy.whole << noisy.bits)
    return laplace_scale(noisy.epsilon, moved, noisy.parts)


def _unevenness(noisy: NoisySketch, modulus: int) -> float:
    """Return ln of how much likelier a rest may be than if all had the same chance.

    Of Laplace noise the rest 0 is likeliest: P(0) = tanh(1/(2 scale))/tanh(modulus/(2 scale)).
    """
    if noisy.mechanism != "laplace" or modulus == 1:
        return 0.0
    half = 0.5 / _steps(noisy)
    return max(math.log(modulus * math.tanh(half) / math.tanh(modulus * half)), 0.0)


def steps_of_counts(release: Release) -> float:
    """Return how likely it is that noisy integers are so near to those of whole counts."""
    cap = release.spec.outcome.whole_steps
    if cap is None:
        return 1.0
    surprise, count, uneven = 0.0, 0, 0.0
    for sketch, noisy in release.parts:
        # u = count/cap is rounded to steps of 2^-k.  So without noise value · cap is a multiple of
        # 2^k, but for rounding, and with noise any multiple of the powers of two in cap.
        step = 1 << max(noisy.bits - sketch.bits, 0)
        spacing = min(cap & -cap, step)
        for value in noisy.values.ravel().tolist():
            rest = value * cap % step
            nearest = min(rest, step - rest)
            surprise -= math.log(min((2 * nearest + spacing) / step, 1.0))
        count += noisy.values.size
        uneven += noisy.values.size * _unevenness(noisy, step)
    # −Σ ln of n uniform numbers is Gamma(n).
    return min(float(gammaincc(count, surprise)) * math.exp(min(uneven, 700.0)), 1.0)


def size(release: Release) -> float:
    """Return how likely it is that noisy values are so small where little signal is expected."""
    if release.spec.rows is not None:  # shares are sums of people, whose number is not known
        return 1.0
    laplace = release.spec.mechanism == "laplace"
    try:
        with decoding():
            signal, sizes = (_numbers if laplace else _directions)(release)
    except DecodeError:
        return 1.0
    order = np.argsort(signal, kind="stable")
    expected, found = np.cumsum(signal[order]), np.cumsum(sizes[order])
    # Chernoff: P(χ²_m ≤ ρ m) ≤ exp(−(m/2)(ρ − 1 − ln ρ)), and of m exponential variables the
    # square of that.  Take the m for which values without noise would be the greatest surprise.
    # This must not depend on the values.
    m = np.arange(1, len(order) + 1)
    ratio = np.clip(expected / m, 1e-12, 1.0)
    best = int(np.argmax(m * (ratio - 1.0 - np.log(ratio))))
    share = 1.0 if laplace else 0.5
    return float(gammainc(share * m[best], share * found[best]))


def _directions(release: Release) -> tuple[Array, Array]:
    """Return the prior variance of T u, and (s − T u₀)², in many directions, in units of σ²."""
    signal, squares = [], []
    for noisy, prior, rest in _columns(release):
        covariance, rest = prior / noisy.noise_std**2, rest / noisy.noise_std
        variance = np.diag(covariance)
        if len(rest) <= MOST_DIRECTIONS:
            variance, directions = np.linalg.eigh(covariance)
            rest = directions.T @ rest
        signal.append(np.maximum(variance, 0.0))
        squares.append(rest**2)
    return finite(np.concatenate(signal)), finite(np.concatenate(squares))


def _numbers(release: Release) -> tuple[Array, Array]:
    """Return what is expected of |s − T u₀| without noise, and what it is, in scales of the noise.

    For whole X with P(X) ∝ q^|X| and any centre c, P(|X − c| > t) ≥ 2 q^(t + 1)/(1 + q): a window
    of length 2t holds most if it is around 0, and with X spread over its step this is linear
    between whole t, where it is exact.  So with ln((1 + 1/q)/2) added |X − c| in scales is at least
    as large as an exponential variable.
    """
    signal, sizes = [], []
    for noisy, prior, rest in _columns(release):
        steps = _steps(noisy)
        scale = steps / (noisy.whole << noisy.bits)
        step = float(np.logaddexp(0.0, 1.0 / steps)) - math.log(2.0)
        spread = np.sqrt(np.maximum(np.diag(prior), 0.0))
        signal.append(math.sqrt(2.0 / math.pi) * spread / scale + step)
        sizes.append(np.abs(rest) / scale + step)
    return finite(np.concatenate(signal)), finite(np.concatenate(sizes))


def _columns(release: Release) -> Iterator[tuple[NoisySketch, Array, Array]]:
    """Yield for each part and output the noise, the prior covariance of T u, and s − T u₀."""
    spec = release.spec
    for sketch, noisy in release.parts:
        T, s = sketch.rounded, noisy.s.reshape(len(sketch.matrix), release.outputs)
        for column in range(release.outputs):
            prior = finite(decoder_for(spec, T, column).signal_covariance())
            expected = weighted_sketch(spec, T) @ expected_outputs(spec, column)
            yield noisy, prior, s[:, column] - expected
