"""Published values become the posterior of each output column, found once."""

from dataclasses import replace

import numpy as np
import pytest

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.errors import DecodeError
from cloakgp.release.decode import (
    check_decoding,
    decode,
    measurements,
    posterior_mixtures,
)

X = np.linspace(0.0, 10.0, 12)[:, None]
Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])])
POINTS = np.array([[2.5], [7.5]])


@pytest.fixture(scope="module")
def numbers():
    return PrivateGPRegressor(bounds=(-1, 1)).fit(X, Y).release_


@pytest.fixture(scope="module")
def labels():
    labelled = np.array(["a", "b", "c"])[np.arange(12) % 3]
    return PrivateGPClassifier(classes=["a", "b", "c"]).fit(X, labelled).release_


@pytest.fixture(scope="module")
def fixed():
    return PrivateGPRegressor(bounds=(-1, 1), learn=False).fit(X, Y).release_


def test_every_output_has_its_own_values_and_posterior(numbers, labels, fixed):
    for release, columns in ((numbers, 2), (labels, 3), (fixed, 2)):
        mixtures = posterior_mixtures(release)
        assert len(mixtures) == columns
        for column, mixture in enumerate(mixtures):
            s = measurements(release)[0].s[:, column]
            np.testing.assert_array_equal(s, release.noisy.s[:, column])
            if release is not labels:
                np.testing.assert_array_equal(mixture.s, s)
            assert mixture.mean(POINTS).shape == (2,)


def test_sums_of_labels_add_up_to_all_people_and_have_less_noise_for_it(labels):
    mixtures, (seen,) = posterior_mixtures(labels), measurements(labels)
    people = seen.T.sum(axis=1)
    np.testing.assert_allclose(sum(mixture.s for mixture in mixtures), people)
    for mixture in mixtures:
        assert mixture.decoders[0].noise_std == pytest.approx(seen.noise_std * np.sqrt(2 / 3))
    moved = decode(labels.spec, [replace(seen, s=seen.s + 5.0)])  # nobody has three labels more
    for mixture, other in zip(mixtures, moved, strict=True):
        np.testing.assert_allclose(other.mean(POINTS), mixture.mean(POINTS), atol=1e-6)


def test_a_fixed_prior_is_a_mixture_of_one(numbers, fixed):
    assert all(mixture.fixed for mixture in posterior_mixtures(fixed))
    assert not any(mixture.fixed for mixture in posterior_mixtures(numbers))


def test_posteriors_are_found_once_and_can_be_found_anew(numbers):
    assert posterior_mixtures(numbers) is posterior_mixtures(numbers)
    anew = decode(numbers.spec, measurements(numbers))
    assert anew is not posterior_mixtures(numbers)
    np.testing.assert_array_equal(anew[0].mean(POINTS), posterior_mixtures(numbers)[0].mean(POINTS))


def test_another_specification_gives_other_posteriors_of_the_same_values(numbers, fixed):
    found = decode(fixed.spec, measurements(numbers))
    assert [mixture.fixed for mixture in found] == [True, True]
    np.testing.assert_array_equal(found[0].s, posterior_mixtures(numbers)[0].s)


def test_a_release_that_cannot_be_decoded_is_noticed(numbers, labels):
    check_decoding(numbers)
    check_decoding(labels)
    spec = replace(numbers.spec, points=np.full((1, 1), 1e200))
    broken = replace(numbers, spec=replace(spec, prior_mean=np.full(2, np.inf)))
    with pytest.raises(DecodeError):
        check_decoding(broken)
