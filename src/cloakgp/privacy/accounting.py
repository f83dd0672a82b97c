"""What several spends on the same people amount to, and how to share a budget between them.

Nothing here sees data.  A ``Spend`` says what a release may have revealed; ``total_guarantee`` says
what all of them have, in the order in which they were made.  What is returned lies on the private
side: every step is an upper bound on δ(ε).  Claims and proofs: ``proofs/accounting.md``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import erfcx, gammaln, ndtr

from cloakgp.privacy.calibration import (
    HAIR,
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    checked_budget,
    checked_delta,
    gaussian_epsilon,
    gaussian_sigma,
)
from cloakgp.privacy.numbers import as_number

Kind = Literal["gaussian", "bounded-range", "pure"]
Floats = NDArray[np.float64]
#: δ as a function of ε, for an array of ε of either sign; never below the truth.
Profile = Callable[[Floats], Floats]

#: What the discrete grid of a Gaussian release costs in ε, for μ = 1/σ = 1 (proofs/accounting.md).
GRID_COST = 1e-14
#: Totals of Gaussians quieter than this are counted as if they were this loud.
SMALLEST_MU = 1e-6
#: Totals above this ε are counted as no protection at all.
LARGEST_TOTAL = 300.0
#: Steps of t, and of a loss, in the last and most exact stage.
STEPS = 2048
#: At most this many selections before everything else are outer stages.
MOST_STAGES = 32
#: How many values all earlier stages may work through.
WORK = 6_000_000
#: A distribution of losses has at most this many points; with more it is spread onto a grid.
MOST_LOSSES = 1 << 13


@dataclass(frozen=True)
class Spend:
    """What one release may reveal: its kind, and 1/σ for a Gaussian (unit sensitivity), else ε.

    ``bounded-range`` is the exponential mechanism, ``pure`` any ε-private mechanism.
    """

    kind: Kind
    size: float

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "bounded-range", "pure"):
            raise ValueError(
                f"kind must be 'gaussian', 'bounded-range' or 'pure', got {self.kind!r}"
            )
        object.__setattr__(self, "size", as_number("size", self.size))
        largest = 1e3 if self.kind == "gaussian" else LARGEST_EPSILON
        if not 0 < self.size <= largest:
            raise ValueError(
                f"the size of a {self.kind} spend must lie above 0 and be at most {largest:g}, "
                f"got {self.size!r}"
            )

    @classmethod
    def gaussian(cls, sigma: float) -> Spend:
        """Gaussian noise of standard deviation ``sigma`` per unit of sensitivity."""
        number = as_number("sigma", sigma)
        if not number > 0:
            raise ValueError(f"sigma must be a number > 0, got {sigma!r}")
        return cls("gaussian", 1.0 / number)


def total_guarantee(spends: Sequence[Spend], delta: float) -> float:
    """Return the smallest ε at which all ``spends`` together are (ε, ``delta``)-private.

    They are listed in the order in which they were made.  Later ones may have been chosen after
    seeing earlier results.
    """
    delta = checked_delta(delta)
    if not spends:
        return 0.0
    mu = _total_mu(spends)
    others = math.fsum(spend.size for spend in spends if spend.kind != "gaussian")
    # Basic composition: never more than the sum.
    largest = others + (gaussian_epsilon(1.0 / mu, delta) if mu else 0.0)
    if largest > LARGEST_TOTAL:
        return math.inf
    profile = _profile(spends, largest)
    target = delta * (1.0 - HAIR)
    low, high = 0.0, largest
    if profile(np.zeros(1))[0] <= target:
        high = 0.0
    while high - low > 0.01 * HAIR * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if profile(np.array([middle]))[0] <= target else (middle, high)
    return _with_hair(high, mu)


def total_delta(spends: Sequence[Spend], epsilon: float) -> float:
    """Return the smallest δ at which all ``spends`` together are (``epsilon``, δ)-private."""
    epsilon = as_number("epsilon", epsilon)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
    if not spends:
        return 0.0
    if math.fsum(spend.size for spend in spends if spend.kind != "gaussian") > LARGEST_TOTAL:
        return 1.0
    bare = (min(epsilon, LARGEST_TOTAL) - GRID_COST * _total_mu(spends) ** 2) / (1.0 + 0.5 * HAIR)
    profile = _profile(spends, max(bare, 0.0))
    return min(float(profile(np.array([bare]))[0]) / (1.0 - HAIR), 1.0)


@dataclass(frozen=True)
class Split:
    """A budget shared by a selection and a release after it.  All of it is public."""

    epsilon: float  # of both together
    delta: float
    selection: Spend
    release_epsilon: float  # ask for a release at (release_epsilon, delta)
    sigma: float  # the noise that it will have

    @property
    def spends(self) -> tuple[Spend, Spend]:
        """Both spends, in order."""
        return self.selection, Spend.gaussian(self.sigma)


def split_budget(epsilon: float, delta: float, *, selection: float, kind: Kind = "pure") -> Split:
    """Return the release that is left when a selection at ε = ``selection`` comes first.

    Together they are (``epsilon``, ``delta``)-private, and the release gets all that this allows:
    more than ``epsilon`` − ``selection``.  ``kind`` is that of the selection: "bounded-range" for
    the exponential mechanisms, "pure" for permute-and-flip.
    """
    epsilon, delta = checked_budget(epsilon, delta)
    if kind == "gaussian":
        raise ValueError("kind must be that of a selection, 'bounded-range' or 'pure'")
    chosen = Spend(kind, selection)

    def fits(release_epsilon: float) -> bool:
        release = Spend.gaussian(gaussian_sigma(release_epsilon, delta))
        return total_delta([chosen, release], epsilon) <= delta

    if not fits(SMALLEST_EPSILON):
        raise ValueError(
            f"a selection at epsilon={selection!r} leaves nothing of epsilon={epsilon!r} to a "
            "release; give the selection less"
        )
    low, high = SMALLEST_EPSILON, epsilon
    while high - low > HAIR * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Split(epsilon, delta, chosen, low, gaussian_sigma(low, delta))


def recommend_split(
    epsilon: float,
    delta: float,
    *,
    regret: float,
    noise: float,
    kind: Kind = "pure",
) -> Split:
    """Recommend how to share a budget, from public facts only.

    ``regret`` is what a selection at ε = 1 may lose, 2Δ ln(number of candidates) for losses of
    sensitivity Δ; at ε_s it is regret/ε_s.  ``noise`` is the loss, in the same units, that a
    release with σ = 1 adds.  The share of ε that goes to the selection is the multiple of 1/20
    with the smallest sum regret/ε_s + noise·σ.
    """
    epsilon, delta = checked_budget(epsilon, delta)
    regret, noise = as_number("regret", regret), as_number("noise", noise)
    for name, value in (("regret", regret), ("noise", noise)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a number > 0, got {value!r}")
    shares = [epsilon * share / 20 for share in range(1, 20)]
    shares = [share for share in shares if epsilon - share >= 2.0 * SMALLEST_EPSILON]
    if not shares:
        raise ValueError(f"epsilon={epsilon!r} is too small to be shared")
    splits = [split_budget(epsilon, delta, selection=share, kind=kind) for share in shares]
    return min(splits, key=lambda split: regret / split.selection.size + noise * split.sigma)


def _with_hair(epsilon: float, mu: float) -> float:
    """Add what floating point and the discrete grid may cost."""
    return epsilon * (1.0 + 0.5 * HAIR) + GRID_COST * mu**2


def _total_mu(spends: Sequence[Spend]) -> float:
    """Gaussians compose exactly: 1/σ² adds."""
    squares = [spend.size**2 for spend in spends if spend.kind == "gaussian"]
    return max(math.sqrt(math.fsum(squares)), SMALLEST_MU) if squares else 0.0


def _profile(spends: Sequence[Spend], reach: float) -> Profile:
    """Return δ(ε) of all spends together, for 0 ≤ ε ≤ ``reach``.

    The selections before any other spend are the outer stages (only so many of them: counting one
    with the rest is valid, too, and costs more); all the rest is the innermost stage.
    """
    first = next((i for i, s in enumerate(spends) if s.kind != "bounded-range"), len(spends))
    first = min(first, MOST_STAGES)
    leading = [spend.size for spend in spends[:first]]
    losses, masses = _losses(spends[first:])
    mu = _total_mu(spends)
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


def _chords(epsilon: Floats, values: Floats) -> Profile:
    """Join known values of a profile by straight lines in e^ε, which lie above it."""
    x, y = np.r_[0.0, np.exp(epsilon)], np.r_[1.0, values]
    return lambda wanted: np.interp(np.exp(wanted), x, y)


def _mixed(losses: Floats, masses: Floats, mu: float) -> Profile:
    """Return the profile of a loss with these ``masses`` beside a Gaussian."""
    rows = max(1, (1 << 20) // len(losses))

    def profile(epsilon: Floats) -> Floats:
        parts = [epsilon[i : i + rows] for i in range(0, len(epsilon), rows)]
        return np.concatenate(
            [_gaussian_profile(part[:, None] - losses, mu) @ masses for part in parts]
        )

    return profile


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


def _pure_losses(size: float, times: int) -> tuple[Floats, Floats]:
    """±ε with odds e^ε, ``times`` times: a binomial distribution."""
    ups = np.arange(times + 1.0)
    ways = gammaln(times + 1.0) - gammaln(ups + 1.0) - gammaln(times - ups + 1.0)
    log_masses = ways - (times - ups) * size - times * math.log1p(math.exp(-size))
    return size * (2.0 * ups - times), np.exp(log_masses)


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


def _gaussian_profile(epsilon: Floats, mu: float) -> Floats:
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
