"""Moving a ledger: every hash as it was, and never two places to spend from."""

import contextlib
import multiprocessing
import os
import signal

import pytest
from ledger_helpers import CAP, ListStore, forge, forget, opening, raw, releases, spend, spending

from cloakgp.privacy.ledger import Ledger, LedgerError, LedgerTampered, moving, sqlite, writing
from cloakgp.privacy.ledger.book import read_all
from cloakgp.privacy.ledger.errors import CommitFailed
from cloakgp.privacy.ledger.moving import move


@pytest.fixture
def source(store):
    spending("r1").record(store)
    return store


@pytest.fixture
def target():
    return ListStore("another list")


def events(store):
    return [entry.facts["event"] for entry in read_all(store, lambda entry: entry)[1]]


def test_every_entry_keeps_its_hash_and_one_says_where_it_came_from(source, target):
    before = list(source.rows)
    head = move(source, target, "me")
    assert target.rows[:3] == source.rows[:3] == before
    assert target.rows[:4] == source.rows[:4]
    assert target.key == source.key
    entries = read_all(target, lambda entry: entry)[1]
    assert entries[-1].hash == head
    assert entries[3].facts.items() >= {"event": "moved", "to": "another list"}.items()
    assert entries[4].facts.items() >= {"event": "arrived", "from": "a list", "who": "me"}.items()
    assert len(entries) == 5
    assert events(source) == [*events(target)[:4], "completed"]
    assert read_all(source, lambda entry: entry.facts["who"])[1][3:] == ["me", "me"]


def test_a_ledger_that_was_moved_takes_nothing_more_and_says_where_to_go(source, target):
    move(source, target, "me")
    before = list(source.rows)
    words = r"^the ledger a list is closed: it was moved to another list\. Nothing was spent; spend"
    for act in (spending("r2"), opening("others"), opening(cap=(50.0, 1e-5))):
        with pytest.raises(LedgerError, match=words) as caught:
            act.record(source)
        assert caught.value.recorded is False
    assert source.rows == before
    spending("r2").record(target)
    assert events(target)[-1] == "spent"


def test_what_was_spent_before_counts_in_the_new_place(source, target):
    move(source, target, "me")
    old, new = (read_all(each, lambda entry: entry)[0] for each in (source, target))
    assert new.accounts == old.accounts
    assert new.release_ids == {"r1"}
    assert (old.moved, new.moved) == ("another list", "")
    with pytest.raises(LedgerError, match="'r1' is in the ledger already"):
        spending("r1").record(target)


def test_a_ledger_can_move_on(source, target):
    move(source, target, "me")
    third = ListStore("a third list")
    move(target, third, "me")
    assert events(third) == [*events(source)[:3], "moved", "arrived", "moved", "arrived"]
    with pytest.raises(LedgerError, match="moved to a third list"):
        spending("r2").record(target)
    with pytest.raises(LedgerError, match="the ledger a list is closed: it was moved to another"):
        move(source, ListStore("a fourth list"), "me")


def test_a_target_that_is_not_empty_is_refused_and_nothing_is_closed(source, target):
    writing.create(target, "them")
    before = list(source.rows), list(target.rows)
    with pytest.raises(LedgerError, match=r"something at another list already.* is as it was"):
        move(source, target, "me")
    with pytest.raises(LedgerError, match="something at a list already"):
        move(source, source, "me")
    assert (source.rows, target.rows) == before
    spending("r2").record(source)


def test_a_move_that_was_made_already_says_where_to_go(source, target):
    move(source, target, "me")
    before = list(target.rows)
    with pytest.raises(LedgerError, match=r"closed: it was moved to another list"):
        move(source, target, "me")
    assert target.rows == before


def test_a_complete_move_is_never_made_again_whatever_has_that_name_now(source, target):
    """The same path on another machine, or in a folder that was emptied, is another place."""
    move(source, target, "me")
    spending("r2").record(target)
    elsewhere, before = ListStore(target.name), list(source.rows)
    forget()
    with pytest.raises(LedgerError, match=r"closed: it was moved to another list"):
        move(source, elsewhere, "me")
    assert elsewhere.rows == []
    assert source.rows == before
    assert events(source)[-2:] == ["moved", "completed"]


