"""Names in a ledger: of data sets and releases, of its users, and of its file."""

from __future__ import annotations

import getpass
import os
import socket
import unicodedata
from datetime import UTC, datetime

from cloakgp.errors import brief
from cloakgp.privacy.ledger.address import is_address
from cloakgp.privacy.ledger.errors import LedgerError

#: Characters of a name.
LONGEST_NAME = 200


def checked_name(parameter: str, name: object) -> str:
    """Return a name that can be printed, or refuse it."""
    sound = isinstance(name, str) and name.strip() == name and name.isprintable()
    if not (sound and 0 < len(str(name)) <= LONGEST_NAME):
        raise LedgerError(
            f"{parameter} must be a printable string of 1 to {LONGEST_NAME} characters without "
            f"spaces around it, got {brief(repr(name))}"
        )
    return str(name)


# Proof: ledger.md
def one_form(dataset: str) -> str:
    """Return a name in composed form: "é" is one name, in one character or in two."""
    return unicodedata.normalize("NFC", dataset)


# Proof: ledger.md
def checked_dataset(dataset: object) -> str:
    """Return the name of a data set, in composed form, or refuse it."""
    return checked_name("dataset", one_form(dataset) if isinstance(dataset, str) else dataset)


# Proof: ledger.md
def resolved(path: str | os.PathLike[str]) -> str:
    """Return the real path of a file or of an sqlite:/// address, links followed.

    SQLite keeps its journal beside the real file, so that is where everybody has to look.
    """
    name = os.fspath(path)
    scheme, separator, rest = name.partition("://")
    if is_address(name) or (separator and (scheme != "sqlite" or not rest.startswith("/"))):
        # What it is instead may hold a password, so it is not repeated.
        raise LedgerError(
            "a ledger is a file, sqlite:///FILE, or postgresql://USER@HOST/DATABASE as a string; "
            "got another address"
        )
    name = rest[1:] if separator else name
    if not name or "\0" in name:
        raise LedgerError(f"path must name a file for the ledger, got {brief(repr(path))}")
    return os.path.realpath(os.path.expanduser(name))


def now() -> str:
    """Return the time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def user() -> str:
    """Return who spends: CLOAKGP_WHO, or user and machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name
        name = "unknown"
    return os.environ.get("CLOAKGP_WHO") or f"{name}@{socket.gethostname()}"
