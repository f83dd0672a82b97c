import errno
import hashlib
import io
import json
import os
import pickle
import re
import resource
import signal
import stat
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file import archive
from cloakgp.release.file.archive import read_archive, write_archive

MANIFEST = {"task": "regression", "epsilon": 1.0, "notes": ["ü", None, True, -0.0]}
ARRAYS = {"sketch": np.array([1.5, -2.25, 1e-300]), "counts": np.array([[1, 2], [3, 4]])}
RESERVED = {"arrays", "digest", "format", "format_version"}


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "release.cloakgp"
    write_archive(target, MANIFEST, ARRAYS)
    return target


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sign(manifest):
    """The digest as a third party would compute it."""
    fields = {key: value for key, value in manifest.items() if key != "digest"}
    return {**fields, "digest": hashlib.sha256(compact(fields)).hexdigest()}


def files_of(path):
    with zipfile.ZipFile(path) as archive_file:
        return {name: archive_file.read(name) for name in archive_file.namelist()}


def pack(path, files, method=zipfile.ZIP_STORED, change=None):
    """Write (name, bytes) pairs with the standard library's zip writer."""
    pairs = files.items() if isinstance(files, dict) else files
    with zipfile.ZipFile(path, "w", method) as target, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # duplicate names
        for name, data in pairs:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            if change is not None:
                change(info)
            target.writestr(info, data)


def repack(path, **changes):
    """Pack the same archive again with other content of the manifest, given by field."""
    files = files_of(path)
    manifest = {**json.loads(files["manifest.json"]), **changes}
    pack(path, {**files, "manifest.json": compact(sign(manifest))})


def put_array(path, name, data, **spec):
    """Replace an array by raw npy bytes and make the manifest agree with them."""
    files = files_of(path)
    manifest = json.loads(files["manifest.json"])
    manifest["arrays"][name].update({"sha256": hashlib.sha256(data).hexdigest(), **spec})
    pack(path, {**files, "manifest.json": compact(sign(manifest)), f"{name}.npy": data})


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **{"version": (1, 0), **options})
    return buffer.getvalue()


def edit(path, position, layout, value):
    """Overwrite one packed number of a file."""
    data = bytearray(path.read_bytes())
    struct.pack_into(layout, data, position, value)
    path.write_bytes(data)


def central(path, entry=0):
    """Where the directory record of an entry begins."""
    data = path.read_bytes()
    position = struct.unpack_from("<I", data, len(data) - 6)[0]
    for _ in range(entry):
        position += 46 + struct.unpack_from("<H", data, position + 28)[0]
    return position


def refused(path, reason):
    with pytest.raises(ReleaseFileError) as caught:
        read_archive(path)
    named, _, text = str(caught.value).partition(" refused: ")
    assert str(path) in named
    # Not in the whole message: the path holds the name of the test, and so its words.
    assert re.search(reason, text), text


# ------------------------------------------------------------------------------------- round trips

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
manifests = st.dictionaries(st.text(max_size=6).filter(lambda s: s not in RESERVED), json_values)
finite = {"allow_nan": False, "allow_infinity": False}
any_array = st.one_of(
    hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0), elements=elements)
    for dtype, elements in [
        ("<f8", finite),
        (">f8", finite),
        ("i8", None),
        ("i4", None),
        ("?", None),
    ]
)
array_sets = st.dictionaries(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True), any_array)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("round_trip") / "release.cloakgp"


@settings(max_examples=60, deadline=None)
@given(manifests, array_sets)
def test_what_is_written_is_read_back_bit_for_bit(scratch, manifest, arrays):
    write_archive(scratch, manifest, arrays)
    read, read_arrays = read_archive(scratch)
    # JSON text tells 1 from 1.0 and 0.0 from -0.0, which == does not.
    assert compact({k: v for k, v in read.items() if k not in RESERVED}) == compact(manifest)
    assert read_arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read_arrays[name].dtype == array.dtype.newbyteorder("=")
        assert read_arrays[name].shape == array.shape
        assert read_arrays[name].tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()


