"""Whole rows: what an estimator is asked if inputs are private, too, and what it may not be asked.

Everything that follows from X otherwise follows from the public box here; the table itself is
handed to the core, and no value of it is looked at.  So a plan needs no table, and no message says
how many rows there are.
"""

from __future__ import annotations

import contextlib
from typing import Any, get_args

import numpy as np

from cloakgp.data.batches import PrivateBlock, PrivateRows
from cloakgp.data.blocks.dask import dask_outputs, dask_rows
from cloakgp.data.blocks.table import BlockColumn, BlockTable
from cloakgp.data.box import Box, ProtectedRows, columns_wanted, read_box
from cloakgp.data.checks import as_float, check_same_index
from cloakgp.data.table import Table
from cloakgp.errors import ParameterError
from cloakgp.privacy import Batch
from cloakgp.privacy.mechanism.numbers import is_whole
from cloakgp.privacy.mechanism.whole_rows import Neighbours

PROTECT = ("outputs", "rows")
#: Rows that a release can be planned for.
MOST_PEOPLE = 10**9


def protects_rows(estimator: Any) -> bool:
    """Tell whether an estimator protects whole rows; refuse a box that nobody asks for."""
    protect = estimator.protect
    if not (isinstance(protect, str) and protect in PROTECT):
        raise ParameterError("{protect} must be one of {}, got {!r}", PROTECT, protect)
    if estimator.neighbours not in get_args(Neighbours):
        raise ParameterError(
            "{neighbours} must be one of {}, got {!r}", get_args(Neighbours), estimator.neighbours
        )
    if protect == "outputs" and estimator.box is not None:
        raise ParameterError(
            "{box} is for {protect:'rows'}, where inputs are private, too; say so, or leave it out"
        )
    if protect == "outputs" and estimator.neighbours != "replace":
        raise ParameterError(
            "{neighbours:{!r}} is for {protect:'rows'}; outputs are protected for replacing them",
            estimator.neighbours,
        )
    return bool(protect == "rows")


#: What to do instead, where leaving it out is not all that can be said.
INSTEAD = {
    "a private search": "leave it out: the prior is learnt from what is published, at no cost",
    "at": "leave it out: points all over {box} count alike, since nobody may know where people are",
    "exposure": "leave it out: how long somebody was watched stands in their row, and rows are "
    "private, so no public number can divide by it; count all of them for the same time",
    "a comparison of max_contributions": "plan with each {max_contributions} in turn: how many "
    "rows people have is private, too",
}


def refuse_rows(estimator: Any, what: str) -> None:
    """Refuse what does not exist for whole rows."""
    if protects_rows(estimator):
        instead = INSTEAD.get(what, "leave it out")
        raise ParameterError(
            "{} cannot be combined with {protect:'rows'}; use {protect:'outputs'}, or " + instead,
            what,
        )


def rows_of_box(estimator: Any, people: int, max_rows: int | None, groups: bool) -> Table:
    """Return what a plan for whole rows follows from: a box and its bins, and no private table."""
    box = read_box(estimator.box)
    check_settings(estimator)
    most = 1
    if max_rows is not None:
        if not is_whole(max_rows) or max_rows < 1:
            raise ParameterError(
                "{max_contributions} must be a whole number >= 1, got {!r}", max_rows
            )
        most = int(max_rows)
    if most > 1 and not groups:
        raise ParameterError(
            "{max_contributions:{}} limits the rows of each person: {groups} has to name the owner "
            "of each row{python: (for a plan, groups=True)}",
            most,
        )
    rows = ProtectedRows(box, estimator.neighbours, people, most, groups)
    return Table(
        X=None,
        names=box.names,
        columns=None if box.columns.plain else box.columns,
        rows=box.centres,
        exposure=np.ones(len(box.centres)),
        protected=rows,
    )


def check_settings(estimator: Any) -> None:
    """Refuse settings that are about public inputs, or that whole rows cannot have yet."""
    said = vars(estimator)
    usual: dict[str, tuple[Any, ...]] = {
        "inducing": ("auto",),
        "decode": ("bayes",),
        "columns": (None,),
        "iterations": (1,),
        "design": ("auto", "cells"),
        "target": ("auto", "points"),
    }
    for name, allowed in usual.items():
        value = said.get(name, allowed[0])
        plain = value is None or isinstance(value, str | int)
        if not (plain and value in allowed):
            told = " or ".join(f"{{{name}:{one!r}}}" for one in allowed)
            raise ParameterError(
                "{!p} cannot be combined with {protect:'rows'}; use "
                + told
                + ", or {protect:'outputs'}",
                name,
            )
    bounds = said.get("bounds")
    if bounds is not None and not isinstance(bounds, list | tuple | np.ndarray):
        raise ParameterError(
            "{bounds} that are chosen privately cannot be combined with {protect:'rows'}; say in "
            "public what is possible, for instance {bounds:(0, 200)}: values beyond are clipped, "
            "and wide bounds cost noise in proportion"
        )


