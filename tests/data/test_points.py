"""Raw points as rows of a model."""

import numpy as np
import pytest

from cloakgp.columns import Category
from cloakgp.data.columns import Columns
from cloakgp.data.rows import ModelRows, points_of


def test_rows_of_a_model_are_known_again_and_raw_values_that_look_like_them_are_not():
    columns = Columns(("kind",), (Category(("1", "0")),))
    rows = points_of([[1], [0]], columns, ("kind",), 2)
    assert rows.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert points_of(rows[:1], columns, None, 2).tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match="X has 2 columns, but 1 are needed"):
        points_of(np.asarray(rows), columns, None, 2)


def test_what_is_computed_from_rows_of_a_model_is_no_row():
    rows = np.ones((2, 3)).view(ModelRows)
    assert type(rows + 1.0) is np.ndarray
    assert isinstance(rows[1:], ModelRows)
    assert float(rows.sum()) == 6.0
