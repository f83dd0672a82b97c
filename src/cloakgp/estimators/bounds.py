"""Bounds of numbers: as people write them, or chosen privately before a release or within it.

y goes to the core, which chooses; what is kept of it are the bounds, and what they cost.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from cloakgp.data.blocks.dask import blocks_of
from cloakgp.data.blocks.table import BlockColumn, BlockTable
from cloakgp.data.checks import check_apart, owner_codes, shape_of
from cloakgp.data.columns import Column
from cloakgp.data.table import as_blocks, encoded, identity_of
from cloakgp.errors import NotPrivateWarning, ParameterError, warn_user
from cloakgp.estimators.spending import open_account, spending
from cloakgp.privacy import Budget, Ledger, Noise, Spend
from cloakgp.privacy.choice.bounds import Held, Outputs, most_rows, pair_spends, select_bounds
from cloakgp.privacy.mechanism.numbers import as_whole
from cloakgp.release.bounds_plan import BoundsGrid, BoundsPlan, cached_total
from cloakgp.release.card import card
from cloakgp.release.meaning import guarantee_words
from cloakgp.release.spec import ChosenBounds
from cloakgp.threads import single_threaded


def read_bounds(bounds: Any) -> list[tuple[float, float]]:
    """Return bounds as pairs: one for all output columns, or one for each.

    Two sequences outside of a list may be meant as (all lo, all hi), so they are refused.
    """
    items = _items(bounds)
    if len(items) == 2 and all(_is_number(item) for item in items):
        return [(float(items[0]), float(items[1]))]
    rows = [_items(item) for item in items]
    if rows and all(_is_number(value) for row in rows for value in row):
        if isinstance(bounds, list) and all(len(row) == 2 for row in rows):
            return [(float(row[0]), float(row[1])) for row in rows]
        if len(rows) == 2 and len(rows[0]) == len(rows[1]) > 0:
            raise ValueError(_both_readings(bounds, rows))
    raise ParameterError(
        "{bounds} must be two numbers (lo, hi), or a list with such a pair for each output "
        "column, for instance {bounds:[(0, 350), (400, 500)]}, got {!r}",
        bounds,
    )


def _both_readings(bounds: Any, rows: list[list[Any]]) -> str:
    """Spell out what two sequences may have meant: a row for each end, or one for each column."""
    readings = [list(zip(*rows, strict=True))]
    if len(rows[0]) == 2:
        readings.insert(0, [tuple(row) for row in rows])
    possible = [pairs for pairs in readings if all(lo < hi for lo, hi in pairs)]
    return (
        f"bounds={bounds!r} does not say which numbers belong together. Write a list with a pair "
        "(lo, hi) for each output column: "
        + ", or ".join(f"bounds={pairs}" for pairs in possible or readings)
    )


def _items(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim else []
    return list(value) if isinstance(value, list | tuple) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class PrivateBounds:
    """Bounds that were chosen privately, and how: (lo, hi) for ``PrivateGPRegressor(bounds=...)``.

    A release with them says that they were chosen so, and what both cost together.  It is refused
    if a person owns more rows than the choice allowed for, ``plan.most_rows``.  Its entry in a
    ledger records the choice as well, unless the same data set of that ledger holds it already.

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
    choice_id : str
        By which a ledger knows the choice; empty if it cannot.
    """

    lo: float
    hi: float
    plan: BoundsPlan
    private: bool
    choice_id: str = ""

    @property
    def epsilon(self) -> float:
        """What the two choices cost if they are added up."""
        return self.plan.epsilon

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What the two choices cost, in order."""
        return pair_spends(self.plan.each)

    def __repr__(self) -> str:
        return f"PrivateBounds({self.lo:g}, {self.hi:g}, epsilon={self.epsilon:g})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        facts = [
            ("chosen", f"from {self.lo:g} to {self.hi:g}"),
            ("guarantee", guarantee_words(self.epsilon, 0.0, self.private)),
            ("what next", "bounds=… of PrivateGPRegressor"),
        ]
        return card("Bounds, chosen privately", facts, self.plan.summary(), good=self.private)

    def __iter__(self) -> Iterator[float]:
        return iter((self.lo, self.hi))


@single_threaded
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
    together, and its entry in a ledger holds the choice, unless that is recorded there already.
    A release with ``groups`` needs bounds that were chosen with them.  For one budget and one
    entry of a ledger give it ``bounds=BoundsGrid(grid)`` instead.
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
        The owner of each row, if people own several: their rows count together.  All rows, also
        those that ``max_rows`` will leave out of the release.
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
        raise ParameterError("{inputs} has {} rows, and {y} has {}", told, rows)
    asked = BoundsGrid(grid, quantiles, epsilon)  # type: ignore[arg-type]
    owners = owner_codes(groups, rows, inputs)
    plan = asked.plan(rows, groups=owners)
    commit, choice_id = None, uuid.uuid4().hex
    if account is not None:
        book, name = account
        commit = partial(
            book.spend,
            name,
            list(plan.spends),
            what="private_bounds",
            parameters=plan.parameters,
            release_id=choice_id,
            inputs=identity_of(table) if isinstance(table, BlockTable) else table,
            stated=(plan.epsilon, 0.0),
        )
    if random_state is not None:
        warn_user(
            "random_state makes the choice repeatable, so the bounds are NOT private; use "
            "random_state=None for a real choice",
            NotPrivateWarning,
        )
    with spending(Noise(commit=commit)) as noise:
        chosen = draw_bounds(plan, y, owners, noise, random_state)
    return replace(chosen, choice_id=choice_id)


