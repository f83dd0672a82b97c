"""Tables in blocks: what they say of themselves, and that inputs and outputs fit together."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from block_cases import INPUTS, PEOPLE, SOURCES, N, whole

from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.data.blocks.table import check_aligned, finite
from cloakgp.data.checks import shape_of, target_names
from cloakgp.data.frames import column_names, names_of
from cloakgp.errors import TableError


@pytest.mark.parametrize("output", ["height", "ill"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_rows(source, output, tmp_path):
    X, y = SOURCES[source](output, tmp_path)
    assert len(X.parts) > 2
    check_aligned(X, y)
    assert X.shape == (N, 2)
    assert y.shape == (N,)
    values = whole(X)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, PEOPLE[INPUTS])
    found = whole(y)
    np.testing.assert_array_equal(found, PEOPLE[output])
    assert found.dtype.kind == "O" if output == "ill" else found.dtype.kind in "fO"


@pytest.mark.parametrize("source", SOURCES)
def test_parts_can_be_sent_elsewhere_and_read_there(source, tmp_path):
    for blocks in SOURCES[source]("height", tmp_path):
        for part in blocks.parts:
            sent = pickle.loads(pickle.dumps(part))
            assert sent.rows == part.rows == len(sent.read())
            np.testing.assert_array_equal(sent.read(), part.read())


@pytest.mark.parametrize("source", SOURCES)
def test_inputs_are_contiguous_floats(source, tmp_path):
    for part in SOURCES[source]("height", tmp_path)[0].parts:
        values = part.read()
        assert values.flags.c_contiguous
        assert values.dtype == np.float64
        assert values.shape == (part.rows, 2)


@pytest.mark.parametrize("output", ["height", "ill"])
@pytest.mark.parametrize("source", SOURCES)
def test_nothing_that_is_shown_of_outputs_holds_a_value(source, output, tmp_path):
    _, y = SOURCES[source](output, tmp_path)
    shown = repr(y) + "".join(map(repr, y.parts)) + str(y)
    # Arrays are shown with fewer digits.
    words = [f"'{v}'" if output == "ill" else str(v)[:7] for v in PEOPLE[output].unique()]
    assert not [word for word in words if word in shown]


@pytest.mark.parametrize("source", SOURCES)
def test_blocks_tell_names_and_shape_as_other_tables_do(source, tmp_path):
    X, y = SOURCES[source]("height", tmp_path)
    named = source not in ("arrays", "dask arrays")
    assert column_names(X) == X.names == (tuple(INPUTS) if named else None)
    assert target_names(y) == y.names == (("height",) if named else None)
    assert names_of(y) == ({"height"} if named else set())
    assert shape_of(y, N) == (N,)


def test_a_table_of_outputs_is_not_a_column():
    one = cut_outputs(PEOPLE[["height"]])
    assert (one.shape, one.ndim, one.name, one.names) == ((N, 1), 2, None, ("height",))
    assert column_names(one) == ("height",)
    two = cut_outputs(PEOPLE[["height", "weight"]], rows=300)
    assert two.shape == (N, 2)
    np.testing.assert_array_equal(whole(two), PEOPLE[["height", "weight"]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([500, 499], "y must have one row for each of the 1000 rows of X, got 999"),
        ([400, 600], "part 0 has 500 rows in X and 400 in y"),
        ([500, 400, 100], "X into 2 and y into 3 parts, and part 1 has 500 rows in X and 400"),
        ([1000], "part 0 has 500 rows in X and 1000 in y"),
    ],
)
def test_outputs_of_other_rows_are_refused(rows, message):
    X = cut_array(PEOPLE[INPUTS], rows=500)
    y = cut_outputs(PEOPLE["height"][: sum(rows)], rows=rows)
    with pytest.raises(TableError, match=message):
        check_aligned(X, y)
    check_aligned(X, cut_outputs(PEOPLE["height"], rows=[part.rows for part in X.parts]))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "is missing in 2 of 10 rows"),
        (np.inf, "is not a finite number in 2 of 10 rows"),
        (-np.inf, "is not a finite number in 2 of 10 rows"),
    ],
)
def test_inputs_that_are_no_numbers_are_named_by_part_and_column(value, words):
    values = np.zeros((10, 3))
    assert finite(values, None, "here") is values
    values[[2, 7], 1] = value
    with pytest.raises(TableError, match=f"^here: input column 'b' {words}"):
        finite(values, ["a", "b", "c"], "here")
    with pytest.raises(TableError, match=f"^here: input column '1' {words}"):
        finite(values, None, "here")


def test_parts_come_in_the_order_of_rows():
    X = cut_array(np.arange(10.0)[:, None], rows=3)
    assert [part.rows for part in X.parts] == [3, 3, 3, 1]
    assert all(one.read().max() < other.read().min() for one, other in pairwise(X.parts))
