"""Points to predict at: grids and files."""

import pytest

from cloakgp.app.tables.points import read_points
from cloakgp.data.columns import Columns
from cloakgp.errors import CommandError


def test_a_grid_over_several_inputs_is_their_product():
    grid = read_points("b=1:2:2, a=5", Columns.numbers(("a", "b"), 2))
    assert grid.to_dict("list") == {"a": [5.0, 5.0], "b": [1.0, 2.0]}


@pytest.mark.parametrize(
    "spec", ["a=0:1", "a=2:1:5", "a=0:1:0", "a=0:1:1.5", "a=0:1:x", "a=0:inf:3", "a=1,a=2", "a="]
)
def test_a_grid_that_makes_no_sense_is_refused(spec):
    with pytest.raises(CommandError, match=r"^at "):
        read_points(spec, Columns.numbers(("a",), 1))


def test_a_grid_is_never_larger_than_memory():
    with pytest.raises(CommandError, match="points"):
        read_points("a=0:1:100000,b=0:1:100000", Columns.numbers(("a", "b"), 2))
