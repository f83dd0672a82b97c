"""MINRES solves symmetric systems, definite or not, and stops where it is told to."""

import numpy as np
import pytest

from cloakgp.design.bayes.minres import minres


def system(signs, seed=0):
    rng = np.random.default_rng(seed)
    n = len(signs)
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    scale = 10.0 ** rng.uniform(-4.0, 4.0, size=n)
    A = (U * (signs * rng.uniform(0.5, 2.0, size=n))) @ U.T * np.sqrt(np.outer(scale, scale))
    return A, scale, rng.normal(size=n) * np.sqrt(scale)


@pytest.mark.parametrize("signs", [np.ones(30), np.where(np.arange(30) < 10, -1.0, 1.0)])
@pytest.mark.parametrize("exact", [1e-1, 1e-4, 1e-9])
def test_the_residual_is_as_small_as_asked_for_in_the_norm_of_the_rough_inverse(signs, exact):
    A, scale, b = system(signs)
    counted = []

    def times(v):
        counted.append(v)
        return A @ v

    x = minres(times, lambda v: v / scale, b, exact, 200)
    r = b - A @ x
    assert np.sqrt(r @ (r / scale)) <= 1.001 * exact * np.sqrt(b @ (b / scale))
    assert len(counted) <= 40
    # It stops there: asked for less, it takes fewer products.
    few = len(counted)
    minres(times, lambda v: v / scale, b, 0.1 * exact, 200)
    assert few < len(counted) - few


def test_it_gives_up_after_so_many_products():
    A, scale, b = system(np.ones(30))
    counted = []
    minres(lambda v: counted.append(v) or A @ v, lambda v: v / scale, b, 0.0, 5)
    assert len(counted) == 5


def test_nothing_is_solved_by_nothing():
    x = minres(lambda v: v, lambda v: v, np.zeros(3), 1e-3, 10)
    np.testing.assert_array_equal(x, 0.0)
