"""What breaks between a client and its server: nothing is lost, and nothing is spent twice."""

import contextlib
import math
import signal
import socket
import threading
import time

import psycopg
import pytest
from ledger_helpers import (
    CAP,
    forget,
    go,
    heard,
    killed_after,
    opened_at_once,
    releases,
    spend,
    start,
)
from postgres_server import Server

from cloakgp.privacy import gaussian_sigma
from cloakgp.privacy.ledger import Ledger, LedgerError, postgres
from cloakgp.privacy.ledger.errors import CommitFailed

pytestmark = pytest.mark.slow  # real processes, and servers that are killed

#: Twenty of these fit under the cap, and twenty-one do not.
TWENTIETH = 1.0 / (gaussian_sigma(*CAP) * math.sqrt(20.5))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 10.0)


@pytest.fixture
def server(request):
    return request.getfixturevalue("postgres")


@pytest.fixture
def address(server, request):
    return server.address(schema=f"crash_{abs(hash(request.node.name))}")


@pytest.fixture
def ledger(address):
    return Ledger(address).open("people", *CAP, create=True)


@pytest.fixture(scope="module")
def second():
    """A second server, which flushes its disk."""
    server = Server(options=("fsync=on",))
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture
def durable(second):
    """The second server, which may be stopped and killed."""
    yield second
    if second.process.poll() is not None:
        second.start()


@pytest.fixture
def second_address(durable, request):
    return durable.address(schema=f"crash_{abs(hash(request.node.name))}")


class Proxy:
    """A wire between client and server that can be cut around a commit."""

    def __init__(self, server, cut):
        self.server, self.cut = server, cut
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        with client, socket.create_connection(("127.0.0.1", self.server.port)) as server:
            back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while chunk := client.recv(65536):
                    if b"COMMIT\0" in chunk and not self.cuts:
                        self.cuts += 1
                        self.cut(self, client, server, chunk)
                        return
                    server.sendall(chunk)

    def _pump(self, server, client):
        with contextlib.suppress(OSError):
            while chunk := server.recv(65536):
                client.sendall(chunk)

    def close(self):
        hang_up(self.listener)
        self.listener.close()


def hang_up(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def before_the_commit(proxy, client, server, chunk):
    hang_up(server)
    hang_up(client)


def between_commit_and_answer(proxy, client, server, chunk):
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_WR)  # no answer reaches the client
    server.sendall(chunk)
    time.sleep(0.3)  # the server commits
    hang_up(server)
    hang_up(client)


def for_good(proxy, client, server, chunk):
    proxy.close()
    between_commit_and_answer(proxy, client, server, chunk)


@pytest.fixture
def wire(server, address):
    """Return a way to the ledger through a wire that is cut."""
    proxies = []

    def cut(how):
        proxies.append(Proxy(server, how))
        return Ledger(address.replace(f":{server.port}/", f":{proxies[-1].port}/"))

    yield cut
    for proxy in proxies:
        proxy.close()


def test_eight_processes_with_twelve_spends_each_for_twenty_places_get_exactly_twenty(
    ledger, address
):
    worker = start(address, "race for twelve", TWENTIETH)
    heard(worker, "ready")
    go(worker, "racer")
    results = dict(line.split() for line in worker.communicate()[0].splitlines())
    assert len(results) == 96
    winners = {name for name, result in results.items() if result == "spent"}
    assert len(winners) == 20
    assert set(releases(ledger)) == winners
    assert len(releases(ledger)) == 20
    assert ledger.spent("people") <= CAP[0]
    ledger.verify()


def test_processes_that_make_the_same_ledger_at_once_make_one(address):
    assert opened_at_once(address) == ["created", "opened"]


def test_kill_9_of_a_client_between_commit_and_noise_wastes_a_spend(ledger, address):
    killed_after(address, "die between commit and noise", "committed")
    spend(ledger, "next")
    assert releases(ledger) == ["victim", "next"]


def test_kill_9_of_a_client_before_the_commit_counts_nothing_and_locks_nobody_out(ledger, address):
    killed_after(address, "die before the commit", "written")
    spend(ledger, "victim")
    assert releases(ledger) == ["victim"]
    ledger.verify()


def test_a_wire_cut_before_the_commit_has_spent_nothing(ledger, wire):
    with pytest.raises(LedgerError, match=r"Nothing was spent\.$") as caught:
        spend(wire(before_the_commit), "r1")
    assert caught.value.recorded is False
    assert releases(ledger) == []
    spend(ledger, "r1")


def test_a_wire_cut_between_commit_and_answer_wastes_the_spend(ledger, wire):
    """It is found by its id on a second connection; no noise may be drawn for it."""
    with pytest.raises(LedgerError, match=r"is in the ledger.* wasted") as caught:
        spend(wire(between_commit_and_answer), "r1")
    assert caught.value.recorded is True
    assert releases(ledger) == ["r1"]


