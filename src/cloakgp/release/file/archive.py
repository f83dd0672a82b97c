"""The container of a release file: a plain zip of `manifest.json` and `.npy` arrays, never pickle.

One content has exactly one encoding, and writing it is atomic. Reading trusts nothing: sizes are
checked before memory is taken, hashes are computed again, and the file must equal the encoding of
what was read from it, byte for byte. The hashes notice change; they do not prove who wrote a file.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError

__all__ = ["ReleaseFileError", "read_archive", "write_archive"]

FORMAT = "cloakgp-release"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

# Below 4 GiB every size and offset fits the plain zip fields, so no zip64 is needed.
MAX_FILE_BYTES = (1 << 32) - 1
MAX_MANIFEST_BYTES = 16 << 20
MAX_ENTRIES = 256
MAX_DIMENSIONS = 8
MAX_JSON_DEPTH = 200
_MAX_NAME_BYTES = 80
_MAX_NPY_HEADER_BYTES = 1024
_CHUNK = 1 << 20

# What the writer adds to a manifest; a caller's own fields may not use these names.
_RESERVED = ("arrays", "digest", "format", "format_version")
_ARRAY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Every number in the file is little-endian, whatever machine wrote it.
_DESCR = {"bool": "|b1", "float64": "<f8", "int32": "<i4", "int64": "<i8"}

_MAGIC = b"\x93NUMPY"
_NPY_HEADER = re.compile(
    r"\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': (\([0-9, ]*\)), \} *\n"
)

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_ZIP_VERSION = 20
_MADE_BY_UNIX = 3 << 8 | _ZIP_VERSION
_JANUARY_1980 = 1 << 5 | 1
_PLAIN_FILE = (stat.S_IFREG | 0o644) << 16
# Bits of a zip entry's flags: encrypted, strongly encrypted, encrypted directory.
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13

Bytes = bytes | memoryview


def _refuse(
    reason: str, advice: str = "get an unchanged copy from its publisher"
) -> ReleaseFileError:
    return ReleaseFileError(f"{reason}; {advice}")


def write_archive(
    path: str | os.PathLike[str],
    manifest: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a release file; the file that was at path stays as it was until the new one is whole.

    Equal contents give equal bytes. The manifest may hold what JSON can (tuples become lists) and
    gains the fields `format`, `format_version`, `arrays` and `digest`. Arrays are float64, int64,
    int32 or bool, and finite. A process that is killed while it writes leaves a file
    `.cloakgp-*.tmp` in the folder, which may be deleted.
    """
    _check_writable(manifest, arrays)
    _replace_file(Path(path), _zip_chunks(_entries(manifest, arrays)))


