"""Scalers of scikit-learn as columns: only those that move and stretch."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from cloakgp.data.columns import columns_of_scaler

X = pd.DataFrame({"age": [20.0, 40.0, 60.0, 90.0], "mass": [1e3, 3e3, 2e3, 9e3]})


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 1)),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_raw_values_become_what_the_scaler_makes_of_them(scaler, named):
    raw = X if named else X.to_numpy()
    rows = np.asarray(scaler.fit_transform(raw))
    columns = columns_of_scaler(scaler, rows)
    assert columns.names == (("age", "mass") if named else None)
    assert np.allclose(columns.rows(raw), rows, rtol=1e-12, atol=1e-12)


def test_what_does_more_than_a_scaler_is_refused():
    power = PowerTransformer().fit(X)
    with pytest.raises(ValueError, match="more than move and stretch"):
        columns_of_scaler(power, np.asarray(power.transform(X)))
    clipping = MinMaxScaler(clip=True).fit(X)
    with pytest.raises(ValueError, match="more than move and stretch"):
        columns_of_scaler(clipping, np.array([[2.0, 2.0]]))
    with pytest.raises(ValueError, match="must be a fitted scaler"):
        columns_of_scaler(StandardScaler(), X.to_numpy())
    with pytest.raises(ValueError, match="has 2 columns, and the release 1"):
        columns_of_scaler(StandardScaler().fit(X), np.ones((3, 1)))
