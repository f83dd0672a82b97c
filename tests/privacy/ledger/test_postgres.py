"""A ledger on a real server: the same history, one writer at a time, rights, and clear errors."""

import contextlib
import copy
import itertools
import json
import logging
import os
import pickle
import re
import sys
import threading
import time

import psycopg
import pytest
from ledger_helpers import CAP, X, forget, releases, spend, spend_in_threads_and_forks
from postgres_server import ESCAPED, PASSWORD

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import (
    BudgetExceeded,
    Ledger,
    LedgerError,
    LedgerTampered,
    names,
    postgres,
    writing,
)
from cloakgp.privacy.ledger.errors import CommitFailed
from cloakgp.privacy.ledger.tables import sql

NUMBERS = itertools.count(1)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 10.0)


@pytest.fixture
def server(request):
    return request.getfixturevalue("postgres")


@pytest.fixture
def schema():
    """A schema that no other test has."""
    return f"ledger_{os.getpid()}_{next(NUMBERS)}"  # roles belong to the whole server


@pytest.fixture
def ledger(server, schema):
    return Ledger(server.address(schema=schema)).open("people", *CAP, create=True)


@pytest.fixture
def office(server, schema):
    """A ledger as an administrator makes it, with one person in each role."""
    server.execute(sql("tables", schema), sql("roles", schema))
    people = {role: f"{role}_of_{schema}" for role in ("spender", "auditor", "stranger")}
    for role, person in people.items():
        belongs = "" if role == "stranger" else f"IN ROLE {schema}_{role}"
        server.execute(f"CREATE ROLE {person} LOGIN PASSWORD '{PASSWORD}' {belongs}")
    return {role: Ledger(server.address(person, schema=schema)) for role, person in people.items()}


def store_of(ledger):
    return postgres.PostgresStore(ledger.address)


# ---------------------------------------------------------------------------- the same as in a file


def test_the_same_events_make_the_same_history_as_in_a_file(ledger, server, path, monkeypatch):
    """The whole chain, to the last hash: only where it is kept differs."""
    monkeypatch.setattr(writing.secrets, "token_bytes", lambda n: bytes(n))
    monkeypatch.setattr(names, "user", lambda: "me")
    exports = []
    for place in (path, server.address(schema="same")):
        ticks = itertools.count()
        monkeypatch.setattr(names, "now", lambda ticks=ticks: f"2026-{next(ticks):03d}")
        book = Ledger(place).open("people", *CAP, create=True)
        book.open("é", 2.0, 1e-6, inputs=X)
        spend(book, "r1", inputs=X[:2], parameters={"ü": [1.5, None, "…"], "n": 10**15})
        with pytest.raises(BudgetExceeded):
            spend(book, "r2", [Spend("gaussian", 9.0)])
        spend(book, "r3", [Spend("gaussian", 0.1), Spend("pure", 0.01)], dataset="é")
        forget()
        exports.append((book.export(), book.export("csv"), book.balances(), book.verify()))
        with pytest.raises(LedgerTampered, match="does not hold the entry abc"):
            book.verify("abc")
    assert exports[0] == exports[1]


def test_ten_tenths_fit_and_the_eleventh_is_refused(ledger):
    for number in range(10):
        receipt = spend(ledger, f"r{number}")
    assert receipt.sequence == 12
    with pytest.raises(BudgetExceeded, match="Nothing was recorded"):
        spend(ledger, "r10")
    with pytest.raises(LedgerError, match="'r3' is in the ledger already"):
        spend(ledger, "r3")
    assert ledger.spent("people") <= CAP[0]
    assert len(releases(ledger)) == 10


def test_after_the_first_read_only_what_is_new_is_read(ledger, monkeypatch):
    spend(ledger, "r1")
    pages, page = [], postgres.PostgresTransaction.page

    def watched(self, after, most):
        pages.append(page(self, after, most))
        return pages[-1]

    monkeypatch.setattr(postgres.PostgresTransaction, "page", watched)
    spend(ledger, "r2")
    assert [(each.after, len(each.rows)) for each in pages] == [(2, 1), (3, 0)]


