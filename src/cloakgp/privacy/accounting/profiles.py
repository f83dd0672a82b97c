"""δ as a function of ε for several spends together, never below the truth.

The selections before any other spend are outer stages, each a worst case over a shift t; all the
rest is one loss with known probabilities beside a Gaussian.  Claims and proofs: ``totals.md``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import erfcx, gammaln, ndtr

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.mechanism.calibration import HAIR

Floats = NDArray[np.float64]
#: δ as a function of ε, for an array of ε of either sign; never below the truth.
Profile = Callable[[Floats], Floats]

#: Totals of Gaussians quieter than this are counted as if they were this loud.
SMALLEST_MU = 1e-6
#: Steps of t, and of a loss, in the last and most exact stage.
STEPS = 2048
#: At most this many selections before everything else are outer stages.
MOST_STAGES = 32
#: How many values all earlier stages may work through.
WORK = 6_000_000
#: A distribution of losses has at most this many points; with more it is spread onto a grid.
MOST_LOSSES = 1 << 13


# Proof: totals.md
def total_mu(spends: Sequence[Spend]) -> float:
    """Gaussians compose exactly: 1/σ² adds."""
    squares = [spend.size**2 for spend in spends if spend.kind == "gaussian"]
    return max(math.sqrt(math.fsum(squares)), SMALLEST_MU) if squares else 0.0


# Proof: totals.md
def profile_of(spends: Sequence[Spend], reach: float) -> Profile:
    """Return δ(ε) of all spends together, for 0 ≤ ε ≤ ``reach``.

    The selections before any other spend are the outer stages (only so many of them: counting one
    with the rest is valid, too, and costs more); all the rest is the innermost stage.
    """
    first = next((i for i, s in enumerate(spends) if s.kind != "bounded-range"), len(spends))
    first = min(first, MOST_STAGES)
    leading = [spend.size for spend in spends[:first]]
    losses, masses = _losses(spends[first:])
    mu = total_mu(spends)
    profile = _mixed(losses, masses, mu)
    outer = math.fsum(leading)
    if leading and len(losses) > 64:
        knots = (reach + 2.0 * outer) / STEPS * np.arange(STEPS + 1.0) - outer
        profile = _chords(knots, profile(knots))
    for spent in reversed(leading[1:]):
        outer -= spent
        # A stage looks at (range/h)·(size/h) pairs for a step h; all stages share WORK.
        width = reach + 2.0 * outer
        share = WORK / (len(leading) - 1)
        size = max(spent, 64.0 * width / share)  # at least 8 steps; more ε is never more private
        steps = min(math.isqrt(round(share * size / width)), STEPS)
        h = size / steps
        knots = h * np.arange(-float(steps), math.ceil(width / h) + steps + 1) - outer
        profile = _chords(knots[steps:-steps], _worst_shift(profile(knots), size, steps))
    return _outermost(profile, leading[0]) if leading else profile


# Proof: totals.md
def _outermost(inner: Profile, size: float) -> Profile:
    """Return the profile of a selection followed by what ``inner`` describes, point by point.

    Cells of t that may hold the maximum are cut into eight until that no longer matters.
    """

    def worst(epsilon: float) -> float:
        width, best, bounds = size / 64, 0.0, np.array([1.0])
        t = width * np.arange(64.0)
        while bounds.max() > best * (1.0 + 0.1 * HAIR) and width > 1e-12 * size:
            near, far = inner(epsilon - t), inner(epsilon - t + size)
            near_next, far_next = inner(epsilon - t - width), inner(epsilon - t - width + size)
            values, bounds = _cells(near, near_next, far, far_next, t, width, size)
            best = max(best, float(values.max()))
            t = t[bounds > best * (1.0 + 0.1 * HAIR)]
            width /= 8
            t = (t[:, None] + width * np.arange(8.0)).ravel()
        return max(float(bounds.max()), best * (1.0 + 0.1 * HAIR))

    return lambda epsilon: np.array([worst(e) for e in epsilon.tolist()])


# Proof: totals.md
def _worst_shift(values: Floats, size: float, steps: int) -> Floats:
    """Bound max_t [q_t F(ε − t) + (1 − q_t) F(ε − t + size)] from F on a grid of step size/steps.

    The bounds are for all points of the grid but the first and the last ``steps``.
    """
    width = size / steps
    t = width * np.arange(float(steps))
    windows = sliding_window_view(values, steps + 1)[:, ::-1]
    rows = max(1, (1 << 14) // steps)
    found = []
    for begin in range(0, len(windows) - steps, rows):
        end = min(begin + rows, len(windows) - steps)
        near, far = windows[begin:end], windows[begin + steps : end + steps]
        cells = near[:, :-1], near[:, 1:], far[:, :-1], far[:, 1:]
        found.append(_cells(*cells, t, width, size)[1].max(axis=1))
    return np.concatenate(found)


# Proof: totals.md
def _cells(
    near: Floats,
    near_next: Floats,
    far: Floats,
    far_next: Floats,
    t: Floats,
    width: float,
    size: float,
) -> tuple[Floats, Floats]:
    """Return q_t F(ε − t) + (1 − q_t) F(ε − t + size) at the ends of cells of t, and bounds within.

    ``near`` is F(ε − t) and ``far`` is F(ε − t + size), at t and at the other end, t + ``width``.
    """
    scale = 1.0 / math.expm1(size)
    left = scale * (near * np.exp(t) * np.expm1(size - t) + far * np.expm1(t))
    other = t + width
    right = scale * (
        near_next * np.exp(other) * np.expm1(size - other) + far_next * np.expm1(other)
    )
    # F is convex in e^ε, so within a cell it is below its chord.  With chords, what is maximised
    # lies above its own chord by at most 4 s (1 − s) bend at a fraction s of the cell, where
    # bend = (a − a')·curve and a is where a chord of F meets the axis.
    step = math.expm1(width)
    meet = (near_next - far_next) + ((near_next - near) - (far_next - far)) / step
    bend = np.maximum(meet, 0.0) * (0.25 * step**2 * scale * np.exp(other))
    # max over 0 ≤ s ≤ 1 of (1 − s) left + s right + 4 s (1 − s) bend
    above = np.maximum(4.0 * bend - np.abs(right - left), 0.0) ** 2 / np.maximum(
        16.0 * bend, 1e-300
    )
    values = np.maximum(left, right)
    return values, values + above


# Proof: totals.md
def _chords(epsilon: Floats, values: Floats) -> Profile:
    """Join known values of a profile by straight lines in e^ε, which lie above it."""
    x, y = np.r_[0.0, np.exp(epsilon)], np.r_[1.0, values]
    return lambda wanted: np.interp(np.exp(wanted), x, y)


# Proof: totals.md
def _mixed(losses: Floats, masses: Floats, mu: float) -> Profile:
    """Return the profile of a loss with these ``masses`` beside a Gaussian."""
    rows = max(1, (1 << 20) // len(losses))

    def profile(epsilon: Floats) -> Floats:
        parts = [epsilon[i : i + rows] for i in range(0, len(epsilon), rows)]
        return np.concatenate(
            [gaussian_profile(part[:, None] - losses, mu) @ masses for part in parts]
        )

    return profile


# Proof: totals.md
def _losses(spends: Sequence[Spend]) -> tuple[Floats, Floats]:
    """Return the privacy loss of all but the Gaussians: its values and their probabilities."""
    losses, masses = np.zeros(1), np.ones(1)
    for (kind, size), times in Counter((s.kind, s.size) for s in spends).items():
        if kind == "gaussian":
            continue
        more, weights = _pure_losses(size, times) if kind == "pure" else _range_losses(size, times)
        if len(losses) * len(more) > MOST_LOSSES:
            losses, masses = _spread(losses, masses, MOST_LOSSES // 8)
            more, weights = _spread(more, weights, MOST_LOSSES // 8)
        losses, masses = np.add.outer(losses, more).ravel(), np.outer(masses, weights).ravel()
        losses, masses = _spread(losses, masses, MOST_LOSSES)
    return losses, masses


# Proof: totals.md
def _pure_losses(size: float, times: int) -> tuple[Floats, Floats]:
    """±ε with odds e^ε, ``times`` times: a binomial distribution."""
    ups = np.arange(times + 1.0)
    ways = gammaln(times + 1.0) - gammaln(ups + 1.0) - gammaln(times - ups + 1.0)
    log_masses = ways - (times - ups) * size - times * math.log1p(math.exp(-size))
    return size * (2.0 * ups - times), np.exp(log_masses)


# Proof: totals.md
def _range_losses(size: float, times: int) -> tuple[Floats, Floats]:
    """A loss above that of every bounded-range mechanism: density ∝ e^(loss/2) on [−ε, ε]."""
    cells = max(STEPS // times, 16)
    one = np.linspace(-size, size, cells + 1)
    weights = np.exp(0.5 * one) * math.tanh(0.5 * size / cells) / math.sinh(0.5 * size)
    weights[[0, -1]] *= 0.5
    masses = weights
    for _ in range(times - 1):
        masses = np.convolve(masses, weights)
    return np.linspace(-size * times, size * times, cells * times + 1), masses


# Proof: totals.md
def _spread(losses: Floats, masses: Floats, most: int) -> tuple[Floats, Floats]:
    """Move masses to the ends of the cells of a grid if there are more than ``most`` of them.

    The share 1 − e^−x : 1 − e^−h that moves up keeps both Σ mass and Σ mass·e^−loss.
    """
    if len(losses) <= most:
        return losses, masses
    low, h = losses.min(), (losses.max() - losses.min()) / (most - 1)
    cell = np.clip(((losses - low) / h).astype(np.int64), 0, most - 2)
    up = masses * np.clip(np.expm1(-(losses - low - h * cell)) / math.expm1(-h), 0.0, 1.0)
    spread = np.bincount(cell, masses - up, most) + np.bincount(cell + 1, up, most)
    return low + h * np.arange(most), np.asarray(spread, dtype=np.float64)


# Proof: totals.md
def gaussian_profile(epsilon: Floats, mu: float) -> Floats:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) for ε of either sign; without noise, at μ = 0."""
    size = np.abs(epsilon)
    if mu == 0.0:
        positive = np.zeros_like(size)
    else:
        # As in calibration.privacy_profile.
        a, minus_b = 0.5 * mu - size / mu, 0.5 * mu + size / mu
        density = np.exp(-0.5 * a * a)
        tail = erfcx(minus_b / math.sqrt(2.0))
        near = ndtr(a) - 0.5 * density * tail
        far = 0.5 * density * (erfcx(np.maximum(-a, 0.0) / math.sqrt(2.0)) - tail)
        positive = np.maximum(np.where(a > 0, near, far), 0.0)
    # The same for the neighbours exchanged: δ(−ε) = 1 − e^−ε (1 − δ(ε)).
    return np.where(epsilon < 0, -np.expm1(-size) + np.exp(-size) * positive, positive)