def test_a_wire_cut_for_good_leaves_it_open_and_the_spend_counts(ledger, wire):
    with pytest.raises(
        CommitFailed, match=r"cannot be seen until.*No noise may be drawn"
    ) as caught:
        spend(wire(for_good), "r1")
    assert caught.value.recorded is None
    assert releases(ledger) == ["r1"]


def test_a_commit_that_is_still_going_on_is_waited_for(durable, second_address):
    """The server waits for a replica that never comes, and the client is cut off meanwhile.

    Whoever looked without waiting for the lock would find nothing, and say so; later it is there.
    """
    ledger = Ledger(second_address).open("people", *CAP, create=True)
    proxy = Proxy(durable, between_commit_and_answer)
    through = Ledger(second_address.replace(f":{durable.port}/", f":{proxy.port}/"))
    durable.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    durable.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)

    def release_it():
        time.sleep(1.0)
        assert releases(ledger) == []  # not visible yet
        durable.execute("ALTER SYSTEM RESET synchronous_standby_names")
        durable.execute("SELECT pg_reload_conf()")

    helper = threading.Thread(target=release_it)
    helper.start()
    with pytest.raises(LedgerError, match="wasted") as caught:
        spend(through, "r1")
    helper.join()
    proxy.close()
    assert caught.value.recorded is True
    assert releases(ledger) == ["r1"]


def test_whatever_was_acknowledged_before_a_kill_9_of_the_server_is_in_the_ledger(
    durable, second_address
):
    address = second_address
    ledger = Ledger(address).open("people", 50.0, 1e-5, create=True)
    workers = [start(address, "spend until killed", 1e-3) for _ in range(2)]
    for number, worker in enumerate(workers):
        heard(worker, "ready")
        go(worker, f"w{number}")
    acknowledged = [heard(worker, "w") for worker in workers for _ in range(3)]
    durable.stop(signal.SIGKILL)
    for worker in workers:
        acknowledged += worker.stdout.read().split()  # also what was read with the last line
        worker.wait()
    with pytest.raises(LedgerError, match="Connection refused"):
        spend(ledger, "while it is down")
    (durable.data / "postmaster.pid").unlink(missing_ok=True)
    durable.start()
    found = releases(ledger)
    assert set(acknowledged) <= set(found)
    assert len(found) <= len(acknowledged) + len(workers)
    spend(ledger, "after")
    ledger.verify()


def test_a_restart_between_two_spends_loses_nothing(durable, second_address):
    ledger = Ledger(second_address).open("people", *CAP, create=True)
    spend(ledger, "r1")
    head = ledger.verify()
    durable.stop()
    with pytest.raises(LedgerError, match=r"Connection refused.*Nothing was spent") as caught:
        spend(ledger, "r2")
    assert caught.value.recorded is False
    durable.start()
    spend(ledger, "r2")
    assert releases(ledger) == ["r1", "r2"]
    ledger.verify(head)


def test_a_server_that_stops_in_the_middle_of_a_spend_has_recorded_nothing(
    durable, second_address, monkeypatch
):
    ledger = Ledger(second_address).open("people", *CAP, create=True)
    append = postgres.PostgresTransaction.append

    def stopped(self, *row):
        append(self, *row)
        durable.stop()

    with monkeypatch.context() as patch:
        patch.setattr(postgres.PostgresTransaction, "append", stopped)
        with pytest.raises(LedgerError) as caught:
            spend(ledger, "r1")
    assert caught.value.recorded in (None, False)
    durable.start()
    assert releases(ledger) == []
    spend(ledger, "r1")


def test_a_replica_can_be_read_and_refuses_to_be_spent_on(durable, second_address):
    ledger = Ledger(second_address).open("people", *CAP, create=True)
    spend(ledger, "r1")
    replica = Server(copy_of=durable)
    try:
        replica.start()
        copy = Ledger(second_address.replace(f":{durable.port}/", f":{replica.port}/"))
        assert copy.history() == ledger.history()
        assert copy.verify() == ledger.verify()
        for act in (lambda: spend(copy, "r2"), lambda: copy.open("others", *CAP, create=True)):
            with pytest.raises(
                LedgerError, match=r"a read replica.*use the primary.*Nothing was spent"
            ):
                act()
        spend(ledger, "r2")
        for _ in range(200):
            if len(releases(copy)) == 2:
                break
            time.sleep(0.02)
        assert releases(copy) == ["r1", "r2"]
        forget()
        assert copy.spent() == ledger.spent()
    finally:
        replica.remove()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(replica.dsn(), connect_timeout=2)
