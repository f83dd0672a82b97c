"""The book: what follows from the history, and how much of it this process knows already.

Whatever was checked once stays true: an entry's hash covers all entries before it.  So a process
remembers the state after the last entry it has checked, and reads on from there as long as the
store still holds that entry with that hash; if anything is odd it reads all of it again.  Stores
are read in short transactions, and everything else is done in between.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from cloakgp.errors import Message, listed
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger.accounts import Account, checked_cap
from cloakgp.privacy.ledger.errors import LedgerError, tampered
from cloakgp.privacy.ledger.history import FORMAT, ORIGIN, Entry, verified
from cloakgp.privacy.ledger.inputs import fingerprint
from cloakgp.privacy.ledger.names import one_form
from cloakgp.privacy.ledger.store import Page, Store, Transaction

Picked = TypeVar("Picked")
#: Entries read in one transaction, and in one that keeps others from writing.
BATCH, FEW = 5000, 50
#: What entries tell.  A ledger that has moved is closed, and goes on where it has arrived; once
#: that is sure, "completed" ends the old one.
EVENTS = ("created", "opened", "spent", "moved", "arrived", "completed")
#: Ledgers that a process remembers.
MOST_LEDGERS = 64


#: Long histories repeat themselves.
_spend = lru_cache(maxsize=1024)(Spend)


# Proof: ledger.md
@dataclass
class Book:
    """What follows from the entries so far, every one of them checked."""

    name: str
    sequence: int = 0
    hash: str = ORIGIN
    when: str = ""  # of the last entry
    key: bytes = b""
    key_hash: str = ""
    layout: Hashable = None
    accounts: dict[str, Account] = field(default_factory=dict)
    release_ids: set[str] = field(default_factory=set)
    owners: dict[str, list[str]] = field(default_factory=dict)  # data sets by their inputs
    moved: str = ""  # where the ledger goes on, if it is closed here
    completed: bool = False  # it is known to go on there

    def account(self, dataset: str) -> Account:
        """Return the account of a data set, which must be open."""
        account = self.accounts.get(dataset)
        if account is None:
            names = listed([repr(name) for name in self.accounts]) or "none"
            raise LedgerError(
                Message(
                    "the ledger {} has no data set {!r} (it has: {}). Nothing was spent. Open it "
                    "with a cap first: {python:Ledger(...).open(...) or }`cloakgp budget open`.",
                    *(self.name, dataset, names),
                )
            )
        return account

    def mark(self, table: bytes | None) -> str | None:
        """Return what a table of inputs is known by here."""
        return fingerprint(self.key, table)

    def owners_of(self, mark: str | None, other_than: str) -> list[str]:
        """Return the other data sets that have these inputs."""
        return [] if mark is None else [n for n in self.owners.get(mark, ()) if n != other_than]

    def add(self, entry: Entry) -> None:
        """Take one entry in, the next one, whose hash was checked."""
        try:
            self._add(entry)
        except LedgerError:
            raise
        except Exception:  # hashes that fit an entry nobody could write
            raise tampered(self.name, f"entry {entry.sequence} makes no sense") from None

    def _add(self, entry: Entry) -> None:
        facts, event = entry.facts, entry.facts["event"]
        if event not in EVENTS or facts.get("format", FORMAT) != FORMAT:
            raise LedgerError(
                f"{self.name} was made by another version of cloakgp; use that one. Nothing is "
                "spent on it."
            )
        if (event == "created") != (entry.sequence == 1):
            raise tampered(self.name, "its beginning is missing")
        if self.completed or bool(self.moved) != (event in ("arrived", "completed")):
            raise tampered(self.name, f"entry {entry.sequence} makes no sense")
        if event == "created":
            self.key_hash = facts["key"]
        elif event in ("moved", "arrived"):
            self.moved = str(facts["to"]) if event == "moved" else ""
        elif event == "completed":
            self.completed = True
        else:
            # A name that 0.1.0 wrote in decomposed form is the composed one.
            dataset = one_form(facts["dataset"])
            if event == "opened":
                cap = checked_cap(facts["epsilon"], facts["delta"])
                account = self.accounts.get(dataset) or Account(*cap)  # the first cap stays
            else:
                spends = [_spend(each["kind"], each["size"]) for each in facts["spends"]]
                account = self.accounts[dataset].after(tuple(spends))
                self.release_ids.add(facts["release_id"])
            mark = facts["inputs"]
            if mark is not None and mark not in account.inputs:
                account = replace(account, inputs=account.inputs | {mark})
                self.owners.setdefault(mark, []).append(dataset)
            self.accounts[dataset] = account
        self.sequence, self.hash, self.when = entry.sequence, entry.hash, facts["when"]


# Proof: ledger.md
class Memory:
    """What a process has read of one ledger, for all of its threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.book = Book(name)
        self._lock = threading.Lock()  # held for work in memory only

    def forget(self) -> None:
        """Begin again: the next read starts at the beginning."""
        with self._lock:
            self.book = Book(self.name)

    def take(self, page: Page, each: Callable[[Entry], object] | None = None) -> Book | None:
        """Read on; return the book if it ends where the ledger ends, None to be asked again.

        ``each`` is called with every entry.
        """
        with self._lock:
            book = self.book
            if page.after != book.sequence:
                return None  # another thread was quicker
            known = (book.layout, book.hash.encode())
            if book.sequence and (page.layout, page.anchor) != known:
                self.book = Book(self.name)  # another history: read all of it
                return None
            try:
                for entry in verified(page.rows, book.sequence, book.hash, book.name):
                    book.add(entry)
                    if each is not None:
                        each(entry)
                ends = _agrees(book, page)
            except BaseException:
                self.book = Book(self.name)  # this one may have half an entry
                raise
            return book if ends else None