def test_arrays_that_are_read_cannot_be_changed(path):
    _, arrays = read_archive(path)
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_equal_content_gives_equal_bytes(tmp_path, path):
    other = tmp_path / "other"
    arrays = {
        "counts": np.asfortranarray(ARRAYS["counts"]),
        "sketch": np.repeat(ARRAYS["sketch"], 2)[::2].astype(">f8"),
    }
    write_archive(other, dict(reversed(MANIFEST.items())), arrays)
    assert other.read_bytes() == path.read_bytes()


def test_bytes_of_a_known_release_never_change(path):
    # Published files are compared with this encoding: a new one needs a new format_version.
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == "399d444cbea43e702b210d43e7be3be7b79989a84873ceaefcdd984bb33d9c3c"


def test_standard_tools_can_open_a_release_without_pickle(path):
    with zipfile.ZipFile(path) as standard:
        assert standard.testzip() is None
        assert standard.namelist() == ["manifest.json", "counts.npy", "sketch.npy"]
        for name, array in ARRAYS.items():
            data = io.BytesIO(standard.read(f"{name}.npy"))
            np.testing.assert_array_equal(np.load(data, allow_pickle=False), array)
        manifest = json.loads(standard.read("manifest.json"))
        assert manifest == sign(manifest)


def test_manifest_states_format_arrays_and_digest(path):
    manifest, _ = read_archive(path)
    assert (manifest["format"], manifest["format_version"]) == ("cloakgp-release", 1)
    data = files_of(path)["counts.npy"]
    assert manifest["arrays"]["counts"] == {
        "dtype": "int64",
        "shape": [2, 2],
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def test_large_arrays_are_neither_written_nor_read_in_several_copies(tmp_path):
    array = np.linspace(0.0, 1.0, 4_000_000)
    tracemalloc.start()
    try:
        write_archive(tmp_path / "big", {}, {"array": array})
        _, write_peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        read_archive(tmp_path / "big")
        _, read_peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert write_peak < 0.5 * array.nbytes
    assert read_peak < 1.5 * array.nbytes


# ----------------------------------------------------------------------------- refused when writing


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.array([1.0, np.nan]), "NaN or infinite"),
        (np.array([np.inf]), "NaN or infinite"),
        (np.array([1.0], dtype=np.float32), "dtype float32"),
        (np.array(["a"]), "dtype <U1"),
        (np.array([{}]), "dtype object"),
        (np.array([1 + 1j]), "dtype complex128"),
        (np.zeros(1, dtype=[("a", "f8")]), "dtype"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "MaskedArray"),
        ([1.0], "is a list"),
        (np.frombuffer(b"\x02", dtype=bool), "other than 0 and 1"),
        (np.zeros((1,) * 9), "too large"),
        (np.zeros((0, 1 << 40)), "too large"),
    ],
)
def test_arrays_that_the_format_cannot_hold_are_not_written(tmp_path, array, reason):
    with pytest.raises(ReleaseFileError, match=reason):
        write_archive(tmp_path / "release", {}, {"a": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../a", "a.b", "1a", "a" * 65, "ä", "a\n", 1])
def test_arrays_with_names_unfit_for_a_file_are_not_written(tmp_path, name):
    with pytest.raises(ReleaseFileError, match="array name"):
        write_archive(tmp_path / "release", {}, {name: np.zeros(1)})


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


circle: list = []
circle.append(circle)


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"digest": "x"}, "'digest' is added"),
        ({"arrays": {}}, "'arrays' is added"),
        ({"a": [0, float("nan")]}, r"\['a'\]\[1\] is nan"),
        ({"a": float("inf")}, "is inf"),
        ({"a": {1: 2}}, "key 1"),
        ({"a": {2, 3}}, "is a set"),
        ({"a": np.int64(1)}, "is a int64"),
        ({"a": b"x"}, "is a bytes"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\udfff": 1}, "not valid text"),
        ({"a": nested(200)}, "nested too deeply"),
        ({"a": circle}, "nested too deeply"),
        ({"a": 10**5000}, "cannot be written as JSON"),
        ({"a": "x" * (16 << 20)}, "over its limit"),
    ],
)
def test_manifests_that_json_cannot_hold_are_not_written(tmp_path, manifest, reason):
    with pytest.raises(ReleaseFileError, match=reason):
        write_archive(tmp_path / "release", manifest, {})
    assert list(tmp_path.iterdir()) == []