def test_two_schemas_are_two_ledgers(ledger, server, schema):
    other = Ledger(server.address(schema=f"{schema}_b")).open("people", *CAP, create=True)
    assert ledger != other
    spend(ledger, "r1")
    assert (releases(ledger), releases(other)) == (["r1"], [])
    assert other.spent("people") == 0.0


def test_a_ledger_is_made_once_and_only_if_that_is_asked_for(server, schema):
    book = Ledger(server.address(schema=schema))
    for act in (book.spent, lambda: spend(book), lambda: book.open("people", *CAP)):
        with pytest.raises(LedgerError, match=rf"there is no ledger at .*{schema}\. Check"):
            act()
    book.open("people", *CAP, create=True).open("people", *CAP, create=True)
    assert [entry.facts["event"] for entry in book.history()] == ["created", "opened"]


def test_tables_without_entries_may_have_lost_them(server, schema):
    server.execute(sql("tables", schema))
    book = Ledger(server.address(schema=schema))
    for act in (book.spent, lambda: spend(book), lambda: book.open("people", *CAP)):
        with pytest.raises(LedgerError, match=r"are empty: either no ledger was made"):
            act()
    book.open("people", *CAP, create=True)
    assert len(book.history()) == 2


def test_a_schema_that_holds_functions_of_others_is_left_alone(server, schema):
    server.execute(
        f"CREATE SCHEMA {schema}",
        f"CREATE FUNCTION {schema}.theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    )
    book = Ledger(server.address(schema=schema))
    for act in (book.spent, lambda: book.open("people", *CAP, create=True)):
        with pytest.raises(LedgerError, match=r"is not a ledger.*a schema of its own"):
            act()


@pytest.mark.parametrize("theirs", ["TABLE {s}.theirs (x int)", "TYPE {s}.theirs AS (x int)"])
def test_a_schema_that_holds_anything_of_others_is_left_alone(server, schema, theirs):
    server.execute(f"CREATE SCHEMA {schema}", f"CREATE {theirs.format(s=schema)}")
    book = Ledger(server.address(schema=schema))
    with pytest.raises(LedgerError, match=f"the schema {schema} is not empty; name a schema of it"):
        book.open("people", *CAP, create=True)
    with pytest.raises(psycopg.errors.RaiseException, match="is not empty"):
        server.execute("BEGIN", sql("tables", schema), "COMMIT")


def test_the_roles_leave_the_rights_on_what_others_keep_in_the_schema_as_they_are(
    ledger, server, schema
):
    server.execute(
        f"CREATE TABLE {schema}.theirs (x int)",
        f"CREATE FUNCTION {schema}.sum() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC",
        f"GRANT SELECT ON {schema}.theirs TO PUBLIC",
    )
    rights = f"""SELECT has_schema_privilege('public', '{schema}', 'USAGE'),
        has_table_privilege('public', '{schema}.theirs', 'SELECT'),
        has_function_privilege('public', '{schema}.sum()', 'EXECUTE')"""
    with pytest.raises(
        psycopg.errors.RaiseException, match=r"holds a (function|table) .*not of the"
    ):
        server.execute("BEGIN", sql("roles", schema), "COMMIT")
    assert server.execute(rights) == [(True, True, True)]
    server.execute(f"DROP TABLE {schema}.theirs", f"DROP FUNCTION {schema}.sum()")
    server.execute(sql("roles", schema))
    server.execute(sql("roles", schema))  # it may be run again


@pytest.mark.parametrize("part", ["tables", "roles"])
def test_the_sql_names_the_objects_of_the_ledger_and_never_all_there_are(part):
    assert not re.search(r"\bON\s+ALL\b", sql(part, "s"))


def test_no_ledger_is_made_in_the_public_schema(server):
    before = server.execute("SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public'")
    with pytest.raises(LedgerError, match="not public, which everybody shares"):
        Ledger(server.address(schema="public")).open("people", *CAP, create=True)
    assert (
        server.execute("SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public'") == before
    )


def test_a_schema_that_others_made_is_used(server, schema):
    server.execute(f"CREATE ROLE {schema} LOGIN PASSWORD '{PASSWORD}'")
    book = Ledger(server.address(schema, schema=schema))
    with pytest.raises(LedgerError, match=r"permission denied.*Nothing was spent"):
        book.open("people", *CAP, create=True)
    server.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {schema}")
    spend(book.open("people", *CAP, create=True))
    assert releases(book) == ["r1"]


def test_a_clock_that_jumps_is_noted_and_changes_no_order(ledger, monkeypatch):
    for now in ("2099", "1999", "2098"):
        monkeypatch.setattr(names, "now", lambda now=now: now)
        spend(ledger, f"in {now}")
    forget()
    assert releases(ledger) == ["in 2099", "in 1999", "in 2098"]
    notes = [entry.facts.get("clock_went_back") for entry in ledger.history()[2:]]
    assert notes == [None, True, None]
    ledger.verify()


# --------------------------------------------------------------------------------- one at a time


def test_nobody_can_write_between_the_lock_and_the_commit(ledger):
    store, done = store_of(ledger), []
    with store.write() as transaction:
        thread = threading.Thread(target=lambda: done.append(spend(ledger, "second")))
        thread.start()
        time.sleep(0.3)
        assert not done
        page = transaction.page(0, 10)
        facts = json.loads(page.rows[1][1]) | {"when": "2026"}
        entry = writing.written(facts)
        link = writing.link(3, page.rows[1][2].decode(), entry.encode())
        transaction.append(3, entry, link)
    thread.join()
    assert done[0].sequence == 4
    ledger.verify()


def test_a_reader_sees_one_moment(ledger):
    with store_of(ledger).read() as transaction:
        first = transaction.page(0, 10)
        spend(ledger, "r1")
        assert transaction.page(0, 10) == first
    assert len(releases(ledger)) == 1


def test_without_the_lock_the_tables_themselves_let_one_through(ledger, monkeypatch):
    """The second line: two who saw the same end cannot both extend it."""
    monkeypatch.setattr(postgres.PostgresStore, "_lock", lambda self, connection: None)
    barrier, append, results = threading.Barrier(2), writing.append, []

    def together(*args):
        barrier.wait(10)
        return append(*args)

    def attempt(name):
        try:
            results.append(spend(ledger, name).release_id)
        except LedgerError as error:
            results.append(str(error))

    monkeypatch.setattr(writing, "append", together)
    threads = [threading.Thread(target=attempt, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) in (["a", sorted(results)[1]], ["b", sorted(results)[1]])
    assert "duplicate key" in sorted(results)[1]
    assert releases(ledger) == sorted(results)[:1]
    ledger.verify()


def test_threads_and_forks_share_a_budget(ledger):
    spend_in_threads_and_forks(ledger, 7)
    assert len(releases(ledger)) == 10
    ledger.verify()


def test_others_are_waited_for_so_long_and_no_longer(ledger, server, schema, monkeypatch):
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 0.3)
    with psycopg.connect(server.dsn()) as other:
        other.execute(f"SELECT {schema}.lock_head()")
        with pytest.raises(LedgerError, match=r"others kept it busy.*Nothing was spent"):
            spend(ledger)
        assert ledger.spent("people") == 0.0  # reading waits for nobody
    spend(ledger)


def test_whoever_settles_waits_for_the_lock(ledger, server, schema, monkeypatch):
    """A commit that is still going on holds it."""
    with psycopg.connect(server.dsn()) as other:
        other.execute(f"SELECT {schema}.lock_head()")
        monkeypatch.setattr(postgres, "BUSY_SECONDS", 0.2)
        with pytest.raises(LedgerError, match="others kept it busy"):
            store_of(ledger).settle()
    store_of(ledger).settle()


def test_a_process_that_hangs_with_the_lock_loses_it_and_spends_nothing(ledger, monkeypatch):
    append = writing.append

    def hang(*args):
        monkeypatch.setattr(writing, "append", append)
        time.sleep(0.9)
        return append(*args)

    monkeypatch.setattr(postgres, "BUSY_SECONDS", 0.4)
    monkeypatch.setattr(writing, "append", hang)
    with pytest.raises(LedgerError, match="Nothing was spent") as caught:
        spend(ledger, "hung")
    assert caught.value.recorded is False
    spend(ledger, "next")
    assert releases(ledger) == ["next"]


def test_a_commit_is_on_the_disk_whatever_the_server_does_by_default(server, ledger, schema):
    for default, meant in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
        server.execute(f"ALTER ROLE admin SET synchronous_commit = {default}")
        try:
            with store_of(ledger).write() as transaction:
                assert transaction._query("SHOW synchronous_commit") == [(meant,)]
                assert transaction._query("SHOW transaction_isolation") == [("read committed",)]
                assert transaction._query("SHOW search_path") == [("pg_catalog, pg_temp",)]
        finally:
            server.execute("ALTER ROLE admin RESET synchronous_commit")


def test_a_commit_that_is_answered_by_a_rollback_is_none(ledger):
    def fail():
        with store_of(ledger).write() as transaction, contextlib.suppress(psycopg.Error):
            transaction._query("SELECT 1/0")

    with pytest.raises(CommitFailed, match="answered ROLLBACK to a commit"):
        fail()


# ----------------------------------------------------------------------------------------- rights

#: What a spender could try with a tool of their own.
ATTEMPTS = (
    "INSERT INTO {s}.history VALUES (9, '', '')",
    "UPDATE {s}.history SET entry = ''",
    "UPDATE {s}.head SET sequence = 1",
    "UPDATE {s}.secret SET key = ''",
    "DELETE FROM {s}.history",
    "DELETE FROM {s}.head",
    "TRUNCATE {s}.history",
    "DROP TABLE {s}.history",
    "DROP TRIGGER no_change ON {s}.history",
    "DROP FUNCTION {s}.refuse()",
    "DROP SCHEMA {s} CASCADE",
    "ALTER TABLE {s}.history DISABLE TRIGGER ALL",
    "ALTER TABLE {s}.history OWNER TO CURRENT_USER",
    "SET session_replication_role = replica",
    "SET ROLE {s}_owner",
    "CREATE TABLE {s}.other (a int)",
    "CREATE OR REPLACE FUNCTION {s}.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
    "CREATE RULE r AS ON INSERT TO {s}.history DO INSTEAD NOTHING",
    "CREATE TRIGGER t AFTER INSERT ON {s}.history EXECUTE FUNCTION {s}.refuse()",
    "SELECT 1 FROM {s}.head FOR UPDATE",
    "LOCK TABLE {s}.head IN EXCLUSIVE MODE",
)


def test_a_spender_can_append_and_nothing_else(office, server, schema):
    spender = office["spender"]
    spender.open("people", *CAP, create=True)
    spend(spender, "r1")
    before = spender.verify()
    person = f"spender_of_{schema}"
    for attempt in ATTEMPTS:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            server.execute("BEGIN", attempt.format(s=schema), user=person)
    # Nor can the function be used to write anything but the next entry with the right hash.
    for place, link in ((3, "x"), (4, "0" * 64), (5, "x"), (1, "x")):
        with pytest.raises((psycopg.errors.RaiseException, psycopg.errors.UniqueViolation)):
            server.execute(f"SELECT {schema}.append({place}, '{{}}', '{link}')", user=person)
    with pytest.raises(psycopg.errors.UniqueViolation):
        server.execute(f"SELECT {schema}.begin('', ARRAY['x'], ARRAY['y'])", user=person)
    assert spender.verify() == before
    spend(spender, "r2")
    assert releases(spender) == ["r1", "r2"]


#: What the functions of a ledger call, as somebody who wants any hash to fit would write it.
IMPOSTORS = (
    "sha256(bytea) RETURNS bytea LANGUAGE sql AS $$SELECT 'x'::bytea$$",
    "encode(bytea, text) RETURNS text LANGUAGE sql AS $$SELECT 'x'$$",
    "repeat(text, integer) RETURNS text LANGUAGE sql AS $$SELECT 'x'$$",
    "convert_to(text, name) RETURNS bytea LANGUAGE sql AS $$SELECT 'x'::bytea$$",
    "set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$SELECT 'x'$$",
    "append(bigint, text, text) RETURNS void LANGUAGE sql AS ''",
    "lock_head() RETURNS void LANGUAGE sql AS ''",
)


@pytest.mark.parametrize("place", ["theirs", "pg_temp"])
def test_functions_and_tables_of_the_same_names_elsewhere_are_not_used(
    office, server, schema, place
):
    spender = office["spender"]
    spender.open("people", *CAP, create=True)
    before, person = spender.verify(), f"spender_of_{schema}"
    if place == "theirs":
        place = f"theirs_{schema}"
        server.execute(f"CREATE SCHEMA {place} AUTHORIZATION {person}")
    traps = [f"CREATE FUNCTION {place}.{impostor}" for impostor in IMPOSTORS]
    traps.append(f"CREATE TABLE {place}.head (sequence bigint, hash text)")
    path = f"search_path = {place}, {schema}, pg_catalog"
    forged = f"SELECT {schema}.append(3, '{{}}', 'x')"
    with pytest.raises(psycopg.errors.RaiseException, match="hash does not fit"):
        server.execute(*traps, f"SET {path}", forged, user=person)
    # Nor if they come first wherever this user goes.
    server.execute(f"ALTER ROLE {person} SET {path}")
    spend(spender, "r1")
    assert releases(spender) == ["r1"]
    with store_of(spender).write() as transaction:
        assert transaction._query("SHOW search_path") == [("pg_catalog, pg_temp",)]
    spender.verify(before)


def test_an_owner_that_somebody_made_before_cannot_log_in(ledger, server, schema):
    server.execute(f"CREATE ROLE {schema}_owner LOGIN PASSWORD '{PASSWORD}'", sql("roles", schema))
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        server.execute("SELECT 1", user=f"{schema}_owner")


def test_an_auditor_reads_everything_and_writes_nothing(office, server, schema):
    office["spender"].open("people", *CAP, create=True)
    spend(office["spender"], "r1")
    auditor = office["auditor"]
    assert auditor.history() == office["spender"].history()
    assert auditor.verify() == office["spender"].verify()
    assert auditor.balances() == office["spender"].balances()
    for act in (lambda: spend(auditor, "r2"), lambda: auditor.open("others", *CAP)):
        with pytest.raises(LedgerError, match=rf"permission denied.*{schema}_spender.*Nothing was"):
            act()
    person = f"auditor_of_{schema}"
    calls = ("lock_head()", "append(3, '', '')", "begin('', ARRAY[''], ARRAY[''])")
    for attempt in (*ATTEMPTS, *(f"SELECT {{s}}.{call}" for call in calls)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            server.execute("BEGIN", attempt.format(s=schema), user=person)
    assert releases(auditor) == ["r1"]


def test_a_stranger_reads_nothing(office):
    office["spender"].open("people", *CAP, create=True)
    with pytest.raises(LedgerError, match="permission denied for schema"):
        office["stranger"].history()


def test_roles_can_be_made_again_and_for_tables_that_python_made(ledger, server, schema):
    server.execute(sql("roles", schema), sql("roles", schema))
    spend(ledger, "r1")
    person = f"late_{schema}"
    server.execute(f"CREATE ROLE {person} LOGIN PASSWORD '{PASSWORD}' IN ROLE {schema}_spender")
    spend(Ledger(server.address(person, schema=schema)), "r2")
    assert releases(ledger) == ["r1", "r2"]


#: What not even the owner can do while the triggers are there.
CHANGES = (
    "UPDATE {s}.history SET entry = '{{}}' WHERE sequence = 1",
    "DELETE FROM {s}.history WHERE sequence = 3",
    "TRUNCATE {s}.history",
    "INSERT INTO {s}.history VALUES (5, '{{}}', 'x')",
    "INSERT INTO {s}.history VALUES (4, '{{}}', 'x')",
    "INSERT INTO {s}.history VALUES (NULL, '{{}}', 'x')",
    "UPDATE {s}.head SET sequence = 2",
    "UPDATE {s}.head SET hash = 'x'",
    "UPDATE {s}.head SET sequence = 4",
    "DELETE FROM {s}.head",
    "TRUNCATE {s}.head",
    "INSERT INTO {s}.head VALUES (1, 0, repeat('0', 64)) ON CONFLICT (one) DO UPDATE SET hash = ''",
    "UPDATE {s}.secret SET key = ''",
    "DELETE FROM {s}.secret",
    "TRUNCATE {s}.secret",
)


@pytest.mark.parametrize("setting", ["origin", "replica"])
def test_the_tables_refuse_changes_of_the_history_even_by_their_owner(
    ledger, server, schema, setting
):
    spend(ledger)
    role = f"SET session_replication_role = {setting}"
    for change in CHANGES:
        with pytest.raises(psycopg.errors.RaiseException, match="the history is append-only"):
            server.execute(role, change.format(s=schema))
    ledger.verify()


# -------------------------------------------------------------------------------------- tampering


def tamper(server, schema, *statements):
    """Change tables as their owner can: triggers away, and back in place."""
    server.execute(
        "BEGIN",
        *(f"ALTER TABLE {schema}.{name} DISABLE TRIGGER ALL" for name in ("history", "head")),
        *(statement.format(s=schema) for statement in statements),
        f"ALTER TABLE {schema}.history ENABLE ALWAYS TRIGGER in_order",
        f"ALTER TABLE {schema}.history ENABLE ALWAYS TRIGGER no_change",
        f"ALTER TABLE {schema}.head ENABLE ALWAYS TRIGGER at_the_end",
        f"ALTER TABLE {schema}.head ENABLE ALWAYS TRIGGER no_change",
        "COMMIT",
    )


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE {s}.history SET entry = '{{}}' WHERE sequence = 3", "entry 3 was edited"),
        ("DELETE FROM {s}.history WHERE sequence = 3", "entry 3 was edited, removed"),
        ("DELETE FROM {s}.history WHERE sequence = 4", "entries at its end are missing"),
        ("UPDATE {s}.head SET sequence = 3", "entries at its end are missing"),
        ("DELETE FROM {s}.history", "its beginning is missing"),
        ("DELETE FROM {s}.head", "are empty"),
    ],
)
def test_an_edited_or_removed_entry_stops_all_spending_even_by_who_knew_it(
    ledger, server, schema, statement, words
):
    spend(ledger, "r1")
    spend(ledger, "r2")
    tamper(server, schema, statement)
    for act in (ledger.spent, lambda: spend(ledger, "r3"), ledger.verify, ledger.history):
        with pytest.raises(LedgerError, match=words):
            act()
    forget()
    with pytest.raises(LedgerError, match=words):
        spend(ledger, "r3")


