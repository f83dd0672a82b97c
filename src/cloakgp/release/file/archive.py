"""The container of a release file: a plain zip of `manifest.json` and `.npy` arrays, never pickle.

One content has exactly one encoding, and writing it is atomic. Reading trusts nothing: the manifest
says which arrays there have to be, and so where every byte has to lie; sizes are checked before
memory is taken, and hashes are computed again. The hashes notice change; they do not prove who
wrote a file.

Entries are stored as they are, dated 1 January 1980, without extra fields, one after the other, and
the directory ends the file.  So everything but the content follows from the names, sizes and
checksums of the entries, and a file is compared with that instead of being parsed.
"""

import hashlib
import os
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, BinaryIO

from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.files import write_file
from cloakgp.release.file.canonical import canonical_json, check_json, parse_json
from cloakgp.release.file.npy import (
    MAX_BYTES,
    ArrayHeader,
    as_bytes,
    check_name,
    check_numbers,
    check_shape,
    check_storable,
)
from cloakgp.release.file.schema import Sha256, refuse, to_json, typed

FORMAT = "cloakgp-release"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 16 << 20
MAX_ARRAYS = 255
_CHUNK = 1 << 20

#: What the writer adds to a manifest; a caller's own fields may not use these names.
OF_CONTAINER = ("arrays", "digest", "format", "format_version")

Arrays = Mapping[str, NDArray[Any]]
Bytes = bytes | memoryview


class ArrayCodec(ArrayHeader, frozen=True):
    """What the manifest says about an array."""

    sha256: Sha256


