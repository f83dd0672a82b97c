"""Made-up data sets: stripes as in the paper, and people and places for examples.

Nothing is downloaded, and nobody in them is real.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Seed = int | np.random.Generator | None


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
