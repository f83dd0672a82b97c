"""A ledger in one SQLite file: locks, transactions, tables, and errors explained.

The file is in SQLite's rollback mode, so whatever was committed is in the file itself; the journal
beside it is only there to undo what was not.  Connections are never kept, so none crosses a fork
or a thread.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path

from cloakgp.privacy.ledger.errors import (
    CommitFailed,
    LedgerError,
    bereft,
    damaged,
    empty,
    missing,
    several_names,
    tampered,
    unnamed,
)
from cloakgp.privacy.ledger.history import ORIGIN
from cloakgp.privacy.ledger.store import NewRow, Page

#: How long to wait for other processes.
BUSY_SECONDS = 60.0
#: How a file is called until it is complete; a process that is killed leaves it behind.
UNNAMED = (".ledger-", ".new")

SCHEMA = (
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


# Proof: ledger.md
class SQLiteTransaction:
    """A connection in the middle of a transaction."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def page(self, after: int, most: int) -> Page:
        """Return at most ``most`` entries that follow entry ``after``."""
        query = self._connection.execute
        self._check_tables()
        anchor = query("SELECT CAST(hash AS BLOB) FROM history WHERE sequence = ?", (after,))
        rows = query(
            "SELECT sequence, CAST(entry AS BLOB), CAST(hash AS BLOB) FROM history"
            " WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (after, most),
        )
        head = query("SELECT sequence, CAST(hash AS BLOB) FROM head LIMIT 2")
        keys = query("SELECT CAST(key AS BLOB) FROM secret LIMIT 2")
        (anchors, heads) = anchor.fetchall(), head.fetchall()
        return Page(
            after=after,
            anchor=anchors[0][0] if anchors else None,
            rows=rows.fetchall(),
            most=most,
            head=heads[0] if len(heads) == 1 else None,
            key=b"".join(key for (key,) in keys.fetchall()),
            layout=query("PRAGMA schema_version").fetchone(),
        )

    def _check_tables(self) -> None:
        found = self._connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        tables = [sql for (sql,) in found.fetchall()]
        ours = {sql.encode() for sql in SCHEMA}
        if not tables:
            raise empty(self._name)
        if not ours & set(tables):
            raise LedgerError(f"{self._name} is not a ledger of this version; choose another file")
        if len(tables) != len(ours) or set(tables) != ours:
            raise tampered(self._name, "its tables or triggers changed")

    def append(self, sequence: int, entry: str, link: str) -> None:
        """Write an entry and make it the head."""
        self._connection.execute("INSERT INTO history VALUES (?, ?, ?)", (sequence, entry, link))
        self._connection.execute("UPDATE head SET sequence = ?, hash = ?", (sequence, link))


# Proof: ledger.md
class SQLiteStore:
    """A ledger in one file on a local disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # The journal lies beside the real file, so that is where everybody has to look.
        self._path = Path(os.path.realpath(path))

    @property
    def name(self) -> str:
        """The path."""
        return str(self._path)

    def identity(self) -> Hashable:
        """Return device and number of the file: another file in its place is another ledger."""
        with self._explained():
            self._check_place()
            status = os.stat(self._path)
        return status.st_dev, status.st_ino

    def create(
        self, key: bytes, rows: Sequence[NewRow], meanwhile: Callable[[], object] | None = None
    ) -> bool:
        """Make a ledger with its first entries, unless there is a file already.

        The file gets its name only when it is complete, and then only if the name is free.  It is
        readable by its owner alone, from the beginning; so are the journals of SQLite, which take
        after the file.
        """
        with self._explained():
            self._check_folder()
            if self._path.exists():
                return False
            if beside := _beside(self._path):
                raise bereft(self.name, str(beside[0]))
            handle, name = tempfile.mkstemp(
                prefix=UNNAMED[0], suffix=UNNAMED[1], dir=self._path.parent
            )
            os.close(handle)
            try:
                _fill(Path(name), key, rows)
                if meanwhile is not None:
                    meanwhile()
                made = _give_name(name, self._path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)
            _flush_folder(self._path.parent)
            return made

    @contextlib.contextmanager
    def read(self) -> Iterator[SQLiteTransaction]:
        """Begin a transaction that only reads."""
        with self._explained():
            self._check_place()
            with contextlib.closing(_reader(self._path)) as connection:
                connection.execute("BEGIN")
                yield SQLiteTransaction(connection, self.name)

    @contextlib.contextmanager
    def write(self) -> Iterator[SQLiteTransaction]:
        """Hold SQLite's one write lock from before the first read until the commit."""
        with self._explained():
            self._check_place()
            with contextlib.closing(self._locked()) as connection:
                try:
                    yield SQLiteTransaction(connection, self.name)
                    self._commit(connection)
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise

    def settle(self) -> None:
        """Nothing: a commit that ended in an error is over."""

    def check(self) -> None:
        """Let SQLite check every page of the file."""
        with self._explained():
            self._check_place()
            with contextlib.closing(_reader(self._path)) as connection:
                if connection.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
                    raise damaged(self.name)

    def _locked(self) -> sqlite3.Connection:
        """Return a connection that holds the write lock, in rollback mode.

        In WAL mode, that of 0.1.0, what was committed last may be in a second file alone, and be
        lost with it.  Only a process that is alone can change the mode, so nobody waits with a
        connection.
        """
        deadline = time.monotonic() + BUSY_SECONDS
        while time.monotonic() <= deadline:
            connection = connect(self._path, "mode=rw")
            try:
                if _lock(connection):
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()
            time.sleep(random.uniform(0.0, 0.02))
        raise LedgerError(f"the ledger {self.name} cannot be used: {_BUSY}. Nothing was spent.")

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise CommitFailed(f"{_reason(error, self.name)}.") from None

    def _check_folder(self) -> None:
        folder = self._path.parent
        if not folder.is_dir():
            raise LedgerError(f"the folder {folder} of the ledger does not exist; make it first")
        if self._path.is_dir():
            raise LedgerError(f"{self._path} is a folder; a ledger is a file")

    def _check_place(self) -> None:
        self._check_folder()
        if not self._path.exists():
            raise missing(self.name)
        if self._path.stat().st_size == 0:
            raise empty(self.name)
        self._check_names()

    def _check_names(self) -> None:
        """Refuse a file under any name but its only one: journals are beside the others."""
        if _is_unnamed(self._path):
            raise unnamed(self.name)
        if self._path.stat().st_nlink > 1:
            _drop_first_name(self._path)
        if self._path.stat().st_nlink > 1:
            raise several_names(self.name)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the file into those of the ledger."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise damaged(self.name) from None
            raise LedgerError(f"{_reason(error, self.name)}. Nothing was spent.") from None
        except (UnicodeError, TypeError, MemoryError):  # bytes that SQLite never wrote
            raise damaged(self.name) from None


