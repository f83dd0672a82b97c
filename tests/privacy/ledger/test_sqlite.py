"""The file: what is refused, where it may lie, who may read it, and what lies beside it."""

import contextlib
import copy
import os
import pickle
import re
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path

import pytest
from ledger_helpers import CAP, as_nobody, change, forged_spend, forget, raw, releases, spend
from sklearn.base import clone

from cloakgp import PrivateGPRegressor
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import Ledger, LedgerError, LedgerTampered, sqlite, writing
from cloakgp.privacy.ledger.errors import CommitFailed


@pytest.fixture
def public():
    """A folder that other users may enter; those of pytest are closed to them."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("folder_mode", [0o777, 0o555])
def test_a_read_only_ledger_can_be_read_but_not_spent_on(public, folder_mode):
    path = public / "budget.ledger"
    ledger = Ledger(path)
    ledger.open("people", *CAP, create=True)
    spend(ledger, "r1")
    before = ledger.history()
    path.chmod(0o444)
    public.chmod(folder_mode)
    text = as_nobody(lambda: spend(ledger, "r2"))
    assert "read-only" in text or "cannot be opened" in text
    assert "Nothing was spent" in text

    def read_then_complain():
        assert ledger.history() == before
        assert ledger.spent("people") > 0
        raise LedgerError("was read")

    assert "was read" in as_nobody(read_then_complain)
    path.chmod(0o644)
    public.chmod(0o755)
    assert ledger.history() == before


def test_a_ledger_that_may_not_be_read_or_made_is_explained(public):
    ledger = Ledger(public / "budget.ledger")
    ledger.open("people", *CAP, create=True)
    ledger.path.chmod(0o600)
    assert "cannot be" in as_nobody(ledger.history)
    assert "cannot be" in as_nobody(lambda: spend(ledger))
    other = Ledger(public / "other.ledger")
    assert "cannot be" in as_nobody(lambda: other.open("people", *CAP, create=True))
    assert not other.path.exists()


NOT_A_LEDGER = {
    "noise": bytes(range(256)) * 40,
    "text": b"age,height\n1,2\n",
    "half a header": b"SQLite format 3\x00" + b"\x00" * 30,
    "empty": b"",
}


@pytest.mark.parametrize("content", NOT_A_LEDGER.values(), ids=NOT_A_LEDGER.keys())
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_was(path, content):
    path.write_bytes(content)
    ledger = Ledger(path)
    acts = [ledger.history, lambda: spend(ledger), lambda: ledger.open("people", *CAP)]
    for act in (*acts, lambda: ledger.open("people", *CAP, create=True)):
        with pytest.raises(LedgerError, match="ledger"):
            act()
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_an_empty_file_is_empty_for_every_part_of_the_store(path):
    path.write_bytes(b"")
    store = sqlite.SQLiteStore(path)
    for act in (store.check, store.identity, lambda: store.read().__enter__()):
        with pytest.raises(LedgerError, match=f"^{re.escape(str(path))} is empty"):
            act()


def test_whatever_is_wrong_with_the_tables_is_said_of_this_file(ledger, path):
    store = sqlite.SQLiteStore(path)
    with raw(path) as connection:
        connection.execute("DROP TRIGGER no_delete")
    for begin in (store.read, store.write):
        words = f"^the ledger {re.escape(str(path))} is not as .*tables or triggers changed"
        with pytest.raises(LedgerTampered, match=words), begin() as transaction:
            transaction.page(0, 5)
    with raw(path) as connection:
        for name in ("no_update", "in_order"):
            connection.execute(f"DROP TRIGGER {name}")
        for name in ("history", "head", "secret"):
            connection.execute(f"DROP TABLE {name}")
    for begin in (store.read, store.write):
        words = f"^{re.escape(str(path))} is empty"
        with pytest.raises(LedgerError, match=words), begin() as transaction:
            transaction.page(0, 5)


def test_a_process_that_knows_a_ledger_reads_all_of_it_again_if_its_triggers_were_away(
    ledger, path
):
    """Only without them can an entry be edited, and this one was read long ago."""
    for number in range(3):
        spend(ledger, f"r{number}")
    assert ledger.spent("people") > 0.0
    change(path, "UPDATE history SET entry = entry || ' ' WHERE sequence = 3")
    with pytest.raises(LedgerTampered, match="entry 3 was edited"):
        ledger.spent("people")


@pytest.mark.parametrize("code", [sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, 267, None])
def test_damage_of_any_kind_is_said_of_this_file(ledger, path, code):
    error = TypeError("no") if code is None else sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    words = f"^the ledger {re.escape(str(path))} is damaged"
    with pytest.raises(LedgerError, match=words), sqlite.SQLiteStore(path).read():
        raise error


def test_other_trouble_is_said_of_this_file(ledger, path):
    words = f"^the ledger {re.escape(str(path))} cannot be used: no such luck. Nothing was spent"
    with pytest.raises(LedgerError, match=words), sqlite.SQLiteStore(path).read():
        raise OSError("no such luck")


def test_a_missing_ledger_is_only_made_if_that_is_asked_for(path):
    ledger = Ledger(path)
    with pytest.raises(LedgerError, match=r"there is no ledger.*create=True.*--new"):
        ledger.open("people", *CAP)
    assert os.listdir(path.parent) == []
    ledger.open("people", *CAP, create=True)
    spend(ledger)
    before = ledger.history()
    ledger.open("people", *CAP, create=True)  # harmless, so a script may always say it
    ledger.open("people", *CAP)
    assert ledger.history() == before


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_a_new_ledger_is_not_made_beside_what_is_left_of_an_old_one(path, end):
    """SQLite would take the journal for one of the new file, and undo that."""
    side = path.with_name(path.name + end)
    side.write_bytes(b"left")
    words = rf"no ledger at {re.escape(str(path))}, but .*{end} is left of one.*may have been lost"
    with pytest.raises(LedgerError, match=words):
        Ledger(path).open("people", *CAP, create=True)
    assert os.listdir(path.parent) == [side.name]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("tables", [False, True], ids=["0 bytes", "a database without tables"])
def test_an_empty_file_may_be_a_ledger_that_was_lost_and_is_refused(path, create, tables):
    path.write_bytes(b"")
    if tables:
        with raw(path) as connection:
            connection.execute("CREATE TABLE t (x)")
            connection.execute("DROP TABLE t")
        assert path.stat().st_size > 0
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"an empty file is not a ledger.*lost"):
        Ledger(path).open("people", *CAP, create=create)
    assert path.read_bytes() == before


def test_another_database_is_refused_and_left_as_it_was(path):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE history (note TEXT)")
    before = path.read_bytes()
    ledger = Ledger(path)
    for act in (ledger.history, lambda: spend(ledger), lambda: ledger.open("people", *CAP)):
        with pytest.raises(LedgerError, match=f"^{re.escape(str(path))} is not a ledger"):
            act()
    assert path.read_bytes() == before


@pytest.mark.parametrize("page", [0, 1, 2, 3])
def test_a_damaged_page_never_passes_as_an_emptier_ledger(ledger, path, page):
    """Every page is overwritten in turn: either an error, or every spend is still there."""
    for number in range(9):
        spend(ledger, f"r{number}", parameters={"note": "x" * 300})
    before = ledger.history()
    with open(path, "r+b") as file:
        file.seek(page * 4096 + (100 if page == 0 else 0))
        file.write(b"\xa5" * 2000)
    try:
        after = ledger.history()
    except LedgerError as error:
        after, text = None, str(error)
    if after is not None:
        assert after == before
        return
    assert "damaged" in text or "not as it was written" in text
    with pytest.raises(LedgerError):
        spend(ledger, "more")


def test_damage_that_hides_no_entry_is_found_by_verifying(ledger, path):
    """Pages that SQLite counts as free, and does not have."""
    spend(ledger)
    before = ledger.balances()
    data = bytearray(path.read_bytes())
    data[36:40] = (5).to_bytes(4, "big")
    path.write_bytes(data)
    assert ledger.balances() == before
    with pytest.raises(LedgerError, match=f"the ledger {path} is damaged"):
        ledger.verify()


def test_a_file_that_vanished_is_missing_for_every_part_of_the_store(path):
    store = sqlite.SQLiteStore(path)
    words = f"there is no ledger at {re.escape(str(path))}"
    for act in (store.check, store.identity, lambda: store.read().__enter__()):
        with pytest.raises(LedgerError, match=words):
            act()
    with pytest.raises(LedgerError, match=words), store.write():
        pass


def test_a_file_that_vanishes_at_the_last_moment_is_not_made_anew(path, monkeypatch):
    monkeypatch.setattr(sqlite.SQLiteStore, "_check_place", lambda _: None)
    store = sqlite.SQLiteStore(path)
    for act in (store.check, store.identity, lambda: store.read().__enter__()):
        with pytest.raises(LedgerError, match="cannot be used"):
            act()
    with pytest.raises(LedgerError, match="cannot be opened"), store.write():
        pass
    assert os.listdir(path.parent) == []


def test_a_file_cut_short_is_refused(ledger, path):
    for number in range(9):
        spend(ledger, f"r{number}", parameters={"note": "x" * 3000})
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 8192)
    for act in (ledger.verify, lambda: spend(ledger, "more")):
        with pytest.raises(LedgerError, match=r"damaged|not as it was written"):
            act()


def test_a_ledger_that_others_keep_busy_is_explained(ledger, path, monkeypatch):
    with raw(path) as connection, monkeypatch.context() as patch:
        patch.setattr(sqlite, "BUSY_SECONDS", 0.05)
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"busy.*Nothing was spent"):
            spend(ledger)
        assert ledger.spent("people") == 0.0  # readers need not wait
    spend(ledger)


def test_a_refusal_says_how_long_others_were_waited_for():
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    words = "the ledger FILE cannot be used: others kept it busy for 60 seconds; try again"
    assert sqlite._reason(error, "FILE") == words


def test_reading_never_makes_a_file(path):
    ledger = Ledger(path)
    for act in (
        ledger.history,
        ledger.spent,
        ledger.remaining,
        ledger.export,
        ledger.verify,
        ledger.balances,
    ):
        with pytest.raises(LedgerError, match="there is no ledger"):
            act()
    with pytest.raises(LedgerError, match="there is no ledger"):
        spend(ledger)
    assert os.listdir(path.parent) == []


def test_missing_folders_and_folders_are_explained(tmp_path):
    with pytest.raises(LedgerError, match="does not exist; make it first"):
        Ledger(tmp_path / "no" / "ledger").open("people", *CAP, create=True)
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(tmp_path).open("people", *CAP, create=True)
    with pytest.raises(LedgerError, match="does not exist; make it first"):
        Ledger(tmp_path / "no" / "ledger").history()
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(tmp_path).history()


def test_nothing_is_left_beside_the_file(ledger, path):
    spend(ledger)
    ledger.verify()
    assert os.listdir(path.parent) == [path.name]
    with raw(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def modes(folder):
    return {os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in os.listdir(folder)}


def test_a_new_ledger_and_its_journal_are_never_readable_by_others(path, monkeypatch):
    seen = []

    def watch(module, name):
        function = getattr(module, name)

        def watched(*args, **options):
            done = function(*args, **options)
            seen.append((name, os.listdir(path.parent), modes(path.parent)))
            return done

        monkeypatch.setattr(module, name, watched)

    for module, name in ((sqlite, "connect"), (sqlite, "_fill"), (sqlite, "_give_name")):
        watch(module, name)
    watch(writing, "append")
    before = os.umask(0)
    try:
        ledger = Ledger(path).open("people", *CAP, create=True)
        spend(ledger)
    finally:
        os.umask(before)
    assert {name for name, _, _ in seen} == {"connect", "_fill", "_give_name", "append"}
    assert all(found == {0o600} for _, _, found in seen)
    assert f"{path.name}-journal" in next(files for name, files, _ in seen if name == "append")
    assert modes(path.parent) == {0o600}
    [unnamed] = next(files for name, files, _ in seen if name == "_fill")
    assert unnamed.startswith(".ledger-")
    assert unnamed.endswith(".new")


def test_the_permissions_of_an_existing_ledger_are_left_as_they_are(ledger, path):
    path.chmod(0o640)
    spend(ledger)
    ledger.open("people", *CAP, create=True)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_ledger_is_made_on_a_disk_without_links(path, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    replace, modes = os.replace, []

    def watched(made, name):
        modes.append(path.stat().st_mode & 0o777)
        replace(made, name)

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", watched)
    spend(Ledger(path).open("people", *CAP, create=True))
    assert os.listdir(path.parent) == [path.name]
    assert modes == [0o600]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("links", [True, False])
def test_a_ledger_that_somebody_else_makes_meanwhile_is_not_replaced(path, monkeypatch, links):
    fill, made = sqlite._fill, []

    def slow(*args):
        fill(*args)
        if not made:
            made.append(True)
            spend(Ledger(path).open("people", *CAP, create=True), "theirs")

    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(sqlite, "_fill", slow)
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    ledger = Ledger(path).open("people", *CAP, create=True)
    assert releases(ledger) == ["theirs"]
    assert os.listdir(path.parent) == [path.name]


def test_a_ledger_that_cannot_be_made_leaves_nothing_behind(path, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(sqlite, "_fill", full)
    with pytest.raises(LedgerError, match="No space left"):
        Ledger(path).open("people", *CAP, create=True)
    assert os.listdir(path.parent) == []


def test_the_name_of_a_new_ledger_is_on_the_disk_before_anybody_spends(path, monkeypatch):
    seen, fsync = [], os.fsync

    def watched(handle):
        seen.append((os.fstat(handle).st_ino, path.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    Ledger(path).open("people", *CAP, create=True)
    assert seen == [(path.parent.stat().st_ino, True)]


def test_a_ledger_is_made_where_folders_cannot_be_flushed_and_nothing_stays_open(path, monkeypatch):
    def refuse(_):
        raise OSError("not a file")

    monkeypatch.setattr(os, "fsync", refuse)
    before = open_files()
    spend(Ledger(path).open("people", *CAP, create=True))
    assert open_files() == before


def open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


# ---------------------------------------------------------------------- links, and files of 0.1.0


def test_a_ledger_goes_by_the_name_of_its_real_file(ledger, path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(path)
    assert Ledger(link) == ledger
    spend(Ledger(link), "through the link")
    assert releases(ledger) == ["through the link"]
    assert os.listdir(link.parent) == ["link"]


def test_a_link_to_nowhere_is_made_where_it_leads(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    Ledger(link).open("people", *CAP, create=True)
    assert path.is_file()
    assert link.is_symlink()


@contextlib.contextmanager
def in_wal_mode(path, *release_ids):
    """A file as 0.1.0 left it while somebody was reading: the last spends are in its log."""
    with raw(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for release_id in release_ids:
            connection.execute("BEGIN IMMEDIATE")
            forged_spend(connection, release_id)
            connection.execute("COMMIT")
        assert path.with_name(path.name + "-wal").stat().st_size > 0
        yield


def test_reading_through_a_link_in_a_folder_that_cannot_be_written_shows_all_spends(public):
    path = public / "budget.ledger"
    ledger = Ledger(path).open("people", *CAP, create=True)
    spend(ledger, "r1")
    (public / "closed").mkdir()
    link = public / "closed" / "link"
    link.symlink_to(path)
    with in_wal_mode(path, "r2", "r3"):
        for each in (public, *public.glob("budget*")):
            each.chmod(0o777)
        (public / "closed").chmod(0o555)

        def look():
            assert releases(Ledger(link)) == ["r1", "r2", "r3"]
            raise LedgerError(f"spent {Ledger(link).spent('people'):.6f}")

        text = as_nobody(look)
    (public / "closed").chmod(0o755)
    assert f"spent {ledger.spent('people'):.6f}" in text
    assert ledger.balances("people")[0].releases == 3


def test_a_ledger_in_wal_mode_is_read_whole_and_converted_by_the_first_write(ledger, path):
    spend(ledger, "r1")
    with in_wal_mode(path, "r2"):
        assert releases(ledger) == ["r1", "r2"]
    spend(ledger, "r3")
    with raw(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert os.listdir(path.parent) == [path.name]
    forget()
    assert releases(ledger) == ["r1", "r2", "r3"]


def test_a_ledger_that_is_there_is_not_made_anew_though_its_log_lies_beside_it(ledger, path):
    spend(ledger, "r1")
    with in_wal_mode(path, "r2"):
        assert sqlite.SQLiteStore(path).create(b"key", [("{}", "hash")]) is False
        assert releases(ledger) == ["r1", "r2"]


def test_nobody_waits_with_a_connection(ledger, path, monkeypatch):
    """With one, nobody would ever be alone."""
    connect, made, pauses = sqlite.connect, [], []

    def watched(*args):
        made.append(connect(*args))
        return made[-1]

    def pause(seconds):
        pauses.append(seconds)
        assert all(map(is_closed, made))

    monkeypatch.setattr(sqlite, "connect", watched)
    monkeypatch.setattr(sqlite.time, "sleep", pause)
    with in_wal_mode(path, "r1"), monkeypatch.context() as patch:
        patch.setattr(sqlite, "BUSY_SECONDS", 0.3)
        patch.setattr(sqlite, "_lock", lambda _: False)
        with pytest.raises(LedgerError, match=r"busy.*Nothing was spent"):
            sqlite.SQLiteStore(path)._locked()
    assert len(pauses) > 3
    assert all(0.0 <= seconds <= 0.02 for seconds in pauses)


def is_closed(connection):
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


def test_an_error_while_locking_leaves_no_connection(ledger, path, monkeypatch):
    made = []

    def fail(connection):
        made.append(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite, "_lock", fail)
    with pytest.raises(KeyboardInterrupt):
        sqlite.SQLiteStore(path)._locked()
    assert is_closed(made[0])


def test_a_connection_that_cannot_be_used_is_closed(path, monkeypatch):
    class Broken:
        closed = False

        def execute(self, _):
            raise KeyboardInterrupt

        def close(self):
            self.closed = True

    broken = Broken()
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: broken)
    with pytest.raises(KeyboardInterrupt):
        sqlite.connect(path, "mode=rw")
    assert broken.closed


class InWALMode:
    """A connection to a file that stays in WAL mode, with or without an error."""

    def __init__(self, code):
        self.code, self.asked = code, []

    def execute(self, statement):
        self.asked.append(statement)
        if statement == "PRAGMA journal_mode = DELETE" and self.code is not None:
            error = sqlite3.OperationalError("no")
            error.sqlite_errorcode = self.code
            raise error
        return self

    def fetchone(self):
        return (b"wal",)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, 261, 262])
def test_a_file_that_others_keep_in_wal_mode_is_not_locked(code):
    assert sqlite._lock(InWALMode(code)) is False


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, 266])
def test_a_mode_that_cannot_be_changed_for_another_reason_is_an_error(code):
    with pytest.raises(sqlite3.OperationalError):
        sqlite._lock(InWALMode(code))


def test_a_file_that_stays_in_wal_mode_is_not_locked():
    connection = InWALMode(None)
    assert sqlite._lock(connection) is False
    assert connection.asked.count("BEGIN IMMEDIATE") == connection.asked.count("ROLLBACK") == 2


def test_no_spend_is_taken_while_others_keep_the_file_in_wal_mode(ledger, path, monkeypatch):
    with in_wal_mode(path, "r1"), monkeypatch.context() as patch:
        patch.setattr(sqlite, "BUSY_SECONDS", 0.05)
        with pytest.raises(LedgerError, match=r"busy.*Nothing was spent"):
            spend(ledger, "r2")
    spend(ledger, "r2")
    assert releases(ledger) == ["r1", "r2"]


def test_many_who_meet_a_file_in_wal_mode_at_once_all_get_their_turn(ledger, path):
    with in_wal_mode(path, "r0"):
        pass
    start, errors = threading.Barrier(6), []

    def work(name):
        start.wait()
        try:
            spend(ledger, name, [Spend("gaussian", 1e-3)])
        except LedgerError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(releases(ledger)) == 7


def test_a_copy_in_wal_mode_can_be_read_in_a_folder_that_cannot_be_written(public):
    path = public / "budget.ledger"
    ledger = Ledger(path).open("people", *CAP, create=True)
    with in_wal_mode(path, "r1"):
        pass
    assert os.listdir(public) == [path.name]
    path.chmod(0o444)
    public.chmod(0o555)

    def look():
        assert releases(ledger) == ["r1"]
        raise LedgerError("was read")

    assert "was read" in as_nobody(look)
    assert "Nothing was spent" in as_nobody(lambda: spend(ledger, "r2"))


def test_a_copy_in_wal_mode_whose_log_cannot_be_read_is_refused(public):
    """Without its log it could be read as it was before the last spends."""
    path = public / "budget.ledger"
    ledger = Ledger(path).open("people", *CAP, create=True)
    with in_wal_mode(path, "r1"):
        copies = {each: each.read_bytes() for each in public.iterdir() if "shm" not in each.name}
    for each, content in copies.items():
        each.write_bytes(content)
        each.chmod(0o444)
    assert len(copies) == 2
    public.chmod(0o555)
    assert "cannot be used" in as_nobody(lambda: releases(ledger))


@pytest.mark.parametrize("code", [sqlite3.SQLITE_CANTOPEN, 526, sqlite3.SQLITE_READONLY, 1288])
def test_where_no_file_can_be_made_beside_it_the_file_is_read_alone(code, path, monkeypatch):
    """Codes of SQLite have more than their last eight bits."""
    opened = connections_that_fail_with(code, monkeypatch)
    assert sqlite._reader(path) == "connected"
    assert opened == ["mode=rw", "mode=ro&immutable=1"]


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR, 522, 256])
def test_for_any_other_reason_it_is_not(code, path, monkeypatch):
    opened = connections_that_fail_with(code, monkeypatch)
    with pytest.raises(sqlite3.OperationalError):
        sqlite._reader(path)
    assert opened == ["mode=rw"]


def connections_that_fail_with(code, monkeypatch):
    """Let no file be opened for writing; return the list of what is tried."""
    opened = []

    def connect(path, mode):
        opened.append(mode)
        if mode == "mode=rw":
            error = sqlite3.OperationalError("no")
            error.sqlite_errorcode = code
            raise error
        return "connected"

    monkeypatch.setattr(sqlite, "connect", connect)
    return opened


def test_a_commit_that_fails_says_why_and_of_which_ledger(path):
    class Full:
        def execute(self, _):
            error = sqlite3.OperationalError("no")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    reason = f"the ledger {re.escape(str(path))} cannot be used: the disk is full; make room[.]"
    with pytest.raises(CommitFailed, match=f"^{reason}$"):
        sqlite.SQLiteStore(path)._commit(Full())


def test_nobody_can_commit_between_two_looks_of_a_reader(ledger, path):
    spend(ledger, "r1")
    with sqlite.SQLiteStore(path).read() as transaction, raw(path) as other:
        transaction.page(0, 10)
        other.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN IMMEDIATE")
        other.execute("PRAGMA user_version = 7")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("COMMIT")
        other.execute("ROLLBACK")


def test_a_commit_waits_for_the_disk(ledger, path):
    with contextlib.closing(sqlite.connect(path, "mode=rw")) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (10_000,)
        assert connection.isolation_level is None  # transactions are begun here, and nowhere else


def test_an_error_stays_the_one_it_was_if_there_is_nothing_to_roll_back(ledger, path):
    def fail():
        with sqlite.SQLiteStore(path).write() as transaction:
            transaction._connection.execute("ROLLBACK")  # as SQLite does when the disk is full
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()


@pytest.mark.parametrize("form", [str, Path, "sqlite:///{}".format, lambda path: f"{path} ?#%41é"])
def test_a_ledger_is_named_by_a_path_or_an_address(path, form):
    ledger = Ledger(form(path))
    ledger.open("people", *CAP, create=True)
    assert ledger.path.is_file()
    assert ledger.path.parent == path.parent
    spend(ledger)
    assert ledger.path.name in repr(ledger)


def test_relative_names_keep_their_meaning_when_the_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    books = [Ledger("a.ledger"), Ledger("sqlite:///a.ledger")]
    monkeypatch.chdir("/")
    assert books[0].path == books[1].path == tmp_path / "a.ledger"
    assert books[0] == books[1] != Ledger("b.ledger")
    assert books[0] != books[0].path
    assert hash(books[0]) == hash(books[1])


@pytest.mark.parametrize("name", ["", "postgresql://host", "sqlite://", "sqlite:///", "a\0b"])
def test_names_that_are_no_file_are_refused(name):
    with pytest.raises(LedgerError):
        Ledger(name)


def test_a_ledger_can_be_copied_pickled_and_cloned_and_holds_nothing_open(ledger):
    for twin in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert vars(twin) == {"path": ledger.path}
        assert twin.spent() == ledger.spent()
    model = clone(PrivateGPRegressor(ledger=ledger, dataset="people"))
    assert model.ledger == ledger
    with ledger as same:
        assert same is ledger
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for number in range(5):
        spend(ledger, f"r{number}")
    if files:
        assert len(os.listdir("/proc/self/fd")) <= files