def draw_bounds(
    plan: BoundsPlan, y: Any, groups: Any, noise: Noise, random_state: Any
) -> PrivateBounds:
    """Hand y to the core, and return what it chose; ``noise`` records the spend."""
    rehearsal = None
    if random_state is not None:
        rng = check_random_state(random_state)
        rehearsal = lambda scale, count: scale * rng.gumbel(size=count)  # noqa: E731
    parts: tuple[Outputs, ...] = (Held(plan.rows, y),)
    commit = noise.commit
    if isinstance(y, BlockColumn):
        parts = y.parts
        commit = None if commit is None else partial(_check_and_commit, y, commit)
    pair = select_bounds(
        parts,
        plan.grid.candidates,
        plan.beyond,
        plan.each,
        groups=groups,
        noise=replace(noise, rehearsal=rehearsal, commit=commit),
    )
    return PrivateBounds(*plan.bounds(pair.low, pair.high), plan, pair.private)


def _check_and_commit(y: BlockColumn, commit: Callable[[], object]) -> None:
    """Record the spend unless a file went away while others were counted: the release needs it."""
    for part in y.parts:
        part.check()
    commit()


def plan_choice(bounds: Any, rows: int, groups: Any, budget: Budget) -> BoundsPlan | None:
    """Plan the choice that shares a budget with the release after it, if there is to be one."""
    if not isinstance(bounds, BoundsGrid):
        return None
    if math.isinf(budget.epsilon):
        raise ParameterError(
            "{epsilon:inf} adds no noise, so there is no budget to choose bounds with; give "
            "{bounds} as numbers for a trial"
        )
    if budget.calibration != "analytic":
        raise ParameterError(
            "{calibration:{!r}} cannot share a budget with a private choice of bounds; use "
            "{calibration:'analytic'}",
            budget.calibration,
        )
    return bounds.shared(rows, groups, budget.epsilon, budget.delta)


def chosen_before(bounds: Any, spends: tuple[Spend, ...], delta: float) -> ChosenBounds | None:
    """Return what is said of bounds that were chosen before these ``spends``, if they were."""
    if not isinstance(bounds, PrivateBounds):
        return None
    return bounds.plan.chosen(cached_total((*bounds.spends, *spends), delta))


def unrecorded(bounds: Any, ledger: Ledger, dataset: str) -> tuple[Spend, ...]:
    """Return what bounds have cost before, unless this data set of this ledger holds it already.

    What another ledger holds, or another name in this one, counts here, too: whoever reads this
    account alone has to see all that its releases state.
    """
    if not isinstance(bounds, PrivateBounds):
        return ()
    spends = [asdict(spend) for spend in bounds.spends]
    for entry in ledger.history(dataset):
        facts = entry.facts
        told = facts.get("parameters", {}).get("bounds_choice")
        named = told.get("choice_id") if isinstance(told, dict) else None
        # An entry that names the choice without its spends was made after one that has them.
        known = bounds.choice_id != "" and bounds.choice_id in (facts.get("release_id"), named)
        if known and facts["spends"][: len(spends)] == spends:
            return ()
    return bounds.spends


def choice_facts(bounds: Any) -> dict[str, Any]:
    """Return the public facts of an earlier choice for a ledger: by its id it is known again."""
    if not isinstance(bounds, PrivateBounds):
        return {}
    return {"bounds_choice": {"choice_id": bounds.choice_id, **bounds.plan.parameters}}


def check_owners(bounds: Any, owners: NDArray[np.int64] | None) -> None:
    """Refuse bounds that were chosen for people with fewer rows than somebody has.

    ``owners`` are those of all rows, before any are left out: the choice has read them.
    """
    if not isinstance(bounds, PrivateBounds):
        return
    plan = bounds.plan
    if not isinstance(plan, BoundsPlan) or not {*bounds} <= {*plan.grid.candidates}:
        raise ValueError(
            f"bounds ({bounds.lo!r}, {bounds.hi!r}) are not among the candidates of their plan, so "
            "private_bounds did not choose them; give what it returned, as it is"
        )
    allowed = as_whole("most_rows of bounds", plan.most_rows, least=1)
    most = 1 if owners is None else most_rows(owners, len(owners))
    if most > allowed:
        raise ParameterError(
            "bounds were chosen for people with at most {} row(s), and one of the owners in "
            "{groups} has {}, those included that {max_rows} leaves out: the choice has read "
            "them. Choose them again with private_bounds(..., groups=groups), or together with "
            "the release by bounds=BoundsGrid(...)",
            allowed,
            most,
        )


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
        raise ParameterError("{y} must be a list or column of numbers that is not empty")
    return int(rows)
