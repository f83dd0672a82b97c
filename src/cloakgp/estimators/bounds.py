"""``private_bounds``: bounds chosen privately, alone or before a release that shares the budget.

What can be worked out in public is in ``plan.bounds``; y goes straight to ``privacy``.
"""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from cloakgp.errors import NotPrivateWarning
from cloakgp.estimators.accounts import open_account
from cloakgp.estimators.people import as_blocks, encoded, identity_of
from cloakgp.inputs.blocks.sources import blocks_of
from cloakgp.inputs.blocks.table import BlockColumn, BlockTable
from cloakgp.inputs.checks import check_apart, owner_codes, shape_of
from cloakgp.inputs.columns import Column
from cloakgp.plan.bounds import BoundsGrid, BoundsPlan, total_of
from cloakgp.plan.parts import ChosenBounds
from cloakgp.privacy import Budget, Noise, Spend
from cloakgp.privacy.choice.bounds import Held, Outputs, pair_spends, select_bounds


@dataclass(frozen=True)
class PrivateBounds:
    """Bounds that were chosen privately, and how: (lo, hi) for ``PrivateGPRegressor(bounds=...)``.

    A release with them says that they were chosen so, and what both cost together.

    Attributes
    ----------
    lo : float
        The lower bound.
    hi : float
        The upper bound.
    plan : BoundsPlan
        How they were chosen.
    private : bool
        False for trials with ``random_state``.
    """

    lo: float
    hi: float
    plan: BoundsPlan
    private: bool

    @property
    def epsilon(self) -> float:
        """What the two choices cost if they are added up."""
        return self.plan.epsilon

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What the two choices cost, in order."""
        return pair_spends(self.plan.each)

    def __iter__(self) -> Iterator[float]:
        return iter((self.lo, self.hi))


def private_bounds(
    y: ArrayLike,
    grid: ArrayLike,
    epsilon: float,
    quantiles: tuple[float, float] = (0.01, 0.99),
    groups: Any = None,
    *,
    inputs: Any = None,
    columns: Mapping[str, Column] | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    random_state: Any = None,
) -> PrivateBounds:
    """Choose bounds of y privately: spends ``epsilon``, once.

    Give the result to ``PrivateGPRegressor(bounds=...)``: its release then states what both cost
    together.  For one budget and one entry of a ledger give it ``bounds=BoundsGrid(grid)`` instead.
    ``BoundsGrid(grid).plan(rows, epsilon)`` says beforehand how well the choice can be made.

    Parameters
    ----------
    y : array, series or private column in blocks
        One number for each row.
    grid : sequence of float
        Public candidates in increasing order: ``np.linspace(0, 300, 31)``, or
        ``np.geomspace(1, 1e6, 31)`` if not even the order of magnitude is known.
    epsilon : float
        What the choice spends: two exponential mechanisms at half of it.
    quantiles : (low, high), default=(0.01, 0.99)
        The shares of the values that should lie below each bound.
    groups : array of shape (N,), default=None
        The owner of each row, if people own several: their rows count together.
    inputs : array, data frame or table in blocks, default=None
        The public inputs, by which a ledger knows the people: as the release after it has them.
    columns : mapping of names to columns, default=None
        What columns of the inputs are, as estimators are told it.
    ledger : Ledger, path or address, default=None
        A budget ledger, in which the spend is recorded before anything is drawn.
    dataset : str, default=None
        The name of the data set in the ledger.
    random_state : int or RandomState, default=None
        Anything but None makes the choice repeatable and therefore **not private**.

    Returns
    -------
    bounds : PrivateBounds
        The bounds, ``lo, hi = bounds``, and how they were chosen.

    Raises
    ------
    ValueError
        If there are too few rows for so many candidates at this ``epsilon``; the message says
        what would be enough.  Nothing was spent.

    See Also
    --------
    BoundsGrid : The same choice, from the budget of the release.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp import private_bounds
    >>> heights = np.random.default_rng(0).normal(150, 20, 3000)
    >>> bounds = private_bounds(heights, np.linspace(0, 300, 31), epsilon=0.5)
    >>> lo, hi = bounds
    >>> bool(0 <= lo < hi <= 300)
    True
    """
    y = as_blocks(y)
    if y is None:
        raise ValueError("y is missing: give the private outputs to choose bounds for")
    check_apart(y, inputs, groups=groups)
    account = open_account(ledger, dataset)
    if account is not None and random_state is not None:
        raise ValueError("a trial with random_state cannot be recorded in a ledger")
    rows = _count(y)
    shape_of(y, rows)
    table: Any = blocks_of(inputs, columns)
    if table is None and inputs is not None:
        table = encoded(inputs, columns, "inputs")[0]
    told = rows if table is None else table.rows if isinstance(table, BlockTable) else len(table)
    if told != rows:
        raise ValueError(f"inputs has {told} rows, and y has {rows}")
    asked = BoundsGrid(grid, quantiles, epsilon)  # type: ignore[arg-type]
    owners = owner_codes(groups, rows, inputs)
    plan = asked.plan(rows, groups=owners)
    commit = None
    if account is not None:
        book, name = account
        commit = partial(
            book.spend,
            name,
            list(plan.spends),
            what="private_bounds",
            parameters=plan.parameters,
            release_id=uuid.uuid4().hex,
            inputs=identity_of(table) if isinstance(table, BlockTable) else table,
            stated=(plan.epsilon, 0.0),
        )
    if random_state is not None:
        warnings.warn(
            "random_state makes the choice repeatable, so the bounds are NOT private; use "
            "random_state=None for a real choice",
            NotPrivateWarning,
            stacklevel=2,
        )
    return draw_bounds(plan, y, owners, Noise(commit=commit), random_state)


def draw_bounds(
    plan: BoundsPlan, y: Any, groups: Any, noise: Noise, random_state: Any
) -> PrivateBounds:
    """Hand y to the core, and return what it chose; ``noise`` records the spend."""
    rehearsal = None
    if random_state is not None:
        rng = check_random_state(random_state)
        rehearsal = lambda scale, count: scale * rng.gumbel(size=count)  # noqa: E731
    parts: tuple[Outputs, ...] = (Held(plan.rows, y),)
    if isinstance(y, BlockColumn):
        parts = y.parts
    pair = select_bounds(
        parts,
        plan.grid.candidates,
        plan.beyond,
        plan.each,
        groups=groups,
        noise=replace(noise, rehearsal=rehearsal),
    )
    return PrivateBounds(*plan.bounds(pair.low, pair.high), plan, pair.private)


def plan_choice(bounds: Any, rows: int, groups: Any, budget: Budget) -> BoundsPlan | None:
    """Plan the choice that shares a budget with the release after it, if there is to be one."""
    if not isinstance(bounds, BoundsGrid):
        return None
    if math.isinf(budget.epsilon):
        raise ValueError(
            "epsilon=inf adds no noise, so there is no budget to choose bounds with; give bounds "
            "as numbers for a trial"
        )
    if budget.calibration != "analytic":
        raise ValueError(
            f"calibration={budget.calibration!r} cannot share a budget with a private choice of "
            "bounds; use calibration='analytic'"
        )
    return bounds.shared(rows, groups, budget.epsilon, budget.delta)


def stated(bounds: Any, choice: BoundsPlan | None, budget: Budget) -> ChosenBounds | None:
    """Return what a release says of a private choice of its bounds, if there was one."""
    if choice is not None:
        return choice.chosen(choice.total_epsilon)
    if not isinstance(bounds, PrivateBounds) or budget.sigma == 0.0:
        return None
    spends = (*bounds.spends, Spend.gaussian(budget.sigma))
    return bounds.plan.chosen(total_of(spends, budget.delta))


def check_private(bounds: Any, random_state: Any) -> None:
    """Refuse a private release with bounds from a choice that was not private."""
    if isinstance(bounds, PrivateBounds) and not bounds.private and random_state is None:
        raise ValueError(
            "bounds were chosen with random_state, so they are not private; choose them again "
            "without it"
        )


def _count(y: Any) -> int:
    """Return how many rows y has, a public number."""
    rows = y.rows if isinstance(y, BlockColumn) else getattr(y, "__len__", lambda: None)()
    if not rows:
        raise ValueError("y must be a list or column of numbers that is not empty")
    return int(rows)
