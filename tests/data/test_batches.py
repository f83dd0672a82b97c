"""Blocks of people that are sent to workers."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from cloakgp.app.tables.columns import LoadedTable
from cloakgp.data.batches import ConstantPart, ExposurePart, HeldBatch, PrivateRows
from cloakgp.data.blocks.arrays import cut_array
from cloakgp.privacy import Grid, Interval
from cloakgp.privacy.choice.bounds import Held

WORKER = """
import sys
import cloakgp.data.batches, cloakgp.data.partition, cloakgp.data.blocks.parquet
print(*sorted({"sklearn", "scipy.optimize", "matplotlib"} & set(sys.modules)))
"""


def test_a_worker_that_reads_parquet_does_not_load_scikit_learn():
    found = subprocess.run(
        [sys.executable, "-c", WORKER], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == ""


def test_people_in_memory_keep_their_order():
    batch = HeldBatch(np.array([2, 0, 1]), [3.0, 1.0, 2.0])
    assert batch.places().tolist() == [2, 0, 1]
    assert batch.outputs() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "held",
    [
        HeldBatch(np.array([0]), [4711.0]),
        PrivateRows(Grid([Interval(0, 1, 2)]), [np.array([4711.0])], [4711.0]),
        Held(1, [4711.0]),
        LoadedTable(inputs=[4711.0], outputs=[4711.0]),
    ],
    ids=lambda held: type(held).__name__,
)
def test_what_holds_private_values_does_not_show_them(held):
    """Schedulers, debuggers and logs of others write out what they were given."""
    assert "4711" not in repr(held)


@pytest.mark.parametrize("exposure", [[[1.0], [0.0]], [[1.0], [-2.0]], [[1.0, 1.0]]])
def test_exposures_that_are_not_one_column_above_zero_are_refused(exposure):
    (part,) = cut_array(np.array(exposure)).parts
    with pytest.raises(ValueError, match="one column of numbers > 0"):
        ExposurePart(part).read()


def test_equal_exposures_take_no_room_until_they_are_read():
    part = ConstantPart(10**9, 2.0)
    assert len(pickle.dumps(part)) < 200
    np.testing.assert_array_equal(ConstantPart(3, 2.0).read(), [[2.0], [2.0], [2.0]])
