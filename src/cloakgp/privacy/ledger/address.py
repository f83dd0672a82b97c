"""Addresses of ledgers on a server: ``postgresql://user@host/database?schema=cloakgp``.

An address may hold a password.  It is kept apart from everything else: what is shown, compared,
recorded, pickled or said in an error is the address without it.  Nothing of an address that cannot
be read is repeated, since the password may be anywhere in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import quote, unquote

from cloakgp.privacy.ledger.errors import LedgerError

#: The schema that holds a ledger, unless the address names another one.
SCHEMA = "cloakgp"
#: Roles are named after the schema, and PostgreSQL cuts names after 63 characters.
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,49}")
#: Schemas of the server itself.
_OF_THE_SERVER = re.compile(r"pg_.*|information_schema")
_BEGINNING = re.compile(r"postgres(?:ql)?:", re.IGNORECASE)
#: An address that lost its beginning, or one in words ("host=... password=...").
_MISTYPED = re.compile(r"(?<!:)//[^/]*@|\b(?:host|hostaddr|dbname|password|service)\s*=")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:@,\[\]]*)(?::([0-9]{1,5}))?")
_PORT = re.compile(r"[0-9]{1,5}")
_SEVERAL = "a ledger has one server, and this names several"
_SECRET = ("password", "sslpassword")
#: What says which server and database it is; the rest says how to get there.
_PLACE = ("host", "hostaddr", "port", "dbname", "service")
#: Parameters of libpq that an address may have.  ``options`` is not one of them: it could change
#: what a commit means.
_HOW: tuple[str, ...] = ("user", "passfile", "connect_timeout", "application_name")
_HOW = (*_HOW, "target_session_attrs", "keepalives", "keepalives_idle", "keepalives_interval")
_HOW = (*_HOW, "keepalives_count", "tcp_user_timeout", "channel_binding", "require_auth")
_HOW = (*_HOW, "gssencmode", "krbsrvname", "sslmode", "sslrootcert", "sslcert", "sslkey")
_HOW = (*_HOW, "sslcrl", "sslcrldir", "sslsni")
_HOW = (*_HOW, "sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version")
#: A server that does not answer is given up, and one that went away is noticed.
_PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "application_name": "cloakgp",
}


# Proof: ledger.md
class Secrets:
    """Passwords, which can be used and neither shown nor stored."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __repr__(self) -> str:
        return "Secrets(...)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("passwords are never stored")

    def reveal(self) -> dict[str, str]:
        """Return them, for the connection alone."""
        return dict(self._values)

    def hide(self, words: str) -> str:
        """Return a message without them."""
        for secret in sorted(self._values.values(), key=len, reverse=True):
            for form in (secret, quote(secret, safe="")):
                words = words.replace(form, "***") if form else words
        return words


# Proof: ledger.md
@dataclass(frozen=True)
class Address:
    """Where a ledger is on a server, and how to get there.

    A pickle of it holds no password; whoever loads it has one in ~/.pgpass, in PGPASSWORD or in the
    service file of PostgreSQL, or is told so.
    """

    parameters: tuple[tuple[str, str], ...]  # of libpq, in order of their names
    schema: str = SCHEMA
    secrets: Secrets = field(default_factory=lambda: Secrets({}), compare=False, repr=False)

    def __str__(self) -> str:
        return self._written((*_PLACE, *_HOW))

    @property
    def name(self) -> str:
        """The place alone, by which messages and other ledgers know it: the same for all users."""
        return self._written(_PLACE)

    def keywords(self) -> dict[str, str]:
        """Return what a connection is made with, passwords included."""
        return _PATIENCE | dict(self.parameters) | self.secrets.reveal()

    def __copy__(self) -> Address:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Address:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return server_address, (str(self),)

    def _written(self, names: tuple[str, ...]) -> str:
        """Return an address with these parameters, and never with a secret."""
        told = {name: value for name, value in self.parameters if name in names}
        user, host, port = told.pop("user", ""), told.pop("host", ""), told.pop("port", "")
        if host.startswith("/"):  # a folder of sockets
            told["host"], host = host, ""
        host = f"[{host}]" if ":" in host else quote(host, safe="")
        place = (quote(user, safe="") + "@" if user else "") + host + (f":{port}" if port else "")
        path = "/" + quote(told.pop("dbname", ""), safe="")
        if self.schema != SCHEMA:
            told["schema"] = self.schema
        query = "&".join(f"{name}={quote(value, safe='/')}" for name, value in told.items())
        return f"postgresql://{place}{path}" + (f"?{query}" if query else "")


