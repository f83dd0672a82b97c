"""The book: what follows from entries, and how little is read once most of it is known."""

import json
import multiprocessing
import os
import threading
from dataclasses import replace

import pytest
from ledger_helpers import CAP, TENTH, ListStore, gaussian, opening, spend, spending

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import (
    BudgetExceeded,
    Ledger,
    LedgerError,
    LedgerTampered,
    accounts,
    book,
    writing,
)
from cloakgp.privacy.ledger.book import Book, Memory, read_all, read_on, recall
from cloakgp.privacy.ledger.history import Entry
from cloakgp.privacy.ledger.writing import Spending

# -------------------------------------------------------------------------------- what entries mean


def entry(sequence, **facts):
    return Entry(sequence, {"when": "t", "who": "me", "inputs": None} | facts, "p", f"h{sequence}")


def opened(sequence=2, dataset="people", cap=CAP, **facts):
    more = {"event": "opened", "dataset": dataset, "epsilon": cap[0], "delta": cap[1]}
    return entry(sequence, **more | facts)


def spent(sequence, release_id, dataset="people", size=0.1, **facts):
    spends = [{"kind": "gaussian", "size": size}]
    more = {"event": "spent", "dataset": dataset, "release_id": release_id, "spends": spends}
    return entry(sequence, **more | facts)


def a_book(*entries):
    made = Book("the ledger")
    for each in (entry(1, event="created", format=1, key="k"), *entries):
        made.add(each)
    return made


def test_entries_add_up_to_accounts():
    made = a_book(opened(), spent(3, "r1"), opened(4, "others", (2.0, 1e-6)), spent(5, "r2"))
    assert list(made.accounts) == ["people", "others"]
    found = made.account("people")
    assert (found.epsilon, found.delta, found.releases) == (*CAP, 2)
    assert found.first == (Spend("gaussian", 0.1),)
    assert float(found.rest) == pytest.approx(0.01)
    assert made.account("others").releases == 0
    assert made.release_ids == {"r1", "r2"}
    assert (made.sequence, made.hash, made.when, made.key_hash) == (5, "h5", "t", "k")


def test_the_first_cap_stays():
    made = a_book(opened(), opened(3, cap=(9.0, 0.1), inputs="m"))
    assert (made.account("people").epsilon, made.account("people").delta) == CAP


def test_inputs_are_known_by_their_owners():
    made = a_book(opened(inputs="m"), opened(3, "others", inputs="m"), spent(4, "r", inputs="n"))
    assert made.owners_of("m", other_than="people") == ["others"]
    assert made.owners_of("m", other_than="nobody") == ["people", "others"]
    assert made.owners_of(None, other_than="people") == []
    assert made.owners_of("unknown", other_than="people") == []
    assert made.account("people").inputs == {"m", "n"}
    assert a_book(opened(inputs="m"), spent(3, "r", inputs="m")).owners == {"m": ["people"]}


def test_names_of_earlier_versions_are_read_in_composed_form():
    made = a_book(opened(dataset="cafe\u0301"), spent(3, "r1", dataset="cafe\u0301"))
    assert list(made.accounts) == ["caf\u00e9"]
    assert made.account("caf\u00e9").releases == 1


@pytest.mark.parametrize(
    "wrong",
    [
        opened(cap=(float("nan"), 1e-5)),
        opened(cap=(1.0, 2.0)),
        opened(dataset=3),
        spent(2, "r1"),  # nobody opened it
        spent(2, "r1", size=-1.0),
        entry(2, event="opened"),
        Entry(2, [], "p", "h"),
        Entry(2, None, "p", "h"),
        entry(2, event="created", key="k"),
    ],
)
def test_an_entry_nobody_could_have_written_is_refused(wrong):
    with pytest.raises(LedgerTampered):
        a_book(wrong)


def test_a_history_begins_with_its_making():
    with pytest.raises(LedgerTampered, match=r"the ledger FILE .*its beginning is missing"):
        Book("FILE").add(opened(1))


def test_an_entry_that_makes_no_sense_is_named():
    made = Book("FILE")
    made.add(entry(1, event="created", format=1, key="k"))
    with pytest.raises(LedgerTampered, match=r"the ledger FILE .*entry 2 makes no sense"):
        made.add(entry(2, event="opened"))


@pytest.mark.parametrize("facts", [{"event": "closed"}, {"event": "opened", "format": 2}])
def test_another_version_is_named_as_such(facts):
    with pytest.raises(LedgerError, match="another version") as caught:
        a_book(entry(2, **facts))
    assert not isinstance(caught.value, LedgerTampered)


def test_an_unknown_data_set_is_answered_with_those_there_are():
    with pytest.raises(LedgerError, match=r"no data set 'peple' \(it has: 'people', 'others'\)"):
        a_book(opened(), opened(3, "others")).account("peple")
    with pytest.raises(LedgerError, match="it has: none"):
        a_book().account("people")


# ------------------------------------------------------------------------------- how little is read


