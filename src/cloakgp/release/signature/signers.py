"""Files of allowed signers, as ``ssh-keygen -Y verify`` reads them: who may sign with which key.

One line for each key: patterns of identities, options, the key.  Lines, names and patterns are
bytes, as they are to OpenSSH, whose ``?`` is one byte.  A line that cannot be understood refuses
the whole file: it might be the one that forbids.
"""

from __future__ import annotations

import calendar
import datetime
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from cloakgp.errors import SignatureError, printable
from cloakgp.release.signature.keys import (
    fingerprint,
    numbered_lines,
    quoted,
    read_line,
    small_file,
)

#: Bytes of a pattern, without its ``!``; a longer one has OpenSSH give up the list that it is in.
LONGEST_PATTERN = 1022
_TIME = re.compile(rb"(\d{8})(?:(\d{4})(\d{2})?)?(Z?)")
_OPTION = re.compile(rb'([A-Za-z-]+)(?:="((?:\\"|[^"\\]|\\(?!"))*)")?(,|$)')
_FLAGS, _VALUES = (b"cert-authority",), (b"namespaces", b"valid-after", b"valid-before")
#: Fields of a line end at a space outside of quotes.
_FIELD = re.compile(rb'((?:"(?:\\"|[^"\\]|\\(?!"))*"|[^ \t"])+)(?:[ \t]+|$)')
_QUOTED = re.compile(rb'"([^"]*)"(?:[ \t]+|$)')


@dataclass(frozen=True)
class Signer:
    """One line: whose key, for what, and when."""

    principals: bytes
    blob: bytes
    authority: bool = False  # a certificate authority, whose certificates are not supported
    namespaces: bytes | None = None
    after: datetime.datetime | None = None
    before: datetime.datetime | None = None

    def refuses(self, namespace: str, when: datetime.datetime) -> str | None:
        """Say why the key may not sign for this at that time, if it may not."""
        if self.authority:
            return (
                "it is listed as a certificate authority, which is not supported; list the key "
                "itself"
            )
        if self.namespaces is not None and not matches(namespace.encode(), self.namespaces):
            return f"it may not sign for {quoted(namespace)}, only for {quoted(self.namespaces)}"
        if self.after is not None and when < self.after:
            return f"it is valid only from {self.after.isoformat()}"
        if self.before is not None and when > self.before:
            return f"it was valid only until {self.before.isoformat()}"
        return None


def read_signers(path: str | os.PathLike[str]) -> tuple[Signer, ...]:
    """Return everybody in a file of allowed signers."""
    what = f"the file of allowed signers {printable(path)}"
    return parse_signers(small_file(path, what), what)


def parse_signers(content: bytes, what: str) -> tuple[Signer, ...]:
    """Return everybody in the content of a file of allowed signers."""
    lines = numbered_lines(content, what)
    found = tuple(_parse_line(line, f"line {number} of {what}") for number, line in lines)
    if not found:
        raise SignatureError(f"{what} lists nobody")
    return found


def check_allowed(
    signers: tuple[Signer, ...],
    identity: bytes,
    blob: bytes,
    namespace: str,
    when: datetime.datetime,
) -> None:
    """Refuse a key that may not sign for ``identity``, with the reason."""
    shown = printable(os.fsdecode(identity))
    known = [signer for signer in signers if matches(identity, signer.principals)]
    if not known:
        raise SignatureError(f"{shown} is not among the allowed signers")
    reasons = [signer.refuses(namespace, when) for signer in known if signer.blob == blob]
    if not reasons:
        authority = any(signer.authority for signer in known)
        more = "; certificate authorities are not supported" if authority else ""
        raise SignatureError(f"the key {fingerprint(blob)} is not one of {shown}'s{more}")
    if None not in reasons:
        raise SignatureError(f"the key {fingerprint(blob)} is not allowed: {reasons[0]}")


def matches(name: bytes, patterns: bytes) -> bool:
    """Return whether a list of patterns has the name; one with ``!`` that fits excludes it."""
    found = False
    for pattern in patterns.split(b","):
        if _fits(name, pattern.removeprefix(b"!")):
            if pattern.startswith(b"!"):
                return False
            found = True
    return found