@pytest.mark.parametrize("how", ["lost", "kept"])
def test_a_move_whose_last_note_was_not_written_is_completed_by_the_next(source, target, how):
    def fail():
        source.commit_error = how if target.rows else None

    source.before_write = fail
    words = r"All entries are at another list, which can be spent on; a list is closed.* command"
    with pytest.raises(LedgerError, match=words):
        move(source, target, "me")
    source.before_write, source.commit_error = lambda: None, None
    spending("r2").record(target)
    forget()
    if how == "lost":
        assert events(source)[-1] == "moved"
        assert move(source, target, "me") == target.rows[-1][2].decode()
    assert events(source)[-2:] == ["moved", "completed"]
    with pytest.raises(LedgerError, match="is closed"):
        move(source, target, "me")
    assert events(target)[-2:] == ["arrived", "spent"]


@pytest.mark.parametrize("other", ["new", "older copy"])
def test_a_closed_ledger_is_not_completed_by_another_one_in_its_place(
    source, target, monkeypatch, other
):
    def broken(key, rows, meanwhile):
        meanwhile()
        raise CommitFailed("the server is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(target, "create", broken)
        with pytest.raises(LedgerError):
            move(source, target, "me")
    if other == "new":
        writing.create(target, "them")
    else:
        before = [(entry.decode(), link.decode()) for _, entry, link in source.rows[:-1]]
        target.create(source.key, before)
    with pytest.raises(LedgerError, match="somebody made another ledger at another list"):
        move(source, target, "me")
    assert events(source)[-1] == "moved"


def test_nobody_can_spend_in_both_places_at_any_moment(source, target):
    """Whoever looks while the source is being closed finds no target yet."""
    seen = []
    source.before_write = lambda: seen.append((events(source)[-1], len(target.rows)))
    move(source, target, "me")
    assert seen == [("spent", 0), ("moved", 5)]


def test_a_move_that_breaks_off_after_the_old_one_was_closed_is_completed_by_the_next(
    source, target, monkeypatch
):
    create = target.create

    def broken(key, rows, meanwhile):
        meanwhile()
        raise CommitFailed("the server is gone.")

    monkeypatch.setattr(target, "create", broken)
    words = r"is gone\. a list may be closed by now, and another list not made.* where it ended\.$"
    with pytest.raises(LedgerError, match=words) as caught:
        move(source, target, "me")
    assert type(caught.value) is LedgerError
    with pytest.raises(LedgerError, match="is closed"):
        spending("r2").record(source)
    with pytest.raises(LedgerError, match="was moved to another list"):
        move(source, ListStore("elsewhere"), "me")
    monkeypatch.setattr(target, "create", create)
    move(source, target, "me")
    assert events(source).count("moved") == 1  # closed once
    assert events(target)[-2:] == ["moved", "arrived"]
    spending("r2").record(target)


def test_a_move_that_fails_before_the_old_one_is_closed_has_no_effect(source, target, monkeypatch):
    def full(key, rows, meanwhile):
        raise LedgerError("the disk is full.")

    monkeypatch.setattr(target, "create", full)
    before = list(source.rows)
    with pytest.raises(LedgerError, match=r"^the disk is full\.$"):
        move(source, target, "me")
    assert source.rows == before
    spending("r2").record(source)


def test_a_commit_that_fails_while_closing_leaves_no_second_place(source, target):
    source.commit_error = "kept"
    with pytest.raises(LedgerError, match="give the same command again"):
        move(source, target, "me")
    assert target.rows == []
    source.commit_error = None
    move(source, target, "me")
    assert events(target)[-2:] == ["moved", "arrived"]


def test_a_spend_while_entries_are_copied_is_not_left_behind(source, target):
    """The move begins again with what others have added, and gives up if they never stop."""
    once = ["late"]

    def others():
        if once:
            source.before_write = lambda: None
            spending(once.pop()).record(source)

    source.before_write = others
    move(source, target, "me")
    assert read_all(target, lambda entry: entry)[0].release_ids == {"r1", "late"}


def test_a_ledger_that_is_never_quiet_is_not_moved(source, target):
    count = []

    def others():
        source.before_write = lambda: None
        count.append(spending(f"late {len(count)}", dataset="people").record(source))
        source.before_write = others

    source.before_write = others
    with pytest.raises(LedgerError, match=r"others spend on a list all the time.*it is as it was"):
        move(source, target, "me")
    assert len(count) == moving.ATTEMPTS
    assert target.rows == []
    source.before_write = lambda: None
    spending("r2").record(source)


def test_somebody_who_takes_the_place_at_the_last_moment_is_told_of(source, target, monkeypatch):
    def outrun(key, rows, meanwhile):
        meanwhile()
        return False

    monkeypatch.setattr(target, "create", outrun)
    with pytest.raises(LedgerError, match=r"made another ledger at another list meanwhile.*again"):
        move(source, target, "me")


@pytest.mark.parametrize("less", [slice(0, 1), slice(0, -1)])
def test_a_target_that_is_not_what_was_moved_there_is_refused(source, target, monkeypatch, less):
    create = target.create
    monkeypatch.setattr(target, "create", lambda key, rows, meanwhile: create(key, rows[less]))
    with pytest.raises(LedgerTampered, match=r"ledger another list .*it is not what was moved"):
        move(source, target, "me")


def test_the_medium_of_the_new_place_is_checked(source, target, monkeypatch):
    def damaged():
        raise LedgerError("the disk is broken.")

    monkeypatch.setattr(target, "check", damaged)
    with pytest.raises(LedgerError, match="the disk is broken"):
        move(source, target, "me")
    assert events(source)[-1] == "moved"


def test_whoever_completes_a_move_at_the_same_time_writes_one_note(source, target):
    def others():
        if target.rows:
            source.before_write = lambda: None
            moving._complete(source, target, "them")

    source.before_write = others
    move(source, target, "me")
    assert events(source)[-2:] == ["moved", "completed"]


def test_a_clock_that_went_back_is_noted(source, target, monkeypatch):
    monkeypatch.setattr(writing.names, "now", lambda: "1999")
    move(source, target, "me")
    moved, arrived = (entry.facts for entry in read_all(target, lambda entry: entry)[1][-2:])
    assert moved["clock_went_back"] is True
    assert "clock_went_back" not in arrived


@pytest.mark.parametrize(
    "facts",
    [
        {"event": "arrived", "from": "x", "when": "2099", "who": "me"},
        {"event": "completed", "when": "2099", "who": "me"},
        {"event": "moved", "when": "2099", "who": "me"},
    ],
)
def test_an_arrival_without_a_departure_and_a_departure_to_nowhere_make_no_sense(
    ledger, path, facts
):
    with raw(path) as connection:
        forge(connection, facts)
    with pytest.raises(LedgerTampered, match="entry 3 makes no sense"):
        ledger.spent()


@pytest.mark.parametrize("event", ["opened", "arrived", "completed"])
def test_nothing_follows_a_complete_departure(ledger, path, tmp_path, event):
    ledger.move_to(tmp_path / "new.ledger")
    facts = ledger.history()[1].facts | {"event": event, "when": "2099"}
    with raw(path) as connection:
        forge(connection, facts)
    with pytest.raises(LedgerTampered, match=rf"ledger {path} is .*\(entry 5 makes no sense\)"):
        ledger.spent()


def test_a_spend_after_the_departure_makes_no_sense(ledger, path):
    facts = ledger.history()[1].facts | {"when": "2099"}
    with raw(path) as connection:
        forge(connection, {"event": "moved", "to": "x", "when": "2099", "who": "me"})
        forge(connection, facts)
    with pytest.raises(LedgerTampered, match="entry 4 makes no sense"):
        ledger.spent()


def test_an_entry_that_is_not_written_as_we_write_it_is_not_moved(ledger, path, tmp_path):
    entry = '{"event": "opened","dataset":"d","epsilon":1.0,"delta":1e-05,"inputs":null,'
    entry += '"same_inputs_as":[],"when":"2099","who":"me"}'
    with raw(path) as connection:
        forge(connection, entry)
    assert ledger.spent("d") == 0.0
    with pytest.raises(LedgerTampered, match=rf"{path} is .*entry 3 is not written as cloakgp"):
        ledger.move_to(tmp_path / "new.ledger")
    assert ledger.moved_to() is None


def test_a_file_moves_to_another_file(ledger, path, tmp_path):
    spend(ledger, "r1")
    head = ledger.verify()
    new = Ledger(tmp_path / "new.ledger")
    assert ledger.moved_to() is None
    last = ledger.move_to(new.path, who="the keeper")
    assert new.verify(head) == last
    assert ledger.verify() == ledger.history()[-2].hash == new.history()[-2].hash
    assert new.verify(ledger.verify()) == last
    assert [entry.facts["who"] for entry in new.history()[-2:]] == ["the keeper"] * 2
    assert (ledger.moved_to(), new.moved_to()) == (str(new.path), None)
    with pytest.raises(LedgerError, match=r"moved to .*new\.ledger"):
        spend(ledger, "r2")
    spend(new, "r2")
    with pytest.raises(LedgerError, match=r"something at .* already"):
        new.move_to(path)


def test_a_ledger_moves_from_a_file_to_a_server_and_back(ledger, path, tmp_path, request):
    """The real stores, both ways; the budget that is left is the same at the end."""
    server = request.getfixturevalue("postgres")
    spend(ledger, "r1", parameters={"ü": "…"})
    balances, head = ledger.balances(), ledger.verify()
    there = Ledger(server.address(schema="moved"))
    ledger.move_to(server.address(schema="moved"))
    forget()
    assert there.balances() == balances
    assert there.history()[:3] == ledger.history()[:3]
    there.verify(head)
    spend(there, "r2")
    back = Ledger(tmp_path / "back.ledger")
    there.move_to(back)
    forget()
    back.verify(head)
    assert releases(back) == ["r1", "r2"]
    for closed in (ledger, there):
        with pytest.raises(LedgerError, match="is closed"):
            spend(closed, "r3")
    spend(back, "r3")
    assert "s3cret" not in back.export()
    with pytest.raises(LedgerError, match=r"something at .*\?schema=moved already"):
        back.move_to(there)
    with contextlib.suppress(LedgerError):
        there.open("people", *CAP, create=True)
    assert there.moved_to() == str(back.path)


def test_a_target_that_cannot_be_reached_closes_nothing(ledger, request):
    server = request.getfixturevalue("postgres")
    for wrong in (server.address(port=1), server.address(database="nowhere")):
        with pytest.raises(LedgerError, match="cannot be used"):
            ledger.move_to(wrong)
    assert ledger.moved_to() is None
    spend(ledger)


# ------------------------------------------------------------------------ killed at every moment

#: What a move does, in order; a process is killed before or after each of these.
STEPS = [
    (sqlite, "_fill"),
    (moving._Move, "_close"),
    (os, "link"),
    (os, "unlink"),
    (sqlite, "_flush_folder"),
    (moving, "_verified"),
    (moving, "_complete"),
]


def killed(act, owner, step, when):
    """Run something in a process of its own that is killed before or after a step of it."""

    def run():
        original = getattr(owner, step)

        def deadly(*args):
            if when == "after":
                original(*args)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, step, deadly)
        act()

    child = multiprocessing.get_context("fork").Process(target=run)
    child.start()
    child.join(30)
    assert child.exitcode == -signal.SIGKILL