def test_after_the_first_read_only_what_is_new_is_read(store, monkeypatch):
    monkeypatch.setattr(book, "BATCH", 10)
    monkeypatch.setattr(book, "FEW", 5)
    for number in range(100):
        spending(f"r{number}").record(store)
    store.pages.clear()
    spending("one more").record(store)
    assert sum(rows for _, rows in store.pages) <= 2
    read_on(store, Memory(store.name))  # another process
    store.pages.clear()
    book._remembered.cache_clear()
    spending("and one").record(store)
    assert sum(rows for locked, rows in store.pages if locked) <= 1
    assert max(rows for _, rows in store.pages) == 10
    assert sum(rows for _, rows in store.pages) == len(store.rows) - 1


def test_a_page_has_5000_entries_and_50_while_others_have_to_wait(store, monkeypatch):
    page, asked = store.page, []

    def watched(after, most):
        asked.append((store.locked, most))
        return page(after, most)

    monkeypatch.setattr(store, "page", watched)
    spending("r1").record(store)
    assert set(asked) == {(False, 5000), (True, 50)}


def test_a_process_remembers_the_64_ledgers_it_has_used_last():
    stores = [ListStore(f"list {number}") for number in range(65)]
    first, *others = map(recall, stores)
    assert all(recall(store) is memory for store, memory in zip(stores[1:], others, strict=True))
    assert recall(stores[0]) is not first


def test_nothing_expensive_happens_under_the_lock(store, monkeypatch):
    calls = []
    for name in ("filter_allowance", "total_guarantee", "gaussian_sigma", "gaussian_equivalent"):
        function = getattr(accounts, name)

        def checked(*args, function=function, name=name):
            assert not store.locked, name
            calls.append(name)
            return function(*args)

        monkeypatch.setattr(accounts, name, checked)
    unseen = Spend("pure", 0.0815)
    spending("r1", [Spend("bounded-range", 0.0471)]).record(store)
    spending("r2", [unseen]).record(store)
    with pytest.raises(BudgetExceeded):
        spending("r3", [Spend("pure", 49.9)]).record(store)
    assert {"filter_allowance", "total_guarantee", "gaussian_equivalent"} <= set(calls)


def test_a_first_entry_that_others_make_meanwhile_is_the_one_that_counts(store):
    """The allowance was worked out for our spend as the first one; theirs came before."""
    large, small = gaussian(49.9), gaussian(10.0)

    def others():
        store.before_write = lambda: None
        spending("theirs", [large]).record(store)

    store.before_write = others
    with pytest.raises(BudgetExceeded, match="the budget of 'people'"):
        spending("ours", [small]).record(store)
    found = read_on(store, recall(store)).account("people")
    assert (found.releases, found.first) == (1, (large,))
    store.before_write = lambda: spending_quietly(store)
    made, after = spending("small").record(store)
    assert after.releases == 3
    assert made.sequence == len(store.rows)


def spending_quietly(store):
    store.before_write = lambda: None
    spending("between").record(store)


def test_many_entries_that_others_make_meanwhile_are_read_outside_of_the_lock(store, monkeypatch):
    monkeypatch.setattr(book, "FEW", 3)
    spending("r0").record(store)
    store.pages.clear()

    def others():
        """Another process, of whose reading this one knows nothing."""
        store.before_write, store.identity = lambda: None, lambda: "them"
        for _ in range(8):
            name = f"o{len(store.rows)}"
            Spending("people", (TENTH,), name, None, {}, "them").record(store)
        del store.identity

    store.before_write = others
    entry_made, after = spending("ours").record(store)
    assert after.releases == 10
    assert entry_made.sequence == 12
    assert sum(rows for locked, rows in store.pages if locked) == 3
    store.pages.clear()
    store.before_write = others
    opening("others").record(store)
    assert sum(rows for locked, rows in store.pages if locked) == 3
    assert json.loads(store.rows[-1][1])["dataset"] == "others"
    assert len(store.rows) == 21
    assert max(rows for locked, rows in store.pages if locked) <= 3


def tear(store):
    del store.rows[-1]


def put_back(store):
    del store.rows[-1]
    sequence, _, link = store.rows[-1]
    store.head = (sequence, link)


def edit_last(store):
    sequence, text, link = store.rows[-1]
    store.rows[-1] = (sequence, text.replace(b"r2", b"r9"), link)


def edit_head(store):
    store.head = (store.head[0], b"0" * 64)


def change_key(store):
    store.key = b"another"


def no_number(store):
    store.rows[-1] = (store.rows[-1][0], None, None)


@pytest.mark.parametrize("damage", [tear, edit_head, change_key])
def test_a_process_that_knows_the_ledger_notices_what_is_wrong_at_its_end(store, damage):
    for number in range(3):
        spending(f"r{number}").record(store)
    read_on(store, recall(store))
    damage(store)
    for memory in (recall(store), Memory(store.name)):
        with pytest.raises(LedgerTampered):
            read_on(store, memory)