def checked_people(people: Any, estimator: Any, table: Any = None) -> int:
    """Return how many rows a release is planned for: a public number, or a guess.

    If rows are replaced their number is public, so that of a ``table`` will do.
    """
    if people is None and table is not None and estimator.neighbours == "replace":
        people = rows_in(table)
    if people is None:
        raise ParameterError(
            "{people} is missing: say how many rows to plan for, a public number or guess such as "
            "{people:1000}{python:, to fit(…) or to the plan that is given to it}. How many there "
            "are is not looked up: it is private, or there is no table"
        )
    number = as_float("people", people)
    if not (1 <= number <= MOST_PEOPLE and number == int(number)):
        raise ParameterError(
            "{people} must be a whole number from 1 to {:,}, got {!r}", MOST_PEOPLE, people
        )
    return int(number)


def rows_in(table: Any) -> int:
    """Return how many rows a table has: public if neighbours are replaced."""
    blocks = table if isinstance(table, BlockTable) else dask_rows(table, counted=True)
    if blocks is not None:
        return blocks.rows
    shape = getattr(table, "shape", None)
    return int(shape[0]) if isinstance(shape, tuple) and shape else len(table)


def private_batches(box: Box, X: Any, y: Any, groups: Any) -> list[Batch]:
    """Return a private table for the core, whole or in blocks; none of its values is looked at."""
    table = X if isinstance(X, BlockTable) else dask_rows(X)
    column = y if isinstance(y, BlockColumn) else dask_outputs(y, counted=False)
    if table is not None and column is not None:
        return _private_blocks(box, table, column, groups)
    if table is not None or column is not None:
        raise ParameterError(
            "{X} and {y} must both be in memory, or both in blocks; take them from one source"
            "{python:, for instance X, y = cloakgp.scan(path, inputs=[...], output=..., "
            "protect='rows')}"
        )
    check_same_index(groups, X)
    # Without its shape: how many rows there are may be private.
    if _dimensions(X) != 2:
        raise ParameterError(
            "{X} must be a table with a column for each input of {box}; turn a single column into "
            "a table with .reshape(-1, 1)"
        )
    return [PrivateRows(box.grid, box.values(X), y)]


def _dimensions(X: Any) -> int | None:
    """Return how many dimensions a private table has; None for what is no table."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return len(shape)
    with contextlib.suppress(Exception):  # NumPy says which shapes do not fit
        return np.asarray(X, dtype=object).ndim
    return None


def check_outputs(outputs: int, y: Any) -> None:
    """Refuse numbers in more or fewer columns than bounds were given for; rows are not counted."""
    shape = (None, y.columns) if isinstance(y, BlockColumn) else getattr(y, "shape", None)
    if isinstance(shape, tuple) and len(shape) in (1, 2):
        columns = 1 if len(shape) == 1 else shape[1]
        if columns != outputs:
            raise ParameterError(
                "{y} must have {} column(s), as {bounds} say, and a row for each person; give "
                "{bounds} a pair for each column of {y}, or turn it if it lies on its side",
                outputs,
            )


def _private_blocks(box: Box, X: BlockTable, y: BlockColumn, groups: Any) -> list[Batch]:
    """Return blocks of a private table, of which no number of rows is told."""
    if groups is not None:
        raise ParameterError(
            "{groups} cannot be combined with data in blocks: the rows of one owner may be in "
            "several blocks. Read the data into memory, or keep one row for each person"
        )
    if box.names is not None and X.names is not None:
        if missing := [name for name in box.names if name not in X.names]:
            raise ParameterError("{X} lacks the columns {}; needed are {}", missing, [*box.names])
    elif X.columns != len(box.inputs):
        raise columns_wanted(len(box.inputs))
    if not len(X.parts) == len(y.parts) > 0:
        raise ParameterError(
            "{X} and {y} must be blocks of one table, cut at the same rows; take both from one "
            "source"
        )
    return [PrivateBlock(box, *pair) for pair in zip(X.parts, y.parts, strict=True)]
