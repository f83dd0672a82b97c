"""Arrays of a page hold every number to the last bit, in as little room as that takes."""

import base64

import numpy as np
import pytest

from cloakgp.report.model import Arrays


def read(written):
    numbers = np.frombuffer(base64.b64decode(written["data"]), dtype=f"<{written['kind']}")
    return (numbers.astype(float) / 2.0 ** written["steps"]).reshape(written["shape"])


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.arange(20.0) - 7, "i1"),
        (np.array([[300.0, -2.0]]), "i2"),
        (np.array([1e6, 3.0]), "i4"),
        (np.array([0.5, -0.25, 3.0]), "i4"),
        (np.array([0.1, 1e-300, 1e300]), "f8"),
        (np.array([2.0**40]), "f8"),
        (np.zeros((0, 3)), "f8"),
    ],
)
def test_numbers_are_kept_to_the_last_bit(array, kind):
    arrays = Arrays()
    arrays.add(array)
    (written,) = arrays.written
    assert written["kind"] == kind
    np.testing.assert_array_equal(read(written), array)


def test_an_array_is_kept_once_for_each_shape():
    arrays = Arrays()
    row = np.arange(6.0)
    assert [arrays.add(a) for a in (row, row.copy(), row.reshape(2, 3), row + 1)] == [0, 0, 1, 2]
    assert arrays.size == sum(len(each["data"]) for each in arrays.written)
