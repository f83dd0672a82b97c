from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cloakgp.datasets import (
    incident_rate,
    make_diagnoses,
    make_heights,
    make_incidents,
    make_stripes,
    stripes_grid,
)


def test_stripes_grid_has_fifty_of_each_class_on_whole_numbers():
    X, y = stripes_grid()
    assert X.shape == (100, 2)
    assert {tuple(row) for row in X} == {(i, j) for i in range(10) for j in range(10)}
    assert np.bincount(y).tolist() == [50, 50]


def test_stripes_without_noise_are_diagonal_and_agree_with_the_grid():
    X, y = make_stripes(n=5000, noise=0.0)
    grid, truth = stripes_grid()
    labels = {tuple(row): label for row, label in zip(grid, truth, strict=True)}
    # Within a quarter of a grid point in each direction no boundary is crossed.
    near = (np.abs(X - np.round(X)) < 0.24).all(axis=1)
    assert near.sum() > 500
    assert all(
        labels[tuple(np.round(x))] == label for x, label in zip(X[near], y[near], strict=True)
    )
    # Along an anti-diagonal the class never changes.
    assert all(len(set(truth[grid.sum(axis=1) == s])) == 1 for s in range(19))


def test_stripes_noise_flips_its_share_of_labels():
    """With 20 000 labels the share is within 0.02 of 0.1 except once in 10^20 seeds."""
    X, noisy = make_stripes(n=20_000, noise=0.1, random_state=3)
    same, clean = make_stripes(n=20_000, noise=0.0, random_state=3)
    np.testing.assert_array_equal(X, same)
    assert np.mean(noisy != clean) == pytest.approx(0.1, abs=0.02)


def test_stripes_density_falls_toward_the_top():
    X, y = make_stripes(n=20_000)
    assert X.shape == (20_000, 2)
    assert set(y) == {0, 1}
    assert X.min() >= -0.5
    assert X.max() <= 9.5
    counts, _ = np.histogram(X[:, 1], bins=10, range=(-0.5, 9.5))
    assert (np.diff(counts) < 0).all()
    # Neighbouring tenths differ by e^0.3, the bottom and top ones by e^2.7 = 14.9.
    assert counts[0] / counts[-1] == pytest.approx(np.exp(2.7), rel=0.25)
    even, _ = np.histogram(make_stripes(n=20_000, falloff=0.0)[0][:, 1], bins=2, range=(-0.5, 9.5))
    assert even[0] == pytest.approx(10_000, abs=500)


def test_heights_look_like_a_population():
    people = make_heights(n=20_000)
    assert list(people.columns) == ["age", "height_cm"]
    assert people["age"].dtype.kind == "i"
    assert (people["age"].min(), people["age"].max()) == (0, people["age"].clip(80, 90).max())
    decades = np.histogram(people["age"], bins=range(0, 91, 10))[0]
    assert (np.diff(decades) < 0).all()
    adults = people[people["age"].between(20, 50)]["height_cm"]
    assert adults.mean() == pytest.approx(160, abs=0.5)
    assert adults.std() == pytest.approx(7.0, abs=0.3)
    by_age = people.groupby("age")["height_cm"].mean()
    assert (np.diff(by_age.loc[:14]) > 0).all()
    assert 55 < by_age.loc[0] < 70
    assert people["height_cm"].between(45, 195).all()


@pytest.mark.parametrize("make", [make_heights, make_stripes, make_diagnoses, make_incidents])
def test_synthetic_data_is_repeatable_by_seed(make):
    def values(seed):
        made = make(n=50, random_state=seed)
        return made[0] if isinstance(made, tuple) else made.to_numpy()

    np.testing.assert_array_equal(values(4), values(4))
    assert not np.array_equal(values(4), values(5))
    assert not np.array_equal(values(None), values(None))
    assert len(values(np.random.default_rng(0))) == 50


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_heights, {"n": 0}, "n=0"),
        (make_diagnoses, {"n": 0}, "n=0"),
        (make_incidents, {"n": 0}, "n=0"),
        (make_stripes, {"n": 0}, "n=0"),
        (make_stripes, {"noise": 1.5}, "noise=1.5"),
        (make_stripes, {"falloff": -1.0}, "falloff=-1.0"),
    ],
)
def test_bad_synthetic_arguments_are_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_diagnoses_become_more_frequent_with_age():
    people = make_diagnoses(n=20_000)
    assert list(people) == ["age", "diagnosis"]
    assert set(people["diagnosis"]) == {"no", "yes"}
    assert people["age"].between(20, 90).all()
    ill = people["diagnosis"] == "yes"
    # Some 4000 people in each half-decade band: shares are good to 2 % (4 standard errors, 1e-4).
    young, old = ill[people["age"] < 30].mean(), ill[people["age"] > 80].mean()
    assert young == pytest.approx(0.035, abs=0.02)
    assert old == pytest.approx(0.62, abs=0.04)


def test_incidents_are_poisson_counts_of_the_rate_on_the_map():
    premises = make_incidents(n=20_000)
    assert list(premises) == ["east_km", "north_km", "years", "incidents"]
    expected = premises["years"] * incident_rate(premises[["east_km", "north_km"]])
    assert premises["years"].between(0.5, 3.0).all()
    # Σ (t − λ)²/λ over 20 000 Poisson counts: mean 1, standard deviation about 0.01.
    ratio = ((premises["incidents"] - expected) ** 2 / expected).mean()
    assert ratio == pytest.approx(1.0, abs=0.06)
    assert premises["incidents"].mean() == pytest.approx(expected.mean(), rel=0.03)
    peak, nowhere = incident_rate([[3.0, 6.5], [0.0, 0.0]])
    assert peak > 4.0 > 1.0 > nowhere


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("heights", make_heights),
        ("diagnoses", make_diagnoses),
        ("incidents", make_incidents),
    ],
)
def test_the_examples_are_the_synthetic_people(name, make):
    shipped = pd.read_csv(Path(__file__).parents[2] / "examples" / f"{name}.csv")
    pd.testing.assert_frame_equal(shipped, make(), check_dtype=False)
