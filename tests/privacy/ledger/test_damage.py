"""Damage: a file that was torn, cut, scribbled on or left alone never shows less than was spent."""

import contextlib
import itertools
import random
import shutil
import time

import pytest
from ledger_helpers import TENTH, forget, go, heard, kill, raw, releases, spend, start

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import Ledger, LedgerError

pytestmark = pytest.mark.slow

SIDES = ("-journal", "-wal", "-shm")


def sides(path):
    return [side for end in SIDES if (side := path.with_name(path.name + end)).exists()]


def leave(path, _):
    """Everything stays as it is."""


def remove(path, _):
    for side in sides(path):
        side.unlink()


def flip(path, dice):
    for side in sides(path):
        data = bytearray(side.read_bytes())
        for _ in range(3 if data else 0):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        side.write_bytes(data)


def cut(path, dice):
    for side in sides(path):
        data = side.read_bytes()
        side.write_bytes(data[: dice.randrange(len(data) + 1)])


def blank(path, _):
    for side in sides(path):
        side.write_bytes(bytes(side.stat().st_size))


BESIDE = (leave, remove, flip, cut, blank)


@pytest.mark.parametrize("moment", range(2))
@pytest.mark.parametrize("old_mode", [False, True], ids=["as made", "was in WAL mode"])
def test_no_acknowledged_spend_is_lost_with_the_files_beside_the_ledger(path, old_mode, moment):
    """Three processes spend and are killed, then whatever lies beside the file is damaged.

    A commit that was interrupted in the middle of writing, and cannot be undone any more, is
    refused as damage; a ledger that can be read has every spend that was acknowledged.
    """
    dice = random.Random(f"{moment} {old_mode}")
    Ledger(path).open("people", 50.0, 1e-5, create=True)
    if old_mode:
        with raw(path) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    acknowledged = set()
    for attempt in range(8):  # more than half of them end in the middle of a commit
        acknowledged |= spent_until_killed(path, attempt, dice)
        if sides(path):
            break
    copy = path.with_name("copy")
    shutil.copy(path, copy)  # without what lies beside it
    check_acknowledged(Ledger(copy), acknowledged)
    for harm in BESIDE:  # each on the files as they were left
        harmed = path.with_name(f"{harm.__name__}-{path.name}")
        for file in (path, *sides(path)):
            shutil.copy(file, harmed.with_name(harmed.name + file.name.removeprefix(path.name)))
        harm(harmed, dice)
        ledger = Ledger(harmed)
        check_acknowledged(ledger, acknowledged)
        if harm is leave:
            spend(ledger, "next")
            assert acknowledged <= set(releases(ledger))
            assert not sides(harmed)


def spent_until_killed(path, attempt, dice):
    """Let three processes spend, kill them, and return what they were told is spent."""
    workers = [start(path, "spend until killed", 1e-3) for _ in range(3)]
    for number, worker in enumerate(workers):
        heard(worker, "ready")
        go(worker, f"w{attempt}{number}")
    acknowledged = {heard(workers[0], f"w{attempt}0-")}
    time.sleep(0.2 + 0.1 * dice.random())
    for worker in workers:
        kill(worker)
        acknowledged.update(worker.stdout.read().split("\n")[:-1])
    return acknowledged


def check_acknowledged(ledger, acknowledged):
    """Check that a ledger is refused, or has every spend that was acknowledged."""
    with contextlib.suppress(LedgerError):
        found = set(releases(ledger))
        assert acknowledged <= found
        assert ledger.balances("people")[0].releases == len(found)
        ledger.verify()


def pages(data):
    return [data[i : i + 4096] for i in range(0, len(data), 4096)]


@pytest.mark.parametrize("note", [0, 500, 9000], ids=["small", "a split page", "a long entry"])
def test_a_commit_torn_at_any_page_is_refused_or_has_every_spend(ledger, path, note):
    """Whichever pages of the next commit reached the disk before its journal was lost."""
    for number in range(5):
        spend(ledger, f"r{number}", parameters={"note": "x" * note})
    before, acknowledged = path.read_bytes(), releases(ledger)
    spend(ledger, "last", parameters={"note": "x" * note})
    after = path.read_bytes()
    old, new = pages(before), pages(after)
    changed = [i for i, page in enumerate(new) if i >= len(old) or page != old[i]]
    assert len(changed) >= 3
    refused = []
    for number, written in enumerate(itertools.product([False, True], repeat=len(changed))):
        torn = [*old, *[bytes(4096)] * (len(new) - len(old))]
        for place, wrote in zip(changed, written, strict=True):
            if wrote:
                torn[place] = new[place]
        for size in {len(old), len(new)}:
            file = path.with_name(f"torn-{number}-{size}")
            file.write_bytes(b"".join(torn[:size]))
            try:
                found = releases(Ledger(file))
            except LedgerError as error:
                refused.append(str(error))
            else:
                assert found[: len(acknowledged)] == acknowledged
                assert Ledger(file).balances("people")[0].releases == len(found)
            file.unlink()
    assert refused
    assert all("damaged" in text or "not as it was written" in text for text in refused)


