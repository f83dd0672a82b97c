"""Predictions leave the bounds unless they are asked to stay."""

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)
from cloakgp.release.posterior import check_clip, clipped

X = np.arange(12.0)[:, None]
#: Near people and far from them, where a wide prior leaves the bounds.
POINTS = np.array([[-40.0], [3.0], [60.0]])
LO, HI = np.array([10.0, -1.0]), np.array([20.0, 1.0])


@pytest.fixture(scope="module")
def one():
    model = PrivateGPRegressor(400.0 * RBF(2.0), bounds=(10, 20), prior_mean=8.0, epsilon=0.5)
    return model.fit(X, np.full(12, 15.0))


@pytest.fixture(scope="module")
def two():
    y = pd.DataFrame({"a": np.full(12, 15.0), "b": np.zeros(12)})
    kernel, bounds = 400.0 * RBF(2.0), [(10, 20), (-1, 1)]
    return PrivateGPRegressor(kernel, bounds=bounds, prior_mean=[8.0, 3.0]).fit(X, y)


def test_by_default_predictions_are_as_the_model_has_them(one):
    release = one.release_
    np.testing.assert_array_equal(release.predict(POINTS), release.latent(POINTS))
    assert release.predict(POINTS)[0] == pytest.approx(8.0)
    low, high = release.predict_interval(POINTS)
    assert low.min() < 10.0
    assert high.max() > 20.0


@pytest.mark.parametrize("fitted", ["one", "two"])
def test_clipped_means_and_ends_are_those_of_the_model_within_the_bounds(fitted, request):
    model = request.getfixturevalue(fitted)
    lo, hi = model.release_.spec.lo, model.release_.spec.hi
    for what in (model, model.release_):
        raw, inside = what.predict(POINTS), what.predict(POINTS, clip="bounds")
        np.testing.assert_array_equal(inside, np.clip(raw, lo, hi))
        assert not np.array_equal(raw, inside)
        for of in ("curve", "person"):
            for end, cut in zip(
                what.predict_interval(POINTS, of=of),
                what.predict_interval(POINTS, of=of, clip="bounds"),
                strict=True,
            ):
                np.testing.assert_array_equal(cut, np.clip(end, lo, hi))


def test_spreads_are_not_clipped(one):
    for asked in ({"return_std": True}, {"return_cov": True}):
        raw, inside = one.predict(POINTS, **asked), one.predict(POINTS, **asked, clip="bounds")
        np.testing.assert_array_equal(raw[1], inside[1])
        assert inside[0].min() == 10.0 > raw[0].min()


@pytest.mark.parametrize("fitted", ["one", "two"])
def test_tables_are_clipped_if_asked_for_and_say_the_same_of_uncertainty(fitted, request):
    release = request.getfixturevalue(fitted).release_
    raw, inside = release.to_frame(POINTS), release.to_frame(POINTS, clip="bounds")
    for c, name in enumerate(release.named_targets):
        for end in ("", "_low95", "_high95", "_person_low95", "_person_high95"):
            lo, hi = release.spec.lo[c], release.spec.hi[c]
            np.testing.assert_array_equal(inside[name + end], np.clip(raw[name + end], lo, hi))
        for end in ("_std", "_noise_std"):
            np.testing.assert_array_equal(inside[name + end], raw[name + end])


def test_an_interval_that_is_clipped_holds_every_output_that_it_held(one):
    """Outputs count within the bounds, so what lies beyond held nobody."""
    outputs = np.linspace(10.0, 20.0, 101)[:, None]
    (low, high), (inner_low, inner_high) = (
        one.predict_interval(POINTS, of="person", clip=clip) for clip in (None, "bounds")
    )
    held = (low <= outputs) & (outputs <= high)
    np.testing.assert_array_equal(held, (inner_low <= outputs) & (outputs <= inner_high))


def test_probabilities_and_rates_are_what_they_are_and_still_refuse_nonsense():
    labels = PrivateGPClassifier(classes=[0, 1]).fit(X, np.arange(12) % 2)
    counts = PrivateGPCountRegressor(cap=3, epsilon=0.3, prior_mean=3.0).fit(X, np.full(12, 3))
    for model in (labels, counts):
        for of in ("curve", "person"):
            np.testing.assert_array_equal(
                model.predict_interval(POINTS, of=of),
                model.predict_interval(POINTS, of=of, clip="bounds"),
            )
        frames = [model.release_.to_frame(POINTS, clip=clip) for clip in (None, "bounds")]
        pd.testing.assert_frame_equal(*frames)
        for ask in (model.predict_interval, model.release_.to_frame):
            with pytest.raises(ValueError, match="clip must be"):
                ask(POINTS, clip="cap")
    assert counts.predict_interval(POINTS)[1].max() > 3.0  # more than the cap may happen


def test_a_search_passes_the_wish_on():
    search = PrivateGridSearch(
        PrivateGPRegressor(400.0 * RBF(2.0), bounds=(10, 20), prior_mean=8.0, learn=False),
        {"noise_variance": [1.0]},
        epsilon=1.0,
    ).fit(X, np.full(12, 15.0))
    assert search.predict(POINTS, clip="bounds").min() == 10.0
    assert search.predict_interval(POINTS, clip="bounds")[0].min() == 10.0


@pytest.mark.parametrize("clip", ["none", "", True, 0, (10, 20), np.array([1.0, 2.0])])
def test_what_is_neither_bounds_nor_none_is_refused(clip):
    with pytest.raises(ValueError, match='clip must be "bounds" or None'):
        check_clip(clip)


def test_each_column_has_bounds_of_its_own():
    values = np.array([[0.0, 0.5], [30.0, 5.0]])
    np.testing.assert_array_equal(clipped(values, LO, HI, "bounds"), [[10.0, 0.5], [20.0, 1.0]])
    assert clipped(values, LO, HI, None) is values
    np.testing.assert_array_equal(clipped(values[:, 0], LO[:1], HI[:1], "bounds"), [10.0, 20.0])
