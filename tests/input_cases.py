"""One table in several libraries, and every estimator that may be given it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)

N = 24
RNG = np.random.default_rng(0)
AGES = RNG.uniform(0, 10, N)
WEIGHTS = RNG.uniform(0, 10, N)
HEIGHTS = np.floor(RNG.uniform(0, 4, N))  # fit for counts, for labels and for numbers alike
A = np.column_stack([AGES, HEIGHTS, WEIGHTS])
NAMES = ["age", "height", "weight"]
ESTIMATORS = {
    "regressor": lambda **o: PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10), **o),
    "classifier": lambda **o: PrivateGPClassifier(4 * RBF(2.0), classes=[0.0, 1.0, 2.0, 3.0], **o),
    "counts": lambda **o: PrivateGPCountRegressor(RBF(2.0), cap=10, **o),
    "search": lambda **o: PrivateGridSearch(
        PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10), **o), {"rank": [1, 2]}, cv=2
    ),
}


def refuse(model, message, X, y, **data):
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(X, y, **data)
    assert not hasattr(model, "release_")
    return str(caught.value)


pandas = pd.DataFrame(A, columns=NAMES)
mixed = pandas.assign(weight=pandas["weight"].astype(np.float32), age=pandas["age"].astype(int))
polars = pl.DataFrame(A, schema=NAMES)
arrow = pa.table({name: A[:, i] for i, name in enumerate(NAMES)})
