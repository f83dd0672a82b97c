"""Published facts become one decoder for each output column, found once."""

from dataclasses import replace

import numpy as np
import pytest

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.errors import DecodeError
from cloakgp.release.decoding import check_decoding, decoders_of, find_decoders, values_of

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


def test_every_output_has_its_own_values_and_decoder(numbers, labels):
    for release, columns in ((numbers, 2), (labels, 3)):
        decoders = decoders_of(release)
        assert len(decoders) == columns
        for column, decoder in enumerate(decoders):
            s = values_of(release, column)
            np.testing.assert_array_equal(s, release.noisy.s[:, column])
            assert decoder.mean(POINTS, s).shape == (2,)


def test_decoders_are_found_once_and_can_be_found_anew(numbers):
    assert decoders_of(numbers) is decoders_of(numbers)
    anew = find_decoders(numbers)
    assert anew is not decoders_of(numbers)
    s = values_of(numbers, 0)
    np.testing.assert_array_equal(anew[0].mean(POINTS, s), decoders_of(numbers)[0].mean(POINTS, s))


def test_a_release_that_cannot_be_decoded_is_noticed(numbers, labels):
    check_decoding(numbers)
    check_decoding(labels)
    facts = replace(numbers.facts, points=np.full((1, 1), 1e200))
    broken = replace(numbers, facts=replace(facts, prior_mean=np.full(2, np.inf)))
    with pytest.raises(DecodeError):
        check_decoding(broken)
