"""What is wrong with a column of a table, in the same words for every format and library.

These words are about names and public inputs; no value is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cloakgp.errors import TableError, brief, listed, printable

#: What to do about dates.
DATES = (
    "holds dates, which are not numbers; give days since a public date, such as the first day of "
    "the study"
)


def check_columns(path: Path, names: Sequence[str], wanted: Sequence[str], hint: str) -> None:
    """Refuse a table without the columns ``wanted``, or with two of one name."""
    absent = [name for name in dict.fromkeys(wanted) if name not in names]
    if absent:
        raise TableError(
            f"{printable(path)} has no column "
            f"{' or '.join(repr(brief(name)) for name in absent)}{hint}"
        )
    twice = [name for name in dict.fromkeys(wanted) if names.count(name) > 1]
    if twice:
        raise TableError(
            f"{printable(path)} has more than one column named {listed(twice)}, so it is not clear "
            "which is meant; rename them"
        )


def input_column(where: object, name: object) -> str:
    """Return the words for a public column of a table."""
    return f"{printable(where)}: input column {brief(name)!r}"


def missing_inputs(missing: int, rows: int) -> str:
    """Say that a public column has gaps."""
    return (
        f"is missing in {missing} of {rows} rows; inputs are public, so fill them in or drop those "
        "rows first"
    )


def no_numbers(wrong: int, rows: int) -> str:
    """Say that a public column holds something else than numbers."""
    return (
        f"is not a finite number in {wrong} of {rows} rows; encode text and categories as numbers "
        "first"
    )
