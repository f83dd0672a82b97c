"""Starts the server, prints its link, and ends it: a release that is under way is never cut off."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from cloakgp.errors import CommandError, brief, printable
from cloakgp.release.release import Release
from cloakgp.web.planner import Planner
from cloakgp.web.routes import planner_app, release_app
from cloakgp.web.session import Guard, Session, is_loopback
from cloakgp.web.tasks import Worker

Say = Callable[[str], None]


def listen(host: str, port: int, *, anywhere: bool = False) -> socket.socket:
    """Return a socket of this machine alone, unless others are let in on purpose."""
    if not (is_loopback(host) or anywhere):
        raise CommandError(
            f"--host {brief(host)} can be reached from other machines; leave it out, or give "
            "--other-machines if everybody on this network may try to reach it"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen()  # a browser that is quicker than the server waits
    except OSError as error:
        found.close()
        raise CommandError(
            f"--host {brief(host)} --port {port} cannot be used: {error.strerror or error}"
        ) from None
    return found


def open_session(listening: socket.socket, host: str) -> Session:
    """Return fresh keys for the address that was bound."""
    return Session(host, listening.getsockname()[1])


def serve_release(path: Path, listening: socket.socket, host: str, say: Say) -> None:
    """Serve the page of a release until Ctrl-C."""
    session = open_session(listening, host)
    app = release_app(Release.load(path), session)
    say(f"Explore {printable(path)} at {session.link}\nCtrl-C ends the server.")
    _run(app, listening)


def serve_planner(planner: Planner, listening: socket.socket, host: str, say: Say) -> None:
    """Serve the planner until Ctrl-C, and say at the end what became of the budget."""
    session, worker = open_session(listening, host), Worker()
    planner.check()
    app = planner_app(planner, session, worker)
    say(f"Plan a release of {printable(planner.data)} at {session.link}\nCtrl-C ends the server.")
    try:
        _run(app, listening)
    finally:
        with _release_finishing(worker, say):
            worker.close()
        say(planner.run_state.budget_outcome() or "Nothing was released.")


def _run(app: Guard, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C."""
    config = uvicorn.Config(
        app,
        log_level="critical",  # a traceback may quote what it met
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
        proxy_headers=False,
    )
    try:
        # uvicorn ends its own work on Ctrl-C, and then raises it again.
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


@contextlib.contextmanager
def _release_finishing(worker: Worker, say: Say) -> Iterator[None]:
    """Hold Ctrl-C back while a release is written: half of one would be budget for nothing."""
    task = worker.current
    if (
        task is None
        or not task.must_finish
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    say("A release is under way; it is finished first.")

    def wait(*_: Any) -> None:
        say("Please wait: the release is being written.")

    before = signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
