"""A throw-away PostgreSQL server: made in its own folder, run as an ordinary user, and removed.

Debian's binaries are enough; its own cluster is neither started nor needed.  Whoever runs tests
many times in a row, as tools/mutants does, starts one server for all of them, and every run has a
database of its own there (``SHARED``).
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

PASSWORD = "s3cret/@pass word"  # with letters that an address has to escape
ESCAPED = "s3cret%2F%40pass%20word"
#: Environment variable with folder and port of a server that is running already.
SHARED = "CLOAKGP_TEST_SERVER"
#: Where Debian, Fedora and others keep servers, newest first, and PATH.
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib64/pgsql/bin")


def binaries():
    """Return the folder of initdb and postgres, or None."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    for pattern in PLACES:
        folders = [path for path in Path("/").glob(pattern[1:]) if (path / "initdb").exists()]
        if folders:
            return max(folders, key=lambda path: [int(n) for n in path.parts if n.isdigit()])
    return None


def ordinary_user():
    """Return how a subprocess is to be run, since PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    return pytest.skip("root, and no ordinary user to run a server as; try: adduser postgres")


class Server:
    """One server, its folder, and how to get to it."""

    database = "postgres"

    def __init__(self, options=(), copy_of=None):
        self.bin = binaries()
        if self.bin is None:
            pytest.skip("no PostgreSQL server here; try: apt-get install postgresql")
        self.user = ordinary_user()
        self.folder = Path(tempfile.mkdtemp(prefix="cloakgp-pg-", dir=roomy_folder()))
        self.data = self.folder / "data"
        self.port = free_port()
        self.process = None
        self.options = dict(option.split("=", 1) for option in options)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if self.user:
            for path in (self.folder, secret):
                os.chown(path, self.user["user"], self.user["group"])
        if copy_of is None:
            words = ("-U", "admin", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8")
            self.run("initdb", "-N", "-D", self.data, *words, "--locale=C", "--wal-segsize=1")
        else:  # a replica of another server
            self.run("pg_basebackup", "-D", self.data, "-d", copy_of.dsn(), "-R", "-c", "fast")
        secret.unlink()

    @classmethod
    def of_others(cls, place):
        """Return a server that somebody else runs, with a database of this process."""
        server, (folder, port) = cls.__new__(cls), place.rsplit(":", 1)
        server.bin, server.user, server.process = binaries(), ordinary_user(), None
        server.folder, server.port = Path(folder), int(port)
        own = f"tests_{os.getpid()}"
        server.execute(f"DROP DATABASE IF EXISTS {own} WITH (FORCE)", f"CREATE DATABASE {own}")
        server.database = own
        return server

    @property
    def place(self):
        """What others need to know of a server that is running, for ``SHARED``."""
        return f"{self.folder}:{self.port}"

    def leave(self):
        """Remove the database of this process, and leave the server to others."""
        own, self.database = self.database, Server.database
        self.execute(f"DROP DATABASE {own} WITH (FORCE)")

    def run(self, program, *words):
        done = subprocess.run(
            [self.bin / program, *map(str, words)],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            **self.user,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout

    def start(self):
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "shared_buffers": "8MB",
            "max_wal_size": "16MB",
            "min_wal_size": "2MB",
            "max_connections": 60,
            "fsync": "off",
        } | self.options
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, *words],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **self.user,
            )  # fmt: skip
        self.wait()
        return self

    def wait(self):
        import psycopg

        for _ in range(400):
            try:
                psycopg.connect(self.dsn(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.03)
        raise AssertionError((self.folder / "log").read_text())

    def stop(self, how=signal.SIGINT):
        """Stop it at once; SIGKILL is a crash, of all of its processes."""
        if self.process is None or self.process.poll() is not None:
            return
        if how == signal.SIGKILL:
            # Its own session: the server and whoever works for it, and nobody else.
            for child in children(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, how)
        self.process.send_signal(how)
        self.process.wait(30)

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def dsn(self, user="admin", database=None):
        """Return what psycopg connects with, beside the ledger."""
        secret, name = PASSWORD.replace("'", "\\'"), database or self.database
        return f"host=127.0.0.1 port={self.port} dbname={name} user={user} password='{secret}'"

    def address(self, user="admin", database=None, schema=None, password=True, port=None):
        """Return the address of a ledger."""
        secret = f":{ESCAPED}" if password else ""
        query = f"?schema={schema}" if schema else ""
        place = f"127.0.0.1:{port or self.port}/{database or self.database}"
        return f"postgresql://{user}{secret}@{place}{query}"

    def execute(self, *statements, user="admin", database=None):
        """Run statements as somebody with a tool of their own would; return the last rows."""
        import psycopg

        # Closing undoes what was begun and not committed.
        connect = psycopg.connect(self.dsn(user, database), autocommit=True)
        with contextlib.closing(connect) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None


def roomy_folder():
    """Return memory if there is enough of it, since a server that is thrown away needs no disk."""
    memory = Path("/dev/shm")
    with contextlib.suppress(OSError):
        if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 500 * 2**20:
            return memory
    return Path("/tmp")


def children(pid):
    """Return the processes that a process has started and that are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(path.parent.name))
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
