"""Blocks of people that are sent to workers."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from cloakgp.data.batches import ConstantPart, ExposurePart, HeldBatch
from cloakgp.data.blocks.arrays import cut_array

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


@pytest.mark.parametrize("exposure", [[[1.0], [0.0]], [[1.0], [-2.0]], [[1.0, 1.0]]])
def test_exposures_that_are_not_one_column_above_zero_are_refused(exposure):
    (part,) = cut_array(np.array(exposure)).parts
    with pytest.raises(ValueError, match="one column of numbers > 0"):
        ExposurePart(part).read()


def test_equal_exposures_take_no_room_until_they_are_read():
    part = ConstantPart(10**9, 2.0)
    assert len(pickle.dumps(part)) < 200
    np.testing.assert_array_equal(ConstantPart(3, 2.0).read(), [[2.0], [2.0], [2.0]])