def test_everything_up_to_the_limits_can_be_written_and_read(tmp_path):
    manifest = {"a": nested(199)}
    arrays = {f"a{i}": np.array(i) for i in range(255)}
    write_archive(tmp_path / "release", manifest, arrays)
    read, read_arrays = read_archive(tmp_path / "release")
    assert read["a"] == manifest["a"]
    assert len(read_arrays) == 255
    with pytest.raises(ReleaseFileError, match="256 arrays are too many"):
        write_archive(tmp_path / "release", {}, {**arrays, "b": np.zeros(1)})


def test_an_array_of_four_gigabytes_is_not_written(tmp_path):
    # One number stands for all of them.
    array = np.broadcast_to(np.zeros(1), (1 << 29,))
    with pytest.raises(ReleaseFileError, match="too large"):
        write_archive(tmp_path / "release", {}, {"a": array})


def test_arrays_that_are_too_large_together_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 2000)
    write_archive(tmp_path / "release", {}, {"a": np.zeros(100)})
    with pytest.raises(ReleaseFileError, match="the file would take"):
        write_archive(tmp_path / "release", {}, {"a": np.zeros(100), "b": np.zeros(100)})
    assert read_archive(tmp_path / "release")[1].keys() == {"a"}


@pytest.mark.parametrize("after", [10, 50_000], ids=["header", "numbers"])
def test_a_file_that_shrinks_while_it_is_read_is_refused(path, monkeypatch, after):
    write_archive(path, {}, {"a": np.zeros(5_000), "b": np.zeros(10_000)})
    length = struct.unpack_from("<I", path.read_bytes(), central(path, 2) + 42)[0] + after
    whole = archive._parse_manifest

    def cut_then_parse(data):
        os.truncate(path, length)
        return whole(data)

    monkeypatch.setattr(archive, "_parse_manifest", cut_then_parse)
    refused(path, "cut short")


# -------------------------------------------------------------------------------------- atomicity


def fail_with(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, step, error):
    before = path.read_bytes()
    monkeypatch.setattr(os, step, fail_with(error))
    with pytest.raises(type(error)) as caught:
        write_archive(path, {"new": True}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    if isinstance(error, OSError):
        assert caught.value.errno == errno.ENOSPC
        assert re.search(
            "could not be written .No space left.*nothing was changed", str(caught.value)
        )


def test_a_disk_that_is_full_half_way_leaves_the_old_file(path):
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="could not be written") as caught:
            write_archive(path, {}, {"a": np.zeros(50_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_interrupt_between_two_chunks_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    whole = archive._zip_chunks

    def interrupted(entries):
        yield next(whole(entries))
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "_zip_chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, {}, {"a": np.zeros(10)})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# The module is imported without its package, whose other modules would take seconds to load.
KILLED = """
import os, sys, time
import numpy as np
sys.path.append(sys.argv[3])
import archive

def wait():
    print("here", flush=True)
    time.sleep(60)

def half_of(entries, whole=archive._zip_chunks):
    chunks = list(whole(entries))
    yield from chunks[: len(chunks) // 2]
    wait()

if sys.argv[2] == "while writing":
    archive._zip_chunks = half_of
else:
    os.replace = lambda *_: wait()
archive.write_archive(sys.argv[1], {"new": True}, {"a": np.zeros(500_000)})
"""


@pytest.mark.parametrize("moment", ["while writing", "before replacing"])
def test_a_killed_process_leaves_the_old_file(path, moment):
    before = path.read_bytes()
    command = [sys.executable, "-c", KILLED, path, moment, Path(archive.__file__).parent]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"here\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    read_archive(path)
    # The kill came in the middle: part of the new file lies beside the old one.
    (left,) = set(path.parent.iterdir()) - {path}
    assert re.fullmatch(r"\.cloakgp-[0-9a-f]{16}\.tmp", left.name)
    assert left.stat().st_size > 1_000_000


def test_the_file_and_its_folder_are_synced(path, monkeypatch):
    synced = []
    real = os.fsync

    def record(descriptor):
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    write_archive(path, {}, {})
    assert synced == [False, True]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EIO])
def test_a_folder_that_fails_to_sync_is_told_from_one_that_cannot(path, monkeypatch, code):
    real = os.fsync

    def fail_for_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, "sync")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    if code == errno.EINVAL:
        write_archive(path, {"new": 1}, {})
    else:
        with pytest.raises(OSError, match="was written, but its folder could not be synced"):
            write_archive(path, {"new": 1}, {})
    assert read_archive(path)[0]["new"] == 1


