"""Moving a ledger to another place: every entry with its hash, and then one place to spend from.

An entry of the old ledger says where it went, and closes it.  It is written when all entries are
ready in the new place, but before anybody can see them there; so at no moment can both be spent on.
If it breaks off in between, neither can, and the same move again completes it.  Once the new place
was read, one more entry says so in the old one, and it is never moved again: an address or the name
of a file may lead elsewhere tomorrow, or on another machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from cloakgp.privacy.ledger.book import Book, last_news, read_all, read_on, recall
from cloakgp.privacy.ledger.errors import CommitFailed, LedgerError, moved, tampered
from cloakgp.privacy.ledger.history import Entry, link, written
from cloakgp.privacy.ledger.store import NewRow, Store
from cloakgp.privacy.ledger.writing import append, following

#: How often to begin again because others spend meanwhile.
ATTEMPTS = 20


class _Outrun(Exception):
    """Somebody has spent after the entries were read."""


# Proof: ledger.md
@dataclass(frozen=True)
class _Move:
    """What is to be written where."""

    source: Store
    target: Store
    book: Book  # of the source, as it was read
    rows: list[NewRow]
    departure: Entry | None  # that closes the source; None if it is closed already

    def carry_out(self) -> bool:
        """Write everything; tell whether the target was empty."""
        return self.target.create(self.book.key, self.rows, self._close)

    def _close(self) -> None:
        """Close the source if it still ends where it was read to."""
        if self.departure is None:
            return
        with self.source.write() as transaction:
            now = last_news(transaction, recall(self.source))
            if now is None or (now.sequence, now.hash) != (self.book.sequence, self.book.hash):
                raise _Outrun
            last = self.departure
            transaction.append(last.sequence, written(last.facts), last.hash)


# Proof: ledger.md
def move(source: Store, target: Store, who: str | None) -> str:
    """Move a ledger and return the last hash of the new one."""
    for _ in range(ATTEMPTS):
        plan = _plan(source, target, who)
        try:
            made = plan.carry_out()
        except _Outrun:
            continue
        except CommitFailed as error:
            raise LedgerError(f"{error} {_again(source, target)}") from None
        if not made and plan.departure is not None:
            raise _taken(source, target)
        last = _verified(target, plan, made)
        _complete(source, target, who)
        return last
    raise LedgerError(
        f"others spend on {source.name} all the time, so it could not be closed; it is as it was. "
        "Try again when it is quiet."
    )


# Proof: ledger.md
def _plan(source: Store, target: Store, who: str | None) -> _Move:
    """Read the source, and work out the entries with which it ends and the target goes on."""
    book, rows = read_all(source, lambda entry: _row(source.name, entry))
    last, departure = (book.sequence, book.hash, book.when), None
    if not book.moved:
        departure = following(*last, {"event": "moved", "to": target.name}, who)
        rows.append((written(departure.facts), departure.hash))
        last = departure.sequence, departure.hash, departure.facts["when"]
    elif book.completed or book.moved != target.name:
        raise moved(source.name, book.moved)
    arrival = following(*last, {"event": "arrived", "from": source.name}, who)
    rows.append((written(arrival.facts), arrival.hash))
    return _Move(source, target, book, rows, departure)


# Proof: ledger.md
def _row(name: str, entry: Entry) -> NewRow:
    """Return an entry as it is kept, to the letter."""
    words = written(entry.facts)
    if link(entry.sequence, entry.previous, words.encode()) != entry.hash:
        raise tampered(name, f"entry {entry.sequence} is not written as cloakgp writes it")
    return words, entry.hash


# Proof: ledger.md
def _verified(target: Store, plan: _Move, made: bool) -> str:
    """Read the new ledger from its beginning, and return its last hash if it has every entry.

    If it was made by an earlier attempt, that one wrote when it arrived.
    """
    hashes = read_all(target, lambda entry: entry.hash)[1]
    target.check()
    # Others may have spent there by now.
    rows = plan.rows if made else plan.rows[:-1]
    if hashes[: len(rows)] == [hash for _, hash in rows]:
        return hashes[-1]
    if made:
        raise tampered(target.name, "it is not what was moved there")
    raise _another(plan.source, target)


# Proof: ledger.md
def _complete(source: Store, target: Store, who: str | None) -> None:
    """Write into the old ledger that it has arrived, so that it is never moved again."""
    memory = recall(source)
    try:
        while not read_on(source, memory).completed:
            with source.write() as transaction:
                book = last_news(transaction, memory)
                if book is not None and not book.completed:
                    append(transaction, book, {"event": "completed"}, who)
    except LedgerError as error:
        raise LedgerError(
            f"{error} All entries are at {target.name}, which can be spent on; {source.name} is "
            "closed, and lacks a note that they arrived. Give the same command again to add it."
        ) from None


def _taken(source: Store, target: Store) -> LedgerError:
    """Return the error for a target that is not empty."""
    if read_all(source, lambda entry: None)[0].moved:  # taken at the last moment
        return _another(source, target)
    return LedgerError(
        f"there is something at {target.name} already, and a ledger is moved to an empty place "
        f"only. {source.name} is as it was. Choose another place."
    )


def _another(source: Store, target: Store) -> LedgerError:
    """Return the error for a target that somebody else took when the source was closed."""
    return LedgerError(
        f"somebody made another ledger at {target.name} meanwhile. {_again(source, target)}"
    )


def _again(source: Store, target: Store) -> str:
    """Say what to do about a move that broke off."""
    return (
        f"{source.name} may be closed by now, and {target.name} not made yet. Nothing is lost: "
        "give the same command again, and it goes on where it ended."
    )
