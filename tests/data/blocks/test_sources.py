"""Which data come in blocks."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.data.blocks.dask import blocks_of, output_blocks_of

A = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("data", [A, A[:, 0], pd.DataFrame(A), [[1.0]], None, "a", object()])
def test_data_in_memory_do_not(data):
    assert blocks_of(data) is None
    assert output_blocks_of(data) is None


def test_blocks_are_blocks_already():
    X, y = cut_array(A), cut_outputs(A[:, 0])
    assert blocks_of(X) is X
    assert output_blocks_of(y) is y
    assert blocks_of(y) is None
    assert output_blocks_of(X) is None


def test_dask_is_not_imported_to_find_out():
    code = """
import sys
import numpy as np
from cloakgp.data.blocks.dask import blocks_of, output_blocks_of
assert blocks_of(np.ones((2, 2))) is output_blocks_of(np.ones(2)) is None
assert {"dask", "distributed"}.isdisjoint(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
