"""How much of what varies is within places."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from cloakgp.data.blocks.arrays import cut_array
from cloakgp.data.partition import build_partition
from cloakgp.release.forecast import share_within


def places_of(X):
    return build_partition(cut_array(X).parts, lambda rows, people: np.full(rows.shape[1], 0.3))


def variation(kernel, X, number):
    """The slow way: how far f is from its mean over a group of people, squared, on average."""
    total = 0.0
    for group in np.unique(number):
        rows = X[number == group]
        total += len(rows) * float(np.mean(kernel.diag(rows)) - np.mean(kernel(rows)))
    return total / len(X)


@pytest.mark.parametrize("inputs", [1, 2, 6])
def test_the_share_is_what_people_themselves_say(inputs):
    X = np.random.default_rng(inputs).uniform(size=(900, inputs))
    places = places_of(X)
    for length in (0.1, 0.5, 2.0):
        kernel = ConstantKernel(2.0) * RBF(length)
        within = variation(kernel, X, places.assign(X))
        among_all = variation(kernel, X, np.zeros(len(X)))
        found = share_within(kernel, places)
        assert found == pytest.approx(within / among_all, rel=0.25, abs=1e-4)


def test_a_straight_line_varies_within_places_as_its_inputs_do():
    X = np.random.default_rng(0).uniform(size=(2000, 1))
    places = places_of(X)
    expected = float(places.counts @ places.spreads[:, 0] ** 2) / len(X) / X.var()
    assert share_within(DotProduct(0.0), places) == pytest.approx(expected, rel=1e-2)


def test_more_inputs_lose_more():
    rng = np.random.default_rng(1)
    lost = [
        share_within(RBF(0.5), places_of(rng.uniform(size=(2000, inputs)))) for inputs in (1, 2, 6)
    ]
    assert lost[0] < 1e-3 < lost[1] < 0.1 < lost[2]


def test_where_all_inputs_at_a_place_are_equal_nothing_is_lost():
    X = np.repeat(np.arange(50.0), 100)[:, None]
    assert share_within(RBF(0.5), places_of(X)) == pytest.approx(0.0, abs=1e-12)


def test_a_level_that_everybody_shares_cannot_be_lost():
    X = np.random.default_rng(2).uniform(size=(500, 2))
    assert share_within(ConstantKernel(3.0), places_of(X)) == 0.0
