"""Predictions in pieces are predictions."""

import pandas as pd

from cloakgp import Release
from cloakgp.cli import outputs
from cloakgp.cli.tables.points import read_points
from cloakgp.inputs.columns import Columns


def test_many_points_are_predicted_in_pieces_without_a_difference(saved, monkeypatch):
    release, points = Release.load(saved), read_points("age=0:70:25", Columns.numbers(("age",), 1))
    whole = outputs.predictions(release, points)
    monkeypatch.setattr(outputs, "CHUNK", 4)
    pd.testing.assert_frame_equal(outputs.predictions(release, points), whole)
