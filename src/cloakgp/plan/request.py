"""What a plan was asked for: public inputs and settings, kept to know it again.

A plan that somebody agreed to is released as it is, if it is for the same people, points and
settings.  All of them are compared by value, in every digit.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.places import Places
from cloakgp.inputs.columns.table import Columns, Spreads
from cloakgp.plan.equality import same_setting
from cloakgp.plan.parts import RowLimit

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
    places: Places | None = None
    limit: RowLimit | None = None
    inputs: Columns | None = None  # how raw inputs became X; None: as they are

    @property
    def counts(self) -> Array | None:
        """How many people are at each row of X; None if one is."""
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
        places = self.places
        return None if places is None else (places.fingerprint, *places.counts.tolist())

    def check_same(self, now: Request) -> None:
        """Refuse what is asked for now if it is something else: the plan would not hold."""
        if self.maker != now.maker:
            raise ValueError(
                f"plan was made by a {self.maker}, not by a {now.maker}; leave it out or plan again"
            )
        for name, ours, theirs in (
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
