"""The ledger: what each named data set has spent, on disk, recorded before noise is drawn.

A ledger is one SQLite file with a list of entries, append-only and chained by hashes.  Caps, inputs
and what was spent are read off that list each time; no second copy can disagree with it.  A spend
is checked and committed in one transaction, or not at all.  Outputs never come here, so nothing
private is in the file.  Claim and proof: ``proofs/ledger.md``.
"""

from __future__ import annotations

import contextlib
import csv
import getpass
import hashlib
import hmac
import io
import json
import math
import os
import secrets
import socket
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.privacy.accounting import Spend, total_guarantee
from cloakgp.privacy.calibration import SMALLEST_EPSILON, checked_budget, gaussian_sigma

#: Version of the file; a file of another version is not opened.
FORMAT = 1
#: How long to wait for other processes.
BUSY_SECONDS = 60.0
#: What the first entry is chained to.
ORIGIN = "0" * 64
#: Characters of a name, and of an entry.  Entries hold a few public facts, not tables.
LONGEST_NAME, LONGEST_ENTRY = 200, 1 << 16

_SCHEMA = (
    "CREATE TABLE history (sequence INTEGER PRIMARY KEY, entry TEXT NOT NULL, hash TEXT NOT NULL)",
    # The last entry once more, so that entries missing at the end are noticed.
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER, hash TEXT)",
    # The key of the fingerprints of inputs.
    "CREATE TABLE secret (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL)",
    "CREATE TRIGGER no_update BEFORE UPDATE ON history"
    " BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON history"
    " BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END",
    # Without this one, INSERT OR REPLACE would overwrite.
    "CREATE TRIGGER in_order BEFORE INSERT ON history"
    " WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM history)"
    " BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END",
)


class LedgerError(ValueError):
    """The ledger cannot do what was asked; nothing was released on its account."""


class LedgerTampered(LedgerError):
    """The history is not the one that was written."""


class BudgetExceeded(LedgerError):
    """A spend does not fit under the cap.  The numbers are ε at the cap's δ."""

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


@dataclass(frozen=True)
class Entry:
    """One entry of the history.  ``facts`` always has event, when and who."""

    sequence: int
    facts: dict[str, Any]
    previous: str
    hash: str  # SHA-256 of sequence, previous hash and facts; see ``_link``


@dataclass(frozen=True)
class Receipt:
    """Proof that a spend is recorded: only now may noise be drawn."""

    dataset: str
    release_id: str
    sequence: int
    when: str
    hash: str
    spent: float  # ε of everything so far, this spend included, at the cap's δ


@dataclass(frozen=True)
class Balance:
    """The state of one data set."""

    dataset: str
    epsilon: float  # the cap
    delta: float
    spent: float  # ε of everything so far, at the cap's δ
    remaining: float  # ε that one further Gaussian release at the cap's δ may have; 0 if none
    releases: int


