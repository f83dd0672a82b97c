"""Arrays in memory as blocks."""

import numpy as np
import pandas as pd
import pytest
from block_cases import whole

from cloakgp.data.blocks.arrays import ArrayOutputs, cut_array, cut_outputs
from cloakgp.errors import TableError

A = np.arange(20.0).reshape(10, 2)
SECRET = "SECRET4711"


def test_nothing_is_copied():
    X, y = cut_array(A, rows=4), cut_outputs(A[:, 1], rows=4)
    assert all(np.shares_memory(part.read(), A) for part in X.parts)
    assert all(np.shares_memory(part.read(), A) for part in y.parts)


def test_a_table_without_rows_has_no_parts():
    X = cut_array(A[:0])
    assert (X.shape, X.parts) == ((0, 2), ())


def test_parts_have_the_rows_that_are_asked_for():
    assert [part.rows for part in cut_array(A, rows=[1, 2, 7]).parts] == [1, 2, 7]
    for cut, what in ((cut_array, "X"), (cut_outputs, "y")):
        with pytest.raises(TableError, match=f"{what} has 10 rows, and parts of 3 rows"):
            cut(A, rows=[1, 2])


@pytest.mark.parametrize("X", [A[0], A[None], 3.0])
def test_inputs_must_be_a_table(X):
    with pytest.raises(TableError, match="two dimensions"):
        cut_array(X)


def test_inputs_that_are_no_numbers_are_refused_when_they_are_read():
    X = cut_array(np.array([["young"]] * 10, dtype=object), rows=4)
    with pytest.raises(TableError, match="rows 4 to 7 of X holds values that are not numbers"):
        X.parts[1].read()
    X = cut_array(pd.DataFrame({"age": [1.0, np.nan, 3.0]}), rows=2)
    with pytest.raises(TableError, match="rows 0 to 1 of X: input column 'age' is missing in 1"):
        X.parts[0].read()
    assert X.parts[1].read() == 3.0


def test_a_list_of_numbers_and_strings_keeps_both():
    y = cut_outputs([1, "1", np.nan], rows=2)
    assert whole(y).tolist()[:2] == [1, "1"]
    assert whole(cut_outputs([1, 2])).dtype.kind == "i"


@pytest.mark.parametrize("y", [A[None], 3.0, [[1], [2, 3]]])
def test_outputs_must_be_a_column_or_a_table(y):
    with pytest.raises(TableError, match="one or two dimensions") as caught:
        cut_outputs(y)
    assert caught.value.__context__ is None


def test_outputs_that_cannot_be_read_are_not_quoted():
    class Broken(pd.Series):
        @property
        def dtype(self):
            raise ValueError(SECRET)

    with pytest.raises(TableError, match="neither numbers nor labels") as caught:
        ArrayOutputs(Broken([1.0])).read()
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
