"""How far a command has come, and what became of the budget.

This decides what an error may say, and what it must.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakgp.errors import printable
from cloakgp.privacy import Ledger
from cloakgp.privacy.ledger import LedgerError, Receipt


class WatchedLedger(Ledger):
    """A ledger that can tell afterwards whether the spend of this command is in it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.release_id: str | None = None

    def spend(self, *args: Any, release_id: str, **options: Any) -> Receipt:
        """Record a spend, and remember under which name."""
        self.release_id = release_id
        return super().spend(*args, release_id=release_id, **options)

    def has_spend(self) -> bool | None:
        """Look whether the spend was recorded; None if the ledger cannot be read."""
        if self.release_id is None:
            return False
        try:
            return any(entry.facts.get("release_id") == self.release_id for entry in self.history())
        except (LedgerError, OSError):
            return None


@dataclass
class Progress:
    """How far a command has come."""

    debug: bool = False
    private: bool = False  # private values are in memory: no message of others is shown
    spending: bool = False
    released: Path | None = None
    ledger: WatchedLedger | None = None

    def fate(self) -> str:
        """Say what became of the budget, as far as it is known."""
        if not self.spending:
            return ""
        if self.released is not None:
            return (
                "The privacy budget WAS spent, and the release is complete in "
                f"{printable(self.released)}. Do not repeat it: `cloakgp predict` and, in Python, "
                "Release.load(...) give everything else from that file."
            )
        recorded = False if self.ledger is None else self.ledger.has_spend()
        if recorded is False:
            return "Nothing was published, so no privacy budget was spent."
        assert self.ledger is not None
        history = f"`cloakgp budget history {printable(self.ledger.name)}`"
        if recorded:
            return (
                "The privacy budget WAS spent, but nothing was published, so it is wasted; "
                f"{history} shows the spend."
            )
        return (
            "Nothing was published. The ledger cannot be read now; when it can, "
            f"{history} shows whether the spend was recorded."
        )