class Ledger:
    """Keeps what named data sets have spent, and refuses more than their cap.

    ``path`` is a file, or an address such as ``sqlite:///budget.ledger``.  The object holds nothing
    but the path: it can be copied, pickled, shared by threads and taken through a fork.  The file
    is made by the first ``open`` and must lie on a local disk.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _as_path(path)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open between calls."""

    def open(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        inputs: ArrayLike | None = None,
        *,
        allow_same_inputs: bool = False,
        allow_other_inputs: bool = False,
        who: str | None = None,
    ) -> Self:
        """Name a data set and cap what it may ever spend.  Again with the same cap is harmless.

        ``inputs`` is the public table X, of which a keyed fingerprint is kept: the same rows under
        another name are refused unless ``allow_same_inputs`` says that they are other people, and
        other rows under the same name unless ``allow_other_inputs`` says that they are the same.
        """
        _check_text("dataset", dataset)
        epsilon, delta = checked_budget(epsilon, delta)
        table = None if inputs is None else _digest(inputs)
        with _transaction(self.path, "create") as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                _create(connection, who)
            book = _read(connection, self.path)
            mark = book.fingerprint(table)
            if _is_news(book, dataset, (epsilon, delta), mark, allow_other_inputs):
                same = book.names_of(mark, other_than=dataset)
                if same and not allow_same_inputs:
                    raise LedgerError(_same_inputs(same))
                cap = {"dataset": dataset, "epsilon": epsilon, "delta": delta}
                facts = {"event": "opened", "inputs": mark, "same_inputs_as": same}
                _append(connection, book, cap | facts, who)
        _use_wal(self.path)
        return self

    def spend(
        self,
        dataset: str,
        spends: Sequence[Spend],
        *,
        what: str,
        parameters: Mapping[str, Any],
        release_id: str,
        inputs: ArrayLike | None = None,
        stated: tuple[float, float] | None = None,
        who: str | None = None,
    ) -> Receipt:
        """Record a spend, or refuse it.  Draw noise only after this has returned.

        What the release will do has to be fixed by now, but for the outputs, the noise, and how a
        later one of its ``spends`` follows from an earlier one; they are listed in that order.
        ``parameters`` are public facts that JSON can hold, ``stated`` the (ε, δ) that the release
        will claim.  ``release_id`` may occur once.  ``inputs`` must be those of the data set; the
        first ones given are remembered.
        """
        for name, text in (("dataset", dataset), ("what", what), ("release_id", release_id)):
            _check_text(name, text)
        new = [Spend(spend.kind, spend.size) for spend in spends]
        if not new:
            raise LedgerError("spends is empty: there is nothing to record")
        table = None if inputs is None else _digest(inputs)
        with _transaction(self.path, "write") as connection:
            book = _read(connection, self.path)
            account = book.account(dataset)
            if release_id in book.release_ids:
                raise LedgerError(
                    f"release {release_id!r} is in the ledger already, so this would spend twice "
                    "under one name. Nothing was spent; give every release an id of its own."
                )
            mark = book.fingerprint(table)
            _check_inputs(book, dataset, mark)
            total = account.spent(new)
            fits = total <= account.epsilon  # not a number does not fit
            if fits:
                facts = {
                    "event": "spent",
                    "dataset": dataset,
                    "what": what,
                    "release_id": release_id,
                    "spends": [asdict(spend) for spend in new],
                    "stated": None if stated is None else [float(part) for part in stated],
                    "parameters": dict(parameters),
                    "inputs": mark,
                }
                entry = _append(connection, book, facts, who)
        if not fits:
            raise _exceeded(dataset, account, new)  # out here, where it keeps nobody waiting
        return Receipt(dataset, release_id, entry.sequence, entry.facts["when"], entry.hash, total)

    def balances(self, dataset: str | None = None) -> list[Balance]:
        """Return the state of one data set, or of all."""
        book = self._book()
        names = list(book.accounts) if dataset is None else [dataset]
        return [_balance(name, book.account(name)) for name in names]

    @overload
    def spent(self, dataset: str) -> float: ...

    @overload
    def spent(self, dataset: None = None) -> dict[str, float]: ...

    def spent(self, dataset: str | None = None) -> float | dict[str, float]:
        """Return the ε spent so far, at the cap's δ: of one data set, or of each by name."""
        book = self._book()
        names = book.accounts if dataset is None else [dataset]
        spent = {name: book.account(name).spent() for name in names}
        return spent if dataset is None else spent[dataset]

    @overload
    def remaining(self, dataset: str) -> float: ...

    @overload
    def remaining(self, dataset: None = None) -> dict[str, float]: ...

    def remaining(self, dataset: str | None = None) -> float | dict[str, float]:
        """Return the ε that one further Gaussian release at the cap's δ may have, 0 if none.

        This is more than the cap less what was spent: releases compose better than by adding ε.
        """
        left = {balance.dataset: balance.remaining for balance in self.balances(dataset)}
        return left if dataset is None else left[dataset]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return all entries, or those about one data set, in the order they were made."""
        book = self._book()
        if dataset is None:
            return book.entries
        book.account(dataset)
        return [entry for entry in book.entries if entry.facts.get("dataset") == dataset]

    def export(self, form: Literal["jsonl", "csv"] = "jsonl") -> str:
        """Return the whole history as text, for auditors: they can work out every hash again."""
        if form not in ("jsonl", "csv"):
            raise LedgerError(f"form must be 'jsonl' or 'csv', got {form!r}")
        entries = self.history()
        if form == "jsonl":
            return "".join(_canonical(asdict(entry)) + "\n" for entry in entries)
        told = ("when", "who", "event", "dataset", "what", "release_id")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("sequence", *told, "facts", "previous", "hash"))
        for entry in entries:
            known = (entry.facts.get(name, "") for name in told)
            facts = _canonical(entry.facts)
            writer.writerow((entry.sequence, *known, facts, entry.previous, entry.hash))
        return text.getvalue()

    def verify(self, head: str | None = None) -> str:
        """Check the whole file and return the hash of its last entry.

        Keep that hash elsewhere: given back as ``head``, it shows that nothing up to it was
        rewritten, which the file alone cannot show against somebody who rewrites all of it.
        """
        with _transaction(self.path, "read") as connection:
            book = _read(connection, self.path)
            found = connection.execute("PRAGMA integrity_check").fetchone()
        if found != ("ok",):
            raise LedgerError(_DAMAGED.format(path=self.path, fate="Do not spend on it."))
        if head is not None and head not in {entry.hash for entry in book.entries}:
            raise LedgerTampered(
                f"the history of {self.path} does not hold the entry {head}: it was rewritten, or "
                "this is an older copy or another ledger. Do not spend on it."
            )
        return book.head

    def _book(self) -> _Book:
        with _transaction(self.path, "read") as connection:
            return _read(connection, self.path)


# ----------------------------------------------------------------------------------- the arithmetic


@dataclass
class _Account:
    """One data set, as read off the history."""

    epsilon: float
    delta: float
    spends: list[Spend] = field(default_factory=list)
    inputs: set[str] = field(default_factory=set)
    releases: int = 0

    def spent(self, more: Sequence[Spend] = ()) -> float:
        """Return the ε of everything so far, and of ``more``, at the cap's δ."""
        spends = [*self.spends, *more]
        return total_guarantee(spends, self.delta) if spends else 0.0