def taking(folder, release_id):
    """Return the names in a folder under which a spend is taken."""
    found = []
    for path in sorted(folder.iterdir()):
        forget()
        with contextlib.suppress(LedgerError):
            spend(Ledger(path), f"{release_id} {path.name}")
            found.append(path.name)
    return found


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("owner", "step"), STEPS, ids=[step for _, step in STEPS])
def test_one_name_at_most_takes_a_spend_wherever_a_move_is_killed(
    ledger, path, tmp_path, owner, step, when
):
    new = tmp_path / "new.ledger"
    killed(lambda: ledger.move_to(new), owner, step, when)
    left = taking(tmp_path, "after the kill")
    assert len(left) <= 1
    forget()
    if ledger.moved_to() is None or step != "_complete" or when == "before":
        ledger.move_to(new)
    assert taking(tmp_path, "after the move") == ["new.ledger"]
    forget()
    taken = [f"after the kill {name}" for name in left]
    assert releases(Ledger(new)) == [*taken, "after the move new.ledger"]
    assert os.stat(new).st_nlink == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["link", "unlink"])
def test_one_name_at_most_takes_a_spend_wherever_a_new_ledger_is_killed(path, tmp_path, step, when):
    killed(lambda: Ledger(path).open("people", *CAP, create=True), os, step, when)
    Ledger(path).open("people", *CAP, create=True)
    assert taking(tmp_path, "r") == [path.name]


def test_a_ledger_with_a_hard_link_is_refused_under_both_names_until_one_is_gone(
    ledger, path, tmp_path
):
    other = tmp_path / "other.ledger"
    os.link(path, other)
    for name in (path, other):
        forget()
        with pytest.raises(LedgerError, match=r"has another name as well \(a hard link\)"):
            spend(Ledger(name))
    other.unlink()
    spend(ledger)
    assert releases(ledger) == ["r1"]


def test_a_first_name_that_has_a_journal_is_left_for_people_to_look_at(ledger, path, tmp_path):
    first = tmp_path / ".ledger-abc.new"
    os.link(path, first)
    journal = tmp_path / ".ledger-abc.new-journal"
    journal.write_bytes(b"what is to be undone")
    with pytest.raises(LedgerError, match="hard link"):
        spend(ledger)
    assert first.exists()
    journal.unlink()
    spend(ledger)
    assert not first.exists()
