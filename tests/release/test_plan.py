"""Plans: they read no y, and what they forecast is what happens."""

import inspect
import math
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from gp_reference import exact_joint, sparse_joint
from reference import release_numbers as release_sketch
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Plan, PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor
from cloakgp.privacy import Noise, gaussian_sigma
from cloakgp.release.decode import decoder_for
from cloakgp.release.plan import COMPARED_GAP

N = 20
X = np.random.default_rng(0).uniform(0, 10, (N, 1))
AT = np.linspace(0, 10, 6)[:, None]
INDUCING = np.linspace(1, 9, 4)[:, None]
KERNEL = 4.0 * RBF(3.0)
NOISE = 0.5
BOUNDS = (-12.0, 12.0)  # six standard deviations of the prior: nothing is clipped
DESIGNS = ["bayes", "total", "worst", "volume"]

estimator = partial(
    PrivateGPRegressor, KERNEL, bounds=BOUNDS, noise_variance=NOISE, mechanism="gaussian"
)


def private_release(plan, y):
    spec = plan.spec
    return release_sketch(plan.sketch, y, (spec.lo, spec.hi), spec.budget, groups=spec.groups)


# --- no y


def test_nothing_that_makes_a_plan_takes_outputs():
    public = [PrivateGPRegressor.plan, Plan.draw, Plan.compare_epsilons, Plan.compare_designs]
    public += [Plan.required_epsilon, Plan.summary, Plan.to_frame, Plan.to_dict]
    for function in public:
        assert not {"y", "Y", "outputs", "targets"} & set(inspect.signature(function).parameters)


def test_planning_spends_nothing_and_leaves_the_estimator_unfitted():
    model = estimator()
    before = dict(vars(model))
    model.plan(X)
    assert vars(model) == before


# --- the noise is the one that happens


