"""Settings are compared by value, in every digit."""

from copy import deepcopy

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor
from cloakgp.kernels import Blend, Logistic
from cloakgp.release.settings import same_setting

X = np.arange(12.0).reshape(6, 2)


def test_settings_of_every_kind_are_compared_by_value():
    class Weight:
        def __init__(self, center):
            self.center = center

        def __call__(self, x):
            return x[:, 0] > self.center

    for same, other in (
        (X[:3], X[1:4]),
        (X[:3], X[:3].astype(np.float32)),
        ((0.0, 1.0), (0.0, 1.0 + 1e-15)),
        ([(0, 1), (0, 1)], [(0, 1), (0, 2)]),
        ({"rank": [1]}, {"rank": [2]}),
        ({"rank": [1]}, {"rank": [1], "inducing": [3]}),
        (Weight(1.0), Weight(2.0)),
        (
            Blend(RBF(1.0), RBF(2.0), Logistic(1.0, 1.0)),
            Blend(RBF(1.0), RBF(2.0), Logistic(2.0, 1.0)),
        ),
        (None, 0),
        ("median", 3.0),
        (pd.DataFrame({"a": [1.0]}), pd.DataFrame({"a": [2.0]})),
        (RBF(1.0), "RBF(1.0)"),
        (PrivateGPRegressor(), PrivateGPRegressor(900 * RBF(3.0))),
    ):
        assert same_setting(same, deepcopy(same))
        assert not same_setting(same, other)
        assert not same_setting(other, same)
