"""A plan is known again by its public inputs and settings, in every digit."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor
from cloakgp.release.request import Request, settings_of

ROWS = np.arange(6.0).reshape(3, 2)
USUAL = Request(
    maker="PrivateGPRegressor",
    X=ROWS,
    names=("a", "b"),
    at=ROWS[:1],
    groups=np.array([0, 0, 1]),
    exposure=np.ones(3),
    settings={"kernel": 2.0 * RBF(1.0), "rank": None},
)
OTHERS = {
    "maker": ("PrivateGPClassifier", "made by a PrivateGPRegressor, not by a PrivateGPClassifier"),
    "X": (ROWS + 1e-12, "other inputs X"),
    "names": (("a", "c"), "other column names of X"),
    "at": (None, "other points at"),
    "groups": (np.array([0, 1, 1]), "other groups"),
    "exposure": (np.array([1.0, 1.0, 2.0]), "other exposure"),
    "settings": ({"kernel": 2.0 * RBF(1.0 + 1e-12), "rank": 2}, "with other kernel, rank;"),
}


def test_an_equal_request_is_the_same():
    USUAL.check_same(deepcopy(USUAL))


@pytest.mark.parametrize("name", OTHERS)
def test_a_request_that_differs_in_anything_is_another(name):
    value, message = OTHERS[name]
    with pytest.raises(ValueError, match=f"{message}.*leave it out or plan again"):
        USUAL.check_same(replace(USUAL, **{name: value}))


def test_a_setting_more_or_less_is_another_request():
    more = replace(USUAL, settings={**USUAL.settings, "cap": 3})
    for one, other in ((USUAL, more), (more, USUAL)):
        with pytest.raises(ValueError, match="other cap"):
            one.check_same(other)


def test_settings_are_copies_without_those_of_the_spend():
    kernel = 2.0 * RBF(1.0)
    settings = settings_of(PrivateGPRegressor(kernel, bounds=(0, 1), ledger="x", dataset="y"))
    assert not settings.keys() & {"ledger", "dataset", "random_state"}
    kernel.k2.length_scale = 9.0
    assert settings["kernel"].k2.length_scale == 1.0