@pytest.mark.parametrize("damage", [tear, edit_last, edit_head, change_key, no_number])
def test_new_entries_are_checked_like_all_others(store, damage):
    for number in range(3):
        spending(f"r{number}").record(store)  # the last one has not been read back
    damage(store)
    with pytest.raises(LedgerTampered):
        read_on(store, recall(store))
    with pytest.raises(LedgerTampered):
        spending("more").record(store)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (change_key, "its key was changed"),
        (tear, "entries at its end are missing"),
        (lambda store: store.rows.clear(), "its beginning is missing"),
    ],
)
def test_what_is_wrong_with_a_ledger_is_said_of_it(store, damage, words):
    damage(store)
    with pytest.raises(LedgerTampered, match=rf"the ledger a list is .*\({words}\)"):
        read_on(store, Memory(store.name))


def test_ledgers_of_one_name_and_forks_have_memories_of_their_own(store, monkeypatch):
    memory, other = recall(store), ListStore(store.name)
    assert recall(store) is memory
    assert memory.name == memory.book.name == store.name
    assert recall(other) is not memory
    monkeypatch.setattr(book.os, "getpid", lambda: -1)
    assert recall(store) is not memory


def test_what_a_whole_read_finds_wrong_stops_the_process_that_knew_better(store):
    for number in range(3):
        spending(f"r{number}").record(store)
    read_on(store, recall(store))
    sequence, text, link = store.rows[2]
    store.rows[2] = (sequence, text.replace(b"r0", b"r9"), link)
    assert read_on(store, recall(store)).account("people").releases == 3  # as it was checked
    with pytest.raises(LedgerTampered, match=r"a list.*entry 3"):
        read_all(store, lambda entry: entry)
    with pytest.raises(LedgerTampered, match=r"a list.*entry 3"):
        spending("more").record(store)


def test_an_older_copy_is_read_again_from_its_beginning(store):
    for number in range(3):
        spending(f"r{number}").record(store)
    assert read_on(store, recall(store)).account("people").releases == 3
    put_back(store)
    assert read_on(store, recall(store)).account("people").releases == 2


def test_an_error_in_the_middle_leaves_nothing_half_read(store):
    for number in range(3):
        spending(f"r{number}").record(store)
    memory = Memory(store.name)
    seen = []

    def stop(made):
        seen.append(made)
        if made.sequence == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_on(store, memory, stop)
    assert memory.book == Book(store.name)
    assert read_on(store, memory).account("people").releases == 3
    assert read_on(store, memory) == read_on(store, Memory(store.name))


def test_a_ledger_that_is_replaced_while_it_is_read_is_shown_once(store, monkeypatch):
    monkeypatch.setattr(book, "BATCH", 2)
    for number in range(4):
        spending(f"r{number}").record(store)
    other = ListStore()
    writing.create(other, "me")
    opening().record(other)
    spending("only").record(other)

    def replaced(made):
        store.rows, store.head, store.key = other.rows, other.head, other.key
        return made.facts["event"]

    made, events = read_all(store, replaced)
    assert events == ["created", "opened", "spent"]
    assert made.sequence == 3


def test_a_page_that_another_thread_has_read_already_changes_nothing(store):
    memory = Memory(store.name)
    page = store.page(0, 10)
    made = memory.take(page)
    assert memory.take(page) is None
    assert memory.book is made
    assert made.sequence == 2


def test_tables_that_changed_are_a_reason_to_read_all_of_it(store):
    memory = Memory(store.name)
    read_on(store, memory)
    assert memory.take(replace(store.page(2, 10), layout="another")) is None
    assert memory.book == Book(store.name)


def test_reading_in_batches_ends_at_the_end_also_if_the_last_one_is_full(store, monkeypatch):
    for number in range(4):
        spending(f"r{number}").record(store)
    for batch in (1, 2, 3, 6, 7):
        monkeypatch.setattr(book, "BATCH", batch)
        assert read_on(store, Memory(store.name)).sequence == 6


@pytest.mark.slow
def test_threads_that_share_a_memory_count_every_entry_once(tmp_path):
    ledger = Ledger(tmp_path / "budget.ledger").open("people", 50.0, 1e-5, create=True)
    errors = []

    def work(thread):
        try:
            for turn in range(5):
                spend(ledger, f"{thread}-{turn}")
                assert ledger.balances("people")[0].releases > turn
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    known = ledger.balances("people")
    book._remembered.cache_clear()
    assert ledger.balances("people") == known
    assert known[0].releases == 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_in_the_middle_of_reading_locks_nobody_out(tmp_path):
    ledger = Ledger(tmp_path / "budget.ledger").open("people", *CAP, create=True)
    spend(ledger, "before")
    memory = recall(ledger._store())
    with memory._lock:  # as if another thread was reading
        child = multiprocessing.get_context("fork").Process(target=spend, args=(ledger, "child"))
        child.start()
        child.join(30)
        assert child.exitcode == 0
    assert ledger.balances("people")[0].releases == 2
