"""Kinds of input columns, one class for each: numbers, categories, dates and booleans."""

from cloakgp.inputs.columns.kinds.boolean import Boolean
from cloakgp.inputs.columns.kinds.category import MOST_LEVELS, Category
from cloakgp.inputs.columns.kinds.column import Column
from cloakgp.inputs.columns.kinds.date import ORIGIN, Date
from cloakgp.inputs.columns.kinds.number import Number

#: The kinds of columns by their names, which files use.
KINDS: dict[str, type[Column]] = {kind.kind: kind for kind in (Number, Category, Date, Boolean)}

__all__ = [
    "KINDS",
    "MOST_LEVELS",
    "ORIGIN",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Number",
]
