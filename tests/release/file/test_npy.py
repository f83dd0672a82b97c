"""Arrays as files that NumPy can read, with one header for one array."""

import io

import numpy as np
import pytest

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.npy import (
    DESCR,
    ArrayHeader,
    as_bytes,
    check_name,
    check_shape,
    check_storable,
)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)], ids=str)
@pytest.mark.parametrize("dtype", DESCR)
def test_numpy_reads_what_is_written(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    header = ArrayHeader(dtype, shape)
    data = header.encoded + bytes(as_bytes(array))
    assert len(header.encoded) % 64 == 0
    assert len(data) == header.size
    found = np.load(io.BytesIO(data), allow_pickle=False)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, header.empty().shape)


def test_numbers_are_in_c_order_whatever_the_array_is():
    array = np.arange(6.0).reshape(2, 3)
    assert bytes(as_bytes(np.asfortranarray(array))) == array.tobytes()
    assert bytes(as_bytes(array.astype(">f8").astype("f8"))) == array.tobytes()


@pytest.mark.parametrize("name", ["", "1a", "a-b", "../a", "a" * 65, "ä", 7], ids=repr)
def test_names_that_are_not_file_names_everywhere_are_refused(name):
    with pytest.raises(ReleaseFileError, match="array name"):
        check_name(name)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.ma.masked_array([1.0], [True]), "MaskedArray"),
        (np.zeros(2, dtype=np.float32), "dtype float32"),
        (np.array([None]), "dtype object"),
        (np.array([np.nan]), "NaN or infinite"),
        (np.array([2], dtype=np.uint8).view(bool), "other than 0 and 1"),
    ],
    ids=["masked", "narrow", "objects", "nan", "a truth of 2"],
)
def test_what_a_file_cannot_hold_exactly_is_refused(array, reason):
    with pytest.raises(ReleaseFileError, match=reason):
        check_storable("a", array)


@pytest.mark.parametrize("shape", [(1 << 30,), (0, 1 << 40), (1,) * 9], ids=str)
def test_shapes_beyond_all_memory_are_refused(shape):
    with pytest.raises(ReleaseFileError, match="too large"):
        check_shape("a", "float64", shape)