def test_a_trigger_that_is_away_is_noticed(ledger, server, schema):
    server.execute(f"ALTER TABLE {schema}.history DISABLE TRIGGER no_change")
    for act in (ledger.spent, lambda: spend(ledger), ledger.verify):
        with pytest.raises(LedgerTampered, match="tables, triggers or functions changed"):
            act()
    server.execute(f"ALTER TABLE {schema}.history ENABLE ALWAYS TRIGGER no_change")
    spend(ledger)


def test_a_copy_made_by_the_tools_of_postgresql_is_the_same_ledger(ledger, server, schema):
    spend(ledger, "r1")
    dump, target = server.folder / "dump", server.dsn(database=f"copy_{schema}")
    server.execute(f"CREATE DATABASE copy_{schema}")
    server.run("pg_dump", "-d", server.dsn(), "-n", schema, "-Fc", "-f", dump)
    server.run("pg_restore", "--exit-on-error", "-d", target, dump)
    restored = Ledger(server.address(database=f"copy_{schema}", schema=schema))
    assert restored.history() == ledger.history()
    spend(restored, "r2")
    restored.verify(ledger.verify())
    server.execute(f"DROP DATABASE copy_{schema} WITH (FORCE)")


# -------------------------------------------------------------------------------------- passwords


def test_a_password_is_shown_nowhere_and_a_copy_can_still_spend(ledger, server, schema, caplog):
    caplog.set_level(logging.DEBUG)
    wrong = Ledger(server.address(schema=schema).replace(ESCAPED, "wrong%2Fword"))
    nowhere = Ledger(server.address(schema=schema, port=1))
    other = Ledger(server.address(schema=schema, database="nowhere"))
    said = [
        repr(ledger),
        str(ledger.address),
        ledger.name,
        repr(vars(ledger)),
        repr(store_of(ledger)),
    ]
    for book, words in (
        (wrong, "password authentication failed"),
        (nowhere, r"Connection refused.*\(is the server running"),
        (other, r"does not exist \(check the address\)"),
    ):
        with pytest.raises(LedgerError, match=words) as caught:
            spend(book)
        error = caught.value
        said += [repr(error), repr(error.__cause__), repr(error.__context__)]
    spend(copy.deepcopy(ledger), "r1")
    said += [ledger.export(), caplog.text, repr(pickle.dumps([ledger, wrong])), repr(ledger)]
    for text in said:
        for secret in (PASSWORD, ESCAPED, "wrong/word", "wrong%2Fword"):
            assert secret not in text


