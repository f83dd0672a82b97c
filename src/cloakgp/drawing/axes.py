"""What is written along an axis: round numbers, dates, the levels of a category, true and false.

Axes are numbers throughout.  A column that is no plain number is drawn by its codes (the place of a
level in the list, days from the origin, 0 and 1), and this module gives the words for them.
"""

from __future__ import annotations

import datetime
import math

from cloakgp.data.columns import Boolean, Category, Column, Date

#: Places along an axis with their words; None: plain numbers.
Ticks = list[tuple[float, str]] | None
#: Longest name of an axis, and longest words of a tick, in letters.
MAX_NAME_LETTERS, MAX_TICK_LETTERS = 48, 14
#: Months between ticks, so that they are whole parts or multiples of a year.
MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
#: Days of a month, on average.
DAYS_PER_MONTH = 30.44


def format_number(number: float) -> str:
    """Return a number to read: four digits, thousands apart, and a real minus."""
    if number != 0.0 and not 1e-4 <= abs(number) < 1e7:
        shown = f"{number:.3g}"
    else:
        shown = f"{float(f'{number:.4g}'):,.10f}".rstrip("0").rstrip(".")
    return shown.replace("-", "−")


def shortened(name: str, longest: int = MAX_NAME_LETTERS) -> str:
    """Return a name that has room on an axis."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def round_ticks(lo: float, hi: float, about: int = 6) -> list[float]:
    """Return round numbers from lo to hi."""
    step = 10.0 ** math.floor(math.log10((hi - lo) / about))
    widths = (step * m for m in (1.0, 2.0, 2.5, 5.0))
    step = next((width for width in widths if (hi - lo) / width <= about), 10.0 * step)
    first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def column_levels(column: Column) -> list[str] | None:
    """Return the levels that a picture shows side by side; None for what is continuous."""
    if isinstance(column, Category):
        return list(column.levels)
    return ["false", "true"] if isinstance(column, Boolean) else None


def column_ticks(column: Column, lo: float, hi: float, about: int) -> Ticks:
    """Return where an axis from lo to hi has which words; None: numbers do."""
    levels = column_levels(column)
    if levels is not None:
        step = max(1, math.ceil(len(levels) / (2 * about)))
        shown = range(0, len(levels), step)
        return [(float(at), shortened(levels[at], MAX_TICK_LETTERS)) for at in shown]
    if not isinstance(column, Date):
        return None
    months = next((m for m in MONTHS if (hi - lo) / (DAYS_PER_MONTH * m) <= about), MONTHS[-1])
    found = _months(column, lo, hi, months)
    return found if len(found) > 1 else _days(column, lo, hi, about)


def _months(column: Date, lo: float, hi: float, step: int) -> list[tuple[float, str]]:
    """Return the first days of months."""
    origin = datetime.datetime.fromisoformat(column.origin)
    try:
        first = origin + datetime.timedelta(days=lo)
    except OverflowError:
        first = origin
    number = 12 * first.year + first.month - 1
    number -= number % step
    found: list[tuple[float, str]] = []
    while len(found) < 100:
        year, month = divmod(number, 12)
        if year > datetime.MAXYEAR - 1:
            break
        at = (datetime.datetime(year, month + 1, 1) - origin).total_seconds() / 86400.0
        if at > hi:
            break
        if at >= lo:
            found.append((at, f"{year}" if step % 12 == 0 else f"{year}-{month + 1:02d}"))
        number += step
    return found


def _days(column: Date, lo: float, hi: float, about: int) -> list[tuple[float, str]]:
    """Return whole days: the year is said once, and again where it changes."""
    step = max(1, math.ceil((hi - lo) / about))
    found, year = [], ""
    for at in range(math.ceil(lo), int(hi) + 1, step):
        shown = column.shown(float(at))
        found.append((float(at), shown if shown[:4] != year else shown[5:]))
        year = shown[:4]
    return found
