"""How an entry gets into a ledger that stays where it is: it is made, opened, or spent on.

All that takes long is done before the store is locked.  Under the lock the latest entries are read,
the sum is compared with its allowance, and one entry is appended.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict, dataclass
from typing import Any

from cloakgp.privacy.ledger import accounts, names
from cloakgp.privacy.ledger.accounts import Account, Spends
from cloakgp.privacy.ledger.book import Book, Memory, last_news, read_on, recall
from cloakgp.privacy.ledger.errors import CommitFailed, LedgerError, moved
from cloakgp.privacy.ledger.history import FORMAT, ORIGIN, Entry, link, written
from cloakgp.privacy.ledger.inputs import other_inputs, same_inputs
from cloakgp.privacy.ledger.store import Store, Transaction


# Proof: ledger.md
def create(store: Store, who: str | None) -> None:
    """Make a ledger, unless there is one."""
    key = secrets.token_bytes(32)
    facts = {"event": "created", "format": FORMAT, "key": hashlib.sha256(key).hexdigest()}
    entry = written(facts | {"when": names.now(), "who": who or names.user()})
    try:
        store.create(key, [(entry, link(1, ORIGIN, entry.encode()))])
    except CommitFailed as error:
        raise LedgerError(
            f"{error} Nothing was spent. Whether the ledger was made is seen when it can be read; "
            "then ask for it again."
        ) from None


# Proof: ledger.md
@dataclass(frozen=True)
class Opening:
    """A data set that is to get a cap."""

    dataset: str
    epsilon: float
    delta: float
    table: bytes | None  # hash of its inputs
    allow_same_inputs: bool
    allow_other_inputs: bool
    who: str | None

    def record(self, store: Store) -> None:
        """Open the data set, or refuse to; a data set that is open with that cap stays as it is."""
        memory = recall(store)
        try:
            while not self._attempt(store, memory):
                read_on(store, memory)
        except CommitFailed as error:
            raise LedgerError(f"{error} Nothing was spent. Open the data set again.") from None

    def _attempt(self, store: Store, memory: Memory) -> bool:
        with store.write() as transaction:
            book = _latest(transaction, memory)
            if book is None:
                return False
            mark = book.mark(self.table)
            if self._is_news(book, mark):
                facts = {
                    "event": "opened",
                    "dataset": self.dataset,
                    "epsilon": self.epsilon,
                    "delta": self.delta,
                    "inputs": mark,
                    "same_inputs_as": book.owners_of(mark, other_than=self.dataset),
                }
                append(transaction, book, facts, self.who)
        return True

    def _is_news(self, book: Book, mark: str | None) -> bool:
        """Tell whether this adds to the history, or refuse it."""
        account = book.accounts.get(self.dataset)
        owners = book.owners_of(mark, other_than=self.dataset)
        if account is not None:
            self._check_cap(account)
            if mark is None or mark in account.inputs:
                return False
            if account.inputs and not self.allow_other_inputs:
                raise other_inputs(self.dataset, owners)
        if owners and not self.allow_same_inputs:
            raise same_inputs(owners)
        return True

    def _check_cap(self, account: Account) -> None:
        if (self.epsilon, self.delta) != (account.epsilon, account.delta):
            raise LedgerError(
                f"the data set {self.dataset!r} is open with a cap of epsilon = "
                f"{account.epsilon:g}, delta = {account.delta:g}, and a cap that could be changed "
                f"would be none: epsilon = {self.epsilon:g}, delta = {self.delta:g} is refused. "
                "Open it with the cap it has."
            )


# Proof: ledger.md
@dataclass(frozen=True)
class Spending:
    """An entry of spends that is to be recorded."""

    dataset: str
    spends: Spends
    release_id: str
    table: bytes | None  # hash of the inputs
    facts: dict[str, Any]  # what else the entry tells
    who: str | None

    def record(self, store: Store) -> tuple[Entry, Account]:
        """Record the spend, and return its entry and the account with it, or refuse it."""
        written(self.facts)  # whatever is wrong with them should keep nobody waiting
        accounts.cost(self.spends)
        memory = recall(store)
        account = read_on(store, memory).account(self.dataset)
        try:
            while True:
                first = account.first or self.spends
                allowed = accounts.allowance(first, account.epsilon, account.delta)
                recorded = self._attempt(store, memory, account, allowed)
                if recorded is not None:
                    return recorded
                account = read_on(store, memory).account(self.dataset)
        except CommitFailed as error:
            raise self._settled(store, error) from None

    def _attempt(
        self, store: Store, memory: Memory, expected: Account, allowed: float
    ) -> tuple[Entry, Account] | None:
        """Record the spend if the allowance is that of the account as it is now."""
        with store.write() as transaction:
            book = _latest(transaction, memory)
            if book is None:
                return None
            account = book.account(self.dataset)
            if _basis(account) != _basis(expected):
                return None  # somebody else has made the first entry meanwhile
            self._check(book, account)
            more = account.after(self.spends)
            fits = accounts.fits(more, allowed)
            if fits:
                facts = {
                    "event": "spent",
                    "dataset": self.dataset,
                    "release_id": self.release_id,
                    "spends": [asdict(spend) for spend in self.spends],
                    "inputs": book.mark(self.table),
                }
                entry = append(transaction, book, facts | self.facts, self.who)
        if not fits:
            raise accounts.exceeded(self.dataset, account, self.spends)
        return entry, more

    def _check(self, book: Book, account: Account) -> None:
        """Refuse a second spend under one id, and inputs that belong to another name."""
        if self.release_id in book.release_ids:
            raise LedgerError(
                f"release {self.release_id!r} is in the ledger already, so this would spend twice "
                "under one name. Nothing was spent; give every release an id of its own."
            )
        mark = book.mark(self.table)
        if mark is None or mark in account.inputs:
            return
        owners = book.owners_of(mark, other_than=self.dataset)
        if account.inputs:
            raise other_inputs(self.dataset, owners)
        if owners:
            raise same_inputs(owners)

    def _settled(self, store: Store, error: CommitFailed) -> LedgerError:
        """Look whether a commit that ended in an error took effect, and say so."""
        try:
            store.settle()
            found = self.release_id in read_on(store, recall(store)).release_ids
        except LedgerError:
            return CommitFailed(
                f"{error} Whether the spend was recorded cannot be seen until the ledger can be "
                "read again (`cloakgp budget history`). No noise may be drawn."
            )
        if not found:
            return LedgerError(f"{error} Nothing was spent.")
        wasted = LedgerError(
            f"{error} The spend is in the ledger, but perhaps not safely on the disk, so no noise "
            "may be drawn: it is wasted."
        )
        wasted.recorded = True
        return wasted


# Proof: ledger.md
def _latest(transaction: Transaction, memory: Memory) -> Book | None:
    """Return the book as it is now, unless there is more to read; refuse a closed one."""
    book = last_news(transaction, memory)
    if book is not None and book.moved:
        raise moved(book.name, book.moved)
    return book


# Proof: ledger.md
def _basis(account: Account) -> tuple[Spends, float, float]:
    """Return what the allowance follows from."""
    return account.first, account.epsilon, account.delta


# Proof: ledger.md
def append(transaction: Transaction, book: Book, facts: dict[str, Any], who: str | None) -> Entry:
    """Write one entry; it counts once the transaction is committed."""
    made = following(book.sequence, book.hash, book.when, facts, who)
    transaction.append(made.sequence, written(made.facts), made.hash)
    return made


# Proof: ledger.md
def following(
    sequence: int, previous: str, when: str, facts: dict[str, Any], who: str | None
) -> Entry:
    """Return the entry that holds these facts and comes after another one."""
    facts = facts | {"when": names.now(), "who": who or names.user()}
    if facts["when"] < when:
        facts["clock_went_back"] = True  # order is by sequence, so this is worth a note, no more
    hash = link(sequence + 1, previous, written(facts).encode())
    return Entry(sequence + 1, facts, previous, hash)
