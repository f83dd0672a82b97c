"""The small sums of a page predict as the release does; where they cannot, there are none."""

import numpy as np
import pytest
from report_cases import CASES, LINE, NUMBERS, ON_A_GRID, case

from cloakgp import PrivateGPRegressor
from cloakgp.release.decode import posterior_mixtures
from cloakgp.report import model as room
from cloakgp.report.model import page_model


def places(release):
    rng = np.random.default_rng(11)
    lo, hi = release.facts.X.min(axis=0), release.facts.X.max(axis=0)
    return rng.uniform(lo - (hi - lo), hi + (hi - lo), (30, len(lo)))


@pytest.mark.parametrize("name", CASES)
def test_means_and_variances_of_every_setting_are_those_of_the_release(name):
    release, points = case(name), places(case(name))
    model = page_model(release)
    for column, mixture in zip(model.columns, posterior_mixtures(release), strict=True):
        means, variances = model.moments(column, points)
        scale = mixture.variances(points).max()
        np.testing.assert_allclose(means, mixture.means(points), atol=1e-10 * scale**0.5)
        np.testing.assert_allclose(variances, mixture.variances(points), atol=1e-10 * scale)


@pytest.mark.parametrize("name", ON_A_GRID)
def test_what_the_script_does_not_know_has_no_model(name):
    assert page_model(case(name)) is None


def test_people_at_one_place_are_sent_once():
    (block, *_) = page_model(case("curve")).blocks
    assert len(block.anchors) == len(np.unique(LINE["age"])) < len(LINE)


def test_covariances_of_many_settings_are_mixtures_of_few():
    (column,) = page_model(case("curve")).columns
    kernels = len(case("curve").facts.family.kernels)
    assert column.mixed.shape[0] > 20
    assert column.mixed.shape[1] <= kernels + 2


def test_a_model_that_disagrees_with_python_is_not_used(monkeypatch):
    assert page_model(case("stationary")) is not None
    original = room.Builder.people

    def wrong(self, kernel, decoder, v):
        return original(self, kernel, decoder, v * (1.0 + 1e-7))

    monkeypatch.setattr(room.Builder, "people", wrong)
    assert page_model(case("stationary")) is None


def test_a_page_has_a_grid_instead_of_too_many_numbers(monkeypatch):
    model = page_model(case("stationary"))
    assert model.written() is not None
    monkeypatch.setattr(room, "MAX_CHARACTERS", 10)
    assert model.written() is None
    monkeypatch.setattr(room, "MAX_MULTIPLICATIONS", 1)
    assert page_model(case("stationary")) is None


def test_a_single_number_is_enough_and_far_away_the_prior_is_left():
    release = PrivateGPRegressor(**NUMBERS, rank=1).fit(LINE, np.full(len(LINE), 99.0)).release_
    model = page_model(release)
    means, _ = model.moments(model.columns[0], np.array([[1e6]]))
    expected = posterior_mixtures(release)[0].means(np.array([[1e6]]))
    np.testing.assert_allclose(means, expected, rtol=1e-9)