def read_archive(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the manifest and the read-only arrays of a release file that passes every check."""
    try:
        # A pipe or a device could block or never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _refuse("it is not a regular file", "give the path of a saved release file")
        with open(path, "rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size)
    except ReleaseFileError as error:
        raise ReleaseFileError(f"release file {os.fspath(path)!r} refused: {error}") from None


# ---------------------------------------------------------------------------------------- encoding


@dataclass(frozen=True)
class _Entry:
    """One file of the zip: its name, its content in parts, and the measures of the content."""

    name: str
    parts: tuple[Bytes, ...]
    size: int
    crc: int
    sha256: str


def _entry(name: str, *parts: Bytes) -> _Entry:
    crc, sha = 0, hashlib.sha256()
    for chunk in _slices(parts):
        crc = zlib.crc32(chunk, crc)
        sha.update(chunk)
    return _Entry(name, parts, sum(map(len, parts)), crc, sha.hexdigest())


def _slices(parts: Iterable[Bytes]) -> Iterator[memoryview]:
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), _CHUNK):
            yield view[start : start + _CHUNK]


def _entries(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[_Entry]:
    """All files of a release in their order: the manifest, then the arrays by name."""
    section: dict[str, Any] = {}
    entries: list[_Entry] = []
    for name in sorted(arrays):
        dtype, shape = arrays[name].dtype.name, arrays[name].shape
        entry = _entry(f"{name}.npy", _npy_header(dtype, shape), _data_bytes(arrays[name]))
        section[name] = {"dtype": dtype, "shape": list(shape), "sha256": entry.sha256}
        entries.append(entry)
    manifest = {
        **content,
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "arrays": section,
    }
    text = _canonical_json({**manifest, "digest": _digest(manifest)})
    if len(text) > MAX_MANIFEST_BYTES:
        raise _refuse(
            f"the manifest takes {len(text)} bytes, over its limit of {MAX_MANIFEST_BYTES}",
            "move long lists of numbers into arrays",
        )
    return [_entry(MANIFEST, text), *entries]


def _check_writable(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse on writing what would be refused on reading."""
    if taken := [name for name in _RESERVED if name in content]:
        raise _refuse(f"manifest field {taken[0]!r} is added when writing", "leave it out")
    if len(arrays) >= MAX_ENTRIES:
        raise _refuse(f"{len(arrays)} arrays are too many", f"use at most {MAX_ENTRIES - 1}")
    for name, array in arrays.items():
        _check_array(name, array)
    _check_json(dict(content))


def _check_array(name: str, array: NDArray[Any]) -> None:
    """Refuse an array that the format cannot hold exactly."""
    if not isinstance(name, str) or not _ARRAY_NAME.fullmatch(name):
        raise _refuse(
            f"array name {short(name)} is not usable",
            "use a letter and then at most 63 letters, digits and underscores",
        )
    # A subclass can mean more than its numbers: a masked array would lose its mask.
    if type(array) is not np.ndarray:
        raise _refuse(
            f"array {name!r} is a {type(array).__name__}, not a plain numpy array",
            "convert it with np.asarray",
        )
    if array.dtype.name not in _DESCR:
        raise _refuse(
            f"array {name!r} has dtype {array.dtype}", f"convert it to one of {', '.join(_DESCR)}"
        )
    _check_shape(name, array.dtype.name, array.shape)
    _check_content(name, array, "only finite numbers can be released")


def _check_shape(name: str, dtype: str, shape: Iterable[int]) -> None:
    """Refuse shapes that numpy cannot allocate, also those whose overflow hides behind a zero."""
    lengths = list(shape)
    nbytes = np.dtype(dtype).itemsize * math.prod(max(length, 1) for length in lengths)
    if len(lengths) > MAX_DIMENSIONS or nbytes > MAX_FILE_BYTES:
        raise _refuse(
            f"array {name!r} of shape {short(tuple(lengths))} is too large",
            f"at most {MAX_DIMENSIONS} dimensions and 4 GiB are possible",
        )


def _check_content(name: str, array: NDArray[Any], advice: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _refuse(f"array {name!r} holds NaN or infinite values", advice)
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise _refuse(f"bool array {name!r} holds bytes other than 0 and 1", advice)


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Header of an npy file of format 1.0, padded to 64 bytes.

    numpy reads it but does not write it, since its padding has changed between versions and the
    bytes of a release may not.
    """
    text = f"{{'descr': '{_DESCR[dtype]}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(_MAGIC) + 4 + len(text) + 1) % 64) + "\n"
    return _MAGIC + b"\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii")


def _data_bytes(array: NDArray[Any]) -> memoryview:
    """The numbers of an array in C order as bytes, without a copy where they already are."""
    ordered = np.asarray(array, dtype=_DESCR[array.dtype.name], order="C")
    return ordered.ravel().view(np.uint8).data


def _canonical_json(value: Any) -> bytes:
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _refuse(f"the manifest cannot be written as JSON ({error})", "correct it") from None
    return text.encode("ascii")


def _digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a manifest without its own digest."""
    fields = {key: value for key, value in manifest.items() if key != "digest"}
    return hashlib.sha256(_canonical_json(fields)).hexdigest()


def _check_json(value: Any) -> None:
    """Refuse a manifest with what JSON cannot hold, or would give back as something else."""
    if fault := _json_fault(value, 1):
        where, reason = fault
        raise _refuse(f"manifest{where} {reason}", "use finite numbers, valid text and lists")


def _json_fault(value: Any, depth: int) -> tuple[str, str] | None:
    """Find the first fault in a JSON value: where it is, and what. Paths are built only then."""
    if isinstance(value, dict | list | tuple):
        if depth > MAX_JSON_DEPTH:
            raise _too_deep()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict) and (reason := _key_fault(key)):
                return "", reason
            if fault := _json_fault(item, depth + 1):
                return f"[{short(key)}]{fault[0]}", fault[1]
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else ("", f"is {value}")
    if isinstance(value, str):
        return ("", "holds half a surrogate pair") if _is_broken(value) else None
    if value is None or isinstance(value, int):
        return None
    return "", f"is a {type(value).__name__}"


def _key_fault(key: Any) -> str | None:
    if isinstance(key, str) and not _is_broken(key):
        return None
    return f"has the key {short(key)}, which is not valid text"


def _is_broken(text: str) -> bool:
    return not text.isascii() and re.search("[\ud800-\udfff]", text) is not None


def _too_deep() -> ReleaseFileError:
    return _refuse("the manifest is nested too deeply", f"use at most {MAX_JSON_DEPTH} levels")


def _zip_chunks(entries: list[_Entry]) -> Iterator[Bytes]:
    """Yield the one encoding of these entries: stored, dated 1 January 1980, no extra fields."""
    names = [entry.name.encode("ascii") for entry in entries]
    sizes = [_LOCAL.size + len(n) + e.size for n, e in zip(names, entries, strict=True)]
    directory_at = sum(sizes)
    directory_size = sum(_CENTRAL.size + len(name) for name in names)
    if (total := directory_at + directory_size + _END.size) > MAX_FILE_BYTES:
        raise _refuse(f"the file would take {total} bytes", "release arrays of less than 4 GiB")
    return _chunks_of(entries, names, sizes, directory_at, directory_size)


def _chunks_of(
    entries: list[_Entry], names: list[bytes], sizes: list[int], directory_at: int, length: int
) -> Iterator[Bytes]:
    directory, offset = bytearray(), 0
    for entry, name, size in zip(entries, names, sizes, strict=True):
        # version, flags, method, time, date, CRC, stored size, size, length of name, of extra
        shared = (_ZIP_VERSION, 0, 0, 0, _JANUARY_1980, entry.crc, entry.size, entry.size)
        yield _LOCAL.pack(_LOCAL_MARK, *shared, len(name), 0) + name
        yield from _slices(entry.parts)
        # … then lengths of extra and comment, disk, internal and external attributes, offset
        tail = (len(name), 0, 0, 0, 0, _PLAIN_FILE, offset)
        directory += _CENTRAL.pack(_CENTRAL_MARK, _MADE_BY_UNIX, *shared, *tail) + name
        offset += size
    count = len(entries)
    yield bytes(directory)
    yield _END.pack(_END_MARK, 0, 0, count, count, length, directory_at, 0)


def _replace_file(target: Path, chunks: Iterable[Bytes]) -> None:
    """Put a file with these chunks at target in one step, or leave target as it is."""
    temporary = target.parent / f".cloakgp-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        # Also for an interrupt: what is half written may not stay behind.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise OSError(
                error.errno or errno.EIO,
                f"release file {str(target)!r} could not be written ({error.strerror or error}); "
                "nothing was changed at that path: free some space or choose another folder",
            ) from error
        raise
    _sync_folder(target)


