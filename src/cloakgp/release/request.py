"""Whether two settings are the same in every digit.  What they print is rounded."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from cloakgp.data.columns.table import Columns, Spreads
from cloakgp.data.partition import Partition
from cloakgp.release.spec import ProtectedRows, RowLimit


def same_setting(one: Any, other: Any) -> bool:
    """Tell whether two values of a parameter are equal, whatever they are made of."""
    if one is other:
        return True
    if isinstance(one, Kernel | BaseEstimator):
        return type(one) is type(other) and same_setting(
            one.get_params(deep=False), other.get_params(deep=False)
        )
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            type(one) is type(other)
            and (one.dtype, one.shape) == (other.dtype, other.shape)
            and bool(np.all(one == other))
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_setting(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(map(same_setting, one, other))
        )
    if type(one) is type(other) and type(one).__eq__ is object.__eq__ and hasattr(one, "__dict__"):
        return same_setting(vars(one), vars(other))  # an object that equals nothing but itself
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # tables, for instance, compare entry by entry
        return bool(np.array_equal(np.asarray(one), np.asarray(other)))


Array = NDArray[np.float64]

#: Settings of a spend, which change no plan.
OF_SPENDS = ("ledger", "dataset", "random_state")


@dataclass(frozen=True, eq=False)
class Request:
    """The public facts that an estimator was given, and its settings."""

    maker: str  # the class of the estimator
    X: Array  # (N, L): people, or the nodes of the places where they are gathered
    names: tuple[str, ...] | None  # of the columns of X
    at: Array | None  # (P, L): the points that matter, if they were named
    groups: NDArray[np.int64] | None  # owners of the rows, as numbers
    exposure: Array | None  # (N,), for counts
    settings: Mapping[str, Any]  # copies: who changes a kernel later changes no request
    places: Partition | None = None
    limit: RowLimit | None = None
    inputs: Columns | None = None  # how raw inputs became X; None: as they are
    rows: ProtectedRows | None = None  # of whole rows: X are the bins of a box

    @property
    def counts(self) -> Array | None:
        """How many people are at each row of X; None if one is."""
        if self.rows is not None:
            return self.rows.counts
        return None if self.places is None else self.places.node_counts

    @property
    def widths(self) -> tuple[int, ...] | None:
        """How many columns of X each input takes; None if all are numbers."""
        inputs = self.inputs
        return None if inputs is None else tuple(each.width for each in inputs.columns)

    @property
    def spreads(self) -> Spreads | None:
        """What the default prior is told of each input; None if all are numbers."""
        return None if self.inputs is None else self.inputs.spreads

    @property
    def _people(self) -> tuple[Any, ...] | None:
        """What tells the people at places from others."""
        if self.rows is not None:
            return (self.rows.people, self.rows.neighbours, self.rows.max_rows)
        places = self.places
        return None if places is None else (places.fingerprint, *places.counts.tolist())

    def check_same(self, now: Request) -> None:
        """Refuse what is asked for now if it is something else: the plan would not hold."""
        if self.maker != now.maker:
            raise ValueError(
                f"plan was made by a {self.maker}, not by a {now.maker}; leave it out or plan again"
            )
        for name, ours, theirs in (
            ("box or inputs", self.rows is None, now.rows is None),
            ("columns", self.inputs, now.inputs),
            ("inputs X", self.X, now.X),
            ("people", self._people, now._people),
            ("column names of X", self.names, now.names),
            ("points at", self.at, now.at),
            ("max_rows", self.limit, now.limit),
            ("groups", self.groups, now.groups),
            ("exposure", self.exposure, now.exposure),
        ):
            if not np.array_equal(np.asarray(ours), np.asarray(theirs)):  # None equals None
                raise ValueError(f"plan was made for other {name}; leave it out or plan again")
        changed = sorted(
            name
            for name in self.settings.keys() | now.settings.keys()
            if not (
                name in self.settings
                and name in now.settings
                and same_setting(self.settings[name], now.settings[name])
            )
        )
        if changed:
            raise ValueError(
                f"plan was made with other {', '.join(changed)}; leave it out or plan again"
            )


def settings_of(estimator: Any, without: tuple[str, ...] = OF_SPENDS) -> dict[str, Any]:
    """Return copies of the settings of an estimator that its plans follow from."""
    names = [name for name in inspect.signature(type(estimator)).parameters if name not in without]
    return deepcopy({name: vars(estimator)[name] for name in names})
