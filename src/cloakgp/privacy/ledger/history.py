"""The history: entries of public facts, in order, each with a hash that covers all before it.

An entry is canonical JSON, so anybody who has an export can work out every hash again.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cloakgp.errors import inert
from cloakgp.privacy.ledger.errors import LedgerError, tampered
from cloakgp.privacy.ledger.names import one_form

#: Version of the entries; a ledger of another version is not used.
FORMAT = 1
#: What the first entry is chained to.
ORIGIN = "0" * 64
#: Characters of an entry, which holds a few public facts, not tables.
LONGEST_ENTRY = 1 << 16

#: An entry as a store keeps it, unchecked: sequence, canonical JSON, hash.
Row = tuple[object, object, object]


@dataclass(frozen=True)
class Entry:
    """One entry of the history of a ledger.

    Attributes
    ----------
    sequence : int
        Its number.
    facts : dict
        What was done: always event, when and who.
    previous : str
        The hash of the entry before it.
    hash : str
        SHA-256 of sequence, previous hash and facts.
    """

    sequence: int
    facts: dict[str, Any]
    previous: str
    hash: str

    @property
    def dataset(self) -> str:
        """The data set it is about, if any."""
        return one_form(self.facts.get("dataset", ""))


# Proof: ledger.md
def canonical(facts: Mapping[str, Any]) -> str:
    """Return the one way in which these facts are written."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


# Proof: ledger.md
def link(sequence: int, previous: str, entry: bytes) -> str:
    """Return the hash of an entry: it covers its place, its JSON and all entries before."""
    return hashlib.sha256(f"{sequence}\n{previous}\n".encode() + entry).hexdigest()


# Proof: ledger.md
def written(facts: Mapping[str, Any]) -> str:
    """Return the entry that holds these facts, or refuse them."""
    try:
        entry = canonical(facts)
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(
            "parameters must be plain JSON: strings, finite numbers, lists and objects of them. "
            "Nothing was spent."
        ) from None
    if len(entry) > LONGEST_ENTRY:
        raise LedgerError(
            f"parameters take more than {LONGEST_ENTRY} characters; a ledger holds a few public "
            "facts about each release, not tables. Nothing was spent."
        )
    return entry


# Proof: ledger.md
def verified(rows: Iterable[Row], sequence: int, previous: str, name: str) -> Iterator[Entry]:
    """Read the rows that follow entry ``sequence``, whose hash is ``previous``; check each hash."""
    for number, (place, entry, recorded) in enumerate(rows, start=sequence + 1):
        found = link(number, previous, entry) if isinstance(entry, bytes) else ""
        if not isinstance(entry, bytes) or (place, recorded) != (number, found.encode()):
            raise tampered(name, f"entry {number} was edited, removed or moved")
        try:
            facts = json.loads(entry.decode())
        except (ValueError, RecursionError):
            raise tampered(name, f"entry {number} makes no sense") from None
        yield Entry(number, facts, previous, found)
        previous = found


def as_jsonl(entries: Iterable[Entry]) -> str:
    """Return entries as lines of JSON."""
    return "".join(canonical(asdict(entry)) + "\n" for entry in entries)


def as_csv(entries: Iterable[Entry]) -> str:
    """Return entries as a table, the usual facts in columns of their own.

    Auditors open it in a spreadsheet, which takes none of its texts for a formula; the facts are
    as they are, so that every hash can be worked out again.
    """
    columns = ("when", "who", "event", "dataset", "what", "release_id")
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("sequence", *columns, "facts", "previous", "hash"))
    for entry in entries:
        known = (inert(str(entry.facts.get(column) or "")) for column in columns)
        facts = canonical(entry.facts)
        writer.writerow((entry.sequence, *known, facts, entry.previous, entry.hash))
    return table.getvalue()