def test_an_unusable_folder_is_named(tmp_path):
    missing = tmp_path / "missing" / "release"
    with pytest.raises(FileNotFoundError, match=f"{missing}.*choose another folder"):
        write_archive(missing, {}, {})


def test_a_release_gets_the_permissions_of_an_ordinary_file(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    write_archive(tmp_path / "release", {}, {})
    assert (tmp_path / "release").stat().st_mode == ordinary.stat().st_mode


# ----------------------------------------------------------------------------- refused: any change


def test_every_flipped_bit_is_refused(tmp_path):
    path = tmp_path / "release"
    write_archive(path, {"epsilon": 0.5}, {"a": np.array([1.5]), "b": np.array([True])})
    whole = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:
        for position, byte in enumerate(whole):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), position)
                with pytest.raises(ReleaseFileError):
                    read_archive(path)
            os.pwrite(file.fileno(), bytes([byte]), position)
    read_archive(path)


def test_a_file_cut_at_any_length_is_refused(path):
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(ReleaseFileError):
            read_archive(path)


def test_a_file_cut_short_is_called_that(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "cut short")


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 1000, b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    refused(path, "not a zip file")


def test_bytes_after_the_end_are_refused(path):
    path.write_bytes(path.read_bytes() + b"\0")
    refused(path, "bytes after its end")


def test_a_zip_comment_is_refused(path):
    with zipfile.ZipFile(path, "a") as changed:
        changed.comment = b"hello"
    refused(path, "comment")


def test_bytes_before_the_start_are_refused(path):
    whole = path.read_bytes()
    path.write_bytes(b"#!/bin/sh\n" + whole)
    refused(path, "not a zip file")
    path.write_bytes(whole + whole)
    refused(path, "directory of the zip is not where")


def test_a_valid_zip_with_the_same_content_but_other_bytes_is_refused(path):
    pack(path, files_of(path))
    refused(path, "differs from the standard encoding")


def test_a_second_name_hidden_in_a_local_header_is_refused(path):
    edit(path, 30, "<B", ord("M"))
    refused(path, "differs from the standard encoding near byte 0")


def test_a_gap_between_entries_is_refused(path):
    files = list(files_of(path).items())
    data = b"".join(
        bytes(chunk) for chunk in archive._zip_chunks([archive._entry(*pair) for pair in files])
    )
    assert data == path.read_bytes()
    # Shift the directory by one byte and say so in the end record: still a valid zip.
    at = central(path)
    path.write_bytes(data[:at] + b"!" + data[at:])
    edit(path, len(data) + 1 - 6, "<I", at + 1)
    assert files_of(path) == dict(files)
    refused(path, "differs from the standard encoding")


def test_a_manifest_in_another_spelling_is_refused(path):
    files = files_of(path)
    spaced = json.dumps(json.loads(files["manifest.json"]), sort_keys=True).encode()
    pack(path, {**files, "manifest.json": spaced})
    refused(path, "differs from the standard encoding")


# ------------------------------------------------------------------------------ refused: the zip


def test_compressed_entries_are_refused(path):
    pack(path, files_of(path), zipfile.ZIP_DEFLATED)
    refused(path, "'manifest.json' is compressed")


