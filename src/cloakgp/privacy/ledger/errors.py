"""What a ledger refuses, and what is known about the spend when it does."""

from __future__ import annotations

import math

from cloakgp.errors import Message


class LedgerError(ValueError):
    """The ledger cannot do what was asked, and no noise may be drawn.

    Attributes
    ----------
    recorded : bool or None
        What became of a spend: False, nothing was spent; True, it is in the ledger and wasted;
        None, the ledger cannot be read, so nobody knows yet.

    See Also
    --------
    BudgetExceeded : The spend does not fit.
    LedgerTampered : The history was changed.
    """

    recorded: bool | None = False


class LedgerTampered(LedgerError):
    """The history is not the one that was written.

    See Also
    --------
    Ledger.verify : Looks at all of it.
    """


class CommitFailed(LedgerError):
    """A commit ended in an error, and may have taken effect or not."""

    recorded = None


class BudgetExceeded(LedgerError):
    """A spend does not fit under the cap.

    Parameters
    ----------
    message : str
        The error in words.
    requested : float, default=nan
        The ε of the spend alone, at the cap's δ.
    spent : float, default=nan
        The ε of everything so far, at the cap's δ.
    remaining : float, default=nan
        The ε that one further Gaussian release may have, at the cap's δ.

    See Also
    --------
    Ledger.remaining : What is left.
    """

    def __init__(
        self,
        message: str,
        requested: float = math.nan,
        spent: float = math.nan,
        remaining: float = math.nan,
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.spent = spent
        self.remaining = remaining


def tampered(name: str, what: str) -> LedgerTampered:
    """Return the error for a history that was changed."""
    return LedgerTampered(
        f"the ledger {name} is not as it was written ({what}), so it cannot be trusted. Nothing "
        "is spent on it. Find out who changed it, and go back to a copy whose last hash you know."
    )


def damaged(name: str) -> LedgerError:
    """Return the error for a file that cannot be read as a ledger."""
    return LedgerError(
        f"the ledger {name} is damaged, or is no ledger at all. Nothing is spent on it. Check the "
        "name; if it is right, restore the latest copy and count everything released since as "
        "spent."
    )


def empty(name: str) -> LedgerError:
    """Return the error for a file that holds nothing."""
    return LedgerError(
        f"{name} is empty, and an empty file is not a ledger: its contents may have been lost, and "
        "with them the record of what was spent. Nothing is spent on it. Restore the latest copy. "
        "Only if there never was a ledger, remove the file and ask for a new one."
    )


def bereft(name: str, side: str) -> LedgerError:
    """Return the error for a new ledger where a file of an old one is left."""
    return LedgerError(
        f"there is no ledger at {name}, but {side} is left of one: it may have been lost, and with "
        "it the record of what was spent. Restore the latest copy. Only if nothing was ever spent, "
        "remove that file, too, and ask for a new ledger."
    )


def unnamed(name: str) -> LedgerError:
    """Return the error for a file that was left behind before it became a ledger."""
    return LedgerError(
        f"{name} is what a process left behind that was killed while it made or moved a ledger, "
        "and is not one. Nothing is spent on it. Give that command again, and remove this file."
    )


def several_names(name: str) -> LedgerError:
    """Return the error for a file with hard links."""
    return LedgerError(
        f"the ledger {name} has another name as well (a hard link), and after a crash a spend made "
        "under one may be missing under the other. Nothing is spent on it. Keep one name: find the "
        "others with `find -samefile` and remove them; for a backup, copy the file."
    )


def missing(name: str) -> LedgerError:
    """Return the error for a ledger that does not exist."""
    return LedgerError(
        Message(
            "there is no ledger at {}. Check the name, or ask for a new one: {python:Ledger(...)"
            ".open(..., create=True) or }`cloakgp budget open ... --new`.",
            name,
        )
    )


def unbegun(name: str) -> LedgerError:
    """Return the error for tables on a server that hold nothing."""
    return LedgerError(
        Message(
            "the tables of {} are empty: either no ledger was made there yet, or its entries were "
            "lost, and with them the record of what was spent. Only if there never was one, ask "
            "for a new one: {python:Ledger(...).open(..., create=True) or }`cloakgp budget open "
            "... --new`.",
            name,
        )
    )


def moved(name: str, to: str) -> LedgerError:
    """Return the error for a ledger that is closed because it goes on elsewhere."""
    return LedgerError(
        f"the ledger {name} is closed: it was moved to {to}. Nothing was spent; spend there."
    )
