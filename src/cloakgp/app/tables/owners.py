"""Owners of rows: spellings of one person count as one, and columns that seem to name people.

A column is recognised by its name alone, and no other is opened: it may be private.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from cloakgp.app.tables.files import ParquetTable, first_file, open_table
from cloakgp.app.tables.numerals import plain_numeral
from cloakgp.data.checks import MAX_FLAG_VALUES, names_people
from cloakgp.errors import CommandError, Message, printable

#: What stands for a column of owners where every row is another person's.
NO_OWNERS = "none"
#: Rows searched for repeated owners, at most.
MAX_ROWS_SEARCHED = 1_000_000


@dataclass(frozen=True)
class RepeatedOwner:
    """A column that seems to say whose a row is, and what was seen of it; never published."""

    name: str
    rows: int
    different: int

    def __str__(self) -> str:
        name = printable(self.name)
        return f"{name} repeats: {self.rows:,} rows, {self.different:,} different"

    @property
    def options(self) -> str:
        """What to tell the command line."""
        return (
            "If these rows belong to the same people, give --groups "
            f"{printable(self.name)}, which protects all rows of a person together and publishes "
            "which rows those are; if every row is another person's, give --groups none"
        )


def find_repeated_owner(
    path: Path,
    public: Sequence[str],
    private: Sequence[str],
    said: str | None,
    decimal: str = ".",
) -> RepeatedOwner | None:
    """Return a column that seems to say whose a row is and has some values several times.

    ``said`` is what was said of owners: if anything was, nothing is looked for.  A column is known
    by its name, and no other is opened: it may be private, too.  The ``private`` columns never are:
    if it is not known which they are, none but ``public`` ones are looked at.  Of a text table the
    first rows are read, of Parquet files the first row group of the first.
    """
    first = first_file(path)
    if first.is_dir():  # its files may have any names
        return None
    table = open_table(first, decimal)
    if said == NO_OWNERS and NO_OWNERS in table.names:
        raise CommandError(
            Message(
                "{groups:{}} says that nobody owns several rows, and {} has a column of that "
                "name; rename the column",
                NO_OWNERS,
                printable(path),
            )
        )
    if said is not None:
        return None
    others = [] if not private else [n for n in table.names if n not in (*public, *private)]
    seen = [*dict.fromkeys([*others, *public])]
    if isinstance(table, ParquetTable):
        if table.rows_at_first == 0:
            return None
        seen = [name for name in seen if "." not in name]  # which may be parts of columns
    named = [name for name in seen if names_people(name)]
    if named:
        table.load(named, MAX_ROWS_SEARCHED)
    each = (_repeated(name, table.strings(name)) for name in named)
    return next((found for found in each if found is not None), None)


def owner_key(label: str, decimal: str = ".") -> str:
    """Return what two spellings of one owner have in common.

    "7", "07" and "7.0" are one owner, and so are "Zoë" and "zoe\u0308".  To take two people for one
    adds noise; to take one person for two would promise more than is kept.
    """
    usual = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    seen = "".join(c for c in usual if unicodedata.category(c) not in ("Cf", "Cc"))
    words = " ".join(seen.split())
    plain = plain_numeral(words, decimal)
    if plain is None:
        return words
    try:
        sign, digits, exponent = Decimal(plain).as_tuple()
    except InvalidOperation:  # an exponent of more digits than there are
        return words
    # Exactly: as floats, long numbers of different people would meet.
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    return f"{'-' * sign}{short}e{int(exponent) + len(text) - len(short)}" if short else "0"


def _repeated(name: str, cells: Sequence[str | None]) -> RepeatedOwner | None:
    """Return what is seen of a column that is called like an owner, if a value repeats."""
    known = [cell for cell in cells if cell is not None]
    different = len(set(known))
    if MAX_FLAG_VALUES < different < len(known):
        return RepeatedOwner(name, len(known), different)
    return None
