"""Files of allowed signers, as ``ssh-keygen -Y verify`` reads them: who may sign with which key.

One line for each key: patterns of identities, options, the key.  A line that cannot be understood
refuses the whole file: it might be the one that forbids.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cloakgp.errors import SignatureError, printable
from cloakgp.release.signature.keys import fingerprint, read_line, small_text
from cloakgp.release.signature.wire import quoted

_TIME = re.compile(r"(\d{8})(?:(\d{4})(\d{2})?)?(Z?)", re.ASCII)
_OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:\\"|[^"\\]|\\(?!"))*)")?(,|$)', re.ASCII)
_FLAGS, _VALUES = ("cert-authority",), ("namespaces", "valid-after", "valid-before")
#: Fields of a line end at a space outside of quotes.
_FIELD = re.compile(r'((?:"(?:\\"|[^"\\]|\\(?!"))*"|[^\s"])+)(?:[ \t]+|$)')
_QUOTED = re.compile(r'"([^"]*)"(?:[ \t]+|$)')


@dataclass(frozen=True)
class Signer:
    """One line: whose key, for what, and when."""

    principals: str
    blob: bytes
    authority: bool = False  # a certificate authority, whose certificates are not supported
    namespaces: str | None = None
    after: datetime.datetime | None = None
    before: datetime.datetime | None = None

    def refuses(self, namespace: str, when: datetime.datetime) -> str | None:
        """Say why the key may not sign for this at that time, if it may not."""
        if self.authority:
            return (
                "it is listed as a certificate authority, which is not supported; list the key "
                "itself"
            )
        if self.namespaces is not None and not matches(namespace, self.namespaces):
            return f"it may not sign for {quoted(namespace)}, only for {quoted(self.namespaces)}"
        if self.after is not None and when < self.after:
            return f"it is valid only from {self.after.isoformat()}"
        if self.before is not None and when > self.before:
            return f"it was valid only until {self.before.isoformat()}"
        return None


def read_signers(path: str | os.PathLike[str]) -> tuple[Signer, ...]:
    """Return everybody in a file of allowed signers."""
    what = f"the file of allowed signers {printable(path)}"
    return parse_signers(small_text(path, what), what)


def parse_signers(text: str, what: str) -> tuple[Signer, ...]:
    """Return everybody in the text of a file of allowed signers."""
    lines = text.replace("\r\n", "\n").split("\n")
    rows = [(number, line.strip(" \t")) for number, line in enumerate(lines, 1)]
    found = [
        _parse_line(line, f"line {number} of {what}")
        for number, line in rows
        if line and not line.startswith("#")
    ]
    if not found:
        raise SignatureError(f"{what} lists nobody")
    return tuple(found)


def check_allowed(
    signers: tuple[Signer, ...],
    identity: str,
    blob: bytes,
    namespace: str,
    when: datetime.datetime,
) -> None:
    """Refuse a key that may not sign for ``identity``, with the reason."""
    known = [signer for signer in signers if matches(identity, signer.principals)]
    if not known:
        raise SignatureError(f"{printable(identity)} is not among the allowed signers")
    reasons = [signer.refuses(namespace, when) for signer in known if signer.blob == blob]
    if not reasons:
        authority = any(signer.authority for signer in known)
        more = "; certificate authorities are not supported" if authority else ""
        raise SignatureError(
            f"the key {fingerprint(blob)} is not one of {printable(identity)}'s{more}"
        )
    if None not in reasons:
        raise SignatureError(f"the key {fingerprint(blob)} is not allowed: {reasons[0]}")


def matches(name: str, patterns: str) -> bool:
    """Return whether a list of patterns has the name; one with ``!`` that fits excludes it."""
    found = False
    for pattern in patterns.split(","):
        if _fits(name, pattern.removeprefix("!")):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _fits(name: str, pattern: str) -> bool:
    """Return whether a name fits a pattern: ``?`` is any character, ``*`` any number of them."""
    at = mark = 0
    star = -1
    i = 0
    while i < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, mark, at = at, i, at + 1
        elif at < len(pattern) and pattern[at] in ("?", name[i]):
            at, i = at + 1, i + 1
        elif star >= 0:  # the last star takes one character more; earlier ones need not
            mark += 1
            at, i = star + 1, mark
        else:
            return False
    return not pattern[at:].strip("*")


def _parse_line(line: str, what: str) -> Signer:
    first = _QUOTED.match(line) or _FIELD.match(line)
    if first is None:
        raise SignatureError(f"{what} has a quote that does not end")
    principals, rest = first[1], line[first.end() :]
    if '"' in principals or "" in principals.split(","):
        raise SignatureError(f"{what} begins with an empty or badly quoted identity")
    options: dict[str, str] = {}
    words = rest.split()
    if not _is_key(words):
        field = _FIELD.match(rest)
        if field is None:
            raise SignatureError(f"{what} has no key")
        options = dict(_options(field[1], what))
        words = rest[field.end() :].split()
    _, blob = read_line(words, what)
    after, before = (
        None if name not in options else read_time(options[name], what)
        for name in ("valid-after", "valid-before")
    )
    if after is not None and before is not None and before <= after:
        raise SignatureError(f"{what} is never valid: valid-before is not after valid-after")
    authority = "cert-authority" in options
    return Signer(principals, blob, authority, options.get("namespaces"), after, before)


def _is_key(words: list[str]) -> bool:
    """Return whether a line goes on with a key and not with options."""
    # Options have a name from a short list, so what is not one of them is a type of key.
    name = re.split("[=,]", words[0], maxsplit=1)[0].lower() if words else ""
    return bool(words) and name not in _FLAGS + _VALUES and "=" not in words[0]


def _options(field: str, what: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    at = 0
    while at < len(field):
        option = _OPTION.match(field, at)
        name = "" if option is None else option[1].lower()
        if option is None or name not in (_FLAGS if option[2] is None else _VALUES):
            raise SignatureError(
                f"{what} has an option that is not known or not quoted: "
                f"{printable(field[at : at + 80])}"
            )
        if name in seen:
            raise SignatureError(f"{what} has the option {name} twice")
        at = option.end()
        if option[3] and at == len(field):
            raise SignatureError(f"{what} has a comma after its last option")
        seen.add(name)
        yield name, (option[2] or "").replace('\\"', '"')


def read_time(text: str, what: str) -> datetime.datetime:
    """Return a moment from YYYYMMDD[HHMM[SS]], in this machine's time zone, or with Z in UTC."""
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        digits = found[1] + (found[2] or "0000") + (found[3] or "00")
        moment = datetime.datetime.strptime(digits, "%Y%m%d%H%M%S")
        # Without a zone the machine's own is meant; years at the ends of the calendar have none.
        return moment.replace(tzinfo=datetime.UTC) if found[4] else moment.astimezone()
    except (ValueError, OverflowError, OSError):
        raise SignatureError(
            f"{what} has the time {quoted(text)}; write YYYYMMDD or YYYYMMDDHHMMSS, "
            "with Z at the end for UTC"
        ) from None
