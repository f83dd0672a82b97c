"""What the tests of the ledger share: a small budget, workers that can be killed, tampering."""

import contextlib
import json
import math
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import cloakgp
from cloakgp.privacy import gaussian_sigma
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError, book, history
from cloakgp.privacy.ledger.errors import CommitFailed
from cloakgp.privacy.ledger.store import Page
from cloakgp.privacy.ledger.writing import Opening, Spending

CAP = (1.0, 1e-5)
X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, -5.0]])
#: Ten of these fit under the cap, and eleven do not.
TENTH = Spend("gaussian", 1.0 / (gaussian_sigma(*CAP) * math.sqrt(10.5)))

#: A process of its own that loads the ledger and little else, waits for a word, and then acts.
WORKER = f"""
import os, signal, sqlite3, sys, time, types
for name, folder in (("cloakgp", {str(Path(cloakgp.__file__).parent)!r}),
                     ("cloakgp.privacy", {str(Path(cloakgp.__file__).parent / "privacy")!r})):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError, writing
ledger = Ledger(sys.argv[1])
def say(word):
    os.write(1, f"{{word}}\\n".encode())  # in one piece, whoever else writes
def spend(release_id, parameters={{}}):
    return ledger.spend("people", [Spend("gaussian", float(sys.argv[2]))], what="a release",
                        parameters=parameters, release_id=release_id)
say("ready")
name = sys.stdin.readline().strip()
"""
ACTIONS = {
    # Eight processes at once; forked, since loading NumPy takes longer than the race.
    "race": """
children = []
for child in range(8):
    children.append(os.fork())
    if not children[-1]:
        try:
            spend(f"{name}-{child}")
            say(f"{name}-{child} spent")
        except BudgetExceeded:
            say(f"{name}-{child} refused")
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
""",
    # As many as are asked for, one after the other, in each of eight processes.
    "race for twelve": """
children = []
for child in range(8):
    children.append(os.fork())
    if not children[-1]:
        for turn in range(12):
            try:
                spend(f"{name}-{child}-{turn}")
                say(f"{name}-{child}-{turn} spent")
            except BudgetExceeded:
                say(f"{name}-{child}-{turn} refused")
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
""",
    "open": """
ledger.open("people", 1.0, 1e-5, create=True)
say("opened")
""",
    # As a release does it: first the commit, then the noise, in the middle of which it is killed.
    "die between commit and noise": """
spend(name)
say("committed")
time.sleep(60)
""",
    "die before the commit": """
append = writing.append
def slow(*args):
    entry = append(*args)
    say("written")
    time.sleep(60)
    return entry
writing.append = slow
spend(name)
""",
    "spend until killed": """
for turn in range(10_000):
    spend(f"{name}-{turn}")
    say(f"{name}-{turn}")
""",
    "full disk": """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(name), int(name)))
try:
    spend("too much", {"note": "x" * 50_000})
    say("spent")
except LedgerError as error:
    say(f"error {error.recorded}: {error}")
""",
}


