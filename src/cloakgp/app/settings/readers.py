"""How values are read: as strictly from the string of an option as from a settings file.

A reader is given where a value stands, to name that place in an error, and the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from cloakgp.app.tables.numerals import as_number, parse_whole_number
from cloakgp.app.tables.owners import NO_OWNERS
from cloakgp.data.columns.kinds import ORIGIN, Date
from cloakgp.data.columns.values import moment_of
from cloakgp.errors import CommandError, Message, brief, printable
from cloakgp.gp.kernels.grammar import Kernel, parse_kernel
from cloakgp.privacy.ledger import LedgerError
from cloakgp.privacy.ledger.address import is_address, server_address

#: Bounds that are to be chosen privately.
PRIVATE = "private"


@dataclass(frozen=True)
class ValueReader:
    """How a value is read, and how the help writes it."""

    metavar: str
    read: Callable[[str, Any], Any]


def wrong(where: str, value: Any, wanted: str) -> CommandError:
    """Return the error for a value that is not what is wanted there."""
    return CommandError(
        Message("{!p} must be {}, got {}", printable(where), wanted, brief(repr(value)))
    )


def read_number(where: str, value: Any) -> float:
    """Return a number."""
    number = as_number(value)
    if number is None:
        raise wrong(where, value, "a number such as 0.5 or 1e-5, finite and in digits 0 to 9")
    return number


def read_count(where: str, value: Any) -> int:
    """Return a whole number of at least 1."""
    count = parse_whole_number(value.strip()) if isinstance(value, str) else value
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise wrong(where, value, "a whole number of at least 1")
    return count


def read_numbers(where: str, value: Any) -> tuple[float, ...]:
    """Return one number, or several separated by commas."""
    return tuple(read_number(where, part) for part in _parts(value))


def read_pairs(where: str, value: Any) -> tuple[tuple[float, float], ...]:
    """Return bounds: "lo,hi", [lo, hi], or a list of either."""
    if isinstance(value, list) and value and isinstance(value[0], list | str):
        return tuple(pair for one in value for pair in read_pairs(where, one))
    if isinstance(value, list | str) and len(numbers := read_numbers(where, value)) == 2:
        return ((numbers[0], numbers[1]),)
    raise wrong(where, value, "a pair such as 40,200")


def read_bounds(where: str, value: Any) -> tuple[Any, ...]:
    """Return bounds as ``read_pairs`` does, or the word that they are to be chosen."""
    words = value if isinstance(value, list) else [value]
    if len(words) == 1 and str(words[0]).strip() == PRIVATE:
        return (PRIVATE,)
    return read_pairs(where, value)


def read_grid(where: str, value: Any) -> tuple[float, ...]:
    """Return candidates: "lo:hi:count", "log:lo:hi:count", or a list of numbers."""
    if isinstance(value, list):
        return read_numbers(where, value)
    wanted = "lo:hi:count or log:lo:hi:count, such as 0:300:31 or log:1:1e6:31"
    if not isinstance(value, str):
        raise wrong(where, value, wanted)
    parts = [part.strip() for part in value.split(":")]
    logarithmic = parts[0] == "log"
    numbers = [as_number(part) for part in parts[logarithmic:]]
    lo, hi, count = numbers if len(numbers) == 3 else (None, None, None)
    if lo is None or hi is None or count is None or not lo < hi or count not in range(1, 10_001):
        raise wrong(where, value, wanted)
    if logarithmic and lo <= 0:
        raise wrong(where, value, "above 0 on a logarithmic grid")
    made = (np.geomspace if logarithmic else np.linspace)(lo, hi, int(count))
    # Twelve digits: what is shown is what is used, and 0.1·3 is 0.3.
    return tuple(float(f"{number:.12g}") for number in made)


def read_string(where: str, value: Any) -> str:
    """Return a string without the spaces around it."""
    if not isinstance(value, str) or not value.strip():
        raise wrong(where, value, "a string that is not empty")
    return value.strip()


def read_file(where: str, value: Any) -> str:
    """Return the name of a file."""
    return read_string(where, str(value))


def read_ledger(where: str, value: Any) -> str:
    """Return the file or the address of a ledger; what may hold a password is not repeated."""
    if is_address(value):
        try:
            server_address(value)
        except LedgerError as error:
            raise CommandError(Message("{!p}: {}", printable(where), error)) from None
        return str(value)
    return read_file(where, value)


def read_names(where: str, value: Any) -> tuple[str, ...]:
    """Return names of columns, each of them once."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise wrong(where, value, "column names, separated by commas")
    names = tuple(read_string(where, part) for part in parts)
    if len(set(names)) < len(names):
        raise wrong(where, value, "column names, each of them once")
    return names


def read_labels(where: str, value: Any) -> tuple[str, ...]:
    """Return labels as strings; a settings file may have them as numbers."""
    return tuple(
        read_string(where, str(part) if _is_number(part) else part) for part in _parts(value)
    )


def read_kernel(where: str, value: Any) -> Kernel:
    """Return the kernel that one line describes."""
    return parse_kernel(read_string(where, value))


def read_decimal(where: str, value: Any) -> str:
    """Return a decimal sign."""
    if value not in (".", ","):
        raise wrong(where, value, "either . or ,")
    return str(value)