def test_a_zip_bomb_is_refused_without_being_unpacked(path):
    pack(path, {**files_of(path), "counts.npy": bytes(50_000_000)}, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    try:
        refused(path, "compressed")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_entries_are_refused(path, flag):
    edit(path, central(path, 1) + 8, "<H", flag)
    refused(path, "'counts.npy' is encrypted")


def test_an_entry_that_declares_more_than_the_file_is_refused(path):
    for field in (20, 24):
        edit(path, central(path, 1) + field, "<I", 0xFFFFFFF0)
    refused(path, "declares 4294967280 bytes, more than the file")


def test_entries_that_together_declare_more_than_the_file_are_refused(path):
    size = path.stat().st_size
    for entry in (1, 2):
        for field in (20, 24):
            edit(path, central(path, entry) + field, "<I", size - 10)
    refused(path, "the zip entries declare [0-9]+ bytes, more than the file")


def test_entries_with_two_sizes_are_refused(path):
    edit(path, central(path, 1) + 24, "<I", 17)
    refused(path, "two different sizes")


def test_a_manifest_over_its_limit_is_refused(tmp_path):
    path = tmp_path / "release"
    pack(path, {"manifest.json": bytes((16 << 20) + 1)})
    refused(path, "'manifest.json' declares 16777217 bytes, over its limit")


def test_a_file_over_four_gigabytes_is_refused(path):
    os.truncate(path, 1 << 32)
    refused(path, "smaller than 4 GiB")


def test_too_many_entries_are_refused(path):
    pack(path, {f"a{i}.npy": b"" for i in range(257)})
    refused(path, "declares 257 zip entries")


def test_a_directory_with_padding_is_refused(path):
    pack(path, files_of(path), change=lambda info: setattr(info, "comment", b"x" * 500))
    refused(path, "directory of the zip is .* bytes long")


def test_a_directory_shorter_than_its_count_is_refused(path):
    end = path.stat().st_size - 22
    for field in (8, 10):
        edit(path, end + field, "<H", 4)
    refused(path, "too short for its 4 entries")


def test_a_directory_longer_than_its_count_is_refused(path):
    pack(path, [("a.npy", b""), ("b.npy", b"")])
    end = path.stat().st_size - 22
    for field in (8, 10):
        edit(path, end + field, "<H", 1)
    refused(path, "bytes after its last entry")


@pytest.mark.parametrize("field", [4, 6, 8])
def test_one_part_of_a_split_zip_is_refused(path, field):
    edit(path, path.stat().st_size - 22 + field, "<H", 1)
    refused(path, "split zip")


@pytest.mark.parametrize(("field", "value"), [(0, 0), (28, 0xFFFF)])
def test_a_damaged_directory_is_refused(path, field, value):
    edit(path, central(path, 2) + field, "<H", value)
    refused(path, "directory of the zip is damaged")


def test_a_comment_that_is_declared_but_missing_is_refused(path):
    edit(path, path.stat().st_size - 2, "<H", 1)
    refused(path, "comment")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../counts.npy", "leads out of the archive"),
        ("a/../../counts.npy", "leads out of the archive"),
        ("..", "leads out of the archive"),
        ("/etc/passwd", "absolute path"),
        ("C:/counts.npy", "absolute path"),
        ("..\\counts.npy", "backslash"),
        ("folder/", "is a directory"),
        ("ä.npy", "not plain ASCII"),
        ("folder/counts.npy", "not in the manifest"),
        ("setup.py", "not in the manifest"),
    ],
)
def test_entries_that_are_no_array_of_the_manifest_are_refused(path, name, reason):
    pack(path, {**files_of(path), name: b""})
    refused(path, reason)


def test_symbolic_links_are_refused(path):
    def link(info):
        if info.filename == "sketch.npy":
            info.external_attr = (stat.S_IFLNK | 0o777) << 16

    pack(path, {**files_of(path), "sketch.npy": b"/etc/passwd"}, change=link)
    refused(path, "'sketch.npy' is a symbolic link")


