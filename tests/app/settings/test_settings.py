"""Settings come from flags and files, and reach the estimators."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import PLAN, fails, outcomes, people, run

from cloakgp import PrivateGPRegressor, Release
from cloakgp.app.settings import gather_settings
from cloakgp.app.tables.files import to_csv
from cloakgp.datasets import make_heights
from cloakgp.errors import CommandError
from cloakgp.gp.kernels.grammar import parse_kernel

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_settings_come_from_a_file_and_flags_win(data, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(
        'inputs = ["age"]\nbounds = [40, 200]\nepsilon = 3\nkernel = "900*RBF(20)"\n'
        'design = "total"\nnoise-variance = 49\n'
    )
    shown = run("plan", data, "--config", config, "--epsilon", "5", "--json", "--no-compare").stdout
    report = json.loads(shown)
    assert report["epsilon"] == 5.0
    assert report["design"] == "total"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("epsilom = 1", "epsilom"),
        ("epsilom = 1", "known are: task, inputs, levels, dates, missing, output, exposure, at"),
        ("epsilom = 1", "exposure, at, groups, max_rows, decimal"),
        ('task = "ranking"', "one of regression, classification, counts"),
        ("iterations = 0", "whole number"),
        ('target = "people"', "one of auto, points, latents"),
        ("classes = [true, false]", "must be a string"),
        ('task = "classification"\ninputs = "age"', "--classes is missing"),
        ('task = "classification"\ninputs = "age"\nclasses = [1, 1.0]', "twice"),
        ('task = "counts"\ninputs = "age"', "--cap is missing"),
        ('task = "counts"\ninputs = "age"\ncap = 2.5', "whole number"),
        ("epsilon = true", "must be a number"),
        ('epsilon = "', "is not TOML"),
        ("rank = 1.5", "whole number"),
        ("bounds = [1, 2, 3]", "a pair"),
        ("inputs = [1]", "must be a string"),
        ("epsilon = nan", "must be a number"),
    ],
)
def test_faults_of_a_settings_file_are_named(data, tmp_path, text, part):
    config = tmp_path / "c.toml"
    config.write_text(text)
    fails(run("plan", data, "--config", config), part)


def test_every_setting_reaches_the_estimator():
    asked = {
        "inputs": "a",
        "output": "y,z",
        "bounds": ["0,1", "2,4"],
        "epsilon": 0.5,
        "delta": 1e-6,
        "kernel": "2*RBF(3)",
        "noise_variance": 7.0,
        "prior_mean": "0.5,3",
        "inducing": 5,
        "approximation": "dtc",
        "design": "worst",
        "decode": "direct",
        "calibration": "hall",
        "rank": 2,
    }
    model = gather_settings(asked).estimator()
    assert model.bounds == [(0.0, 1.0), (2.0, 4.0)]
    assert model.prior_mean == [0.5, 3.0]
    assert model.kernel == parse_kernel("2*RBF(3)")
    for name in ("epsilon", "delta", "noise_variance", "inducing", "approximation", "rank"):
        assert getattr(model, name) == asked[name]
    for name in ("design", "decode", "calibration"):
        assert getattr(model, name) == asked[name]
    assert model.random_state is None


def test_the_shipped_example_is_the_made_up_data_and_its_settings_work():
    shipped = (EXAMPLES / "heights.csv").read_bytes()
    assert shipped == to_csv(make_heights(n=400, random_state=0))
    words = ("--config", EXAMPLES / "release.toml", "--json", "--no-compare")
    assert json.loads(run("plan", EXAMPLES / "heights.csv", *words).stdout)["people"] == 400


def test_classes_that_are_numbers_or_texts_reach_the_estimator_as_such():
    asked = {"task": "classification", "inputs": "a", "output": "y", "iterations": 2}
    for classes, labels in (
        ("0,1", [0, 1]),
        ("1.5,2", [1.5, 2]),
        ("no,1", ["no", "1"]),
        ([0, 1], [0, 1]),
        (["no", "yes"], ["no", "yes"]),
    ):
        settings = gather_settings({**asked, "classes": classes, "target": "points"})
        model = settings.estimator()
        assert model.classes == labels
        assert model.iterations == 2
        assert model.target == "points"
    model = gather_settings(
        {"task": "counts", "inputs": "a", "cap": 7, "prior_mean": 2}
    ).estimator()
    assert (model.cap, model.prior_mean, model.approximation) == (7.0, 2.0, "dtc")


def test_a_settings_file_can_describe_every_task(cases, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(
        'task = "classification"\ninputs = ["age"]\noutput = "flag"\nclasses = [0, 1]\n'
        'iterations = 2\ntarget = "latents"\ndesign = "total"\n'
    )
    shown = run("plan", cases, "--config", config, "--json", "--no-compare")
    report = json.loads(shown.stdout)
    assert (report["iterations"], report["target"], report["task"]) == (
        2,
        "latents",
        "classification",
    )
    config.write_text(
        'task = "counts"\ninputs = "age"\noutput = "falls"\ncap = 9\nexposure="years"'
    )
    out = tmp_path / "out"
    assert run("release", cases, "--config", config, "--yes", "--out", out).exit_code == 0
    exposure = Release.load(out / "release.cloakgp").facts.likelihood.exposure
    years = outcomes().sort_values(["age", "years"])["years"]
    np.testing.assert_allclose(exposure, years, rtol=1e-9)


def test_candidates_come_from_a_table_of_a_settings_file_and_flags_win(data, tmp_path):
    config = tmp_path / "select.toml"
    config.write_text(
        'inputs = ["age"]\nbounds = [40, 200]\nselection-epsilon = 0.25\nloss = "squared"\n'
        'choice = "generalised"\nmechanism = "laplace"\nfolds = 4\n'
        '[candidates]\nkernel = ["900*RBF(5)", "900*RBF(40)"]\nrank = [2, 3]\n'
        "noise_variance = [50.0]\nprior_mean = [120]\n"
    )
    made = gather_settings({}, config).search()
    assert (made.epsilon, made.loss, made.cv) == (0.25, "squared", 4)
    assert (made.mechanism, made.estimator.mechanism) == ("generalised", "laplace")
    assert made.param_grid["kernel"][1] == parse_kernel("900*RBF(40)")
    assert made.param_grid["rank"] == [2, 3]
    assert made.param_grid["prior_mean"] == [120.0]
    result = run("select", data, "--config", config, "--plan-only")
    assert "one of 4 candidates at epsilon=0.25" in result.stdout, result.output
    result = run("select", data, "--config", config, "--try", "rank=1|2|3", "--plan-only")
    assert "one of 3 candidates" in result.stdout, result.output
    for table in ("rank = 2", "rank = []", 'colour = ["red"]', 'rank = ["two"]'):
        config.write_text(f'inputs = ["age"]\nbounds = [40, 200]\n[candidates]\n{table}\n')
        fails(run("select", data, "--config", config, "--plan-only"), "candidates in ", "must be")


def test_a_pair_of_bounds_for_each_column_means_the_same_as_in_python(tmp_path):
    frame = people()
    asked = {"inputs": "age", "output": "height,weight", "kernel": "900*RBF(20)"}
    config = tmp_path / "c.toml"
    config.write_text("bounds = [[0, 350], [400, 500]]\n")
    for settings in (
        gather_settings({**asked, "bounds": ["0,350", "400,500"]}),
        gather_settings(asked, config),
    ):
        plan = settings.estimator().plan(frame[["age"]])
        assert plan.facts.lo.tolist() == [0.0, 400.0]
        assert plan.facts.hi.tolist() == [350.0, 500.0]
        assert settings.estimator().bounds == [(0.0, 350.0), (400.0, 500.0)]
    model = PrivateGPRegressor(settings.kernel, bounds=[(0, 350), (400, 500)])
    same = model.plan(frame[["age"]])
    pd.testing.assert_frame_equal(same.to_frame(), plan.to_frame())


def test_one_pair_serves_all_columns():
    asked = {"inputs": "age", "output": "a,b,c", "bounds": "0,1"}
    lo, hi = gather_settings(asked).estimator()._bounds(outputs=3)
    assert (lo.tolist(), hi.tolist()) == ([0.0] * 3, [1.0] * 3)


def test_a_settings_file_has_its_own_numbers_and_strings_are_as_strict(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('inputs = "a"\nbounds = [0, 1_000]\nepsilon = "1_0"\n')
    with pytest.raises(CommandError, match=r"epsilon in .* must be a number"):
        gather_settings({}, config)
    config.write_text('inputs = "a"\nbounds = [0, 1_000]\nepsilon = "0.5"\n')
    settings = gather_settings({}, config)
    assert (settings.epsilon, settings.bounds) == (0.5, ((0.0, 1000.0),))


def test_the_decimal_sign_may_stand_in_a_settings_file(tmp_path):
    path, config = tmp_path / "commas.csv", tmp_path / "c.toml"
    path.write_text("age;height\n" + "34,5;100\n40;101\n" * 20)
    config.write_text('inputs = "age"\nbounds = [40, 200]\ndecimal = ","\n')
    shown = run("plan", path, "--config", config, "--json", "--no-compare")
    assert json.loads(shown.stdout)["people"] == 40
    fails(run("plan", path, *PLAN, "--decimal", ";"), "--decimal", "either . or ,")


def test_infinity_is_a_text_among_labels():
    asked = {"task": "classification", "inputs": "a", "classes": "1,inf"}
    assert gather_settings(asked).labels == ["1", "inf"]


def test_labels_in_full_width_digits_are_strings():
    asked = {"task": "classification", "inputs": "a"}
    assert gather_settings({**asked, "classes": "１,２"}).labels == ["１", "２"]
    assert gather_settings({**asked, "classes": "1_0,2"}).labels == ["1_0", "2"]