# Proof: ledger.md
def _agrees(book: Book, page: Page) -> bool:
    """Tell whether a book ends where the ledger does; refuse what cannot be."""
    if hashlib.sha256(page.key).hexdigest() != book.key_hash:
        what = "its key was changed" if book.sequence else "its beginning is missing"
        raise tampered(book.name, what)
    book.key, book.layout = page.key, page.layout
    if page.head == (book.sequence, book.hash.encode()):
        return True
    if len(page.rows) < page.most:
        raise tampered(book.name, "entries at its end are missing")
    return False


# Proof: ledger.md
@lru_cache(maxsize=MOST_LEDGERS)
def _remembered(name: str, identity: Hashable, process: int) -> Memory:
    return Memory(name)


# Proof: ledger.md
def recall(store: Store) -> Memory:
    """Return what this process knows of a ledger.

    A fork begins anew: it may have happened while another thread was in the middle of reading.
    """
    return _remembered(store.name, store.identity(), os.getpid())


# Proof: ledger.md
def read_on(store: Store, memory: Memory, each: Callable[[Entry], object] | None = None) -> Book:
    """Read a ledger up to its end, in as many short transactions as that takes."""
    while True:
        with store.read() as transaction:
            page = transaction.page(memory.book.sequence, BATCH)
        book = memory.take(page, each)
        if book is not None:
            return book


# Proof: ledger.md
def read_all(store: Store, pick: Callable[[Entry], Picked]) -> tuple[Book, list[Picked]]:
    """Read a ledger from its beginning, whatever is known of it; return what was picked of each."""
    picked: list[Picked] = []

    def keep(entry: Entry) -> None:
        del picked[entry.sequence - 1 :]  # of a file that was replaced meanwhile
        picked.append(pick(entry))

    try:
        return read_on(store, Memory(store.name), keep), picked
    except LedgerError:
        recall(store).forget()  # nor may this process go on from what it knew
        raise


# Proof: ledger.md
def last_news(transaction: Transaction, memory: Memory) -> Book | None:
    """Return the book if only a little has to be read in this transaction to have all of it."""
    return memory.take(transaction.page(memory.book.sequence, FEW))
