"""What the ledger asks of a place that keeps entries.

A store appends entries and hands them back; it believes nothing and decides nothing.  Every error
of its own medium comes out as a ``LedgerError``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from cloakgp.privacy.ledger.history import Row

#: An entry that is to be written: canonical JSON and hash.
NewRow = tuple[str, str]


# Proof: ledger.md
@dataclass(frozen=True)
class Page:
    """What a store holds after some entry, read in one transaction; nothing of it is checked."""

    after: int  # number of the entry before the first row; 0 at the beginning
    anchor: object  # hash kept with that entry
    rows: list[Row]  # in order
    most: int  # how many rows were asked for
    head: object  # number and hash of the last entry of all, as kept beside the history
    key: bytes  # key of the fingerprints of inputs
    layout: Hashable  # changes when the tables of the store were changed


class Transaction(Protocol):
    """All of something or none of it."""

    def page(self, after: int, most: int) -> Page:
        """Return at most ``most`` entries that follow entry ``after``."""

    def append(self, sequence: int, entry: str, link: str) -> None:
        """Write an entry and make it the head."""


class Store(Protocol):
    """A place that keeps one ledger."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def identity(self) -> Hashable:
        """Return what tells this ledger from another one of the same name, at low cost."""

    def create(
        self, key: bytes, rows: Sequence[NewRow], meanwhile: Callable[[], object] | None = None
    ) -> bool:
        """Make a ledger with its first entries, unless there is one: never in place of another.

        ``meanwhile`` is called when all is written and nobody can see it yet.  Tell whether the
        ledger is the one that was to be made.
        """

    def read(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that only reads."""

    def write(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction in which nobody else can write, from before its first read.

        Leaving it commits: when that returns, what was appended is on the disk.  An error in the
        commit itself comes out as ``CommitFailed``.
        """

    def settle(self) -> None:
        """Wait until a commit that ended in an error has taken effect or never will."""

    def check(self) -> None:
        """Check the medium itself, all of it."""
