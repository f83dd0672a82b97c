"""A ledger in a schema of a PostgreSQL server: the lock, transactions, and errors explained.

The lock is the row of ``head``.  Everything is written by functions of the schema (``tables.sql``),
so a user needs the right to call them and no right to change a table.  Connections are never kept,
so none crosses a fork or a thread.  Only this module talks to the driver, psycopg, and loads it
when a ledger on a server is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cloakgp.privacy.ledger.address import Address, own_schema
from cloakgp.privacy.ledger.errors import CommitFailed, LedgerError, missing, tampered, unbegun
from cloakgp.privacy.ledger.store import NewRow, Page
from cloakgp.privacy.ledger.tables import INSPECTION, expected, sql

if TYPE_CHECKING:
    import psycopg

#: How long to wait for other processes, and for one that holds the lock and says nothing.
BUSY_SECONDS = 60.0

#: One moment for all queries of a reader.
READING = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
#: Every query sees what was committed before it: once the lock is ours, all there is.
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
#: For this transaction: what is not ours is not called by its short name; nobody waits for ever;
#: a commit is on the disk when it is acknowledged, whatever the server has by default.
SETTINGS = """
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('lock_timeout', %(wait)s, true),
    pg_catalog.set_config('idle_in_transaction_session_timeout', %(wait)s, true),
    pg_catalog.set_config('synchronous_commit',
        CASE pg_catalog.current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
"""
#: The entry that is known, the last one, and the key.
ENDS = """
SELECT (SELECT convert_to(hash, 'UTF8') FROM {schema}.history WHERE sequence = %(after)s),
    sequence, convert_to(hash, 'UTF8'), (SELECT key FROM {schema}.secret)
FROM {schema}.head
"""
ROWS = """
SELECT sequence, convert_to(entry, 'UTF8'), convert_to(hash, 'UTF8') FROM {schema}.history
WHERE sequence > %(after)s ORDER BY sequence LIMIT %(most)s
"""
#: Whoever makes tables in this database waits for the others.
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('cloakgp ledger', 0))"


# Proof: ledger.md
class PostgresTransaction:
    """A connection in the middle of a transaction."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str, name: str) -> None:
        self._connection = connection
        self._schema = schema
        self._name = name

    def page(self, after: int, most: int) -> Page:
        """Return at most ``most`` entries that follow entry ``after``."""
        layout = self.layout()
        if layout is None:
            raise missing(self._name)
        limits = {"after": after, "most": most}
        ends = self._query(ENDS.format(schema=self._schema), limits)
        if not ends:
            raise unbegun(self._name)
        anchor, sequence, last, key = ends[0]
        return Page(
            after=after,
            anchor=anchor,
            rows=self._query(ROWS.format(schema=self._schema), limits),
            most=most,
            head=(sequence, last) if len(ends) == 1 else None,
            key=key or b"",
            layout=layout,
        )

    def append(self, sequence: int, entry: str, link: str) -> None:
        """Write an entry and make it the head."""
        self._query(f"SELECT {self._schema}.append(%s, %s, %s)", (sequence, entry, link))

    def layout(self) -> Hashable:
        """Return what changes when the tables do; None if there are none, refuse wrong ones."""
        lines = self._query(INSPECTION, {"schema": self._schema})
        if not lines:
            return None
        if all(kind == "function" for kind, *_ in lines):
            raise LedgerError(
                f"{self._name} is not a ledger: its schema holds functions of others. Name a "
                "schema of its own. Nothing was spent."
            )
        if {line[:4] for line in lines} != expected(self._schema):
            raise tampered(self._name, "its tables, triggers or functions changed")
        return tuple(line[4] for line in lines)

    def begin(self, key: bytes, rows: Sequence[NewRow]) -> bool:
        """Write the first entries, and the tables if need be; tell whether there were none."""
        self._connection.execute(ALONE)
        if self.layout() is None:
            self._make_tables()
        elif self._query(ENDS.format(schema=self._schema), {"after": 0}):
            return False
        entries, links = [entry for entry, _ in rows], [link for _, link in rows]
        self._query(f"SELECT {self._schema}.begin(%s, %s, %s)", (key, entries, links))
        return True

    def _make_tables(self) -> None:
        script = sql("tables", own_schema(self._schema))
        found = self._query("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._schema,))
        if found:  # made by somebody who let us use it; we may not be allowed to make any
            script = script.replace(f"CREATE SCHEMA IF NOT EXISTS {self._schema};", "")
        self._connection.execute(script.encode())

    def _query(self, query: str, values: Any = None) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode(), values).fetchall()


# Proof: ledger.md
class PostgresStore:
    """A ledger in a schema of a server."""

    def __init__(self, address: Address) -> None:
        self._address = address

    @property
    def name(self) -> str:
        """The address without user and password."""
        return self._address.name

    def identity(self) -> Hashable:
        """Return nothing: ``layout`` has the numbers of the tables, which no other ones have."""
        return None

    def create(
        self, key: bytes, rows: Sequence[NewRow], meanwhile: Callable[[], object] | None = None
    ) -> bool:
        """Make a ledger with its first entries, unless there is one; tell whether it was made."""
        with self._transaction(WRITING) as connection:
            schema = self._address.schema
            made = PostgresTransaction(connection, schema, self.name).begin(key, rows)
            if made and meanwhile is not None:
                meanwhile()
            self._commit(connection)
        return made

    @contextlib.contextmanager
    def read(self) -> Iterator[PostgresTransaction]:
        """Begin a transaction that only reads; a replica will do."""
        with self._transaction(READING) as connection:
            yield PostgresTransaction(connection, self._address.schema, self.name)

    @contextlib.contextmanager
    def write(self) -> Iterator[PostgresTransaction]:
        """Hold the row of ``head`` from before the first read until the commit."""
        with self._transaction(WRITING) as connection:
            self._lock(connection)
            yield PostgresTransaction(connection, self._address.schema, self.name)
            self._commit(connection)

    def settle(self) -> None:
        """Wait for the lock: a commit whose answer was lost is over once others can have it."""
        with self._transaction(WRITING) as connection:
            self._lock(connection)

    def check(self) -> None:
        """Nothing more: the server checks pages when it reads them, and all were read."""

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[psycopg.Connection[Any]]:
        """Begin a transaction; closing the connection undoes what was not committed."""
        driver = _driver()
        with self._explained(driver):
            # Nothing is prepared, so that poolers which share connections do not mind.
            connection = driver.connect(
                **self._address.keywords(),
                autocommit=True,
                prepare_threshold=None,
                client_encoding="utf8",
            )
            try:
                connection.execute(begin)
                connection.execute(SETTINGS, {"wait": f"{int(BUSY_SECONDS * 1000)}ms"})
                yield connection
            finally:
                connection.close()

    def _lock(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(f"SELECT {self._address.schema}.lock_head()".encode())

    def _commit(self, connection: psycopg.Connection[Any]) -> None:
        """Commit; whatever is not a plain yes is an error that leaves it open what happened."""
        try:
            answer = connection.execute("COMMIT").statusmessage
        except _driver().Error as error:
            raise CommitFailed(f"{self._reason(error)}.") from None
        if answer != "COMMIT":
            raise CommitFailed(f"the ledger {self.name} answered {answer} to a commit.")

    @contextlib.contextmanager
    def _explained(self, driver: Any) -> Iterator[None]:
        """Turn errors of the server into those of the ledger."""
        try:
            yield
        except driver.Error as error:
            if error.sqlstate in _MISSING:
                raise missing(self.name) from None
            raise LedgerError(f"{self._reason(error)}. Nothing was spent.") from None

    def _reason(self, error: psycopg.Error) -> str:
        """Say what is wrong and what to do, without the password."""
        said = " ".join((error.diag.message_primary or str(error)).split()).rstrip(".")
        advice = next((do for sign, do in _SIGNS.items() if sign in said), "")
        known = _REASONS.get(error.sqlstate or "", advice).format(schema=self._address.schema)
        words = f"the ledger {self.name} cannot be used: {self._address.secrets.hide(said)}"
        return f"{words} ({known})" if known else words


# Proof: ledger.md
def _driver() -> Any:
    """Load the driver, which is needed for a ledger on a server alone."""
    try:
        import psycopg
    except ImportError:
        raise LedgerError(
            "a ledger on PostgreSQL needs the driver psycopg: pip install 'cloakgp[postgres]'. "
            "Nothing was spent."
        ) from None
    return psycopg


#: There is no such schema or function.
_MISSING = ("3F000", "42883")
_REPLICA = (
    "a read replica, or a server set read-only, can be read but not spent on; use the primary"
)
_RESTART = "the server stops, starts or has crashed; try again when it answers"
_REASONS = {
    "25006": _REPLICA,
    "0A000": _REPLICA,
    "42501": "spending needs the role {schema}_spender, reading {schema}_auditor: `cloakgp budget "
    "sql` shows them",
    "53100": "the disk of the server is full",
    "53300": "too many others are connected; try again",
    "55P03": f"others kept it busy for {BUSY_SECONDS:g} seconds; try again",
    "25P03": f"this process held the lock for {BUSY_SECONDS:g} seconds without a word; try again",
    "57P01": _RESTART,
    "57P02": _RESTART,
    "57P03": _RESTART,
}
#: Errors of a connection have no code.
_SIGNS = {
    "password": "put the password into ~/.pgpass, PGPASSWORD or the address; pickles hold none",
    "shutting down": _RESTART,
    "starting up": _RESTART,
    "Connection refused": "is the server running, and is this its address?",
    "does not exist": "check the address",
    "could not translate": "check the address",
}
