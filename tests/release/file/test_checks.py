"""Numbers and arrays of a file are of their kind and in their range, or refused by name."""

import math

import numpy as np
import pytest

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.schema import check_array, check_number, check_range


@pytest.mark.parametrize("value", [-1.0, 2.5, math.nan, math.inf])
def test_a_number_out_of_range_is_refused_by_name(value):
    check_number("cap", 1.0, 0.0, 2.0)
    with pytest.raises(ReleaseFileError, match=r"cap=.* is not a number from 0 to 2"):
        check_number("cap", value, 0.0, 2.0)


@pytest.mark.parametrize("array", [np.ones(3), np.ones((3, 3)), np.ones((3, 2), np.float32)])
def test_an_array_of_another_shape_or_kind_is_refused_by_name(array):
    check_array("X", np.ones((3, 2)), "float64", (None, 2), "rows by columns")
    with pytest.raises(ReleaseFileError, match=r"X is an array of .*rows by columns"):
        check_array("X", array, "float64", (None, 2), "rows by columns")


@pytest.mark.parametrize("entry", [-1.0, 3.0, math.nan])
def test_an_entry_out_of_range_is_refused_by_the_name_of_the_array(entry):
    check_range("X", np.array([]), 0.0, 2.0)
    check_range("X", np.array([0.0, 2.0]), 0.0, 2.0)
    with pytest.raises(ReleaseFileError, match="X holds numbers outside of 0 to 2"):
        check_range("X", np.array([1.0, entry]), 0.0, 2.0)
