"""The tables of a ledger on PostgreSQL: the SQL that makes them, and whether they are still so.

``tables.sql`` and ``roles.sql`` are what administrators read and run (``cloakgp budget sql``); the
hashes below tie them to the proof.  What the server says about its tables, triggers and functions
is compared with these files in every transaction.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from cloakgp.privacy.ledger.errors import LedgerError

Part = Literal["tables", "roles"]
PARTS: tuple[Part, ...] = ("tables", "roles")
#: SHA-256 of the files; whoever changes one reads the proof again.
DIGESTS: dict[Part, str] = {
    "tables": "5d73e224b56bfd14b8de4dcf4830b307a8b120e9ec9eada8e2ca326f336e2038",
    "roles": "db27223d31c081a14034eb39433f2e91ac12c5e48fceddc8d141c6fca0805fa9",
}

#: One line for each table, trigger and function: what it is, and what changes whenever it does.
#: Ours are told by their schema, whoever asks; no privilege is needed.
INSPECTION = """
WITH ours AS (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s),
tables AS (
    SELECT * FROM (SELECT c.*, c.oid AS id, c.xmin AS made FROM pg_catalog.pg_class c) AS c
    WHERE relnamespace = (SELECT oid FROM ours) AND relname IN ('history', 'head', 'secret')
)
SELECT 'table', relname::text, concat_ws(' ', relkind, relpersistence, relrowsecurity, relhasrules),
    (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull), ', '
        ORDER BY attnum) FROM pg_catalog.pg_attribute
        WHERE attrelid = id AND attnum > 0 AND NOT attisdropped),
    concat(id, '.', made)
FROM tables
UNION ALL
SELECT 'trigger', concat(relname, '.', tgname),
    concat_ws(' ', tgtype, tgenabled, tgattr::text, tgqual IS NULL),
    (SELECT proname::text FROM pg_catalog.pg_proc p
        WHERE p.oid = tgfoid AND pronamespace = (SELECT oid FROM ours)),
    concat(t.oid, '.', t.xmin)
FROM pg_catalog.pg_trigger t JOIN tables ON tgrelid = id WHERE NOT tgisinternal
UNION ALL
SELECT 'function', concat(proname, '(', oidvectortypes(proargtypes), ')'),
    concat_ws(' ', prosecdef, array_to_string(proconfig, ';')), prosrc, concat(p.oid, '.', p.xmin)
FROM pg_catalog.pg_proc p WHERE pronamespace = (SELECT oid FROM ours)
ORDER BY 1, 2
"""

#: Tables, as ``INSPECTION`` tells them: ordinary, logged, without row security or rules.
_TABLES = {
    "history": "sequence bigint t, entry text t, hash text t",
    "head": "one integer t, sequence bigint t, hash text t",
    "secret": "one integer t, key bytea t",
}
#: Triggers: when they fire (row 1, before 2, insert 4, delete 8, update 16, truncate 32), always.
_TRIGGERS = {
    "history.in_order": (7, "in_order"),
    "history.no_change": (58, "refuse"),
    "head.at_the_end": (23, "at_the_end"),
    "head.no_change": (42, "refuse"),
    "secret.no_change": (58, "refuse"),
}
_FUNCTION = re.compile(r"CREATE FUNCTION \w+\.(\w+)\((.*?)\) RETURNS.*?AS \$\$(.*?)\$\$", re.DOTALL)
_PATH = "search_path=pg_catalog, pg_temp"

#: A line of ``INSPECTION`` without the last column.
Line = tuple[str, str, str, str]


# Proof: ledger.md
@lru_cache(maxsize=64)
def sql(part: Part, schema: str) -> str:
    """Return the SQL that makes the tables or the roles of a ledger in this schema."""
    content = Path(__file__).with_name(f"{part}.sql").read_bytes()
    if hashlib.sha256(content).hexdigest() != DIGESTS[part]:
        raise LedgerError(
            f"the file {part}.sql of this installation is not the one that belongs to it; install "
            "cloakgp again"
        )
    return content.decode().replace("{schema}", schema)


# Proof: ledger.md
@lru_cache(maxsize=64)
def expected(schema: str) -> frozenset[Line]:
    """Return what an inspection tells of tables that are as they were made."""
    found = [("table", name, "r p f f", columns) for name, columns in _TABLES.items()]
    for name, (when, function) in _TRIGGERS.items():
        found.append(("trigger", name, f"{when} A  t", function))
    for name, arguments, body in _FUNCTION.findall(sql("tables", schema)):
        types = ", ".join(each.split()[1] for each in arguments.split(", ") if each)
        definer = "f" if name in ("in_order", "at_the_end", "refuse") else "t"
        found.append(("function", f"{name}({types})", f"{definer} {_PATH}", body))
    return frozenset(found)