def test_duplicate_entries_are_refused(path):
    files = files_of(path)
    pack(path, [*files.items(), ("counts.npy", files["counts.npy"])])
    refused(path, "'counts.npy' occurs twice")


def test_a_missing_array_is_refused(path):
    files = files_of(path)
    del files["counts.npy"]
    pack(path, files)
    refused(path, "'counts.npy' of the manifest is missing")


def test_a_missing_manifest_is_refused(path):
    files = files_of(path)
    del files["manifest.json"]
    pack(path, files)
    refused(path, "has no manifest.json")


def test_overlapping_entries_are_refused(path):
    first = struct.unpack_from("<I", path.read_bytes(), central(path, 1) + 42)[0]
    edit(path, central(path, 2) + 42, "<I", first)
    refused(path, "overlaps another one")


def test_an_entry_that_overlaps_the_directory_is_refused(path):
    size = struct.unpack_from("<I", path.read_bytes(), central(path, 2) + 20)[0]
    for field in (20, 24):
        edit(path, central(path, 2) + field, "<I", size + 1)
    refused(path, "overlaps the directory")


def test_an_entry_that_starts_in_the_directory_is_refused(path):
    edit(path, central(path, 2) + 42, "<I", central(path))
    refused(path, "starts beyond the entries")


def test_an_entry_without_a_header_is_refused(path):
    edit(path, struct.unpack_from("<I", path.read_bytes(), central(path, 1) + 42)[0], "<B", 0)
    refused(path, "'counts.npy' has no header")


def test_folders_and_pipes_are_refused(tmp_path):
    refused(tmp_path, "not a regular file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not a regular file")
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "missing")


# ------------------------------------------------------------------------- refused: the manifest


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b'{"a": 1', "not valid JSON"),
        (b"", "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "key 'c' twice"),
        (b'{"a": NaN}', "'NaN', which is not finite"),
        (b'{"a": -Infinity}', "'-Infinity', which is not finite"),
        (b'{"a": 1e999}', "'1e999', which is not finite"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "names the format None"),
        (b'{"a":' * 201 + b"1" + b"}" * 201, "nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b"{}", "names the format None"),
    ],
)
def test_manifests_that_are_not_clean_json_are_refused(path, text, reason):
    pack(path, {**files_of(path), "manifest.json": text})
    refused(path, reason)


@pytest.mark.parametrize("version", [2, 0, True, 1.0, "1", None])
def test_unknown_format_versions_are_refused(path, version):
    repack(path, format_version=version)
    refused(path, "format_version .* is not supported")


def test_other_formats_are_refused(path):
    repack(path, format="somebody-elses")
    refused(path, "names the format 'somebody-elses'")


@pytest.mark.parametrize("field", ["digest", "arrays"])
def test_a_manifest_without_its_own_fields_is_refused(path, field):
    files = files_of(path)
    manifest = json.loads(files["manifest.json"])
    del manifest[field]
    pack(path, {**files, "manifest.json": compact(manifest)})
    refused(path, f"no field '{field}'")


def test_a_changed_manifest_is_refused_by_its_digest(path):
    files = files_of(path)
    changed = files["manifest.json"].replace(b'"epsilon":1.0', b'"epsilon":0.1')
    assert changed != files["manifest.json"]
    pack(path, {**files, "manifest.json": changed})
    refused(path, "digest of manifest.json does not match")


