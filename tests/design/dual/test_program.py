"""Pairs of coordinates: what the curvature of all three programs is made of."""

import numpy as np

from cloakgp.design.dual.program import pair_count, pair_features


def test_products_of_features_are_squared_products_of_columns():
    T = np.random.default_rng(0).normal(size=(4, 9))
    features = pair_features(T, np.ones((4, 4)))
    assert features.shape == (9, pair_count(4))
    np.testing.assert_allclose(features @ features.T, (T.T @ T) ** 2)


def test_features_can_be_scaled_pair_by_pair():
    rng = np.random.default_rng(1)
    T, scale = rng.normal(size=(3, 5)), rng.uniform(0.5, 2.0, size=(3, 3))
    scale = scale + scale.T
    features = pair_features(T, scale)
    outer = np.einsum("ai,bi->iab", T, T) * scale
    np.testing.assert_allclose(features @ features.T, np.einsum("iab,jab->ij", outer, outer))
