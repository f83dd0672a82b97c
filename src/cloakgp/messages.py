"""What may be said at a terminal: the error that a user can fix, and strings made safe to print."""

from __future__ import annotations

from collections.abc import Sequence

#: Names listed in an error, at most.
MOST_NAMES = 30


class CommandError(ValueError):
    """An error that the user can fix, said in one paragraph without any private value."""


def printable(text: object) -> str:
    """Return a string that cannot control a terminal: what is not printable is spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def listed(names: Sequence[str]) -> str:
    """Return names as a list to read."""
    shown = ", ".join(printable(name) for name in names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
