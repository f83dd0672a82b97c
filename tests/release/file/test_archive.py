import errno
import hashlib
import io
import json
import os
import pickle
import re
import stat
import struct
import tracemalloc
import warnings
import zipfile

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
    monkeypatch.setattr(archive, "MAX_BYTES", 2000)
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


def test_a_full_disk_leaves_the_old_release_and_nothing_else(path, monkeypatch):
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"release file .* could not be written .*disk is full"):
        write_archive(path, {"new": True}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_interrupt_between_two_pieces_leaves_the_old_release(path, monkeypatch):
    before = path.read_bytes()
    whole = archive.encode_archive

    def interrupted(contents):
        yield whole(contents)[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(archive, "encode_archive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, {}, {"a": np.zeros(10)})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


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
    refused(path, "1 bytes too many")


def test_a_zip_comment_is_refused(path):
    with zipfile.ZipFile(path, "a") as changed:
        changed.comment = b"hello"
    refused(path, "comment")


def test_bytes_before_the_start_are_refused(path):
    whole = path.read_bytes()
    path.write_bytes(b"#!/bin/sh\n" + whole)
    refused(path, "not a zip file")
    path.write_bytes(whole + whole)
    refused(path, "zip entry 'manifest.json' is not in the manifest|bytes too many")


def test_a_valid_zip_with_the_same_content_but_other_bytes_is_refused(path):
    pack(path, files_of(path))
    refused(path, "differs from the standard encoding")


def test_a_second_name_hidden_in_a_local_header_is_refused(path):
    edit(path, 30, "<B", ord("M"))
    refused(path, "'Manifest.json' lies where 'manifest.json' should be")


def test_a_gap_between_entries_is_refused(path):
    files = list(files_of(path).items())
    data = path.read_bytes()
    # Shift the directory by one byte and say so in the end record: still a valid zip.
    at = central(path)
    path.write_bytes(data[:at] + b"!" + data[at:])
    edit(path, len(data) + 1 - 6, "<I", at + 1)
    assert files_of(path) == dict(files)
    refused(path, "1 bytes too many")


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


def local(path, entry=0):
    """Where the header of an entry begins."""
    return struct.unpack_from("<I", path.read_bytes(), central(path, entry) + 42)[0]


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_entries_are_refused(path, flag):
    edit(path, local(path, 1) + 6, "<H", flag)
    refused(path, "'counts.npy' is encrypted")


@pytest.mark.parametrize("size", [0xFFFFFFF0, 17])
def test_an_entry_of_another_size_than_its_array_is_refused(path, size):
    for field in (18, 22):
        edit(path, local(path, 1) + field, "<I", size)
    refused(path, f"'counts.npy' has {size} bytes instead of 160")


def test_entries_with_two_sizes_are_refused(path):
    edit(path, local(path, 1) + 22, "<I", 17)
    refused(path, "two different sizes")


@pytest.mark.parametrize("field", range(0, 46, 2))
def test_a_directory_that_says_something_else_is_refused(path, field):
    data = path.read_bytes()
    position = central(path, 1) + field
    edit(path, position, "<H", struct.unpack_from("<H", data, position)[0] ^ 1)
    refused(path, "differs from the standard encoding")


@pytest.mark.parametrize("field", range(0, 22, 2))
def test_an_end_that_says_something_else_is_refused(path, field):
    position = path.stat().st_size - 22 + field
    edit(path, position, "<H", struct.unpack_from("<H", path.read_bytes(), position)[0] ^ 1)
    refused(path, "differs from the standard encoding")


def test_a_manifest_over_its_limit_is_refused(tmp_path):
    path = tmp_path / "release"
    pack(path, {"manifest.json": bytes((16 << 20) + 1)})
    refused(path, "'manifest.json' declares 16777217 bytes, over its limit")


def test_a_file_over_four_gigabytes_is_refused(path):
    os.truncate(path, 1 << 32)
    refused(path, "smaller than 4 GiB")


def test_too_many_arrays_are_refused(path):
    repack(path, arrays={f"a{i}": GOOD for i in range(256)})
    refused(path, "256 arrays are too many")


def test_a_directory_with_padding_is_refused(path):
    pack(path, files_of(path), change=lambda info: setattr(info, "comment", b"x" * 500))
    refused(path, "1500 bytes too many")


@pytest.mark.parametrize(
    "name",
    ["../counts.npy", "a/../../counts.npy", "..", "/etc/passwd", "C:/counts.npy", "..\\counts.npy",
     "folder/", "folder/counts.npy", "setup.py"],
)  # fmt: skip
def test_entries_that_are_no_array_of_the_manifest_are_refused(path, name):
    files = files_of(path)
    pack(path, {**files, name: b""})
    refused(path, re.escape(f"zip entry {name!r} is not in the manifest"))
    pack(path, [*[*files.items()][:2], (name, b""), ("sketch.npy", files["sketch.npy"])])
    refused(path, re.escape(f"zip entry {name!r} lies where 'sketch.npy' should be"))


def test_a_name_that_is_not_plain_is_quoted_as_bytes(path):
    pack(path, {**files_of(path), "ä\x1b.npy": b""})
    refused(path, r"zip entry b'.*\\x1b.npy' is not in the manifest")


def test_a_name_beyond_all_length_is_cut(path):
    pack(path, {**files_of(path), "a" * 60_000: b""})
    with pytest.raises(ReleaseFileError, match="is not in the manifest") as caught:
        read_archive(path)
    assert len(str(caught.value)) < 500


def test_symbolic_links_are_refused(path):
    def link(info):
        if info.filename == "sketch.npy":
            info.external_attr = (stat.S_IFLNK | 0o777) << 16

    pack(path, files_of(path), change=link)
    refused(path, "differs from the standard encoding")


def test_duplicate_entries_are_refused(path):
    files = files_of(path)
    pack(path, [*files.items(), ("counts.npy", files["counts.npy"])])
    refused(path, "'counts.npy' is not in the manifest")


@pytest.mark.parametrize("name", ["counts", "sketch"])
def test_a_missing_array_is_refused(path, name):
    files = files_of(path)
    del files[f"{name}.npy"]
    pack(path, files)
    other = "'sketch.npy' lies where 'counts.npy' should" if name == "counts" else "is missing"
    refused(path, other)


def test_a_missing_manifest_is_refused(path):
    files = files_of(path)
    del files["manifest.json"]
    pack(path, files)
    refused(path, "'counts.npy' lies where 'manifest.json' should be")


def test_entries_in_another_order_are_refused(path):
    manifest, counts, sketch = files_of(path).items()
    pack(path, [manifest, sketch, counts])
    refused(path, "'sketch.npy' lies where 'counts.npy' should be")


def test_overlapping_entries_are_refused(path):
    edit(path, central(path, 2) + 42, "<I", local(path, 1))
    refused(path, "differs from the standard encoding")


def test_an_entry_without_a_header_is_refused(path):
    edit(path, local(path, 1), "<B", 0)
    refused(path, "'counts.npy' does not begin at byte")


def test_a_wrong_checksum_of_the_zip_is_refused(path):
    for entry in (0, 1):
        old = path.read_bytes()
        for position in (local(path, entry) + 14, central(path, entry) + 16):
            edit(path, position, "<I", 12345)
        refused(path, "differs from the standard encoding|checksum of zip entry 'counts.npy'")
        path.write_bytes(old)
    read_archive(path)


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
        ({"../a": GOOD}, "array name .* is not usable"),
        ({"a": []}, r"arrays\.a=\[\] is refused: expected a JSON object, got a list"),
        ({"a": {**GOOD, "more": 1}}, "unknown to it.*arrays.a.more"),
        ({"a": {"shape": [3], "sha256": "0" * 64}}, "lacks something: arrays.a.dtype"),
        ({"a": {**GOOD, "dtype": "object"}}, "arrays.a.dtype='object' is none of .*float64"),
        ({"a": {**GOOD, "dtype": ["float64"]}}, "arrays.a.dtype.* is none of"),
        (
            {"a": {**GOOD, "shape": [-1]}},
            r"arrays\.a\.shape\[0\]=-1 is refused: expected a whole number >= 0",
        ),
        ({"a": {**GOOD, "shape": [True]}}, "expected a whole number, got true or false"),
        ({"a": {**GOOD, "shape": [1.0]}}, "expected a whole number, got a number"),
        (
            {"a": {**GOOD, "shape": "3"}},
            "a.shape='3' is refused: expected a list, got a string",
        ),
        ({"a": {**GOOD, "shape": 3}}, "arrays.a.shape=3 is refused: expected a list"),
        ({"a": {**GOOD, "shape": [1] * 9}}, "too large"),
        ({"a": {**GOOD, "shape": [0, 1 << 62, 1 << 62]}}, "too large"),
        ({"a": {**GOOD, "shape": [10**1000]}}, "too large"),
        (
            {"a": {**GOOD, "sha256": "0" * 63}},
            "a.sha256=.* is refused: expected a string matching",
        ),
        (
            {"a": {**GOOD, "sha256": "0" * 64 + "\n"}},
            "a.sha256=.* is refused: expected a string",
        ),
        (
            {"a": {**GOOD, "sha256": 0}},
            "a.sha256=0 is refused: expected a string, got a whole",
        ),
    ],
)
def test_impossible_array_sections_are_refused(path, section, reason):
    repack(path, arrays=section)
    refused(path, reason)


# --------------------------------------------------------------------------- refused: the arrays

SKETCH = ARRAYS["sketch"]
SIZE = "'sketch.npy' has {} bytes instead of 152"
HEADER_OF = r"'sketch' does not begin with the npy header of float64 and shape \(3,\)"
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
    refused(path, "'sketch.npy' has [0-9]+ bytes instead of 136")
    put_array(path, "sketch", pickle.dumps(Trap(str(trap))), shape=[3])
    refused(path, "'sketch.npy' has [0-9]+ bytes instead of 152")
    pickled = npy(objects, allow_pickle=True)[: 128 + 24].ljust(128 + 24)
    put_array(path, "sketch", pickled)
    refused(path, "does not begin with the npy header of float64")
    assert not trap.exists()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", SIZE.format(0)),
        (b"\x93NUMPX" + npy(SKETCH)[6:], HEADER_OF),
        (npy(SKETCH, version=(2, 0)), HEADER_OF),
        (npy(np.asfortranarray(np.eye(2))), SIZE.format(160)),
        (npy(SKETCH).replace(b"False", b"True "), HEADER_OF),
        (npy(SKETCH.astype(">f8")), HEADER_OF + ".*>f8"),
        (npy(np.arange(3)), HEADER_OF),
        (npy(SKETCH.reshape(3, 1)), HEADER_OF),
        (npy(SKETCH[:2]), SIZE.format(144)),
        (npy(SKETCH) + b"\0", SIZE.format(153)),
        (npy(SKETCH)[:-1], SIZE.format(151)),
        (raw_npy(HEADER + " " * 2000, SKETCH.tobytes()), SIZE.format(2092)),
        (raw_npy("__import__('os')").ljust(152), HEADER_OF),
        (raw_npy("(" * 141), HEADER_OF),
        (npy(SKETCH).replace(b"(3,), } ", b"(3, ), }"), HEADER_OF),
        (npy(np.array([1.0, np.nan, 0.0])), "NaN or infinite"),
    ],
)
def test_array_files_that_are_not_the_declared_array_are_refused(path, data, reason):
    put_array(path, "sketch", data)
    refused(path, reason)


def test_a_structured_array_is_refused(path):
    put_array(path, "sketch", npy(np.zeros(3, dtype=[("a", "<f8")])))
    refused(path, HEADER_OF)


def test_a_bool_that_is_neither_true_nor_false_is_refused(path):
    data = npy(np.array([True, False, True]))[:-1] + b"\x02"
    put_array(path, "sketch", data, dtype="bool")
    refused(path, "other than 0 and 1")


def test_a_changed_array_is_refused_by_its_sha256(path):
    pack(path, {**files_of(path), "sketch.npy": npy(SKETCH + 1.0)})
    refused(path, "sha256 of array 'sketch' does not match")


@pytest.mark.parametrize("declared", [False, True])
def test_a_declared_shape_takes_no_memory_before_it_is_checked(path, declared):
    header = HEADER.replace("(3,)", f"({1 << 28},)")
    put_array(path, "sketch", raw_npy(header), shape=[1 << 28])
    reason = "'sketch.npy' has [0-9]+ bytes instead of 2147483776"
    if declared:  # by the zip, too
        for field in (18, 22):
            edit(path, local(path, 2) + field, "<I", 2147483776)
        reason = "cut short"
    tracemalloc.start()
    try:
        refused(path, reason)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
