"""The one zip encoding of a release: where each byte lies, and what stands around the content.

Entries are stored as they are, dated 1 January 1980, without extra fields, one after the other, and
the directory ends the file.  So everything but the content follows from the names, sizes and
checksums of the entries, and a file is compared with that instead of being parsed.
"""

import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import BinaryIO

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.schema import refuse

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_VERSION = 20
_MADE_BY_UNIX = 3 << 8 | _VERSION
_JANUARY_1980 = 1 << 5 | 1
_PLAIN_FILE = (stat.S_IFREG | 0o644) << 16
# Bits of an entry's flags: encrypted, strongly encrypted, encrypted directory.
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
# Names of other entries are quoted up to this length.
_LONGEST_NAME = 80


@dataclass(frozen=True)
class ArchiveEntry:
    """One file of the zip; from its name, size and checksum follows what stands around it."""

    name: str
    size: int
    crc: int

    @property
    def header(self) -> bytes:
        """What stands before the content."""
        return _LOCAL.pack(_LOCAL_MARK, *self._facts, len(self.name), 0) + self.name.encode("ascii")

    @property
    def length(self) -> int:
        """Bytes of header and content."""
        return _LOCAL.size + len(self.name) + self.size

    def record(self, offset: int) -> bytes:
        """Return what the directory says of the entry whose header is at this offset."""
        # Lengths of name, extra and comment, disk, internal and external attributes, offset.
        tail = (len(self.name), 0, 0, 0, 0, _PLAIN_FILE, offset)
        head = _CENTRAL.pack(_CENTRAL_MARK, _MADE_BY_UNIX, *self._facts, *tail)
        return head + self.name.encode("ascii")

    @property
    def _facts(self) -> tuple[int, ...]:
        # Version, flags, method, time, date, checksum, stored size, size.
        return (_VERSION, 0, 0, 0, _JANUARY_1980, self.crc, self.size, self.size)


def length_of(entries: Sequence[ArchiveEntry]) -> int:
    """Return the length of the whole file."""
    names = sum(len(entry.name) for entry in entries)
    directory = len(entries) * _CENTRAL.size + names
    return sum(entry.length for entry in entries) + directory + _END.size


def directory_of(entries: Sequence[ArchiveEntry]) -> bytes:
    """Return what stands behind all entries, to the end of the file."""
    records, offset = bytearray(), 0
    for entry in entries:
        records += entry.record(offset)
        offset += entry.length
    count = len(entries)
    end = _END.pack(_END_MARK, 0, 0, count, count, len(records), offset, 0)
    return bytes(records) + end


def read_header(file: BinaryIO, name: str, size: int | None = None) -> ArchiveEntry:
    """Return the entry that begins here; it has to have this name and, if it is known, this size.

    The checksum is what the file says; it is compared when the content is read.
    """
    start = file.tell()
    header = file.read(_LOCAL.size + len(name))
    if start == 0 and not header.startswith(_LOCAL_MARK):
        raise refuse("it is not a zip file", "give the path of a saved release file")
    if len(header) < _LOCAL.size + len(name):
        raise refuse(f"it is cut short: it ends before {name!r}")
    *_, crc, _, declared, _, _ = _LOCAL.unpack_from(header)
    entry = ArchiveEntry(name, declared if size is None else size, crc)
    if header != entry.header:
        raise _other_entry(header + file.read(_LONGEST_NAME), entry, start)
    return entry


def check_length(file: BinaryIO, size: int, entries: Sequence[ArchiveEntry]) -> None:
    """Refuse a file of another length than that of these entries; it is behind the last of them."""
    expected = length_of(entries)
    if (found := file.read(_LOCAL.size + _LONGEST_NAME)).startswith(_LOCAL_MARK):
        raise refuse(f"zip entry {_name_in(found)} is not in the manifest")
    if size < expected:
        raise refuse(f"it is cut short: it has {size} bytes of {expected}")
    if size > expected:
        raise refuse(f"it has {size - expected} bytes too many: a zip comment, or something hidden")


def check_directory(file: BinaryIO, entries: Sequence[ArchiveEntry]) -> None:
    """Refuse a file that does not end with the directory of these entries."""
    directory = directory_of(entries)
    start = length_of(entries) - len(directory)
    file.seek(start)
    if file.read() != directory:
        raise other_encoding(start)


def other_encoding(position: int) -> ReleaseFileError:
    """Return the error of a file with the right content in other bytes."""
    return refuse(f"it differs from the standard encoding near byte {position}")


def _other_entry(data: bytes, expected: ArchiveEntry, start: int) -> ReleaseFileError:
    """Say how a header differs from the one that was expected."""
    mark, _, flags, method, _, _, _, stored, size, _, _ = _LOCAL.unpack_from(data)
    name = repr(expected.name)
    if mark in (_CENTRAL_MARK, _END_MARK):
        return refuse(f"zip entry {name} is missing")
    if mark != _LOCAL_MARK:
        return refuse(f"zip entry {name} does not begin at byte {start}, where it should")
    if (found := _name_in(data)) != name:
        return refuse(f"zip entry {found} lies where {name} should be")
    if flags & _ENCRYPTED:
        return refuse(f"zip entry {name} is encrypted")
    if method != 0:
        return refuse(f"zip entry {name} is compressed")
    if stored != size:
        return refuse(f"zip entry {name} has two different sizes, {stored} and {size}")
    if size != expected.size:
        return refuse(f"zip entry {name} has {size} bytes instead of {expected.size}")
    return other_encoding(start)


def _name_in(data: bytes) -> str:
    """Return the name that a header gives, as far as it is there, to be quoted."""
    length = _LOCAL.unpack_from(data)[9] if len(data) >= _LOCAL.size else 0
    raw = data[_LOCAL.size : _LOCAL.size + min(length, _LONGEST_NAME)]
    return repr(raw.decode("ascii")) if raw.isascii() else short(raw)