GOOD = {"dtype": "float64", "shape": [3], "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ([], "'arrays' is not a JSON object"),
        ({"../a": GOOD}, "unusable name"),
        ({"a": []}, "needs the fields"),
        ({"a": {**GOOD, "more": 1}}, "needs the fields"),
        ({"a": {**GOOD, "dtype": "object"}}, "unknown dtype"),
        ({"a": {**GOOD, "dtype": ["float64"]}}, "unknown dtype"),
        ({"a": {**GOOD, "shape": [-1]}}, "impossible shape"),
        ({"a": {**GOOD, "shape": [True]}}, "impossible shape"),
        ({"a": {**GOOD, "shape": [1.0]}}, "impossible shape"),
        ({"a": {**GOOD, "shape": "3"}}, "impossible shape"),
        ({"a": {**GOOD, "shape": 3}}, "impossible shape"),
        ({"a": {**GOOD, "shape": [1] * 9}}, "too large"),
        ({"a": {**GOOD, "shape": [0, 1 << 62, 1 << 62]}}, "too large"),
        ({"a": {**GOOD, "shape": [10**1000]}}, "too large"),
        ({"a": {**GOOD, "sha256": "0" * 63}}, "sha256 in the manifest"),
        ({"a": {**GOOD, "sha256": 0}}, "sha256 in the manifest"),
    ],
)
def test_impossible_array_sections_are_refused(path, section, reason):
    repack(path, arrays=section)
    refused(path, reason)


# --------------------------------------------------------------------------- refused: the arrays

SKETCH = ARRAYS["sketch"]
HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"


def raw_npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


class Trap:
    """Unpickling it would create a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_pickled_objects_are_refused_and_not_run(path, tmp_path):
    trap = tmp_path / "sprung"
    objects = np.array([Trap(str(trap))], dtype=object)
    put_array(path, "sketch", npy(objects, allow_pickle=True), shape=[1])
    refused(path, "pickled Python objects")
    put_array(path, "sketch", pickle.dumps(Trap(str(trap))))
    refused(path, "not an npy file")
    assert not trap.exists()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an npy file"),
        (b"\x93NUMPY\x01\x00", "not an npy file"),
        (b"\x93NUMPX" + npy(SKETCH)[6:], "not an npy file"),
        (npy(SKETCH, version=(2, 0)), "npy format 2.0"),
        (npy(np.asfortranarray(np.eye(2))), "Fortran order"),
        (npy(SKETCH.astype(">f8")), "dtype '>f8', not float64"),
        (npy(np.arange(3)), "dtype '<i8', not float64"),
        (npy(SKETCH.reshape(3, 1)), r"shape '\(3, 1\)', not \(3,\)"),
        (npy(SKETCH[:2]), r"shape '\(2,\)', not \(3,\)"),
        (npy(SKETCH) + b"\0", "1 trailing bytes"),
        (npy(SKETCH)[:-1], "1 bytes too short"),
        (npy(SKETCH)[:100], "header of 128 bytes, which is too long"),
        (raw_npy(HEADER + " " * 2000, SKETCH.tobytes()), "header of .* too long"),
        (raw_npy("__import__('os')"), "not of the plain form"),
        (raw_npy("(" * 900), "not of the plain form"),
        (raw_npy(HEADER.replace("(3,)", "(3, )"), SKETCH.tobytes()), r"shape '\(3, \)'"),
        (raw_npy(HEADER + " " * 300, SKETCH.tobytes()), "differs from the standard encoding"),
        (npy(np.array([1.0, np.nan, 0.0])), "NaN or infinite"),
    ],
)
def test_array_files_that_are_not_the_declared_array_are_refused(path, data, reason):
    put_array(path, "sketch", data)
    refused(path, reason)


def test_a_structured_array_is_refused(path):
    put_array(path, "sketch", npy(np.zeros(3, dtype=[("a", "<f8")])))
    refused(path, "not of the plain form")


def test_a_bool_that_is_neither_true_nor_false_is_refused(path):
    data = npy(np.array([True, False, True]))[:-1] + b"\x02"
    put_array(path, "sketch", data, dtype="bool")
    refused(path, "other than 0 and 1")


def test_a_changed_array_is_refused_by_its_sha256(path):
    pack(path, {**files_of(path), "sketch.npy": npy(SKETCH + 1.0)})
    refused(path, "sha256 of array 'sketch' does not match")


def test_a_declared_shape_takes_no_memory_before_it_is_checked(path):
    header = HEADER.replace("(3,)", f"({1 << 28},)")
    put_array(path, "sketch", raw_npy(header), shape=[1 << 28])
    tracemalloc.start()
    try:
        refused(path, "bytes too short for its shape")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
