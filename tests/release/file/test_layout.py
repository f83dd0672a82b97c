"""Where each byte of a release lies follows from names, sizes and checksums."""

import io
import zipfile
import zlib

import pytest

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.archive import (
    ArchiveEntry,
    archive_length,
    check_directory,
    check_length,
    encode_directory,
    read_header,
)

CONTENTS = {"manifest.json": b"{}", "a.npy": b"numbers", "empty.npy": b""}
ENTRIES = [ArchiveEntry(name, len(data), zlib.crc32(data)) for name, data in CONTENTS.items()]
FILE = b"".join(e.header + CONTENTS[e.name] for e in ENTRIES) + encode_directory(ENTRIES)


def at_the_directory(data):
    file = io.BytesIO(data)
    file.seek(sum(entry.length for entry in ENTRIES))
    return file


def test_any_zip_tool_reads_it():
    with zipfile.ZipFile(io.BytesIO(FILE)) as found:
        assert found.testzip() is None
        assert {name: found.read(name) for name in found.namelist()} == CONTENTS
        assert {info.compress_type for info in found.infolist()} == {zipfile.ZIP_STORED}
        assert {info.date_time for info in found.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_it_is_as_long_as_it_says():
    assert len(FILE) == archive_length(ENTRIES)
    file = io.BytesIO(FILE)
    for entry in ENTRIES:
        assert read_header(file, entry.name) == entry
        file.read(entry.size)
    check_length(file, len(FILE), ENTRIES)
    check_directory(file, ENTRIES)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (FILE[:-1], "cut short"),
        (FILE + b"x", "1 bytes too many"),
        (
            FILE[: -len(encode_directory(ENTRIES))] + ENTRIES[1].header,
            "'a.npy' is not in the manifest",
        ),
    ],
    ids=["shorter", "longer", "one more"],
)
def test_another_length_is_refused(data, reason):
    with pytest.raises(ReleaseFileError, match=reason):
        check_length(at_the_directory(data), len(data), ENTRIES)


def test_every_other_directory_is_refused():
    for place in range(archive_length(ENTRIES) - len(encode_directory(ENTRIES)), len(FILE)):
        changed = bytearray(FILE)
        changed[place] ^= 1
        with pytest.raises(ReleaseFileError, match="differs from the standard encoding"):
            check_directory(io.BytesIO(changed), ENTRIES)


def test_what_is_no_zip_is_called_that():
    with pytest.raises(ReleaseFileError, match="not a zip file"):
        read_header(io.BytesIO(b"something else"), "manifest.json")
