"""``EstimatorSettings``, and whether two settings are the same in every digit, not as printed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

#: Settings of a spend, which change no plan.
OF_SPENDS = ("ledger", "dataset", "random_state")


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


class EstimatorSettings(NamedTuple):
    """The settings of an estimator that its plans follow from."""

    maker: str  # the class of the estimator
    values: Mapping[str, Any]  # copies: who changes a kernel later changes no settings

    def check_maker(self, now: EstimatorSettings) -> None:
        """Refuse those of an estimator of another class: a plan made with these would not hold."""
        if self.maker != now.maker:
            raise ValueError(
                f"plan was made by a {self.maker}, not by a {now.maker}; leave it out or plan again"
            )

    def check_same(self, now: EstimatorSettings) -> None:
        """Refuse other settings of the same class likewise."""
        ours, theirs = self.values, now.values
        changed = sorted(
            name
            for name in ours.keys() | theirs.keys()
            if not (name in ours and name in theirs and same_setting(ours[name], theirs[name]))
        )
        if changed:
            raise ValueError(
                f"plan was made with other {', '.join(changed)}; leave it out or plan again"
            )


def copy_settings(estimator: Any, without: tuple[str, ...] = OF_SPENDS) -> EstimatorSettings:
    """Return copies of the settings of an estimator that its plans follow from."""
    kind = type(estimator)
    names = [name for name in inspect.signature(kind).parameters if name not in without]
    return EstimatorSettings(
        kind.__name__, deepcopy({name: vars(estimator)[name] for name in names})
    )