# Proof: ledger.md
def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection for which committed means on the disk."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        connection.text_factory = bytes  # what is stored may not be text at all
        for setting in ("synchronous = EXTRA", "fullfsync = 1", "trusted_schema = 0"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("PRAGMA schema_version").fetchone()  # can it be read at all?
    except BaseException:
        connection.close()
        raise
    return connection


# Proof: ledger.md
def _beside(path: Path) -> list[Path]:
    """Return the files of SQLite that lie beside a ledger: what is to be undone, or kept."""
    sides = (path.with_name(path.name + end) for end in ("-journal", "-wal"))
    return [side for side in sides if side.exists()]


# Proof: ledger.md
def _reader(path: Path) -> sqlite3.Connection:
    """Return a connection for reading, even where the folder cannot be written."""
    try:
        return connect(path, "mode=rw")  # or less, if the file may only be read
    except sqlite3.OperationalError as error:
        # A file of 0.1.0 is in WAL mode, for which SQLite wants to make files beside it.  If there
        # are none, and we may not make any, all that was committed is in the file itself.
        unmade = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if error.sqlite_errorcode & 0xFF not in unmade or _beside(path):
            raise
    return connect(path, "mode=ro&immutable=1")


# Proof: ledger.md
def _lock(connection: sqlite3.Connection) -> bool:
    """Take the write lock, in rollback mode; tell whether that was possible."""
    for _ in range(2):
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA journal_mode").fetchone() == (b"delete",):
            return True
        connection.execute("ROLLBACK")
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            return False
    return False


# Proof: ledger.md
def _fill(path: Path, key: bytes, rows: Sequence[NewRow]) -> None:
    """Write the tables and the first entries into an empty file."""
    with contextlib.closing(connect(path, "mode=rw")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO secret VALUES (1, ?)", (key,))
        connection.execute("INSERT INTO head VALUES (1, 0, ?)", (ORIGIN,))
        for sequence, (entry, link) in enumerate(rows, start=1):
            SQLiteTransaction(connection, str(path)).append(sequence, entry, link)
        connection.execute("COMMIT")


# Proof: ledger.md
def _give_name(made: str, path: Path) -> bool:
    """Let a finished file appear under its name; tell whether that name was free."""
    try:
        os.link(made, path)
    except FileExistsError:
        return False
    except OSError:  # a disk without links: reserve the name first
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        os.replace(made, path)
    return True


# Proof: ledger.md
def _is_unnamed(path: Path) -> bool:
    """Tell whether a file has the name of one that is not complete."""
    return path.name.startswith(UNNAMED[0]) and path.name.endswith(UNNAMED[1])


# Proof: ledger.md
def _drop_first_name(path: Path) -> None:
    """Take the name away that a file had before it was complete, if its maker was killed."""
    for other in path.parent.iterdir():
        with contextlib.suppress(OSError):  # its maker was quicker, or we may not
            if _is_unnamed(other) and other.samefile(path) and not _beside(other):
                other.unlink()


# Proof: ledger.md
def _flush_folder(folder: Path) -> None:
    """Have the name of a new file on the disk, where systems allow it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
_BUSY = f"others kept it busy for {BUSY_SECONDS:g} seconds; try again"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written, or is full; check it",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; allow writing",
    sqlite3.SQLITE_PERM: "access is not allowed; ask its owner",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; may you read and write it and its folder?",
    sqlite3.SQLITE_BUSY: _BUSY,
}


def _reason(error: sqlite3.Error | OSError, name: str) -> str:
    """Say what is wrong with the file and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return f"the ledger {name} cannot be used: {_REASONS.get(code, str(error))}"