def test_a_pickle_asks_for_the_password_and_takes_it_from_the_environment(ledger, monkeypatch):
    loaded = pickle.loads(pickle.dumps(ledger))
    assert loaded == ledger
    with pytest.raises(LedgerError, match=r"no password supplied \(put the password into"):
        spend(loaded)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    spend(loaded)
    assert releases(loaded) == ["r1"]


def test_an_error_of_a_server_that_quotes_the_password_is_shown_without_it(ledger):
    store = store_of(ledger)
    error = psycopg.OperationalError(f"who is {PASSWORD}?\n  and {ESCAPED} X.")
    assert store._reason(error) == f"the ledger {store.name} cannot be used: who is ***? and *** X"


def test_without_the_driver_a_ledger_on_a_server_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    book = Ledger("postgresql://u:secret@nowhere/db")
    with pytest.raises(LedgerError, match=r"pip install 'cloakgp\[postgres\]'"):
        book.spent()


def test_a_connection_is_closed_whatever_happens(ledger, server, schema):
    """Neither reading, spending, refusing nor an error leaves one behind."""
    spend(ledger, "r1")
    with pytest.raises(LedgerError):
        spend(ledger, "r1")
    with pytest.raises(ZeroDivisionError), store_of(ledger).write():
        _ = 1 / 0
    ask = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cloakgp'"
    ask += " AND datname = current_database()"
    for _ in range(100):
        if server.execute(ask) == [(0,)]:
            return
        time.sleep(0.02)
    pytest.fail("a connection is left")
