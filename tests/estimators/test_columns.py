"""Inputs as people have them, from a fit to a prediction by strangers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from input_cases import ESTIMATORS
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from cloakgp import PrivateGPRegressor, Release
from cloakgp.columns import Category, Columns, Date, Number

N = 40
RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(20, 80, N),
        "region": pd.Categorical(RNG.choice(["north", "south"], N), ["north", "south", "west"]),
        "visit": pd.Timestamp("2023-01-01") + pd.to_timedelta(RNG.integers(0, 300, N), unit="D"),
        "smoker": RNG.random(N) < 0.3,
    }
)
COSTS = np.floor(RNG.uniform(0, 4, N))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_estimator_takes_raw_inputs_and_its_file_answers_in_them(kind, tmp_path):
    model = ESTIMATORS[kind]()
    plan = model.plan(FRAME, at=FRAME.head(3))
    model.fit(FRAME, COSTS, at=FRAME.head(3), plan=plan)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(FRAME)
    model.release_.save(tmp_path / "r.cloakgp")
    loaded = Release.load(tmp_path / "r.cloakgp")
    # Columns by name, in any order, as strings, with a level that nobody has.
    asked = {"smoker": ["true"], "visit": ["2023-05-01"], "region": ["west"], "age": [40]}
    answer = loaded.predict(pd.DataFrame(asked))
    typed = pd.DataFrame(
        {"age": [40.0], "region": ["west"], "visit": [pd.Timestamp("2023-05-01")], "smoker": [True]}
    )
    assert np.array_equal(answer, model.predict(typed))
    assert np.array_equal(answer, loaded.predict(pl.from_dicts(typed.to_dict("records"))))
    assert list(loaded.to_frame().columns[:4]) == list(FRAME)
    with pytest.raises(ValueError, match="'mars', which is not among its levels: 'north'"):
        loaded.predict(typed.assign(region="mars"))


def test_y_among_the_inputs_is_refused_whatever_its_type_is(unspent):
    model = PrivateGPRegressor(bounds=(0, 3))
    for private in (FRAME["region"], FRAME["visit"], FRAME["smoker"]):
        with pytest.raises(ValueError, match="and so has y"):
            model.fit(FRAME, private)
        with pytest.raises(ValueError, match="shares memory with y"):
            model.fit(FRAME[[private.name]], private.rename("other"))
    zoned = pd.DataFrame({"t": FRAME["visit"].dt.tz_localize("UTC")})
    with pytest.raises(ValueError, match="shares memory with y"):
        model.fit(zoned, zoned["t"].rename("other"))


def test_the_points_that_matter_by_default_are_possible_people():
    many = pd.concat([FRAME] * 4, ignore_index=True).assign(age=RNG.uniform(20, 80, 4 * N))
    points = PrivateGPRegressor(bounds=(0, 3), learn=False).plan(many).to_frame()
    assert set(points["region"]) <= {"north", "south"}
    assert (points["visit"] == points["visit"].dt.normalize()).all()


def test_a_plan_for_other_levels_is_not_released(unspent):
    model = PrivateGPRegressor(bounds=(0, 3), learn=False)
    plan = model.plan(FRAME)
    other = FRAME.assign(region=FRAME["region"].cat.add_categories(["east"]))
    with pytest.raises(ValueError, match="plan was made for other columns"):
        model.fit(other, COSTS, plan=plan)


def test_lengthscales_and_inducing_inputs_are_given_by_input():
    model = PrivateGPRegressor(
        RBF([20.0, 1.0, 100.0, 1.0]), bounds=(0, 3), inducing=FRAME.head(5), learn=False
    )
    facts = model.public_facts(FRAME)
    assert facts.kernel.length_scale.tolist() == [20.0, 1.0, 1.0, 1.0, 100.0, 1.0]
    assert facts.inducing.shape == (5, 6)


def test_missing_inputs_have_a_place_where_one_is_stated():
    gaps = FRAME.astype({"region": object})
    gaps.loc[0, "region"], gaps.loc[1, "age"] = None, np.nan
    model = PrivateGPRegressor(bounds=(0, 3), learn=False)
    with pytest.raises(ValueError, match="column 'age', is missing in 1 of 40 rows"):
        model.plan(gaps)
    stated = {"region": Category(["north", "south"], missing="unknown"), "age": Number(missing=50)}
    release = model.set_params(columns=stated).fit(gaps, COSTS).release_
    assert np.isfinite(release.predict(gaps)).all()
    people = release.facts.encoding.frame(release.facts.codes_of(release.facts.X))
    assert people["age"].isna().sum() == 1
    assert (people["region"] == "unknown").sum() == 1


def test_the_default_prior_does_not_care_for_units():
    X = RNG.uniform(0, 1, (30, 2))
    model = PrivateGPRegressor(bounds=(0, 3))
    one, other = (model.public_facts(rows) for rows in (X, X * [1000.0, 0.01] + [5.0, -3.0]))
    for ours, theirs in zip(one.family.kernels, other.family.kernels, strict=True):
        assert np.allclose(ours(one.X), theirs(other.X), atol=1e-9)


def test_names_survive_a_pipeline_and_strangers_ask_in_original_units(tmp_path):
    X = FRAME[["age"]].assign(weight=RNG.uniform(40, 90, N))
    scaler = StandardScaler().set_output(transform="pandas")
    model = PrivateGPRegressor(bounds=(0, 3), learn=False)
    pipeline = make_pipeline(scaler, model).fit(X, COSTS)
    inside = pipeline[-1].release_
    assert inside.facts.feature_names == ("age", "weight")
    release = inside.with_inputs(pipeline[0])
    release.save(tmp_path / "r.cloakgp")
    loaded = Release.load(tmp_path / "r.cloakgp")
    assert np.allclose(loaded.predict(X), pipeline.predict(X), rtol=1e-9)
    assert loaded.verify(X).ok
    with pytest.raises(ValueError, match="knows its inputs already"):
        release.with_inputs(scaler)


def test_with_inputs_gives_names_back_and_refuses_what_does_not_fit():
    X = FRAME[["age"]].assign(weight=RNG.uniform(40, 90, N))
    pipeline = make_pipeline(StandardScaler(), PrivateGPRegressor(bounds=(0, 3), learn=False))
    release = pipeline.fit(X, COSTS)[-1].release_
    assert release.facts.feature_names is None
    assert release.with_inputs(pipeline[0]).facts.names == ["age", "weight"]
    with pytest.raises(ValueError, match="take 3 columns of the model, which has 2"):
        release.with_inputs(Columns(("a",), (Category(("x", "y", "z")),)))


def test_raw_inputs_pass_through_a_pipeline():
    kept = ColumnTransformer([("age", StandardScaler(), ["age"])], remainder="passthrough")
    kept.set_output(transform="pandas").set_params(verbose_feature_names_out=False)
    stated = {"visit": Date("2023-01-01")}
    model = PrivateGPRegressor(bounds=(0, 3), learn=False, columns=stated)
    pipeline = Pipeline([("scale", kept), ("model", model)]).fit(FRAME, COSTS)
    assert pipeline.predict(FRAME.head(2)).shape == (2,)
    assert pipeline[-1].release_.facts.names == ["age", "region", "visit", "smoker"]
