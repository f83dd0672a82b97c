"""Plain arrays from arrays and frames of pandas."""

import numpy as np
import pandas as pd
import pytest

from cloakgp.data.blocks.arrays import input_floats, kind_of_dtype, output_values


@pytest.mark.parametrize("dtype", ["float32", "Int64", "Float64", "int64[pyarrow]", "boolean"])
def test_inputs_of_any_kind_of_number_become_floats(dtype):
    frame = pd.DataFrame({"a": pd.Series([1, 0, 1], dtype="int64").astype(dtype)})
    np.testing.assert_array_equal(input_floats(frame), [[1.0], [0.0], [1.0]])
    if dtype not in ("float32",):
        frame.loc[1, "a"] = pd.NA
        np.testing.assert_array_equal(input_floats(frame), [[1.0], [np.nan], [1.0]])


def test_inputs_in_another_order_of_memory_become_contiguous():
    values = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    assert input_floats(values).flags.c_contiguous
    plain = np.arange(6.0).reshape(3, 2)
    assert input_floats(plain) is plain


def test_what_cannot_be_converted_is_not_quoted():
    assert input_floats(np.array([["SECRET"]])) is None
    assert input_floats(pd.DataFrame({"a": ["SECRET"]})) is None

    class Broken:
        def __array__(self, *_, **__):
            raise ValueError("SECRET")

    assert output_values(Broken()) is None


OUTPUTS = {
    "floats": (pd.Series([1.5, np.nan]), [1.5, np.nan], "f"),
    "whole numbers": (pd.Series([1, 2]), [1, 2], "i"),
    "nullable": (pd.Series([1, 2], dtype="Int8"), [1, 2], "i"),
    "nullable with a gap": (pd.Series([1, None], dtype="Int8"), [1.0, np.nan], "f"),
    "arrow": (pd.Series([1, 2], dtype="int32[pyarrow]"), [1, 2], "i"),
    "booleans": (pd.Series([True, False]), [True, False], "b"),
    "nullable booleans": (pd.Series([True, False], dtype="boolean"), [True, False], "b"),
    "strings": (pd.Series(["a", "b"]), ["a", "b"], "O"),
    "strings with a gap": (pd.Series(["a", None], dtype="string"), ["a", None], "O"),
    "categories": (pd.Series(["a", "b"], dtype="category"), ["a", "b"], "O"),
    "numbered categories": (pd.Series([3, 4], dtype="category"), [3, 4], "i"),
    "boolean categories": (pd.Series([True, False], dtype="category"), [True, False], "b"),
    "an array": (np.array(["a", "b"]), ["a", "b"], "U"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_keep_their_kind(case):
    series, expected, kind = OUTPUTS[case]
    found = output_values(series)
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, np.array(expected, dtype=found.dtype))


def test_masked_outputs_stay_masked():
    assert np.ma.is_masked(output_values(np.ma.masked_equal([1, 2], 2)))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("int8", "numbers"),
        ("Float32", "numbers"),
        ("double[pyarrow]", "numbers"),
        ("complex128", "others"),
        ("bool", "booleans"),
        ("boolean", "booleans"),
        ("datetime64[ns]", "dates"),
        ("datetime64[ns, UTC]", "dates"),
        ("timedelta64[ns]", "dates"),
        ("timestamp[ns][pyarrow]", "dates"),
        ("category", "labels"),
        ("string", "labels"),
        ("object", "labels"),
        ("U3", "labels"),
        ("period[D]", "others"),
    ],
)
def test_dtypes_say_what_a_column_holds(dtype, kind):
    try:
        found = pd.api.types.pandas_dtype(dtype)
    except TypeError:
        found = np.dtype(dtype)
    assert kind_of_dtype(found) == kind
    if kind == "labels" and dtype == "category":
        assert kind_of_dtype(pd.CategoricalDtype([True, False])) == "labels"