def write_archive(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a release file; the file that was at path stays as it was until the new one is whole.

    Equal contents give equal bytes. The manifest may hold what JSON can (tuples become lists) and
    gains the fields `format`, `format_version`, `arrays` and `digest`. Arrays are float64, int64,
    int32 or bool, and finite.
    """
    _check_writable(manifest, arrays)
    write_file(path, encode_archive(build_contents(manifest, arrays)), "release file")


def read_archive(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the manifest and the read-only arrays of a release file that passes every check."""
    try:
        # A pipe or a device could block or never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise refuse("it is not a regular file", "give the path of a saved release file")
        with open(path, "rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except ReleaseFileError as error:
        raise ReleaseFileError(f"release file {os.fspath(path)!r} refused: {error}") from None


def own_fields(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a manifest that are not those of the container."""
    return {name: value for name, value in manifest.items() if name not in OF_CONTAINER}


def compute_digests(manifest: Mapping[str, Any], arrays: Arrays) -> dict[str, bytes]:
    """Return the hashes of the file that was read as this, or that would be written.

    They follow from the content that is used, not from a second look at the file, which somebody
    could have replaced in between: one content has exactly one encoding.
    """
    hashes = {name: hashlib.new(name) for name in ("sha256", "sha512")}
    for chunk in _slices(encode_archive(build_contents(own_fields(manifest), arrays))):
        for each in hashes.values():
            each.update(chunk)
    return {name: each.digest() for name, each in hashes.items()}


# ----------------------------------------------------------------------------- where each byte lies

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


def archive_length(entries: Sequence[ArchiveEntry]) -> int:
    """Return the length of the whole file."""
    names = sum(len(entry.name) for entry in entries)
    directory = len(entries) * _CENTRAL.size + names
    return sum(entry.length for entry in entries) + directory + _END.size


def encode_directory(entries: Sequence[ArchiveEntry]) -> bytes:
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
    expected = archive_length(entries)
    if (found := file.read(_LOCAL.size + _LONGEST_NAME)).startswith(_LOCAL_MARK):
        raise refuse(f"zip entry {_name_in(found)} is not in the manifest")
    if size < expected:
        raise refuse(f"it is cut short: it has {size} bytes of {expected}")
    if size > expected:
        raise refuse(f"it has {size - expected} bytes too many: a zip comment, or something hidden")


def check_directory(file: BinaryIO, entries: Sequence[ArchiveEntry]) -> None:
    """Refuse a file that does not end with the directory of these entries."""
    directory = encode_directory(entries)
    start = archive_length(entries) - len(directory)
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


# ----------------------------------------------------------------------------------------- writing


@dataclass(frozen=True)
class Content:
    """One file of the zip: its entry, and what is in it, in parts."""

    entry: ArchiveEntry
    parts: tuple[Bytes, ...]
    sha256: str


def build_contents(manifest: Mapping[str, Any], arrays: Arrays) -> list[Content]:
    """Return all files of a release in their order: the manifest, then the arrays by name."""
    section: dict[str, Any] = {}
    contents: list[Content] = []
    for name in sorted(arrays):
        header = ArrayHeader(arrays[name].dtype.name, arrays[name].shape)  # type: ignore[arg-type]
        content = _content(f"{name}.npy", header.encoded, as_bytes(arrays[name]))
        section[name] = to_json(ArrayCodec(header.dtype, header.shape, content.sha256))
        contents.append(content)
    whole = {
        **manifest,
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "arrays": section,
    }
    text = canonical_json({**whole, "digest": _digest(whole)})
    if len(text) > MAX_MANIFEST_BYTES:
        raise refuse(
            f"the manifest takes {len(text)} bytes, over its limit of {MAX_MANIFEST_BYTES}",
            "move long lists of numbers into arrays",
        )
    return [_content(MANIFEST, text), *contents]


def encode_archive(contents: list[Content]) -> list[Bytes]:
    """Return the one encoding of these files, in pieces of which the large ones are no copies."""
    entries = [content.entry for content in contents]
    if (total := archive_length(entries)) > MAX_BYTES:
        raise refuse(f"the file would take {total} bytes", "release arrays of less than 4 GiB")
    pieces: list[Bytes] = []
    for content in contents:
        pieces += [content.entry.header, *content.parts]
    return [*pieces, encode_directory(entries)]


def _content(name: str, *parts: Bytes) -> Content:
    crc, sha = 0, hashlib.sha256()
    for chunk in _slices(parts):
        crc = zlib.crc32(chunk, crc)
        sha.update(chunk)
    return Content(ArchiveEntry(name, sum(map(len, parts)), crc), parts, sha.hexdigest())


def _slices(parts: Iterable[Bytes]) -> Iterator[memoryview]:
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), _CHUNK):
            yield view[start : start + _CHUNK]


def _check_writable(manifest: Mapping[str, Any], arrays: Arrays) -> None:
    """Refuse on writing what would be refused on reading."""
    if taken := [name for name in OF_CONTAINER if name in manifest]:
        raise refuse(f"manifest field {taken[0]!r} is added when writing", "leave it out")
    _check_count(arrays)
    for name, array in arrays.items():
        check_storable(name, array)
    check_json(dict(manifest))


def _check_count(arrays: Mapping[str, Any]) -> None:
    if len(arrays) > MAX_ARRAYS:
        raise refuse(f"{len(arrays)} arrays are too many", f"use at most {MAX_ARRAYS}")


def _digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a manifest without its own digest."""
    fields = {key: value for key, value in manifest.items() if key != "digest"}
    return hashlib.sha256(canonical_json(fields)).hexdigest()


# ----------------------------------------------------------------------------------------- reading


def _read(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if size > MAX_BYTES:
        raise refuse(f"it is {size} bytes long", "release files are smaller than 4 GiB")
    first = read_header(file, MANIFEST)
    manifest = _read_manifest(file, first)
    codecs = _array_codecs(manifest["arrays"])
    # Everything around the numbers first: what is cut short, or is more, takes no memory.
    entries, starts = [first], {}
    for name in sorted(codecs):
        entries.append(read_header(file, f"{name}.npy", codecs[name].size))
        starts[name] = file.tell()
        file.seek(entries[-1].size, os.SEEK_CUR)
    check_length(file, size, entries)
    arrays = {}
    for entry, (name, start) in zip(entries[1:], starts.items(), strict=True):
        file.seek(start)
        arrays[name] = _read_array(file, entry, name, codecs[name])
    check_directory(file, entries)
    return manifest, arrays


def _read_manifest(file: BinaryIO, entry: ArchiveEntry) -> dict[str, Any]:
    if entry.size > MAX_MANIFEST_BYTES:
        raise refuse(
            f"zip entry {MANIFEST!r} declares {entry.size} bytes, over its limit of "
            f"{MAX_MANIFEST_BYTES}"
        )
    data = file.read(entry.size)
    if len(data) < entry.size:
        raise refuse(f"it is cut short inside {MANIFEST}")
    manifest = _parse_manifest(data)
    if data != canonical_json(manifest) or zlib.crc32(data) != entry.crc:
        raise other_encoding(0)
    return manifest


def _parse_manifest(data: bytes) -> dict[str, Any]:
    manifest = parse_json(data, MANIFEST)
    if not isinstance(manifest, dict):
        raise refuse(f"{MANIFEST} is not a JSON object")
    if manifest.get("format") != FORMAT:
        raise refuse(
            f"{MANIFEST} names the format {short(manifest.get('format'))} instead of {FORMAT!r}",
            "only files saved by cloakgp can be read",
        )
    version = manifest.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise refuse(
            f"format_version {short(version)} is not supported, only {FORMAT_VERSION}",
            "read it with the version of cloakgp that wrote it, or a newer one",
        )
    for field in ("arrays", "digest"):
        if field not in manifest:
            raise refuse(f"{MANIFEST} has no field {field!r}")
    if manifest["digest"] != _digest(manifest):
        raise refuse(f"the digest of {MANIFEST} does not match its content")
    return manifest


def _array_codecs(section: Any) -> dict[str, ArrayCodec]:
    """Return what the manifest says about each array, if there can be arrays like that."""
    if not isinstance(section, dict):
        raise refuse("manifest field 'arrays' is not a JSON object")
    _check_count(section)
    codecs = {}
    for name, value in section.items():
        check_name(name)
        try:
            codecs[name] = typed(value, ArrayCodec, f"arrays.{name}")
        except ReleaseFileError as error:
            raise refuse(str(error)) from None
        check_shape(name, codecs[name].dtype, codecs[name].shape)
    return codecs


def _read_array(file: BinaryIO, entry: ArchiveEntry, name: str, codec: ArrayCodec) -> NDArray[Any]:
    """Read an npy file whose header says what the manifest says, and nothing else."""
    header = file.read(len(codec.encoded))
    # Compared, and not read: numpy's reader evaluates the header as Python literals.
    if header != codec.encoded:
        raise refuse(
            f"array {name!r} does not begin with the npy header of {codec.dtype} and shape "
            f"{codec.shape}, but with {header[10:74]!r}"
        )
    array = codec.empty()
    crc, sha = zlib.crc32(header), hashlib.sha256(header)
    for chunk in _slices([as_bytes(array)]):
        if file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
            raise refuse(f"it is cut short inside array {name!r}")
        crc = zlib.crc32(chunk, crc)
        sha.update(chunk)
    if sha.hexdigest() != codec.sha256:
        raise refuse(f"the sha256 of array {name!r} does not match the manifest")
    if crc != entry.crc:
        raise refuse(f"the checksum of zip entry {entry.name!r} does not match its content")
    check_numbers(name, array, "get an unchanged copy from its publisher")
    array = array.astype(codec.dtype, copy=False)
    array.setflags(write=False)
    return array
