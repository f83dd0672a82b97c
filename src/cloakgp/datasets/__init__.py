"""Data sets of the paper and of comparisons, and synthetic ones that need no download."""

from cloakgp.datasets.digits import DigitsLowHigh, area_resample, load_digits_low_high
from cloakgp.datasets.fetched import (
    fetch_abalone,
    fetch_california_housing,
    fetch_home_equity,
    fetch_kung,
)
from cloakgp.datasets.synthetic import (
    incident_rate,
    make_diagnoses,
    make_heights,
    make_incidents,
    make_stripes,
    stripes_grid,
)

__all__ = [
    "DigitsLowHigh",
    "area_resample",
    "fetch_abalone",
    "fetch_california_housing",
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