def _remaining(account: _Account, spent: float) -> float:
    """Return an ε for which one more Gaussian release was checked to fit, close to the largest."""

    def total(epsilon: float) -> float:
        return account.spent([Spend("gaussian", 1.0 / gaussian_sigma(epsilon, account.delta))])

    cap = account.epsilon
    low, below = 0.0, spent  # fits
    high, above = cap, total(cap)
    if above <= cap:
        return cap
    halve = False
    while high - low > 1e-6 * high and below < cap * (1.0 - 1e-5):
        # A total takes long, so guess well: its square is nearly linear in that of ε.  Aim a
        # little below the cap; after a guess that gained little, halve.
        share = ((cap * (1.0 - 5e-6)) ** 2 - below**2) / (above**2 - below**2)
        guess = math.sqrt(low**2 + share * (high**2 - low**2))
        middle = max(0.5 * (low + high) if halve else guess, SMALLEST_EPSILON)
        width = high - low
        found = total(middle)
        if found <= cap:
            low, below = middle, found
        elif middle == SMALLEST_EPSILON:
            break
        else:
            high, above = middle, found
        halve = high - low > 0.5 * width and not halve
    return low


def _balance(dataset: str, account: _Account) -> Balance:
    spent = account.spent()
    return Balance(
        dataset=dataset,
        epsilon=account.epsilon,
        delta=account.delta,
        spent=spent,
        remaining=_remaining(account, spent),
        releases=account.releases,
    )


def _exceeded(dataset: str, account: _Account, new: Sequence[Spend]) -> BudgetExceeded:
    requested = total_guarantee(new, account.delta)
    state = _balance(dataset, account)
    left = rounded_down(state.remaining)
    return BudgetExceeded(
        f"the budget of {dataset!r} does not allow this: requested epsilon = {requested:.4g}, "
        f"spent epsilon = {state.spent:.4g}, remaining epsilon = {left} (for one more release), "
        f"cap epsilon = {state.epsilon:g}, all at delta = {state.delta:g}. Nothing was recorded "
        "and nothing was spent.",
        requested,
        state.spent,
        state.remaining,
    )


def rounded_down(value: float) -> str:
    """Return four digits, rounded down: what is printed can really be asked for."""
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    text = f"{value:.4g}"
    return text if float(text) <= value else f"{value - unit:.4g}"


# -------------------------------------------------------------------------------------- the history