def _sync_folder(target: Path) -> None:
    """Make the new name survive a power cut, where the file system can."""
    if os.name == "nt":
        return
    try:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        # Some file systems cannot sync a folder, and some folders may be written but not opened.
        if error.errno in {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM}:
            return
        raise OSError(
            error.errno or errno.EIO,
            f"release file {str(target)!r} was written, but its folder could not be synced "
            f"({error.strerror or error}); check the disk and save it again",
        ) from error


# ----------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class _Record:
    """Where the directory says an entry begins and how long its content is."""

    name: str
    offset: int
    size: int


def _read(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    places = _places(file, size)
    if MANIFEST not in places:
        raise _refuse(f"it has no {MANIFEST}", "only files saved by cloakgp can be read")
    manifest = _parse_manifest(_read_at(file, *places.pop(MANIFEST)))
    specs = _array_specs(manifest["arrays"])
    wanted = {f"{name}.npy" for name in specs}
    if missing := sorted(wanted - places.keys()):
        raise _refuse(f"array {missing[0]!r} of the manifest is missing from the zip")
    if unexpected := sorted(places.keys() - wanted):
        raise _refuse(f"zip entry {unexpected[0]!r} is not in the manifest")
    arrays = {
        name: _read_array(file, *places[f"{name}.npy"], name, spec) for name, spec in specs.items()
    }
    _check_encoding(file, manifest, arrays)
    for array in arrays.values():
        array.setflags(write=False)
    return manifest, arrays


def _read_at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    data = file.read(length)
    if len(data) != length:
        raise _refuse(f"it is cut short: {length} bytes were expected at byte {start}")
    return data


def _places(file: BinaryIO, size: int) -> dict[str, tuple[int, int]]:
    """Where the content of each entry starts and how long it is, once the zip itself is sound."""
    records, directory_at = _directory(file, size)
    places: dict[str, tuple[int, int]] = {}
    end = 0
    for record in sorted(records, key=lambda record: record.offset):
        if record.offset < end:
            raise _refuse(f"zip entry {record.name!r} overlaps another one")
        if record.offset + _LOCAL.size > directory_at:
            raise _refuse(f"zip entry {record.name!r} starts beyond the entries")
        mark, *_, name_length, extra_length = _LOCAL.unpack(
            _read_at(file, record.offset, _LOCAL.size)
        )
        if mark != _LOCAL_MARK:
            raise _refuse(f"zip entry {record.name!r} has no header where it should start")
        start = record.offset + _LOCAL.size + name_length + extra_length
        end = start + record.size
        if end > directory_at:
            raise _refuse(f"zip entry {record.name!r} overlaps the directory of the zip")
        places[record.name] = (start, record.size)
    return places


def _directory(file: BinaryIO, size: int) -> tuple[list[_Record], int]:
    """Parse the directory of the zip, which must end the file, and return where it starts."""
    if size > MAX_FILE_BYTES:
        raise _refuse(f"it is {size} bytes long", "release files are smaller than 4 GiB")
    if size < _END.size or _read_at(file, 0, 4) != _LOCAL_MARK:
        raise _refuse("it is not a zip file", "give the path of a saved release file")
    tail = _read_at(file, size - _END.size, _END.size)
    mark, disk, first_disk, here, count, length, directory_at, comment = _END.unpack(tail)
    if mark != _END_MARK or comment:
        raise _end_fault(file, size)
    if disk or first_disk or here != count:
        raise _refuse("it is one part of a split zip")
    if count > MAX_ENTRIES:
        raise _refuse(f"it declares {count} zip entries, more than {MAX_ENTRIES}")
    if directory_at + length != size - _END.size:
        raise _refuse("the directory of the zip is not where its end says it is")
    if length > count * (_CENTRAL.size + _MAX_NAME_BYTES):
        raise _refuse(f"the directory of the zip is {length} bytes long for {count} entries")
    data = _read_at(file, directory_at, length)
    return _parse_directory(data, count, size), directory_at


def _end_fault(file: BinaryIO, size: int) -> ReleaseFileError:
    reach = min(size, _END.size + 0xFFFF)
    if _END_MARK in _read_at(file, size - reach, reach):
        return _refuse("it has a zip comment or other bytes after its end")
    return _refuse("it is cut short: the end of the zip is missing")


def _parse_directory(data: bytes, count: int, file_size: int) -> list[_Record]:
    records: list[_Record] = []
    position = total = 0
    for _ in range(count):
        if position + _CENTRAL.size > len(data):
            raise _refuse(f"the directory of the zip is too short for its {count} entries")
        fields = _CENTRAL.unpack_from(data, position)
        mark, flags, method = fields[0], fields[3], fields[4]
        stored, size, name_length, extra_length, comment_length = fields[8:13]
        mode, offset = fields[15] >> 16, fields[16]
        name_at = position + _CENTRAL.size
        position = name_at + name_length + extra_length + comment_length
        if mark != _CENTRAL_MARK or position > len(data):
            raise _refuse("the directory of the zip is damaged")
        name = _entry_name(data[name_at : name_at + name_length])
        total += size
        if fault := _entry_fault(name, flags, method, stored, size, mode, file_size):
            raise _refuse(f"zip entry {name!r} {fault}")
        if total > file_size:
            raise _refuse(f"the zip entries declare {total} bytes, more than the file has")
        records.append(_Record(name, offset, size))
    if position != len(data):
        raise _refuse("the directory of the zip has bytes after its last entry")
    names = [record.name for record in records]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise _refuse(f"zip entry {repeated[0]!r} occurs twice")
    return records


def _entry_name(raw: bytes) -> str:
    """Decode the name of an entry, which must be a bare file name."""
    if not raw.isascii():
        raise _refuse(f"zip entry {short(raw)} has a name that is not plain ASCII")
    name = raw.decode("ascii")
    if "\\" in name:
        fault = "has a backslash in its name"
    elif name.startswith("/") or name[1:2] == ":":
        fault = "has an absolute path"
    elif ".." in name.split("/"):
        fault = "has a path that leads out of the archive"
    elif name.endswith("/"):
        fault = "is a directory"
    else:
        return name
    raise _refuse(f"zip entry {short(name)} {fault}")


def _entry_fault(
    name: str, flags: int, method: int, stored: int, size: int, mode: int, file_size: int
) -> str | None:
    """Say what is wrong with an entry of the directory, if anything is."""
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if flags & _ENCRYPTED:
        return "is encrypted"
    if method != 0:
        return "is compressed"
    if stored != size:
        return f"has two different sizes, {stored} and {size}"
    if size > file_size:
        return f"declares {size} bytes, more than the file has"
    if name == MANIFEST and size > MAX_MANIFEST_BYTES:
        return f"declares {size} bytes, over its limit of {MAX_MANIFEST_BYTES}"
    return None


def _parse_manifest(data: bytes) -> dict[str, Any]:
    manifest = _parse_json(data)
    if not isinstance(manifest, dict):
        raise _refuse(f"{MANIFEST} is not a JSON object")
    _check_json(manifest)
    if manifest.get("format") != FORMAT:
        raise _refuse(
            f"{MANIFEST} names the format {short(manifest.get('format'))} instead of {FORMAT!r}",
            "only files saved by cloakgp can be read",
        )
    version = manifest.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise _refuse(
            f"format_version {short(version)} is not supported, only {FORMAT_VERSION}",
            "read it with the version of cloakgp that wrote it, or a newer one",
        )
    for field in ("arrays", "digest"):
        if field not in manifest:
            raise _refuse(f"{MANIFEST} has no field {field!r}")
    if manifest["digest"] != _digest(manifest):
        raise _refuse(f"the digest of {MANIFEST} does not match its content")
    return manifest


def _parse_json(data: bytes) -> Any:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refuse(f"{MANIFEST} is not UTF-8 at byte {error.start}") from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_finite_float,
            parse_float=_finite_float,
        )
    except ReleaseFileError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise _refuse(f"{MANIFEST} is not valid JSON ({error})") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _refuse(f"{MANIFEST} has the key {short(key)} twice in one object")
        result[key] = value
    return result