# Proof: ledger.md
def is_address(place: object) -> bool:
    """Tell whether this is meant to be a server, so that nothing takes it for a file."""
    return isinstance(place, str) and bool(_BEGINNING.match(place) or _MISTYPED.search(place))


# Proof: ledger.md
def server_address(text: str) -> Address:
    """Read an address, or refuse it without repeating any of it."""
    scheme, separator, rest = text.partition("://")
    if not separator or not _BEGINNING.fullmatch(f"{scheme}:"):
        raise _unreadable("it does not begin with postgresql://")
    rest, _, query = rest.partition("?")
    place, _, database = rest.partition("/")
    person, _, host = place.rpartition("@")
    user, _, password = person.partition(":")
    found = _HOST.fullmatch(host)
    if "," in host:
        raise _unreadable(_SEVERAL)
    if found is None or set(database) & set("/@:,"):
        raise _unreadable("host, port and database make no sense")
    parts = {"user": user, "password": password, "dbname": database}
    parts |= {"host": found[1].strip("[]"), "port": found[2] or ""}
    told = {name: _plain(value) for name, value in parts.items() if value}
    for each in query.split("&") if query else []:
        name, equals, value = each.partition("=")
        if not equals or name not in (*_PLACE, *_HOW, *_SECRET, "schema") or name in told:
            raise _unreadable(
                "what follows the question mark must be schema=NAME or parameters of libpq such as "
                "sslmode=verify-full, each of them once"
            )
        told[name] = _plain(value)
    # Escaped or not, libpq would try one after the other, and two servers are two budgets.
    if any("," in told.get(name, "") for name in ("host", "hostaddr", "port")):
        raise _unreadable(_SEVERAL)
    if not _PORT.fullmatch(told.get("port", "5432")):
        raise _unreadable("the port must be a number of 1 to 5 digits")
    schema = checked_schema(told.pop("schema", SCHEMA))
    if not told.get("dbname") and not told.get("service"):
        raise _unreadable("it names no database")
    secrets = Secrets({name: told.pop(name) for name in _SECRET if name in told})
    return Address(tuple(sorted(told.items())), schema, secrets)


# Proof: ledger.md
def checked_schema(name: str) -> str:
    """Return the name of a schema that SQL needs no quotes for, or refuse it."""
    if not _SCHEMA_NAME.fullmatch(name):
        raise _unreadable("schema must be 1 to 50 small letters, digits and underscores")
    if _OF_THE_SERVER.fullmatch(name):
        raise _unreadable("schema must be one of its own, not pg_... or information_schema")
    return name


# Proof: ledger.md
def own_schema(name: str) -> str:
    """Return the name of a schema that a new ledger may have: nobody else's objects are in it."""
    if checked_schema(name) == "public":
        raise _unreadable("schema must be one of its own, not public, which everybody shares")
    return name


# Proof: ledger.md
def _plain(part: str) -> str:
    """Return a part of an address without its escapes."""
    try:
        plain = unquote(part, errors="strict")
    except UnicodeDecodeError:
        plain = ""
    if not plain.isprintable() or not plain:
        raise _unreadable("a part of it is empty or cannot be printed")
    return plain


def _unreadable(why: str) -> LedgerError:
    """Return the error for an address that cannot be read."""
    return LedgerError(
        f"the address of the ledger cannot be used: {why}. It is not repeated here, since it may "
        "hold a password. Write it as postgresql://USER@HOST:PORT/DATABASE?schema=NAME, with "
        "letters such as / and @ inside a part escaped (%2F, %40), and better without a password: "
        "~/.pgpass, PGPASSWORD and service files are for that."
    )