def read_learn(where: str, value: Any) -> bool | str:
    """Return whether hyperparameters are learnt: a word, or true and false in a settings file."""
    words: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value not in words:
        raise wrong(where, value, "one of auto, yes, no")
    return words[value]


def one_of(names: Any, beside: str = "") -> ValueReader:
    """Return the reader of one of the names of a ``Literal``; ``beside`` says where others go."""

    def read(where: str, value: Any) -> str:
        if value not in get_args(names):
            raise wrong(where, value, f"one of {', '.join(get_args(names))}{beside}")
        return str(value)

    return ValueReader("|".join(get_args(names)), read)


def read_levels(where: str, value: Any) -> dict[str, tuple[str, ...]]:
    """Return the levels of columns: "region=north,south", "region" alone, or a table of lists.

    No levels: they are those that the column has.
    """
    found = {}
    for name, levels in _pairs(where, value, "a column and its levels: region=north,south"):
        parts = levels.split(",") if isinstance(levels, str) else levels
        named = [] if levels in (None, True) else parts
        if not isinstance(named, list):
            raise wrong(where, levels, "a list of levels")
        found[name] = tuple(
            read_string(where, str(part) if _is_number(part) else part) for part in named
        )
    return found


def read_dates(where: str, value: Any) -> dict[str, str]:
    """Return what days are counted from: "visit=2020-01-01", "visit" alone, or a table."""
    found = {}
    for name, origin in _pairs(where, value, "a column and a public date: visit=2020-01-01"):
        given = ORIGIN if origin in (None, True) else origin
        moment = moment_of(given)
        if moment is None:
            raise wrong(where, str(given), "a column and a public date: visit=2020-01-01")
        found[name] = Date(moment).origin  # type: ignore[arg-type]
    return found


def read_box(where: str, value: Any) -> dict[str, Any]:
    """Return a box: "age=0,90", "region=north|south", "smoker=bool", or a table of lists."""
    wanted = "an input and its public range or levels: age=0,90 or region=north|south"
    found: dict[str, Any] = {}
    for name, given in _pairs(where, value, wanted):
        if isinstance(given, str) and given.strip() in ("bool", "boolean"):
            found[name] = "bool"
            continue
        split = isinstance(given, str) and "|" in given
        parts = given.split("|" if split else ",") if isinstance(given, str) else given
        if not isinstance(parts, list) or not parts:
            raise wrong(where, name if given is None else given, wanted)
        # In a file, numbers are numbers and strings are levels or dates.
        typed = isinstance(given, str) and not split
        numbers = [as_number(part) if typed or _is_number(part) else None for part in parts]
        if len(parts) == 2 and None not in numbers:
            found[name] = tuple(numbers)
        else:
            found[name] = tuple(
                read_string(where, str(part) if _is_number(part) else part) for part in parts
            )
    return found


def read_stand_ins(where: str, value: Any) -> dict[str, str]:
    """Return what stands for missing values: "region=unknown", "age=40", or a table."""
    wanted = "a column and what stands for its missing values: region=unknown"
    found = {}
    for name, given in _pairs(where, value, wanted):
        if given in (None, True) or isinstance(given, bool | list | dict):
            raise wrong(where, name, wanted)
        found[name] = read_string(where, str(given))
    return found


def _pairs(where: str, value: Any, wanted: str) -> list[tuple[str, Any]]:
    """Return names of columns with what is said of each: of strings, or of a settings file."""
    if isinstance(value, dict):
        pairs = list(value.items())
    else:
        strings = value if isinstance(value, list) else [value]
        split = [str(string).partition("=") for string in strings]
        pairs = [(name.strip(), rest if sign else None) for name, sign, rest in split]
    names = [name for name, _ in pairs]
    if not names or "" in names or len(set(names)) < len(names):
        raise wrong(where, value, f"{wanted}, each column once")
    return pairs


NUMBER = ValueReader("NUMBER", read_number)
NUMBERS = ValueReader("NUMBER", read_numbers)
COUNT = ValueReader("N", read_count)
LIMIT = ValueReader("N", read_number)  # the estimator says which numbers it takes
PAIRS = ValueReader("LO,HI", read_pairs)
BOUNDS = ValueReader("LO,HI|private", read_bounds)
GRID = ValueReader("[log:]LO:HI:COUNT", read_grid)
NAME = ValueReader("NAME", read_string)
NAMES = ValueReader("NAME[,NAME]", read_names)
OWNERS = ValueReader(f"NAME|{NO_OWNERS}", read_string)
LABELS = ValueReader("LABEL,LABEL", read_labels)
KERNEL = ValueReader("SPEC", read_kernel)
PLACES = ValueReader("NAME=LO:HI:COUNT|FILE", read_string)
FILE = ValueReader("FILE", read_file)
LEVELS = ValueReader("NAME=LEVEL,LEVEL", read_levels)
BOX = ValueReader("NAME=LO,HI|NAME=LEVEL|LEVEL", read_box)
DATES = ValueReader("NAME=DATE", read_dates)
STAND_INS = ValueReader("NAME=VALUE", read_stand_ins)
LEDGER = ValueReader("FILE|ADDRESS", read_ledger)
LEARN = ValueReader("auto|yes|no", read_learn)
DECIMAL = ValueReader(".|,", read_decimal)


def _parts(value: Any) -> list[Any]:
    parts = value.split(",") if isinstance(value, str) else value
    return parts if isinstance(parts, list) else [parts]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