@dataclass
class _Book:
    """The history, its chain checked, and what follows from it."""

    path: Path
    key: bytes
    entries: list[Entry] = field(default_factory=list)
    accounts: dict[str, _Account] = field(default_factory=dict)
    release_ids: set[str] = field(default_factory=set)

    @property
    def head(self) -> str:
        return self.entries[-1].hash if self.entries else ORIGIN

    def account(self, dataset: str) -> _Account:
        if dataset not in self.accounts:
            names = ", ".join(map(repr, self.accounts)) or "none"
            raise LedgerError(
                f"the ledger {self.path} has no data set {dataset!r} (it has: {names}). Open it "
                "with a cap first: Ledger(...).open(...) or `cloakgp budget open`."
            )
        return self.accounts[dataset]

    def names_of(self, mark: str | None, other_than: str) -> list[str]:
        """Return the other data sets that have these inputs."""
        return [n for n, a in self.accounts.items() if n != other_than and mark in a.inputs]

    def fingerprint(self, table: bytes | None) -> str | None:
        """Return what a table of inputs is known by here.  Without the key it tells nothing."""
        return None if table is None else hmac.new(self.key, table, "sha256").hexdigest()

    def add(self, entry: Entry) -> None:
        """Take one entry in."""
        facts, event = entry.facts, entry.facts["event"]
        if event not in ("created", "opened", "spent") or facts.get("format", FORMAT) != FORMAT:
            raise LedgerError(f"{self.path} was made by another version of cloakgp; use that one")
        if (event == "created") != (entry.sequence == 1):
            raise LedgerTampered(_TAMPERED.format(path=self.path, what="its beginning is missing"))
        self.entries.append(entry)
        if event == "created":
            if facts["key"] != hashlib.sha256(self.key).hexdigest():
                raise LedgerTampered(_TAMPERED.format(path=self.path, what="its key was changed"))
            return
        if event == "opened":
            fresh = _Account(facts["epsilon"], facts["delta"])
            account = self.accounts.setdefault(facts["dataset"], fresh)
        else:
            account = self.accounts[facts["dataset"]]
            account.spends += [Spend(**spend) for spend in facts["spends"]]
            account.releases += 1
            self.release_ids.add(facts["release_id"])
        if facts["inputs"] is not None:
            account.inputs.add(facts["inputs"])


_TAMPERED = (
    "the ledger {path} is not as it was written ({what}), so it cannot be believed. Nothing is "
    "spent on it. Find out who changed it, and go back to a copy whose last hash you know."
)
_DAMAGED = (
    "the ledger {path} is damaged, or is no ledger at all. {fate} Check the name; if it is right, "
    "restore the latest copy and count what was released since as spent."
)


