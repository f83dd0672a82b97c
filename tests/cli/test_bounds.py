"""Bounds at the command line, in a settings file and in Python are one form."""

import pandas as pd
from command_line import people

from cloakgp import PrivateGPRegressor
from cloakgp.cli.settings import Settings


def test_a_pair_of_bounds_for_each_column_means_the_same_as_in_python(tmp_path):
    frame = people()
    asked = {"inputs": "age", "output": "height,weight", "kernel": "900*RBF(20)"}
    config = tmp_path / "c.toml"
    config.write_text("bounds = [[0, 350], [400, 500]]\n")
    for settings in (
        Settings.gather({**asked, "bounds": ["0,350", "400,500"]}),
        Settings.gather(asked, config),
    ):
        plan = settings.estimator().plan(frame[["age"]])
        assert plan.blueprint.lo.tolist() == [0.0, 400.0]
        assert plan.blueprint.hi.tolist() == [350.0, 500.0]
        assert settings.estimator().bounds == [(0.0, 350.0), (400.0, 500.0)]
    model = PrivateGPRegressor(settings.kernel, bounds=[(0, 350), (400, 500)])
    same = model.plan(frame[["age"]])
    pd.testing.assert_frame_equal(same.to_frame(), plan.to_frame())


def test_one_pair_serves_all_columns():
    asked = {"inputs": "age", "output": "a,b,c", "bounds": "0,1"}
    lo, hi = Settings.gather(asked).estimator()._bounds(outputs=3)
    assert (lo.tolist(), hi.tolist()) == ([0.0] * 3, [1.0] * 3)