def _finite_float(text: str) -> float:
    """Turn a JSON number into a float; also 1e999 would be infinite."""
    number = float(text)
    if not math.isfinite(number):
        raise _refuse(f"{MANIFEST} holds the number {short(text)}, which is not finite")
    return number


@dataclass(frozen=True)
class _ArraySpec:
    """What the manifest says about an array."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str


def _array_specs(section: Any) -> dict[str, _ArraySpec]:
    if not isinstance(section, dict):
        raise _refuse("manifest field 'arrays' is not a JSON object")
    return {name: _array_spec(name, value) for name, value in section.items()}


def _array_spec(name: str, value: Any) -> _ArraySpec:
    if not _ARRAY_NAME.fullmatch(name):
        raise _refuse(f"the manifest has an array with the unusable name {short(name)}")
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "sha256"}:
        raise _refuse(f"array {name!r} needs the fields dtype, shape and sha256 in the manifest")
    dtype, shape, sha256 = value["dtype"], value["shape"], value["sha256"]
    if not isinstance(dtype, str) or dtype not in _DESCR:
        raise _refuse(f"array {name!r} has the unknown dtype {short(dtype)} in the manifest")
    if not isinstance(shape, list) or any(type(n) is not int or n < 0 for n in shape):
        raise _refuse(f"array {name!r} has the impossible shape {short(shape)} in the manifest")
    _check_shape(name, dtype, shape)
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise _refuse(f"array {name!r} has a sha256 in the manifest that is not one")
    return _ArraySpec(dtype, tuple(shape), sha256)


def _read_array(
    file: BinaryIO, start: int, length: int, name: str, spec: _ArraySpec
) -> NDArray[Any]:
    """Read an npy file whose header says what the manifest says, and nothing else."""
    header = _read_npy_header(file, start, length, name)
    _check_npy_header(header, name, spec)
    nbytes = np.dtype(spec.dtype).itemsize * math.prod(spec.shape)
    if (surplus := length - len(header) - nbytes) > 0:
        raise _refuse(f"array {name!r} has {surplus} trailing bytes after its numbers")
    if surplus < 0:
        raise _refuse(f"array {name!r} is {-surplus} bytes too short for its shape")
    array = np.empty(spec.shape, dtype=_DESCR[spec.dtype])
    sha = hashlib.sha256(header)
    for chunk in _slices([_data_bytes(array)]):
        if file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
            raise _refuse(f"it is cut short inside array {name!r}")
        sha.update(chunk)
    if sha.hexdigest() != spec.sha256:
        raise _refuse(f"the sha256 of array {name!r} does not match the manifest")
    _check_content(name, array, "get an unchanged copy from its publisher")
    return array.astype(spec.dtype, copy=False)


def _read_npy_header(file: BinaryIO, start: int, length: int, name: str) -> bytes:
    """Return the raw header and leave the file at the first number."""
    prefix = _read_at(file, start, min(length, len(_MAGIC) + 4))
    if not prefix.startswith(_MAGIC) or len(prefix) < len(_MAGIC) + 4:
        raise _refuse(f"array {name!r} is not an npy file")
    if prefix[6:8] != b"\x01\x00":
        raise _refuse(f"array {name!r} has npy format {prefix[6]}.{prefix[7]} instead of 1.0")
    size = len(prefix) + int.from_bytes(prefix[8:10], "little")
    if size > min(length, _MAX_NPY_HEADER_BYTES):
        raise _refuse(f"array {name!r} declares an npy header of {size} bytes, which is too long")
    return _read_at(file, start, size)


def _check_npy_header(header: bytes, name: str, spec: _ArraySpec) -> None:
    # A fixed pattern instead of numpy's reader, which evaluates the text as Python literals.
    match = _NPY_HEADER.fullmatch(header[len(_MAGIC) + 4 :].decode("latin-1"))
    if match is None:
        raise _refuse(f"array {name!r} has an npy header that is not of the plain form")
    descr, fortran_order, shape = match.groups()
    if "O" in descr:
        raise _refuse(f"array {name!r} holds pickled Python objects, which are never read")
    if fortran_order == "True":
        raise _refuse(f"array {name!r} is stored in Fortran order")
    if descr != _DESCR[spec.dtype]:
        raise _refuse(f"array {name!r} has dtype {short(descr)}, not {spec.dtype} as declared")
    if shape != str(spec.shape):
        raise _refuse(f"array {name!r} has shape {short(shape)}, not {spec.shape} as declared")


def _check_encoding(
    file: BinaryIO, manifest: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Compare the file with the one encoding of what was read from it, chunk by chunk."""
    content = {key: value for key, value in manifest.items() if key not in _RESERVED}
    position = 0
    file.seek(0)
    for chunk in _zip_chunks(_entries(content, arrays)):
        # Two bytes objects are compared many times faster than a memoryview is.
        if file.read(len(chunk)) != bytes(chunk):
            raise _refuse(f"it differs from the standard encoding near byte {position}")
        position += len(chunk)
    if file.read(1):
        raise _refuse(f"it goes on after its end at byte {position}")