@pytest.mark.parametrize(
    ("decode", "design", "options"),
    [
        ("direct", "volume", {}),
        ("direct", "total", {"calibration": "hall"}),
        ("direct", "worst", {"inducing": INDUCING}),
        ("direct", "volume", {"groups": np.arange(N) // 2}),
    ],
)
def test_noise_std_is_the_spread_of_real_releases(decode, design, options):
    options = dict(options)
    groups = options.pop("groups", None)
    plan = estimator(decode=decode, design=design, **options).plan(X, at=AT, groups=groups)
    y = np.random.default_rng(1).normal(size=N)
    found = decoder_for(plan.spec, plan.sketch.rounded)
    releases = 400
    predictions = np.array([found.mean(AT, private_release(plan, y).s) for _ in range(releases)])
    # (releases − 1) s²/σ² is chi-squared: each of the 6 points is outside with probability 1e-8.
    statistic = predictions.var(axis=0, ddof=1) / plan.noise_std**2 * (releases - 1)
    low, high = chi2.ppf([0.5e-8, 1 - 0.5e-8], releases - 1)
    assert np.all((low < statistic) & (statistic < high))
    # The test has the power to notice noise that is wrong by half.
    assert not np.any((low < statistic * 1.5**2) & (statistic * 1.5**2 < high))
    assert not np.any((low < statistic / 1.5**2) & (statistic / 1.5**2 < high))


@pytest.mark.parametrize(
    ("inducing", "groups"), [(None, None), (INDUCING, None), (None, np.arange(N) // 3)]
)
@pytest.mark.parametrize(("decode", "design"), [("bayes", "bayes"), ("direct", "volume")])
def test_the_forecast_is_the_distance_to_the_non_private_prediction(
    decode, design, inducing, groups
):
    plan = estimator(decode=decode, design=design, inducing=inducing, epsilon=3.0).plan(
        X, at=AT, groups=groups
    )
    if inducing is None:
        joint = exact_joint(KERNEL, X, NOISE, AT)
    else:
        joint = sparse_joint(KERNEL, X, NOISE, AT, inducing, "fitc")
    rng = np.random.default_rng(2)
    _, draws = joint.draw(rng, 0.0, 1000)
    found = decoder_for(plan.spec, plan.sketch.rounded)
    spec = plan.spec
    distances = []
    for y in draws:
        noisy = release_sketch(
            plan.sketch,
            y,
            BOUNDS,
            spec.budget,
            groups=spec.groups,
            noise=Noise(
                rehearsal=lambda scale, n: np.rint(scale * rng.standard_normal(n)).astype(np.int64)
            ),
        )
        distances.append(found.mean(AT, noisy.s) - joint.C @ y)
    measured = np.mean(np.square(distances), axis=0)
    np.testing.assert_allclose(np.sqrt(measured), plan.noise_std, rtol=0.1)
    assert math.sqrt(plan.spec.weights @ measured) == pytest.approx(plan.forecast_rmse, rel=0.07)


def test_the_forecast_weights_points_by_the_people_they_stand_for():
    crowded = np.r_[np.zeros((30, 1)), [[10.0]]]
    plan = PrivateGPRegressor(RBF(1.0), bounds=(0, 1), noise_variance=0.01).plan(crowded)
    np.testing.assert_allclose(plan.spec.weights, [30 / 31, 1 / 31])
    expected = math.sqrt(plan.spec.weights @ plan.noise_std**2)
    assert plan.forecast_rmse == pytest.approx(expected)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("decode", ["bayes", "direct"])
def test_the_parts_of_a_plan_fit_together(design, decode):
    plan = estimator(design=design, decode=decode).plan(X, at=AT)
    assert np.all(plan.noise_std >= 0)
    np.testing.assert_allclose(plan.total_std**2, plan.noise_std**2 + plan.floor_std**2, rtol=1e-12)
    floor = np.sqrt(np.diag(exact_joint(KERNEL, X, NOISE, AT).floor))
    np.testing.assert_allclose(plan.floor_std, floor, rtol=1e-8)
    assert plan.published_values == plan.sketch.matrix.shape[0]
    assert 0 <= plan.gap < 1e-5
    figures = plan.to_dict()
    assert figures["sigma"] == gaussian_sigma(1.0, 1e-5)
    assert figures["largest_noise_std"] == plan.noise_std.max()
    assert figures["forecast_rmse"] == plan.forecast_rmse
    assert figures["people"] == N
    assert (figures["design"], figures["decode"]) == (design, decode)
    assert (plan.epsilon, plan.delta) == (figures["epsilon"], figures["delta"]) == (1.0, 1e-5)


def test_the_best_design_is_best_at_what_it_minimises():
    plans = {d: estimator(design=d, decode="direct").plan(X, at=AT) for d in DESIGNS[1:]}
    rms = {d: math.sqrt(np.mean(p.noise_std**2)) for d, p in plans.items()}
    largest = {d: p.noise_std.max() for d, p in plans.items()}
    assert rms["total"] <= min(rms.values()) * (1 + 1e-3)
    assert largest["worst"] <= min(largest.values()) * (1 + 1e-3)
    bayes = {d: estimator(design=d).plan(X, at=AT).forecast_rmse for d in DESIGNS}
    assert bayes["bayes"] <= min(bayes.values()) * (1 + 1e-3)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("length", [0.3, 1.0001, 2.0, 20.0])
def test_a_capped_rank_is_certified_without_a_warning(length, rank):
    """Prices of people stay positive, however far a capped sketch is from the best."""
    rows = np.random.default_rng(0).uniform(0, 10, (30, 1))
    for part in (rows, rows[:20], rows[10:], rows[::2]):
        model = PrivateGPRegressor(
            900 * RBF(length), bounds=(-20.0, 80.0), rank=rank, mechanism="gaussian"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan = model.plan(part)
        assert 0.0 <= plan.gap <= 1.0
        assert plan.published_values <= rank
        assert model.set_params(mechanism="laplace").plan(part).published_values <= rank


def test_several_outputs_are_planned_when_the_bounds_name_them():
    two = PrivateGPRegressor(KERNEL, bounds=[(-12.0, 12.0), (-120.0, 120.0)], decode="direct")
    plan = two.plan(X, at=AT)
    assert plan.noise_std.shape == plan.total_std.shape == (len(AT), 2)
    assert plan.published_values == 2 * plan.sketch.matrix.shape[0]
    assert {"noise_std_0", "noise_std_1", "total_std_1"} <= set(plan.to_frame().columns)


def test_each_of_two_outputs_pays_root_two_in_noise():
    options = {"decode": "direct", "design": "volume", "noise_variance": NOISE}
    one = PrivateGPRegressor(KERNEL, bounds=BOUNDS, **options).plan(X, at=AT).noise_std
    pair = [BOUNDS, BOUNDS]
    model = PrivateGPRegressor(KERNEL, bounds=pair, **options)
    two = model.plan(X, at=AT).noise_std
    np.testing.assert_allclose(two, math.sqrt(2.0) * np.column_stack([one, one]), rtol=1e-6)
    fitted = model.fit(X, np.zeros((N, 2)), at=AT)
    np.testing.assert_allclose(fitted.uncertainty(AT).dp, two, rtol=1e-12)


# --- comparisons


@pytest.mark.parametrize("decode", ["bayes", "direct"])
def test_comparing_budgets_shows_less_noise_for_more_budget(decode):
    plan = estimator(decode=decode, design="bayes" if decode == "bayes" else "volume").plan(X)
    table = plan.compare_epsilons()
    assert list(table["epsilon"]) == [0.1, 0.3, 1.0, 3.0, 10.0]
    columns = ["epsilon", "design", "typical_noise_std", "largest_noise_std", "published_values"]
    assert set(columns) <= set(table.columns)
    for column in ("typical_noise_std", "largest_noise_std"):
        assert np.all(np.diff(table[column]) < 0)
    own = table[table["epsilon"] == plan.epsilon].iloc[0]
    assert own["typical_noise_std"] == plan.forecast_rmse
    few = plan.compare_epsilons((0.5, 2.0))
    assert list(few["epsilon"]) == [0.5, 2.0]
    again = estimator(decode=decode, design=plan.spec.design, epsilon=2.0).plan(X)
    assert few["typical_noise_std"][1] == pytest.approx(again.forecast_rmse, rel=1e-9)


def test_a_learnt_plan_at_another_budget_forecasts_as_a_fresh_one_does():
    """What the forecast looks at is handed on from plan to plan."""
    model = PrivateGPRegressor(bounds=(0, 10), epsilon=1.0)
    fresh = PrivateGPRegressor(bounds=(0, 10), epsilon=2.0).plan(X)
    other = model.plan(X).at_epsilon(2.0)
    np.testing.assert_array_equal(other.noise_std, fresh.noise_std)
    with pytest.raises(ValueError, match="not made by an estimator"):
        other.check_same(fresh.table, fresh.settings)


def test_comparing_designs_shows_each_once():
    plan = estimator().plan(X, at=AT)
    table = plan.compare_designs()
    assert list(table["design"]) == ["cells", *DESIGNS]
    assert np.all(table["epsilon"] == 1.0)
    assert np.all(table["gap"][1:] < 1e-5)
    assert math.isnan(table["gap"][0])  # cells have no certificate
    assert table["typical_noise_std"].idxmin() == 1
    for _, row in table.iterrows():
        same = estimator(design=row["design"]).plan(X, at=AT)
        assert row["typical_noise_std"] == pytest.approx(same.forecast_rmse, rel=1e-9)
    alone = estimator(mechanism="laplace").plan(X, at=AT).compare_designs()
    assert list(alone["design"]) == ["cells"]


def test_budgets_can_be_compared_above_the_range_of_hall():
    table = estimator(calibration="hall").plan(X, at=AT).compare_epsilons()
    assert len(table) == 5
    assert np.all(np.diff(table["typical_noise_std"]) < 0)


@pytest.mark.parametrize(
    ("decode", "design", "max_std"),
    [("bayes", "bayes", 1.2), ("direct", "volume", 2.0), ("bayes", "total", 1.4)],
)
def test_the_required_budget_is_enough_and_hardly_more(decode, design, max_std):
    model = estimator(decode=decode, design=design)
    epsilon = model.plan(X, at=AT).required_epsilon(max_std)
    enough = model.set_params(epsilon=epsilon).plan(X, at=AT)
    assert enough.total_std.max() <= max_std * (1.0 + 1e-12)
    less = model.set_params(epsilon=0.98 * epsilon).plan(X, at=AT)
    assert less.total_std.max() > max_std


def test_the_required_budget_does_not_depend_on_the_budget_of_the_plan():
    found = {estimator(epsilon=e).plan(X, at=AT).required_epsilon(1.2) for e in (0.2, 1.0, 5.0)}
    assert max(found) / min(found) < 1.02


def test_a_target_that_no_budget_meets_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"max_std=1e-06.*accept more"):
        estimator().plan(X, at=AT).required_epsilon(1e-6)
    with pytest.raises(ValueError, match="epsilon=1 leaves an error above max_std"):
        estimator(calibration="hall", decode="direct").plan(X, at=AT).required_epsilon(0.5)


def test_a_target_that_every_budget_meets_costs_the_smallest_budget():
    assert estimator().plan(X, at=AT).required_epsilon(100.0) == 1e-4


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, "small", None])
def test_a_target_that_is_no_length_is_refused(bad):
    with pytest.raises(ValueError, match="max_std"):
        estimator().plan(X, at=AT).required_epsilon(bad)


# --- in words and tables


def test_the_table_has_one_row_for_each_point():
    frame = pd.DataFrame({"age": X[:, 0]})
    plan = estimator().plan(frame, at=pd.DataFrame({"age": AT[:, 0]}))
    table = plan.to_frame()
    assert list(table.columns) == ["age", "noise_std", "total_std", "floor_std"]
    np.testing.assert_array_equal(table["age"], AT[:, 0])
    np.testing.assert_array_equal(table["noise_std"], plan.noise_std)
    assert estimator().plan(X).to_frame().columns[0] == "x0"


def test_the_summary_gives_the_figures():
    plan = estimator().plan(X, at=AT)
    text = str(plan)
    assert text == plan.summary()
    for part in (
        f"{plan.published_values} numbers about {N} rows, each taken to be another person's",
        "(epsilon=1, delta=1e-05)-private",
        f"{plan.forecast_rmse:.3g}",
        f"{plan.noise_std.max():.3g}",
        f"{len(AT)} points",
        "'bayes'",
    ):
        assert part in text


def test_the_summary_says_that_there_is_no_delta_where_there_is_none():
    text = str(estimator(mechanism="laplace").plan(X, at=AT))
    assert "epsilon=1, with no delta" in text
    assert "'cells'" in text


def test_the_summary_of_a_release_without_noise_does_not_promise_privacy():
    text = estimator(epsilon=math.inf).plan(X, at=AT).summary()
    assert "delta=1e-05)-private" not in text
    assert "not private" in text.lower()


# --- learnt priors

LEARNT = {
    "numbers": lambda **o: PrivateGPRegressor(bounds=BOUNDS, **o),
    "free": lambda **o: PrivateGPRegressor(KERNEL, bounds=BOUNDS, learn=True, **o),
    "classes": lambda **o: PrivateGPClassifier(classes=[0, 1], **o),
    "counts": lambda **o: PrivateGPCountRegressor(cap=5, **o),
}


@pytest.mark.parametrize("kind", LEARNT)
def test_a_forecast_is_what_releases_state_with_hyperparameters_unknown(kind):
    """Not to know them costs something; rows of the outlook know theirs."""
    plan = LEARNT[kind]().plan(X, at=AT)
    table = plan.outlook
    assert table["share"].sum() == pytest.approx(1.0)
    assert len(table) > 1
    error = np.sqrt(plan.spec.weights @ plan.total_std**2)
    assert 0.7 * table["error_std"].min() <= error <= 1.5 * table["error_std"].max()
    assert np.all(table["error_std"] >= table["noise_std"])
    assert plan.error_bounds.max() >= 0.999 * error
    assert np.all(plan.largest_bounds >= plan.error_bounds)


def heights_like(plan, k, rng):
    """Outputs of everybody whose mean is a draw from a setting of the family."""
    family = plan.spec.family
    setting = family.settings[k]
    K = family.build_kernel(setting)(plan.spec.X) + setting.level
    root = np.linalg.cholesky(K + 1e-9 * np.trace(K) / len(K) * np.eye(len(K)))
    f = root @ rng.standard_normal(len(K))
    return f + np.sqrt(setting.noise_variance) * rng.standard_normal(len(K))


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "releases"), [("laplace", 80), ("gaussian", 40)])
def test_releases_state_what_was_forecast(mechanism, releases):
    """Of releases of truths like the family, with fixed seeds: the mean is within 15 %.

    What releases state varies by 40 %, so that the mean of 80 has a standard error of 4 %, of 40 of
    6 %.  Nine in ten keep the bound: fewer than 62 of 80 would do so by chance less than once in
    1,000, fewer than 31 of 40 less than once in 200.
    """
    rng, stated = np.random.default_rng(3), []
    wide = (-40.0, 40.0)  # truths are not clipped
    people = np.sort(rng.uniform(0, 10, 150))[:, None]
    model = PrivateGPRegressor(bounds=wide, mechanism=mechanism, epsilon=2.0)
    plan = model.plan(people)
    chosen = rng.choice(len(plan.spec.family.settings), releases, p=plan.spec.family.weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed, k in enumerate(chosen):
            y = plan.spec.unit[0] * heights_like(plan, k, rng) + plan.spec.prior_mean[0]
            fitted = clone(model).set_params(random_state=seed).fit(people, y, plan=plan)
            stated.append(fitted.predict(plan.points, return_std=True)[1])
    mean = np.sqrt(plan.spec.weights @ np.mean(stated, axis=0) ** 2)
    assert mean == pytest.approx(np.sqrt(plan.spec.weights @ plan.total_std**2), rel=0.15)
    errors = np.sqrt(np.square(stated) @ plan.spec.weights)
    assert np.mean(errors <= plan.error_bounds[0]) >= 0.775
    assert np.mean(errors <= 0.5 * plan.error_bounds[0]) < 0.775  # half of it would be too low


def test_a_rough_truth_is_forecast_to_be_harder():
    table = LEARNT["numbers"](epsilon=3.0).plan(np.linspace(0, 10, 100)[:, None]).outlook
    assert table["error_std"].iloc[-1] > 1.2 * table["error_std"].iloc[0]


@pytest.mark.parametrize("kind", LEARNT)
def test_a_plan_says_what_its_bands_assume(kind):
    plan = LEARNT[kind]().plan(X, at=AT)
    errors = plan.outlook["error_std"]
    said = f"{errors.min():.3g} for a smooth truth and {errors.max():.3g} for a rough one"
    assert said in plan.summary()
    assert f"nine releases in ten state at most {plan.error_bounds[0]:.3g}." in plan.summary()
    assert "Bands assume" in plan.summary()
    assert "learnt" not in estimator().plan(X).summary()


def test_a_fixed_prior_has_an_outlook_of_one_row():
    plan = estimator().plan(X, at=AT)
    assert len(plan.outlook) == 1
    assert plan.outlook["noise_std"][0] == pytest.approx(plan.forecast_rmse)


@pytest.mark.parametrize("kind", LEARNT)
def test_a_learnt_plan_survives_pickling_and_other_budgets(kind):
    plan = LEARNT[kind]().plan(X, at=AT)
    again = pickle.loads(pickle.dumps(plan))
    np.testing.assert_array_equal(again.noise_std, plan.noise_std)
    noise = plan.compare_epsilons((0.3, 1.0, 3.0))["typical_noise_std"]
    assert noise.is_monotonic_decreasing
    assert noise[1] == pytest.approx(plan.forecast_rmse)


@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_nearly_the_plan_at_another_budget_is_found_from_this_one(epsilon):
    plan = estimator().plan(X)
    near, exact = plan.near(epsilon), plan.at_epsilon(epsilon)
    assert near.epsilon == epsilon
    assert near.gap <= COMPARED_GAP
    assert near.forecast_rmse == pytest.approx(exact.forecast_rmse, rel=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_cells_at_another_budget_are_nearly_those_of_a_fresh_plan(epsilon):
    plan = estimator(mechanism="laplace").plan(X)
    near, exact = plan.near(epsilon), plan.at_epsilon(epsilon)
    assert near.epsilon == epsilon
    assert near.forecast_rmse == pytest.approx(exact.forecast_rmse, rel=0.01)


def test_only_the_default_design_changes_with_the_budget():
    plan = estimator(design="total").plan(X)
    assert plan.near(3.0).design is plan.design
    assert plan.near(3.0).forecast_rmse == pytest.approx(plan.at_epsilon(3.0).forecast_rmse)
