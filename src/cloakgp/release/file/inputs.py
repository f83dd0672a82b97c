"""Codecs of the public inputs: columns of raw values, rows of the model, owners, and bins.

No private value has part in anything here.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
from msgspec import Meta, structs
from numpy.typing import NDArray

from cloakgp.data.box import MOST_BINS, MOST_INPUTS, Box, ProtectedRows
from cloakgp.data.columns import Category, Column, Columns, Date
from cloakgp.data.columns import Number as NumberColumn
from cloakgp.data.columns.kinds import KINDS, MOST_LEVELS
from cloakgp.data.kd_tree import Tree
from cloakgp.data.partition import Partition
from cloakgp.data.rows import RowLimit, check_rows
from cloakgp.errors import ReleaseFileError
from cloakgp.privacy.mechanism.whole_rows import Neighbours
from cloakgp.release.file.schema import (
    LARGEST,
    MOST_ENTRIES,
    Arrays,
    Count,
    Line,
    Names,
    Number,
    Positive,
    Section,
    Sha256,
    check_array,
    check_range,
)

#: People in one bin, at most.
MOST_PEOPLE = 1 << 50


# ----------------------------------------------------------------------------------------- columns


class NumberCodec(Section, frozen=True, omit_defaults=True, tag_field="kind", tag="number"):
    """A column of numbers; what is as usual goes unsaid, here and below."""

    missing: Number | None = None
    shift: Number | None = None
    scale: Positive | None = None


class CategoryCodec(Section, frozen=True, omit_defaults=True, tag_field="kind", tag="category"):
    """A column of labels from a public list."""

    levels: Annotated[tuple[str, ...], Meta(min_length=1, max_length=MOST_LEVELS)]
    missing: str | None = None


class DateCodec(Section, frozen=True, omit_defaults=True, tag_field="kind", tag="date"):
    """A column of dates; what days are counted from is always written."""

    origin: Line | None = None
    utc: bool | None = None
    missing: str | None = None


class BooleanCodec(Section, frozen=True, omit_defaults=True, tag_field="kind", tag="boolean"):
    """A column of truths."""

    missing: bool | None = None


ColumnCodec = NumberCodec | CategoryCodec | DateCodec | BooleanCodec
_COLUMN_CODECS = {codec.__struct_config__.tag: codec for codec in get_args(ColumnCodec)}


def column_codec(column: Column) -> ColumnCodec:
    """Return what a file says of a column."""
    said = {
        field.name: value
        for field in fields(column)  # type: ignore[arg-type]
        if (value := getattr(column, field.name)) != field.default or field.name == "origin"
    }
    codec: ColumnCodec = _COLUMN_CODECS[column.kind](**said)
    return codec


def read_column(codec: ColumnCodec) -> Column:
    """Return a column, or refuse what no column can be."""
    kind = str(codec.__struct_config__.tag)
    said = {name: value for name, value in structs.asdict(codec).items() if value is not None}
    try:
        return KINDS[kind](**said)
    except (TypeError, ValueError) as error:
        raise ReleaseFileError(f"an input of kind {kind} is not sound: {error}") from None


def read_columns(codecs: list[ColumnCodec] | None, names: Names | None) -> Columns | None:
    """Return how raw inputs become rows of the model; None: they are plain numbers already."""
    if codecs is None:
        return None
    if names is not None and len(names) != len(codecs):
        raise ReleaseFileError(f"feature_names are {len(names)} names for {len(codecs)} inputs")
    columns = Columns(names, tuple(read_column(codec) for codec in codecs))
    if columns.plain:
        raise ReleaseFileError("inputs say that all inputs are plain numbers, which goes unsaid")
    return columns


# -------------------------------------------------------------------------------------------- rows


class RowLimitCodec(Section, frozen=True):
    """How many rows of each person count at most, and how many were left out for that."""

    max_rows: Count
    left_out: Annotated[int, Meta(ge=0, le=MOST_ENTRIES)]

    def read(self) -> RowLimit:
        """Return the limit."""
        return RowLimit(self.max_rows, self.left_out)


def check_rows_of_model(arrays: Arrays) -> tuple[int, int]:
    """Return the shape of X (N, L), or refuse it, the points, their weights, or the owners."""
    X, points, weights = arrays["X"], arrays["points"], arrays["weights"]
    for name, array in (("X", X), ("points", points)):
        check_array(name, array, "float64", (None, None), "rows by columns")
        if 0 in array.shape:
            raise ReleaseFileError(f"{name} must have rows and columns, and is empty")
        check_range(name, array, -LARGEST, LARGEST)
    N, L = X.shape
    check_array("points", points, "float64", (None, L), "points by columns")
    check_array("weights", weights, "float64", (len(points),), "one for each point")
    check_range("weights", weights, 0.0, 1.0)
    if not abs(float(weights.sum()) - 1.0) <= 1e-6:
        raise ReleaseFileError("the weights of the points do not add up to 1")
    if "groups" in arrays:
        check_array("groups", arrays["groups"], "int64", (N,), "an owner for each row")
    return N, L


# --------------------------------------------------------------------------------------- whole rows


class BoxCodec(Section, frozen=True, omit_defaults=True):
    """The public box of inputs that are private, and for whom the release was made."""

    neighbours: Neighbours
    people: Annotated[int, Meta(ge=1, le=MOST_PEOPLE)]
    ranges: list[tuple[Number, Number] | None]
    parts: list[Count]
    max_rows: Count = 1
    owned: bool = False

    @classmethod
    def of(cls, rows: ProtectedRows) -> BoxCodec:
        """Return what a file says of whole rows."""
        box = rows.box
        parts = [*box.ranges], [*box.parts]
        return cls(rows.neighbours, rows.people, *parts, rows.max_rows, rows.owned)

    def read(self, columns: Columns) -> ProtectedRows:
        """Return what is public of whole rows, or refuse a box that none can be."""
        if not len(self.ranges) == len(self.parts) == len(columns.columns):
            raise ReleaseFileError("the box has not one range and one number of parts an input")
        if len(self.ranges) > MOST_INPUTS:
            raise ReleaseFileError(f"a box of {len(self.ranges)} inputs is too large")
        for column, each, parts in zip(columns.columns, self.ranges, self.parts, strict=True):
            wanted = len(column.levels) if isinstance(column, Category) else 2
            numbers = isinstance(column, NumberColumn | Date)
            if numbers != (each is not None) or (not numbers and parts != wanted):
                raise ReleaseFileError("the box does not fit the kinds of its inputs")
        box = Box(columns.names, columns.columns, tuple(self.ranges), tuple(self.parts))
        try:
            if box.grid.bins > MOST_BINS:
                raise ReleaseFileError(f"a box of {box.grid.bins} bins is too large")
        except ValueError as error:
            raise ReleaseFileError(f"the box is not sound: {error}") from None
        if self.max_rows > 1 and not self.owned:
            raise ReleaseFileError("the box limits the rows of people whose rows nobody named")
        return ProtectedRows(box, self.neighbours, self.people, self.max_rows, self.owned)


def check_bins(rows: ProtectedRows, arrays: Arrays) -> None:
    """Refuse rows of the model that are not the bins of the box."""
    if "groups" in arrays:
        raise ReleaseFileError("owners of whole rows are private")
    if not np.array_equal(arrays["X"], rows.box.centres):
        raise ReleaseFileError("X are not the bins of the box")


# -------------------------------------------------------------------------------------------- bins


class PartitionCodec(Section, frozen=True):
    """The partition of the inputs into bins, where people are gathered (places)."""

    fingerprint: Sha256  # what the inputs of everybody are known by

    array_names: ClassVar[set[str]] = {"counts", "splits", "spreads"}

    @staticmethod
    def arrays(partition: Partition) -> dict[str, NDArray[Any]]:
        """Return its arrays; X are the centres of the bins."""
        arrays: dict[str, NDArray[Any]] = {
            "X": partition.centres,
            "spreads": partition.spreads,
            "counts": partition.counts,
            "splits": partition.tree.to_array(),
        }
        return arrays if partition.exposure is None else arrays | {"exposure": partition.exposure}

    def check(self, arrays: Arrays) -> None:
        """Check the tree that sends people to bins, how many are in each, and how far apart."""
        if "groups" in arrays:
            raise ReleaseFileError("owners of several rows cannot be gathered at places")
        K, L = arrays["X"].shape
        check_array("spreads", arrays["spreads"], "float64", (K, L), "places by columns")
        check_range("spreads", arrays["spreads"], 0.0, LARGEST)
        check_array("counts", arrays["counts"], "int64", (K,), "one for each place")
        check_range("counts", arrays["counts"], 1, MOST_PEOPLE)
        splits = arrays["splits"]
        check_array("splits", splits, "float64", (2 * K - 1, 3), "nodes of a tree")
        which, _, left = splits.T
        inner, nodes = left >= 0, np.arange(len(splits))
        whole = np.array_equal(splits[:, ::2], np.floor(splits[:, ::2]))
        # Children come in pairs after their parents, each node but the first once: so it is a tree.
        if not (
            whole
            and np.all(np.isfinite(splits))
            and np.all((which >= 0) & (which < L))
            and np.all(left[inner] > nodes[inner])
            and np.all(left[~inner] == -1)
            and np.array_equal(np.sort(left[inner]), np.arange(1, len(splits), 2))
        ):
            raise ReleaseFileError("splits is not a tree of places")

    def read(self, arrays: Arrays) -> Partition:
        """Return the partition."""
        return Partition(
            tree=Tree.from_array(arrays["splits"]),
            centres=check_rows(arrays["X"]),
            counts=arrays["counts"],
            spreads=arrays["spreads"],
            fingerprint=self.fingerprint,
            exposure=arrays.get("exposure"),
        )
