"""Numbers as people write them: one strict reading, and names for every other way of writing them.

Python's ``float`` also takes "1_0", "１０", "nan" and "infinity".  Here a number is finite and
written in the digits 0 to 9, whether it comes from an option, a settings file or a table.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Format = Literal["dates", "decimal", "either", "thousands", "signs", "digits"]

#: Strings that stand for a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none"})

_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,18}")
_SIGNS = re.compile(r"[€$£¥₹%‰]|^(?:EUR|USD|GBP|CHF|JPY)\b|\b(?:EUR|USD|GBP|CHF|JPY)$", re.I)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[ap]\.?m\.?)?"
_DATE = re.compile(
    rf"""(?: \d{{4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}})?      # 2020-01-31
           | \d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}         # 31.01.2020
           | \d{{1,2}}[-/.\s]*{_MONTH}[-/.,\s]*\d{{2,4}}   # 31 January 2020
           | {_MONTH}\s*\d{{1,2}}(?:,?\s*\d{{4}})?         # Jan 31, 2020
         ) (?: [T\s]+ {_CLOCK} \s*(?:Z|[+-]\d\d:?\d\d)? )?
         | {_CLOCK}""",
    re.I | re.X,
)
#: 2020.5 is a number; a date with points has two of them.
_ONE_POINT = re.compile(r"\d+\.\d+")
#: Groups of three digits: 1,234 and 1.234.567,8 and 12 345.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([ '’.,])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d*)?")
#: A sign, a bracket or a currency may come first.
_STARTS_WITH_A_DIGIT = re.compile(r"\W*\d")


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Return the finite number that a string is, with this decimal sign, or None."""
    plain = plain_numeral(text, decimal)
    number = math.nan if plain is None else float(plain)
    return number if math.isfinite(number) else None


def parse_whole_number(text: str) -> int | None:
    """Return the whole number, 0 or more, that a string of digits is, or None."""
    return int(text) if _WHOLE.fullmatch(text) else None


def plain_numeral(text: str, decimal: str = ".") -> str | None:
    """Return a numeral with a point for its decimal sign, or None if the string is none."""
    if decimal != ".":
        if "." in text:
            return None
        text = text.replace(decimal, ".")
    return text if _PLAIN.fullmatch(text) else None


def as_number(value: Any) -> float | None:
    """Return a number from a string or from a parsed file (which may be infinite), or None."""
    if isinstance(value, str):
        return parse_number(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def number_format(text: str, decimal: str = ".") -> Format | None:
    """Say in which other way a string that ``parse_number`` does not take is a number or a date."""
    usual = _usual(text)
    if _DATE.fullmatch(usual) and not _ONE_POINT.fullmatch(usual):
        return "dates"
    bare = _SIGNS.sub("", usual).strip()
    if bare != usual and (plain_numeral(bare, decimal) or number_format(bare, decimal)):
        return "signs"
    plain = usual.replace("_", "")
    if plain != text and plain_numeral(plain, decimal):
        return "digits"
    other = "," if decimal == "." else "."
    if _GROUPED.fullmatch(usual):
        one_group = usual.count(other) == 1 and not re.search(r"[ '’" + decimal + "]", usual)
        return "either" if one_group else "thousands"
    swapped = usual.count(other) == 1 and decimal not in usual
    return "decimal" if swapped and plain_numeral(usual.replace(other, ".")) else None


def looks_like_data(cell: str) -> bool:
    """Whether a cell of a first line is more likely a value than the name of a column."""
    usual = _usual(cell)
    return bool(
        usual.lower() in MISSING
        or _STARTS_WITH_A_DIGIT.match(usual)
        or number_format(usual) is not None
        or re.fullmatch(r"[-?.*]+|inf(?:inity)?|true|false", usual, re.I)
    )


def _usual(text: str) -> str:
    """Return a string with its digits as 0 to 9 and its spaces as plain ones, none around it."""
    normal = unicodedata.normalize("NFKC", text).strip()
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in normal)


@dataclass(frozen=True)
class NumberColumn:
    """A column as floats (NaN where there is none), and how its other cells are written."""

    values: NDArray[np.float64]
    missing: int
    formats: Counter[str | None] = field(default_factory=Counter)  # of cells that are no numbers

    @property
    def wrong(self) -> int:
        """How many cells are neither missing nor numbers."""
        return self.formats.total()

    @property
    def format(self) -> str | None:
        """The way of writing numbers that explains every cell that is not a plain one."""
        kinds = set(self.formats)
        if len(kinds) == 1:
            return kinds.pop()
        if kinds <= {"either", "decimal", "thousands"} and kinds:
            return "thousands" if "thousands" in kinds else "decimal"
        return None
