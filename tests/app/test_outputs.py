"""Predictions in pieces are predictions, within the bounds; every release has a picture."""

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor, Release
from cloakgp.app import outputs
from cloakgp.app.tables.points import read_points
from cloakgp.data.columns import Columns
from cloakgp.datasets import make_heights


def test_many_points_are_predicted_in_pieces_without_a_difference(saved, monkeypatch):
    release, points = Release.load(saved), read_points("age=0:70:25", Columns.numbers(("age",), 1))
    whole = outputs.predictions(release, points)
    monkeypatch.setattr(outputs, "CHUNK_POINTS", 4)
    pd.testing.assert_frame_equal(outputs.predictions(release, points), whole)


def test_tables_are_within_the_bounds_unless_asked_otherwise():
    """Far from everybody the band of this prior, ± 196, reaches beyond the bounds."""
    ages = pd.DataFrame({"age": np.linspace(0.0, 70.0, 30)})
    model = PrivateGPRegressor(100.0**2 * RBF(20.0), bounds=(100.0, 200.0))
    release = model.fit(ages, pd.Series(np.full(30, 150.0), name="height")).release_
    points = read_points("age=-900:900:3", Columns.numbers(("age",), 1))
    inside, raw = release.to_frame(points, clip="bounds"), release.to_frame(points)
    pd.testing.assert_frame_equal(outputs.predictions(release, points), inside)
    pd.testing.assert_frame_equal(outputs.predictions(release, points, None), raw)
    assert not raw.equals(inside)


def test_a_release_of_three_inputs_has_a_picture_too(tmp_path, drawn):
    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(30, 3)), columns=["a", "b", "c"])
    model = PrivateGPRegressor(0.1 * RBF([1.0, 1.0, 1.0]), bounds=(0, 1))
    model.fit(X, 0.9 * X["a"].to_numpy())
    outputs.write_derived(model.release_, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*outputs.OUTPUTS} - {outputs.RELEASE}
    assert (tmp_path / outputs.PLOT).read_bytes().startswith(b"\x89PNG")


def test_points_far_from_everybody_are_counted_and_named():
    people = make_heights(80)
    model = PrivateGPRegressor(bounds=(40, 200)).fit(people[["age"]], people["height_cm"])
    low, high = people["age"].min(), people["age"].max()
    asked = pd.DataFrame({"age": [low, 0.5 * (low + high), high + 1.0]})
    assert outputs.far_outside(model.release_, asked) == ""
    asked = pd.DataFrame({"age": [low, high + 60.0, -50.0]})
    words = outputs.far_outside(model.release_, asked)
    assert words.startswith(f"2 of 3 points lie far from everybody (age from {low} to {high})")