def start(path, action, size=TENTH.size):
    """Start a worker; it has loaded everything when it says so, and waits for a word."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER + ACTIONS[action], str(path), repr(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def go(worker, word):
    worker.stdin.write(f"{word}\n")
    worker.stdin.flush()


def heard(worker, word):
    """Wait for a word of the worker."""
    line = worker.stdout.readline().strip()
    assert line.startswith(word), (line, word)
    return line


def kill(worker):
    worker.send_signal(signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL


def killed_after(place, action, word):
    """Start a worker on the release "victim", and kill it once it has said a word."""
    worker = start(place, action)
    heard(worker, "ready")
    go(worker, "victim")
    heard(worker, word)
    kill(worker)


def opened_at_once(place):
    """Make one ledger in four processes at the same time, and return what happened to it."""
    workers = [start(place, "open") for _ in range(4)]
    for worker in workers:
        heard(worker, "ready")
    for worker in workers:
        go(worker, "now")
    for worker in workers:
        heard(worker, "opened")
        worker.communicate()
    return [entry.facts["event"] for entry in Ledger(place).history()]


def spend_in_threads_and_forks(ledger, threads):
    """Ask for more than there is, in threads of this process and in four forks of it."""

    def attempt(name):
        with contextlib.suppress(BudgetExceeded):
            spend(ledger, name)

    several = [threading.Thread(target=attempt, args=(f"t{n}",)) for n in range(threads)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=attempt, args=(f"f{n}",)) for n in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0


def spend(ledger, release_id="r1", spends=(TENTH,), dataset="people", **more):
    return ledger.spend(
        dataset, spends, **{"what": "a release", "parameters": {}} | more, release_id=release_id
    )


def gaussian(epsilon, delta=CAP[1]):
    return Spend("gaussian", 1.0 / gaussian_sigma(epsilon, delta))


def releases(ledger, dataset="people"):
    facts = [entry.facts for entry in ledger.history(dataset)]
    return [each["release_id"] for each in facts if each["event"] == "spent"]


def forget():
    """Read every ledger from its beginning again, as another process would."""
    book._remembered.cache_clear()


def raw(path):
    """Return a connection as somebody with a tool of their own would have it."""
    return contextlib.closing(sqlite3.connect(path, isolation_level=None))


def change(path, *statements):
    """Change the file as somebody with a tool of their own would, triggers back in place."""
    with raw(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = triggers.fetchall()
        connection.execute("BEGIN")
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
        connection.execute("COMMIT")


def forge(connection, facts):
    """Append an entry with hashes that fit, without asking the ledger."""
    sequence, head = connection.execute("SELECT sequence, hash FROM head").fetchone()
    entry = facts if isinstance(facts, str) else history.canonical(facts)
    link = history.link(sequence + 1, head, entry.encode())
    connection.execute("INSERT INTO history VALUES (?, ?, ?)", (sequence + 1, entry, link))
    connection.execute("UPDATE head SET sequence = ?, hash = ?", (sequence + 1, link))


def forged_spend(connection, release_id, size=TENTH.size, dataset="people"):
    """Append a spend as an earlier version would have written it."""
    last = connection.execute("SELECT entry FROM history ORDER BY sequence DESC").fetchone()[0]
    facts = {"event": "spent", "dataset": dataset, "what": "a release", "release_id": release_id}
    facts |= {"spends": [{"kind": "gaussian", "size": size}], "stated": None, "parameters": {}}
    facts |= {"inputs": None, "when": json.loads(last)["when"], "who": "me"}
    forge(connection, facts)


def as_nobody(act):
    """Run something without the rights of root, and return the error it ends in."""
    if os.geteuid() != 0:
        with pytest.raises(LedgerError) as caught:
            act()
        return str(caught.value)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()

    def run():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            act()
            theirs.send("no error")
        except BaseException as error:
            theirs.send(f"{type(error).__name__}: {error}")

    child = fork.Process(target=run)
    child.start()
    assert ours.poll(30)
    text = ours.recv()
    child.join()
    assert text.startswith("LedgerError: "), text
    return text


def opening(dataset="people", cap=CAP, table=None, same=False, other=False):
    return Opening(dataset, *cap, table, same, other, "me")


def spending(release_id, spends=(TENTH,), dataset="people", table=None):
    return Spending(dataset, tuple(spends), release_id, table, {"parameters": {}}, "me")


class ListStore:
    """A store in memory: the slow things a store does, and none of the mistakes of a disk."""

    def __init__(self, name="a list"):
        self.name = name
        self.rows, self.key, self.head = [], b"", None
        self.locked = False
        self.pages = []  # (locked, rows read) for each page
        self.before_write = lambda: None  # what others do before our turn comes
        self.commit_error = None  # "lost" or "kept": a commit that ends in an error
        self.readable = True
        self.settled = 0  # how often a commit that failed was waited for

    def identity(self):
        return id(self)

    def create(self, key, rows, meanwhile=None):
        if self.rows:
            return False
        if meanwhile is not None:
            meanwhile()
        self.key = key
        for sequence, (entry, link) in enumerate(rows, start=1):
            self.append(sequence, entry, link)
        return True

    def settle(self):
        self.settled += 1

    @contextlib.contextmanager
    def read(self):
        if not self.readable:
            raise LedgerError("cannot be read")
        yield self

    @contextlib.contextmanager
    def write(self):
        self.before_write()
        assert not self.locked
        self.locked, before = True, (list(self.rows), self.head)
        try:
            yield self
            if self.commit_error:
                raise CommitFailed("the commit failed.")
        except BaseException:
            if self.commit_error != "kept":
                self.rows, self.head = before
            raise
        finally:
            self.locked = False

    def page(self, after, most):
        rows = self.rows[after : after + most]
        self.pages.append((self.locked, len(rows)))
        anchor = self.rows[after - 1][2] if 0 < after <= len(self.rows) else None
        return Page(after, anchor, rows, most, self.head, self.key, None)

    def append(self, sequence, entry, link):
        assert sequence == len(self.rows) + 1
        self.rows.append((sequence, entry.encode(), link.encode()))
        self.head = (sequence, link.encode())

    def check(self):
        pass