def _fits(name: bytes, pattern: bytes) -> bool:
    """Return whether a name fits a pattern: ``?`` is any byte, ``*`` any number of them."""
    at = mark = 0
    star = -1
    i = 0
    while i < len(name):
        if pattern[at : at + 1] == b"*":
            star, mark, at = at, i, at + 1
        elif pattern[at : at + 1] in (b"?", name[i : i + 1]):
            at, i = at + 1, i + 1
        elif star >= 0:  # the last star takes one byte more; earlier ones need not
            mark += 1
            at, i = star + 1, mark
        else:
            return False
    return not pattern[at:].strip(b"*")


def _parse_line(line: bytes, what: str) -> Signer:
    first = _QUOTED.match(line) or _FIELD.match(line)
    if first is None:
        raise SignatureError(f"{what} has a quote that does not end")
    principals, rest = first[1], line[first.end() :]
    if b'"' in principals or b"" in principals.split(b","):
        raise SignatureError(f"{what} begins with an empty or badly quoted identity")
    options: dict[bytes, bytes] = {}
    words = rest.split()
    if not _is_key(words):
        field = _FIELD.match(rest)
        if field is None:
            raise SignatureError(f"{what} has no key")
        options = dict(_options(field[1], what))
        words = rest[field.end() :].split()
    blob = read_line(words, what)
    namespaces = options.get(b"namespaces")
    for pattern in b",".join((principals, namespaces or b"")).split(b","):
        if len(pattern.removeprefix(b"!")) > LONGEST_PATTERN:
            raise SignatureError(f"{what} has a pattern of more than {LONGEST_PATTERN} bytes")
    after, before = (
        None if name not in options else read_time(options[name], what)
        for name in (b"valid-after", b"valid-before")
    )
    if after is not None and before is not None and before <= after:
        raise SignatureError(f"{what} is never valid: valid-before is not after valid-after")
    authority = b"cert-authority" in options
    return Signer(principals, blob, authority, namespaces, after, before)


def _is_key(words: list[bytes]) -> bool:
    """Return whether a line goes on with a key and not with options."""
    # Options have a name from a short list, so what is not one of them is a type of key.
    name = re.split(b"[=,]", words[0], maxsplit=1)[0].lower() if words else b""
    return bool(words) and name not in _FLAGS + _VALUES and b"=" not in words[0]


def _options(field: bytes, what: str) -> Iterator[tuple[bytes, bytes]]:
    seen: set[bytes] = set()
    at = 0
    while at < len(field):
        option = _OPTION.match(field, at)
        name = b"" if option is None else option[1].lower()
        if option is None or name not in (_FLAGS if option[2] is None else _VALUES):
            raise SignatureError(
                f"{what} has an option that is not known or not quoted: {quoted(field[at:])}"
            )
        if name in seen:
            raise SignatureError(f"{what} has the option {name.decode()} twice")
        at = option.end()
        if option[3] and at == len(field):
            raise SignatureError(f"{what} has a comma after its last option")
        seen.add(name)
        yield name, (option[2] or b"").replace(b'\\"', b'"')


def read_time(text: bytes, what: str) -> datetime.datetime:
    """Return a moment from YYYYMMDD[HHMM[SS]], in this machine's time zone, or with Z in UTC.

    Without Z it is standard time all the year, as OpenSSH has it.  What is not after the beginning
    of 1970 is refused: to OpenSSH it is no date, or one in the far future.
    """
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        digits = found[1] + (found[2] or b"0000") + (found[3] or b"00")
        fields = datetime.datetime.strptime(digits.decode(), "%Y%m%d%H%M%S").timetuple()[:8]
        seconds = calendar.timegm(fields) if found[4] else time.mktime((*fields, 0))
        if seconds <= 0:
            raise ValueError
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        raise SignatureError(
            f"{what} has the time {quoted(text)}; write YYYYMMDD or YYYYMMDDHHMMSS, "
            "with Z at the end for UTC, later than 1970 began"
        ) from None
