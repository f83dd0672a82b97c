"""One PostgreSQL server for all mutants of a module: each run of tests has a database in it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from tools.mutants.modules import ROOT, Module


@contextlib.contextmanager
def shared_server(module: Module) -> Iterator[None]:
    """Start a server, if a module has tests that ask for one and there are programs for it.

    Without one every mutant starts its own, and the tests skip if that is not possible.
    """
    if not any('"postgres"' in (ROOT / path).read_text() for path in module.test_files()):
        yield
        return
    sys.path.insert(0, str(ROOT / "tests"))
    from postgres_server import SHARED, Server, binaries  # type: ignore[import-not-found]

    if binaries() is None:
        yield
        return
    server = Server(["max_connections=200"])
    try:
        server.start()
        os.environ[SHARED] = server.place
        yield
    finally:
        os.environ.pop(SHARED, None)
        server.remove()
