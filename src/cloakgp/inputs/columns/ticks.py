"""Words along an axis for inputs that are not plain numbers: levels, dates, true and false.

Pictures draw codes: the place of a level in the list, days from the origin, 0 and 1.
"""

from __future__ import annotations

import datetime
import math

from cloakgp.inputs.columns.kinds import Boolean, Category, Column, Date

#: Words of a tick, in letters, at most.
LONGEST = 14
#: Months between ticks, so that they are whole parts or multiples of a year.
MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


def levels_of(column: Column) -> list[str] | None:
    """Return the levels that a picture shows side by side; None for what goes on and on."""
    if isinstance(column, Category):
        return list(column.levels)
    return ["false", "true"] if isinstance(column, Boolean) else None


def ticks_of(column: Column, lo: float, hi: float, about: int) -> list[tuple[float, str]] | None:
    """Return where an axis from lo to hi has which words; None: numbers do."""
    levels = levels_of(column)
    if levels is not None:
        step = max(1, math.ceil(len(levels) / (2 * about)))
        return [(float(at), _short(levels[at])) for at in range(0, len(levels), step)]
    if not isinstance(column, Date):
        return None
    months = next((m for m in MONTHS if (hi - lo) / (30.44 * m) <= about), MONTHS[-1])
    found = _months(column, lo, hi, months)
    return found if len(found) > 1 else _days(column, lo, hi, about)


def _months(column: Date, lo: float, hi: float, step: int) -> list[tuple[float, str]]:
    """Return the first days of months."""
    first = _day(column, lo)
    number = 12 * first.year + first.month - 1
    number -= number % step
    found: list[tuple[float, str]] = []
    while len(found) < 100:
        year, month = divmod(number, 12)
        if year > datetime.MAXYEAR - 1:
            break
        at = (datetime.datetime(year, month + 1, 1) - _origin(column)).total_seconds() / 86400.0
        if at > hi:
            break
        if at >= lo:
            found.append((at, f"{year}" if step % 12 == 0 else f"{year}-{month + 1:02d}"))
        number += step
    return found


def _days(column: Date, lo: float, hi: float, about: int) -> list[tuple[float, str]]:
    """Return whole days."""
    step = max(1, math.ceil((hi - lo) / about))
    return [(float(at), column.shown(float(at))) for at in range(math.ceil(lo), int(hi) + 1, step)]


def _origin(column: Date) -> datetime.datetime:
    return datetime.datetime.fromisoformat(column.origin)


def _day(column: Date, code: float) -> datetime.datetime:
    try:
        return _origin(column) + datetime.timedelta(days=code)
    except OverflowError:
        return _origin(column)


def _short(word: str) -> str:
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"