def _read(connection: sqlite3.Connection, path: Path) -> _Book:
    """Read the whole history, every hash checked."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    schema = {sql for (sql,) in found}
    if not schema & set(_SCHEMA):
        raise LedgerError(f"{path} is not a ledger of this version; choose another file")
    if schema != set(_SCHEMA):
        raise LedgerTampered(_TAMPERED.format(path=path, what="its tables or triggers changed"))
    keys = connection.execute("SELECT CAST(key AS BLOB) FROM secret").fetchall()
    book = _Book(path, b"".join(key for (key,) in keys))
    rows = connection.execute(
        "SELECT sequence, CAST(entry AS BLOB), CAST(hash AS BLOB) FROM history ORDER BY sequence"
    )
    for place, (sequence, entry, recorded) in enumerate(rows, start=1):
        link = _link(place, book.head, entry)
        if sequence != place or recorded != link.encode():
            what = f"entry {min(place, sequence)} was edited, removed or moved"
            raise LedgerTampered(_TAMPERED.format(path=path, what=what))
        try:
            book.add(Entry(place, json.loads(entry), book.head, link))
        except LedgerError:
            raise
        except (ValueError, TypeError, KeyError):  # hashes that fit an entry nobody could write
            what = f"entry {place} makes no sense"
            raise LedgerTampered(_TAMPERED.format(path=path, what=what)) from None
    head = connection.execute("SELECT sequence, hash FROM head").fetchall()
    if not book.entries or head != [(len(book.entries), book.head)]:
        raise LedgerTampered(_TAMPERED.format(path=path, what="entries at its end are missing"))
    return book


def _append(
    connection: sqlite3.Connection, book: _Book, facts: dict[str, Any], who: str | None
) -> Entry:
    """Write one entry; it counts once the transaction is committed."""
    facts = facts | {"when": _now(), "who": who or _who()}
    if book.entries and facts["when"] < book.entries[-1].facts["when"]:
        facts["clock_went_back"] = True  # order is by sequence, so this is worth a note, no more
    try:
        text = _canonical(facts)
    except (TypeError, ValueError):
        raise LedgerError(
            "parameters must be plain JSON: texts, finite numbers, lists and objects of them"
        ) from None
    if len(text) > LONGEST_ENTRY:
        raise LedgerError(
            f"parameters take more than {LONGEST_ENTRY} characters; a ledger holds a few public "
            "facts about each release, not tables"
        )
    sequence = len(book.entries) + 1
    entry = Entry(sequence, facts, book.head, _link(sequence, book.head, text.encode()))
    connection.execute("INSERT INTO history VALUES (?, ?, ?)", (sequence, text, entry.hash))
    connection.execute("UPDATE head SET sequence = ?, hash = ?", (sequence, entry.hash))
    return entry


def _create(connection: sqlite3.Connection, who: str | None) -> None:
    """Make an empty ledger, in the transaction of whoever needs one."""
    for statement in _SCHEMA:
        connection.execute(statement)
    key = secrets.token_bytes(32)
    connection.execute("INSERT INTO secret VALUES (1, ?)", (key,))
    connection.execute("INSERT INTO head VALUES (1, 0, ?)", (ORIGIN,))
    digest = hashlib.sha256(key).hexdigest()
    created = {"event": "created", "format": FORMAT, "key": digest}
    _append(connection, _Book(Path(), key), created, who)


def _link(sequence: int, previous: str, entry: bytes) -> str:
    """Return the hash of an entry: it covers its place, its text and all entries before."""
    return hashlib.sha256(f"{sequence}\n{previous}\n".encode() + entry).hexdigest()


def _canonical(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


# --------------------------------------------------------------------------------------- the inputs


def _digest(inputs: ArrayLike) -> bytes:
    """Return a hash of the rows of X, the same for any order of rows."""
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.array(math.nan)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.size == 0 or not np.all(np.isfinite(rows)):
        raise LedgerError("inputs must be a table of finite numbers, one row for each row of X")
    rows = rows[np.lexsort(rows.T[::-1])] + 0.0  # −0 becomes 0
    shape = ",".join(map(str, rows.shape)).encode()
    return hashlib.sha256(shape + b"\n" + rows.astype("<f8").tobytes()).digest()


def _is_news(
    book: _Book, dataset: str, cap: tuple[float, float], mark: str | None, allow_other: bool
) -> bool:
    """Tell whether opening a data set adds to the history, or refuse it."""
    account = book.accounts.get(dataset)
    if account is None:
        return True
    if cap != (account.epsilon, account.delta):
        raise LedgerError(
            f"the data set {dataset!r} is open with a cap of epsilon = {account.epsilon:g}, "
            f"delta = {account.delta:g}, and a cap that could be changed would be none: epsilon = "
            f"{cap[0]:g}, delta = {cap[1]:g} is refused. Open it with the cap it has."
        )
    if mark is None or mark in account.inputs:
        return False
    if account.inputs and not allow_other:
        raise LedgerError(_other_inputs(book, dataset, mark))
    return True


def _check_inputs(book: _Book, dataset: str, mark: str | None) -> None:
    """Refuse a spend on inputs that belong to another name."""
    known = book.account(dataset).inputs
    if mark is None or mark in known:
        return
    if known:
        raise LedgerError(_other_inputs(book, dataset, mark))
    same = book.names_of(mark, other_than=dataset)
    if same:
        raise LedgerError(_same_inputs(same))


def _other_inputs(book: _Book, dataset: str, mark: str) -> str:
    same = book.names_of(mark, other_than=dataset)
    whose = f"; they are those of {same[0]!r}" if same else ""
    return (
        f"the inputs are not those that {dataset!r} has had so far{whose}: is this the right name? "
        "If they describe the same people in another way, say so with open(..., inputs=X, "
        "allow_other_inputs=True) (--other-inputs). Nothing was spent."
    )


def _same_inputs(names: Sequence[str]) -> str:
    return (
        f"the data set {names[0]!r} has exactly these inputs, and the same people under another "
        "name would get a second budget. Use that name, or say that they are other people with "
        "open(..., inputs=X, allow_same_inputs=True) (--same-inputs), which is recorded. Nothing "
        "was spent."
    )


# ----------------------------------------------------------------------------------------- the file


@contextlib.contextmanager
def _transaction(
    path: Path, purpose: Literal["read", "write", "create"]
) -> Iterator[sqlite3.Connection]:
    """Do all of something or none of it, with a connection of its own.

    Whoever writes holds SQLite's one write lock from before the first read until the commit.
    """
    committing = False
    try:
        with contextlib.closing(_connect(path, purpose)) as connection:
            connection.execute("BEGIN" if purpose == "read" else "BEGIN IMMEDIATE")
            try:
                yield connection
                committing = True
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
    except (sqlite3.Error, OSError) as error:
        raise LedgerError(_explain(error, path, unsure=committing)) from None


def _connect(path: Path, purpose: str) -> sqlite3.Connection:
    if not path.parent.is_dir():
        raise LedgerError(f"the folder {path.parent} of the ledger does not exist; make it first")
    if path.is_dir():
        raise LedgerError(f"{path} is a folder; a ledger is a file")
    if purpose != "create" and not path.exists():
        raise LedgerError(
            f"there is no ledger at {path}. Check the name, or open a data set with a cap first: "
            "Ledger(...).open(...) or `cloakgp budget open`."
        )
    mode = "mode=rwc" if purpose == "create" else "mode=rw"
    logs = (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    if purpose == "read" and not (os.access(path.parent, os.W_OK) or any(map(Path.exists, logs))):
        mode = "immutable=1"  # a copy in a folder that cannot be written, and nobody writing
    connection = sqlite3.connect(
        f"{path.as_uri()}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    # Committed means on the disk, whichever journal is in use.
    for setting in ("synchronous = EXTRA", "fullfsync = 1", "trusted_schema = 0"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _use_wal(path: Path) -> None:
    """Let readers and a writer work side by side.  Without it they wait; nothing else changes."""
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(_connect(path, "write")) as connection,
    ):
        connection.execute("PRAGMA journal_mode = WAL")


def _explain(error: sqlite3.Error | OSError, path: Path, unsure: bool) -> str:
    """Say what is wrong with the file, what to do, and what became of the budget."""
    fate = "Nothing was spent."
    if unsure:
        fate = "No noise may be drawn; `cloakgp budget history` shows whether it was recorded."
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return _DAMAGED.format(path=path, fate=fate)
    reason = {
        sqlite3.SQLITE_FULL: "the disk is full; make room",
        sqlite3.SQLITE_IOERR: "the disk cannot be read or written, or is full; look after it",
        sqlite3.SQLITE_READONLY: "the file or its folder is read-only; allow writing",
        sqlite3.SQLITE_PERM: "access is not allowed; ask its owner",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened; may you read and write it and its folder?",
        sqlite3.SQLITE_BUSY: f"others kept it busy for {BUSY_SECONDS:g} seconds; try again",
    }.get(code, str(error))
    return f"the ledger {path} cannot be used: {reason}. {fate}"


def _as_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a file or of an sqlite:/// address."""
    text = os.fspath(path)
    scheme, found, rest = text.partition("://")
    if found and (scheme != "sqlite" or not rest.startswith("/")):
        raise LedgerError(f"a ledger is a file or sqlite:///FILE, got {text!r}")
    text = rest[1:] if found else text
    if not text or "\0" in text:
        raise LedgerError(f"path must name a file for the ledger, got {path!r}")
    return Path(os.path.abspath(os.path.expanduser(text)))


def _check_text(name: str, text: object) -> None:
    sound = isinstance(text, str) and text.strip() == text and text.isprintable()
    if not (sound and 0 < len(str(text)) <= LONGEST_NAME):
        raise LedgerError(
            f"{name} must be a printable text of 1 to {LONGEST_NAME} characters without spaces "
            f"around it, got {text!r}"
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _who() -> str:
    """Return who spends: CLOAKGP_WHO, or user and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name
        user = "unknown"
    return os.environ.get("CLOAKGP_WHO") or f"{user}@{socket.gethostname()}"