def test_a_copy_made_in_the_middle_of_a_transaction_is_refused_or_has_every_spend(ledger, path):
    """A cache of one page makes SQLite write to the file before the commit."""
    for number in range(5):
        spend(ledger, f"r{number}", parameters={"note": "x" * 3000})
    copy = path.with_name("copy")
    with raw(path) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        for number in range(8, 40):
            entry = "y" * 3000
            connection.execute("INSERT INTO history VALUES (?, ?, '')", (number, entry))
        connection.execute("UPDATE head SET sequence = 1, hash = ''")
        connection.execute("UPDATE secret SET key = zeroblob(9000)")
        assert path.with_name(path.name + "-journal").exists()
        shutil.copy(path, copy)
        connection.execute("ROLLBACK")
    assert copy.read_bytes() != path.read_bytes()
    with pytest.raises(LedgerError, match=r"damaged|not as it was written"):
        Ledger(copy).spent()
    assert ledger.balances("people")[0].releases == 5


def flipped(data, dice):
    for _ in range(dice.choice([1, 1, 2, 20])):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return data


def scribbled(data, dice):
    start, size = dice.randrange(len(data)), dice.choice([1, 8, 100, 4096])
    noise = dice.randbytes(size)
    data[start : start + size] = noise[: len(data) - start]
    return data


def zeroed(data, dice):
    start, size = dice.randrange(len(data)), dice.choice([16, 512, 4096])
    data[start : start + size] = bytes(min(size, len(data) - start))
    return data


def shortened(data, dice):
    return data[: dice.randrange(len(data))]


def moved(data, dice):
    one, other = (4096 * dice.randrange(len(data) // 4096) for _ in range(2))
    data[one : one + 4096], data[other : other + 4096] = (
        data[other : other + 4096],
        data[one : one + 4096],
    )
    return data


def headed(data, dice):
    """Change the places that tell SQLite how to read the rest."""
    page = 4096 * dice.randrange(len(data) // 4096)
    data[page + dice.randrange(140 if page == 0 else 40)] = dice.randrange(256)
    return data


HARMS = (flipped, scribbled, zeroed, shortened, moved, headed)


def outcome(act):
    """Return what something returns, or its refusal."""
    try:
        return act()
    except LedgerError as error:
        return str(error)


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_damaged_file_is_refused_as_such_or_shows_the_same_balance(ledger, path, harm):
    """100 files for each kind of damage, read from their beginning and, known, from their end."""
    for number in range(12):
        spend(ledger, f"r{number}", [TENTH if number < 9 else Spend("gaussian", 1e-3)])
    before, head, good = ledger.balances(), ledger.verify(), path.read_bytes()
    dice = random.Random(harm.__name__)
    refused = 0
    for number in range(100):
        damaged = bytes(harm(bytearray(good), dice))
        other = Ledger(path.with_name(f"damaged-{number}"))
        other.path.write_bytes(damaged)
        path.write_bytes(damaged)
        for each, act in (
            (other, other.balances),
            (other, other.verify),
            (ledger, ledger.balances),
        ):
            found = outcome(act)
            refusal = isinstance(found, str) and str(each.path) in found
            refused += refusal
            assert refusal or found == (before if act != other.verify else head)
        for file in (other.path, *sides(other.path), *sides(path)):
            file.unlink(missing_ok=True)
        path.write_bytes(good)
        assert ledger.balances() == before
    assert refused > 0


def test_a_process_that_knows_a_ledger_does_not_spend_on_one_that_was_cut(ledger, path):
    for number in range(9):
        spend(ledger, f"r{number}", parameters={"note": "x" * 3000})
    good = path.read_bytes()
    path.write_bytes(good[:-8192])
    with pytest.raises(LedgerError, match=r"damaged|not as it was written"):
        spend(ledger, "more")
    forget()
    with pytest.raises(LedgerError, match=r"damaged|not as it was written"):
        spend(ledger, "more")
