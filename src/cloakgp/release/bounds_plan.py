"""Bounds chosen privately: what is asked for, what it costs, and how well it can be done.

A ``BoundsGrid`` names public candidates.  A ``BoundsPlan`` says how many values are left beyond
each bound, so that the budget can tell a good candidate from one that is far too wide, and what is
to be expected of the choice.  Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cloakgp.errors import ParameterError
from cloakgp.privacy import Spend, gaussian_sigma, total_delta, total_guarantee
from cloakgp.privacy.choice.bounds import CHARGE, checked_grid, most_rows, pair_spends
from cloakgp.privacy.choice.selection import check_choice
from cloakgp.privacy.mechanism.calibration import SMALLEST_EPSILON
from cloakgp.release.card import card
from cloakgp.release.spec import ChosenBounds
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]

#: Candidates that are too wide weigh, all together, at most this much of one that is right.
RIVALS = 0.1
#: More than this share of all rows is not left beyond a bound because the budget is small.
MOST_BEYOND = 0.2
#: A release that shares its budget with the choice gives it what leaves this share beyond a bound,
#: or less, but neither less nor more than these shares of the budget.
USUAL_BEYOND, LEAST_SHARE, MOST_SHARE = 0.1, 0.1, 0.5
#: The release gets all of the budget but for this share of δ.
UNUSED = 1e-4
#: The spread of values in the forecasts, as shares of the grid.
SPREADS = (0.1, 0.3, 0.9)
#: Rows of a made-up data set, at most: more are told from a sample.
MOST_MADE_UP = 20_000


@single_threaded
@dataclass(frozen=True)
class BoundsGrid:
    """Public candidates for bounds, of which two are chosen privately.

    Given to ``PrivateGPRegressor(bounds=...)``, choice and release share its ``epsilon`` and are
    one entry of a ledger.

    Parameters
    ----------
    candidates : sequence of float
        Numbers in increasing order, for instance ``np.linspace(0, 300, 31)``, or
        ``np.geomspace(1, 1e6, 31)`` if not even the order of magnitude is known.  Decided from
        what is known publicly, never from the data.
    quantiles : (low, high), default=(0.01, 0.99)
        The shares of the values that should lie below the lower bound, and below the upper one.
    epsilon : float, default=None
        What the choice gets of the budget.  None: a tenth of it, or more if there are few people.

    See Also
    --------
    private_bounds : The same choice alone, with a budget of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp import BoundsGrid, PrivateGPRegressor
    >>> grid = BoundsGrid(np.linspace(0, 300, 31))
    >>> grid.widest
    (0.0, 300.0)
    >>> model = PrivateGPRegressor(bounds=grid, epsilon=2.0)  # for choice and release together
    """

    candidates: tuple[float, ...]
    quantiles: tuple[float, float] = (0.01, 0.99)
    epsilon: float | None = None

    def __post_init__(self) -> None:
        grid = tuple(checked_grid(self.candidates).tolist())
        object.__setattr__(self, "candidates", grid)
        object.__setattr__(self, "quantiles", checked_quantiles(self.quantiles))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_choice(self.epsilon, "exponential"))

    def __repr__(self) -> str:
        told = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        ends = f"{self.candidates[0]:g} … {self.candidates[-1]:g}"
        return f"BoundsGrid({len(self.candidates)} from {ends}, quantiles={self.quantiles}{told})"

    @property
    def widest(self) -> tuple[float, float]:
        """The ends of the grid."""
        return self.candidates[0], self.candidates[-1]

    def plan(self, rows: int, epsilon: float | None = None, groups: Any = None) -> BoundsPlan:
        """Work out how well a choice can do for so many rows.  Reads no y and spends nothing.

        Parameters
        ----------
        rows : int
            How many values there are, a public number.
        epsilon : float, default=None
            What the choice may spend.  None: the ``epsilon`` of the grid.
        groups : array of shape (N,), default=None
            The owner of each row, if people own several: their rows count together.

        Returns
        -------
        plan : BoundsPlan
            How many rows each bound may be off, and how wide bounds would be for made-up data.

        Raises
        ------
        ValueError
            If there are too few rows for so many candidates; the message says what would be enough.

        Examples
        --------
        >>> import numpy as np
        >>> from cloakgp import BoundsGrid
        >>> plan = BoundsGrid(np.linspace(0, 300, 31)).plan(3000, epsilon=0.5)
        >>> plan.rank_error
        57
        """
        epsilon = self.epsilon if epsilon is None else epsilon
        if epsilon is None:
            raise ParameterError("{epsilon} is missing: say what the choice of bounds may spend")
        return BoundsPlan(
            grid=replace(self, epsilon=epsilon), rows=rows, most_rows=most_rows(groups, rows)
        )

    def shared(self, rows: int, groups: Any, epsilon: float, delta: float) -> BoundsPlan:
        """Plan a choice that shares (``epsilon``, ``delta``) with the release after it.

        Parameters
        ----------
        rows : int
            How many values there are, a public number.
        groups : array of shape (N,) or None
            The owner of each row, if people own several: their rows count together.
        epsilon : float
            The ε of both together.
        delta : float
            The δ of both together.

        Returns
        -------
        plan : BoundsPlan
            The plan of the choice, with the ``release_epsilon`` that is left.
        """
        own = most_rows(groups, rows)
        spent = self.epsilon
        if spent is None:
            wanted = max(min(self.quantiles[0], 1.0 - self.quantiles[1]), USUAL_BEYOND) * rows
            needed = 2.0 * _least_rows(len(self.candidates), own, 1.0) / max(wanted, 1.0)
            spent = min(max(needed, LEAST_SHARE * epsilon), MOST_SHARE * epsilon)
        plan = self.plan(rows, spent, groups)
        release = _rest(epsilon, delta, 0.5 * spent)
        return replace(plan, release_epsilon=release, delta=delta)


@single_threaded
@dataclass(frozen=True)
class BoundsPlan:
    """What a private choice of bounds would do.  All of it is public; nothing is spent yet.

    Attributes
    ----------
    grid : BoundsGrid
        The candidates, with the ``epsilon`` of the choice.
    rows : int
        How many values there are.
    most_rows : int
        How many of them one person owns at most.
    release_epsilon : float or None
        What is left to a release that shares the budget.
    delta : float or None
        The δ of both together, if a release shares the budget.
    """

    grid: BoundsGrid
    rows: int
    most_rows: int
    release_epsilon: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if max(self._needed, 1) > MOST_BEYOND * self.rows:
            people = math.ceil(max(self._needed, 1) / MOST_BEYOND)
            enough = 2.0 * _least_rows(len(self.grid.candidates), self.most_rows, 1.0)
            enough /= max(math.floor(MOST_BEYOND * self.rows), 1)
            advice = f" or epsilon >= {enough:.3g}" if self.rows >= 1.0 / MOST_BEYOND else ""
            raise ParameterError(
                "{} rows are too few to choose bounds among {} candidates at epsilon={:.3g}: "
                "that takes {} rows{}. Give fewer candidates or more budget, or take the ends of "
                "the grid as bounds, which costs nothing: {bounds:({:g}, {:g})}",
                self.rows,
                len(self.grid.candidates),
                self.epsilon,
                people,
                advice,
                self.grid.widest[0],
                self.grid.widest[1],
            )

    @property
    def epsilon(self) -> float:
        """What both choices spend together if they are added up."""
        assert self.grid.epsilon is not None
        return self.grid.epsilon

    @property
    def each(self) -> float:
        """What each of the two choices spends."""
        return 0.5 * self.epsilon

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Everything that is spent, in order: with the release, if one shares the budget."""
        if self.release_epsilon is None or self.delta is None:
            return pair_spends(self.each)
        return (*pair_spends(self.each), _release_spend(self.release_epsilon, self.delta))

    @property
    def total_epsilon(self) -> float:
        """The ε of everything together, at ``delta``; of the choice alone, its ε."""
        return self.epsilon if self.delta is None else cached_total(self.spends, self.delta)

    @property
    def parameters(self) -> dict[str, Any]:
        """Public facts of the choice for a ledger."""
        return {
            "candidates": len(self.grid.candidates),
            "quantiles": list(self.grid.quantiles),
            "bounds_epsilon": self.epsilon,
            "most_rows": self.most_rows,
        }

    @cached_property
    def beyond(self) -> tuple[int, int]:
        """How many values should lie below the lower bound, and above the upper one."""
        low, high = self.grid.quantiles
        wanted = (low * self.rows, (1.0 - high) * self.rows)
        return max(round(wanted[0]), self._needed), max(round(wanted[1]), self._needed)

    @property
    def aimed(self) -> tuple[float, float]:
        """The quantiles that are chosen by: those that were asked for, or more central ones."""
        below, above = self.beyond
        return below / self.rows, 1.0 - above / self.rows

    @property
    def stretched(self) -> bool:
        """Whether bounds are stretched: the budget cannot tell the quantiles that are wanted."""
        low, high = self.grid.quantiles
        return self.aimed[0] > low + 1.0 / self.rows or self.aimed[1] < high - 1.0 / self.rows

    @property
    def rank_error(self) -> int:
        """How many rows each bound is off, at most, with a chance of 95 % for both.

        Against the best candidate; the proof is in ``privacy/choice/bounds.md``.
        """
        scale = 2.0 * self.most_rows / self.each
        return math.ceil(scale * math.log(40.0 * (len(self.grid.candidates) - 1)))

    def bounds(self, low: int, high: int) -> tuple[float, float]:
        """Return the bounds for two chosen places in the grid, stretched if that is called for.

        As for a bell curve over the places of the grid, which are logarithms on a logarithmic grid:
        its wanted quantiles follow from those that were chosen by.

        Parameters
        ----------
        low : int
            The place that was chosen for the lower bound.
        high : int
            The place that was chosen for the upper bound.

        Returns
        -------
        lo, hi : float
            Two of the candidates.
        """
        if self.stretched:
            from_low, from_high = (float(ndtri(q)) for q in self.aimed)
            to_low, to_high = (float(ndtri(q)) for q in self.grid.quantiles)
            spread = (high - low) / (from_high - from_low)
            centre = low - spread * from_low
            # Never narrower than what was chosen.
            low = min(low, max(math.floor(centre + spread * to_low + 1e-9), 0))
            last = len(self.grid.candidates) - 1
            high = max(high, min(math.ceil(centre + spread * to_high - 1e-9), last))
        return self.grid.candidates[low], self.grid.candidates[high]

    def chosen(self, total_epsilon: float) -> ChosenBounds:
        """Return what a release says of the choice.

        Parameters
        ----------
        total_epsilon : float
            The ε of everything that was spent.

        Returns
        -------
        choice : ChosenBounds
            The public facts of the choice.
        """
        return ChosenBounds(
            epsilon=self.epsilon,
            grid=self.grid.candidates,
            quantiles=self.grid.quantiles,
            aimed=self.aimed,
            total_epsilon=total_epsilon,
            most_rows=self.most_rows,
        )

    def forecast(self, spread: float) -> tuple[float, float, float]:
        """Return how wide bounds would be against the right ones, and which share is clipped.

        For made-up values like a bell curve, 98 % of which fill the share ``spread`` of the grid
        around its middle.  Worked out, not drawn.

        Parameters
        ----------
        spread : float
            A share of the grid.

        Returns
        -------
        least : float
            A width that is exceeded in 90 % of choices, as a multiple of the right one.
        most : float
            A width that is exceeded in 10 % of choices.
        clipped : float
            The mean share of clipped values.
        """
        grid = np.array(self.grid.candidates)
        last = len(grid) - 1
        rows = min(self.rows, MOST_MADE_UP)
        at = 0.5 * last + 0.5 * spread * last * ndtri((np.arange(rows) + 0.5) / rows) / ndtri(0.99)
        each = self.rows / rows
        counts = np.searchsorted(at, np.arange(last + 1.0)).astype(np.float64)
        below, above = each * counts, each * (rows - counts)
        chance = self._chances(below, above)
        low, high = np.nonzero(chance > 1e-9)
        weight = chance[low, high]
        pairs = [self.bounds(int(i), int(j)) for i, j in zip(low, high, strict=True)]
        ends = np.searchsorted(grid, np.array(pairs))
        widths = (ends[:, 1] - ends[:, 0]) / (spread * last)
        clipped = (below[ends[:, 0]] + above[ends[:, 1]]) / self.rows
        order = np.argsort(widths)
        reached = np.cumsum(weight[order]) / weight.sum()
        least, most = (float(widths[order][np.searchsorted(reached, q)]) for q in (0.1, 0.9))
        return least, most, float(weight @ clipped / weight.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the choice for machines.

        Returns
        -------
        figures : dict
            By name, as JSON can hold them.
        """
        return {
            **self.parameters,
            "aimed": list(self.aimed),
            "stretched": self.stretched,
            "rank_error": self.rank_error,
            "release_epsilon": self.release_epsilon,
            "forecast": [
                dict(zip(("spread", "least_width", "most_width", "clipped"), row, strict=True))
                for row in ((spread, *self.forecast(spread)) for spread in SPREADS)
            ],
        }

    def summary(self) -> str:
        """Say what the choice would cost and how well it can be expected to choose.

        Returns
        -------
        text : str
            Plain text; ``print(plan)`` shows the same.
        """
        count, (low, high) = len(self.grid.candidates), self.grid.quantiles
        lines = [
            f"Bounds chosen privately among {count} candidates from {self.grid.widest[0]:g} to "
            f"{self.grid.widest[1]:g}, by {self.rows} rows: about {100 * low:g} % of the values "
            f"below the lower bound and {100 * (1 - high):.3g} % above the upper one. Two choices "
            f"at epsilon={self.each:.4g} each, {for_whom(self.most_rows)}.",
            f"With a chance of 95 % no bound is off by more than {self.rank_error} rows "
            f"({min(100.0 * self.rank_error / self.rows, 100.0):.2g} % of all).",
        ]
        if self.stretched:
            aimed = self.aimed
            lines.append(
                "The budget cannot tell these quantiles from wider bounds, so that "
                f"{100 * aimed[0]:.2g} % below and {100 * (1 - aimed[1]):.2g} % above are aimed "
                "at, and the bounds are then stretched as for a bell curve."
            )
        for spread in SPREADS:
            least, most, clipped = self.forecast(spread)
            lines.append(
                f"If the values fill {100 * spread:g} % of the grid: {least:.2g} to {most:.2g} "
                f"times the right width (8 of 10 choices), {100 * clipped:.2g} % clipped."
            )
        if self.delta is not None:
            lines.append(
                f"With the release at epsilon={self.release_epsilon:.4g} all together are "
                f"(epsilon={self.total_epsilon:.4g}, delta={self.delta:g})-private."
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"BoundsPlan({self.rows} rows, epsilon={self.epsilon:g})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        first, *rest = self.summary().splitlines()
        return card("Plan of bounds: nothing is chosen yet", [("what", first)], "\n".join(rest))

    @property
    def _needed(self) -> int:
        """How many rows beyond a bound tell it from all candidates that are too wide."""
        return math.ceil(_least_rows(len(self.grid.candidates), self.most_rows, self.each) - 1e-9)

    def _chances(self, below: Array, above: Array) -> Array:
        """Return the chance of each pair of candidates, (m, m), for known counts."""
        m = len(below)
        steps, places = m - 1, np.arange(m)
        rate = self.each / (2.0 * self.most_rows)
        out = (steps - 1 - places[:-1]) / steps
        lows = np.abs(below[:-1] - self.beyond[0]) + CHARGE * self.beyond[0] * out
        highs = np.abs(above - self.beyond[1])[None] + CHARGE * self.beyond[1] * (
            (places[None] - places[:-1, None] - 1) / steps
        )
        highs = np.where(places[None] > places[:-1, None], highs, np.inf)
        first = np.exp(-rate * (lows - lows.min()))
        then = np.exp(-rate * (highs - highs.min(axis=1, keepdims=True)))
        chance = (first / first.sum())[:, None] * then / then.sum(axis=1, keepdims=True)
        return np.vstack([chance, np.zeros(m)])


@cache
def cached_total(spends: tuple[Spend, ...], delta: float) -> float:
    """Return ``total_guarantee``, worked out once: with two choices it takes a moment."""
    return total_guarantee(spends, delta)


def for_whom(most_rows: int) -> str:
    """Say whom a choice protects."""
    if most_rows == 1:
        return "for people with one row each"
    return f"for people with up to {most_rows} rows, which count together"


def checked_quantiles(quantiles: Any) -> tuple[float, float]:
    """Return two quantiles around the median, or refuse them."""
    pair = tuple(quantiles) if isinstance(quantiles, list | tuple | np.ndarray) else ()
    numbers = len(pair) == 2 and all(isinstance(q, Real) for q in pair)
    if not (numbers and 0.0 < pair[0] < 0.5 < pair[1] < 1.0):
        raise ParameterError(
            "{quantiles} must be two numbers, the first between 0 and 0.5 and the second between "
            "0.5 and 1, got {!r}",
            quantiles,
        )
    return float(pair[0]), float(pair[1])


def _least_rows(candidates: int, most_rows: int, epsilon: float) -> float:
    """Return how many rows a bound has to leave out to be told from candidates that are wider.

    A bound with a rows beyond it weighs 1, one with none e^(−E(1 + cx)), E = εa/(2·most_rows), x
    the share of the grid that lies between, c the charge for it: all of them together, for m
    candidates, m e^(−E) (1 − e^(−cE))/(cE).
    """
    low, high = 1e-3, 50.0
    while high - low > 1e-6:
        E = 0.5 * (low + high)
        heavy = candidates * math.exp(-E) * -math.expm1(-CHARGE * E) / (CHARGE * E) > RIVALS
        low, high = (E, high) if heavy else (low, E)
    return 2.0 * most_rows * high / epsilon


def _release_spend(epsilon: float, delta: float) -> Spend:
    """Return what a release spends: of Gaussian noise, or without a δ of Laplace noise."""
    if delta == 0.0:
        return Spend("pure", epsilon)
    return Spend.gaussian(gaussian_sigma(epsilon, delta))


@cache
def _rest(epsilon: float, delta: float, each: float) -> float:
    """Return the ε of a release that is left beside two choices: all together meet (ε, δ)."""
    choices = pair_spends(each)
    nothing_left = ParameterError(
        "choosing bounds at epsilon={:g} leaves nothing of {epsilon:{:g}} to a release; "
        "give the choice less",
        2.0 * each,
        epsilon,
    )
    if delta == 0.0:  # pure spends add up
        if epsilon - 2.0 * each < SMALLEST_EPSILON:
            raise nothing_left
        return epsilon - 2.0 * each

    def excess(release: float) -> float:
        spent = total_delta([*choices, _release_spend(release, delta)], epsilon)
        return math.log(max(spent, 1e-300) / delta)

    low, high = SMALLEST_EPSILON, epsilon
    below, above = excess(low), excess(high)
    if below > 0.0:
        raise nothing_left
    # Secants, with bisections in between; an end is returned at which it was checked.
    for attempt in range(60):
        if below > math.log1p(-UNUSED):
            break
        middle = low - below * (high - low) / (above - below)
        # A hair towards the private side, so that it is reached and not approached.
        middle -= 0.2 * UNUSED * (middle - low)
        if attempt % 3 == 2 or not low < middle < high:
            middle = 0.5 * (low + high)
        found = excess(middle)
        if found <= 0.0:
            low, below = middle, found
        else:
            high, above = middle, found
    return low
