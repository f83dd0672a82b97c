"""Errors and warnings of this project, known by their type wherever they surface.

Messages may be shown to anybody, so none holds a private value, and none can control a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Names listed in an error, at most.
MOST_NAMES = 30


class ReleaseFileError(ValueError):
    """A release file, or what should go into one, breaks a rule of the format."""


class SignatureError(ValueError):
    """A signature that is refused, or a key or list of signers that cannot be used."""


class ImplausibleNoiseWarning(UserWarning):
    """The published values of a release are too quiet for the noise that it claims.

    Given when a release is loaded.  It is evidence that the noise was not drawn as stated, not
    proof: an honest release meets it with a small probability.

    See Also
    --------
    Release.verify : Lists such values among its ``warnings``.
    """


class NotPrivateWarning(UserWarning):
    """What was asked for gives a result without a guarantee.

    ``random_state`` makes noise repeatable, and ``epsilon=inf`` adds none.  The release is stamped
    as not private, and the command line refuses to write it.

    See Also
    --------
    PrivateGPRegressor : Leave ``random_state`` at None for a real release.
    """


class RepeatedSpendWarning(UserWarning):
    """A fit spends again on inputs that were released before in this process, without a ledger.

    Budgets of the same people add up, whoever counts them.

    See Also
    --------
    Ledger : Adds up what a data set has spent, and refuses to exceed a cap.
    """


class DecodeError(ValueError):
    """Predictions cannot be computed: at these points, or from this release at all."""


class CommandError(ValueError):
    """An error that the user can fix, said in one paragraph without any private value."""


class TableError(CommandError):
    """A table on disk or in blocks that cannot be used as it is; private values are not told."""


def printable(text: object) -> str:
    """Return a string that cannot control a terminal: what is not printable is spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def listed(names: Sequence[str]) -> str:
    """Return names as a list to read."""
    shown = ", ".join(printable(name) for name in names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
