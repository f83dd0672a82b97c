"""Planning a search: what is worked out of it, and promised, before y is read."""

import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib_workers import silent_workers
from search_cases import (
    BOUNDS,
    LABELS,
    OWNERS,
    POINTS,
    SMOOTH,
    WIGGLY,
    N,
    X,
    classifier,
    inside,
    loss_of,
    noise_of,
    regressor,
    released,
    searching,
)
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import cloakgp
from cloakgp import (
    Ledger,
    NotPrivateWarning,
)
from cloakgp.estimators.search import planning
from cloakgp.estimators.search.folds import FoldInputs, plan_folds, split_rows
from cloakgp.gp.likelihoods import expected_logistic
from cloakgp.kernels import Gibbs, KDELengthscale
from cloakgp.privacy import Choice, Spend, choose, gaussian_sigma, total_guarantee
from cloakgp.release.search_plan import draw_outputs

# ----------------------------------------------------------------------------- linear predictors


REGRESSIONS = {
    "default": {},
    "prior mean": {"prior_mean": 7.0, "noise_variance": 9.0},
    "default kernel": {"kernel": "default", "learn": False},
    "fitc": {"inducing": 6},
    "dtc": {"inducing": 6, "approximation": "dtc"},
    "gibbs": {"kernel": 900 * Gibbs(lambda x: 1.0 + 0.2 * np.abs(x[:, 0]))},
    "total": {"design": "total"},
    "worst": {"design": "worst"},
    "volume": {"design": "volume"},
    "rank": {"rank": 3},
    "direct": {"decode": "direct"},
    "direct total": {"decode": "direct", "design": "total", "inducing": 5},
    "direct worst": {"decode": "direct", "design": "worst"},
    "direct volume": {"decode": "direct", "design": "volume", "calibration": "hall"},
    "groups": {"groups": OWNERS},
    "direct groups": {"groups": OWNERS, "decode": "direct"},
}


@pytest.mark.filterwarnings("ignore:this release will work")
@pytest.mark.parametrize("case", REGRESSIONS)
def test_the_linear_predictor_is_the_prediction_of_a_release(case):
    options = dict(REGRESSIONS[case])
    groups, kernel = options.pop("groups", None), options.pop("kernel", None)
    model = regressor(kernel, **options)
    if kernel == "default":
        model.set_params(kernel=None)
    plan = model.plan(X, at=POINTS[1:5], groups=groups)
    offset, G, tau = plan.linear_predictor(POINTS)
    for y in (SMOOTH, WIGGLY, np.full(N, BOUNDS[0]), np.full(N, BOUNDS[1])):
        expected = released(plan, y).predict(POINTS)
        np.testing.assert_allclose(offset + G @ y, expected, rtol=0, atol=1e-5)
    assert np.ptp(offset + G @ WIGGLY) > 2.0
    np.testing.assert_allclose(tau, noise_of(plan, SMOOTH, POINTS), rtol=1e-5, atol=1e-6)
    assert tau.max() > 1.0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prior_mean": -1.0},
        {"inducing": 6},
        {"decode": "direct", "design": "worst"},
        {"decode": "direct", "iterations": 3},
        {"iterations": 2, "target": "latents", "design": "total"},
    ],
    ids=str,
)
def test_for_classes_it_is_one_newton_step_from_the_prior_mean(options):
    """Pseudo-outputs m + (y − π)/W with noise 1/W, in dense matrices."""
    model = classifier(**options)
    plan = model.plan(X, at=POINTS[1:5])
    offset, G, tau = plan.linear_predictor(POINTS)
    T, kernel, m = plan.sketch.rounded, model.kernel, options.get("prior_mean", 0.0)
    rate = 1.0 / (1.0 + math.exp(-m))
    W = rate * (1.0 - rate)
    K, cross = kernel(X), kernel(POINTS, X)
    if "inducing" in options:  # DTC: K = Q, and the same across
        Z = plan.facts.model.inducing
        half = np.linalg.solve(kernel(Z), kernel(Z, X))
        K, cross = kernel(X, Z) @ half, kernel(POINTS, Z) @ half
    std = gaussian_sigma(model.epsilon, model.delta)
    if plan.facts.mechanism == "laplace":  # whole numbers: P(x) ∝ e^(−ε|x|)
        std = math.sqrt(0.5) / math.sinh(0.5 * model.epsilon)
    if model.decode == "direct":
        std *= math.sqrt(model.iterations)  # the last of its parts alone
        C = cross @ np.linalg.inv(K + np.eye(N) / W)
        B = C / W @ np.linalg.pinv(T)
    else:
        scaled = T * W
        told = scaled @ (K + np.eye(N) / W) @ scaled.T + std**2 * np.eye(len(T))
        B = np.linalg.solve(told, (cross @ scaled.T).T).T
    for y in (LABELS == "yes", np.ones(N), np.zeros(N)):
        expected = m + B @ (T @ (y - rate))
        np.testing.assert_allclose(offset + G @ (2.0 * y - 1.0), expected, rtol=0, atol=1e-6)
    assert np.ptp(offset + G @ (2.0 * (LABELS == "yes") - 1.0)) > 0.1
    np.testing.assert_allclose(tau, std * np.linalg.norm(B, axis=1), rtol=1e-6)


# ------------------------------------------------------------------------------------ sensitivity


SMALL = np.array([[0.0], [1.0], [1.5], [4.0], [4.2], [9.0]])
PAIRS = np.array([0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("groups", [None, PAIRS], ids=["people", "groups"])
@pytest.mark.parametrize("task", ["regression", "direct", "classes"])
def test_no_person_moves_a_loss_by_more_than_the_plan_says(task, groups, loss):
    """All corners of the bounds, all neighbours, through the whole pipeline."""
    estimator = {
        "regression": regressor(epsilon=10.0),
        "direct": regressor(epsilon=10.0, decode="direct"),
        "classes": classifier(epsilon=10.0),
    }[task]
    bounds = estimator.selection_bounds()
    grid = {"kernel": [900.0 * RBF(1.0), 900.0 * RBF(3.0)]}
    plan = searching(estimator, grid, loss=loss).plan(SMALL, groups=groups)
    owners = np.arange(6) if groups is None else groups
    corners = np.array(list(itertools.product(bounds, repeat=6)))
    shares = []
    for folds, bound in zip(plan.folds, plan.sensitivities, strict=True):
        values = np.array([inside(folds, y, bounds, loss) for y in corners])
        largest = 0.0
        for owner in set(owners.tolist()):
            rest = corners[:, owners != owner] @ (3.0 ** np.arange((owners != owner).sum()))
            largest = max(largest, *(np.ptp(values[rest == same]) for same in np.unique(rest)))
        shares.append(largest / bound)
    assert 0.3 < max(shares) <= 1.0


def test_sensitive_candidates_can_be_left_out_and_are_never_chosen(usual):
    plan = usual
    order = np.argsort(plan.sensitivities)
    made = searching(max_sensitivity=float(plan.sensitivities[order[0]]), refit=False).fit(
        X, WIGGLY
    )
    assert made.best_index_ == order[0]
    assert made.cv_results_["kept"].sum() == 1
    median = searching(max_sensitivity="median").plan(X)
    np.testing.assert_array_equal(median.kept, plan.sensitivities <= np.median(plan.sensitivities))
    with pytest.raises(ValueError, match="leaves no candidate"):
        searching(max_sensitivity=1e-9).plan(X)


# ----------------------------------------------------------------------------------------- chance


DRAWS = 1000


def simulated(plan, best, gap):
    """How often the core chooses ``best`` when all others are worse by ``gap`` on average."""
    unit = 2.0**-20  # losses and sensitivities in whole steps
    losses = [0 if i == best else round(gap * plan.tested / unit) for i in range(len(plan.kept))]
    steps = [math.ceil(s / unit) for s in plan.sensitivities]
    choice = Choice(plan.selection_epsilon, plan.mechanism)
    return sum(choose(losses, steps, choice) == best for _ in range(DRAWS)) / DRAWS


def agrees(frequency, chance):
    return abs(frequency - chance) <= 5.0 * math.sqrt(chance * (1.0 - chance) / DRAWS)


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "generalised"])
def test_the_chance_of_the_best_candidate_is_how_often_it_is_chosen(usual, mechanism):
    plan = replace(usual, mechanism=mechanism, sensitivities=np.full(4, 90.0))
    for gap in (12.0, 20.0):
        seen = simulated(plan, 1, gap)
        assert agrees(seen, plan.chance(gap))
        assert not agrees(seen, plan.chance(0.5 * gap))
    assert plan.chance(0.0) == pytest.approx(0.25)


def test_with_unequal_sensitivities_the_largest_counts(usual):
    plan = replace(usual, sensitivities=np.array([30.0, 90.0, 50.0, 70.0]))
    for mechanism in ("exponential", "permute-and-flip"):
        plan = replace(plan, mechanism=mechanism)
        assert agrees(simulated(plan, 0, 10.0), plan.chance(10.0))


def test_the_generalised_mechanism_states_the_chance_of_the_candidate_it_likes_least(usual):
    unequal = np.array([30.0, 200.0, 50.0, 70.0])
    plan = replace(usual, mechanism="generalised", sensitivities=unequal)
    seen = [simulated(plan, best, 15.0) for best in range(4)]
    assert agrees(min(seen), plan.chance(15.0))
    assert max(seen) > plan.chance(15.0) + 0.15
    assert seen.index(min(seen)) == 1


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "generalised"])
def test_chances_grow_with_the_gap_from_blind_chance_to_certainty(usual, mechanism):
    plan = replace(usual, mechanism=mechanism)
    chances = [plan.chance(gap) for gap in (0.0, 1e-12, 1.0, 5.0, 20.0, 1e3, 1e6, 1e12)]
    assert chances == sorted(chances)
    assert chances[-1] == 1.0
    if mechanism != "generalised":
        assert chances[0] == 0.25
    with pytest.raises(ValueError, match="gap"):
        plan.chance(-1.0)
    assert plan.chances()["chance_of_best"].tolist() == [plan.chance(w) for w in (1, 2, 5, 10)]
    assert plan.chances([3.0])["chance_of_best"].tolist() == [plan.chance(3.0)]


# ------------------------------------------------------------------------------------------- plan


def test_a_plan_reads_no_outputs_spends_nothing_and_says_what_would_happen(tmp_path):
    book = Ledger(tmp_path / "budget.ledger").open("people", 1e-3, 1e-5, create=True)
    before = book.verify()
    plan = searching(ledger=book, dataset="people").plan(X)
    assert book.verify() == before
    text = str(plan)
    for part in ("one of 4 candidates", "epsilon=1 ", "epsilon=2,", "30 rows", "blind chance"):
        assert part in text
    assert f"(epsilon={plan.total_epsilon:.4g}, delta=1e-05)-private" in text
    alone = searching(refit=False).plan(X)
    assert "is not included" in str(alone)
    assert "together" not in str(alone)
    frame = plan.to_frame()
    assert frame.columns.tolist() == [
        "kernel", "noise_variance", "sensitivity", "release_noise_std", "kept"
    ]  # fmt: skip
    assert frame["sensitivity"].tolist() == plan.sensitivities.tolist()
    rms = [np.sqrt(np.mean(np.concatenate([f.tau for f in c]) ** 2)) for c in plan.folds]
    np.testing.assert_allclose(frame["release_noise_std"], rms)


def test_outputs_are_read_by_the_core_alone():
    readers = []

    class Recorded:
        """Outputs that note which file of the library reads them."""

        shape, ndim = (N,), 1

        def __array__(self, dtype=None, copy=None):
            frame, package = sys._getframe(1), str(Path(cloakgp.__file__).parent)
            while not frame.f_code.co_filename.startswith(package):
                frame = frame.f_back
            readers.append(Path(frame.f_code.co_filename).relative_to(package).parts[0])
            return np.asarray(SMOOTH, dtype=dtype)

    searching().fit(X, Recorded())
    assert readers == ["privacy"]  # once, to choose and to release


def test_a_plan_can_be_used_again_and_gives_the_same_candidates():
    made = searching(random_state=3, n_jobs=1)
    plan = made.plan(X)
    with pytest.warns(NotPrivateWarning):
        first = clone(made).fit(X, SMOOTH)
    with pytest.warns(NotPrivateWarning):
        again = clone(made).fit(X, SMOOTH, plan=plan)
    assert again.cv_results_["params"] == list(plan.candidates) == first.cv_results_["params"]
    assert again.best_index_ == first.best_index_
    np.testing.assert_array_equal(again.cv_results_["sensitivity"], plan.sensitivities)
    np.testing.assert_array_equal(again.predict(POINTS), first.predict(POINTS))


def test_a_worker_that_was_killed_is_told_of(monkeypatch):
    silent_workers(monkeypatch, planning, TerminatedWorkerError("SIGKILL(-9)"))
    with pytest.raises(ValueError, match=r"worker process was killed, probably .*n_jobs"):
        searching(n_jobs=2).plan(X)


def test_two_workers_make_the_same_plan_as_one():
    """But for what rounding in another process does to an optimum that is flat."""
    one, two = (searching(n_jobs=n).plan(X) for n in (1, 2))
    assert one.candidates == two.candidates
    np.testing.assert_allclose(one.sensitivities, two.sensitivities, rtol=1e-3)
    np.testing.assert_allclose(one.noise, two.noise, rtol=1e-3)
    for ours, theirs in zip(itertools.chain(*one.folds), itertools.chain(*two.folds), strict=True):
        np.testing.assert_array_equal(ours.test, theirs.test)
        np.testing.assert_array_equal(ours.train, theirs.train)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"refit": False}, "other refit"),
        ({"epsilon": 0.5}, "other epsilon"),
        ({"split": 0.5}, "other split"),
        ({"mechanism": "permute-and-flip"}, "other mechanism"),
        ({"loss": "squared"}, "other loss"),
        ({"max_sensitivity": "median"}, "other max_sensitivity"),
        ({"param_grid": {"rank": [1, 2]}}, "other param_grid"),
        ({"estimator__epsilon": 5.0}, "other estimator__epsilon"),
        ({"estimator__delta": 1e-2}, "other estimator__delta"),
        ({"estimator__calibration": "hall", "estimator__epsilon": 2.0}, "estimator__calibration"),
        ({"estimator__bounds": (0.0, 1.0)}, "other estimator__bounds"),
    ],
    ids=str,
)
def test_a_plan_with_other_settings_is_refused(usual, change, message):
    """What it states would not be what is spent."""
    made = searching().set_params(**change)
    with pytest.raises(ValueError, match=message):
        made.fit(X, SMOOTH, plan=usual)
    assert not hasattr(made, "best_index_")


def test_a_plan_of_other_inputs_or_groups_is_refused(usual):
    made, plan = searching(), usual
    for other in (X + 1.0, X[:-1], np.c_[X, X]):
        with pytest.raises(ValueError, match="other inputs X"):
            made.fit(other, SMOOTH[: len(other)], plan=plan)
    assert made.fit(X[::-1], SMOOTH[::-1], plan=plan).release_.private  # the same people
    with pytest.raises(ValueError, match="other points at"):
        made.fit(X, SMOOTH, at=POINTS, plan=plan)
    with pytest.raises(ValueError, match="other groups"):
        made.fit(X, SMOOTH, groups=OWNERS, plan=plan)
    with pytest.raises(ValueError, match="other groups"):
        made.fit(X, SMOOTH, plan=made.plan(X, groups=OWNERS))
    grouped = made.plan(X, groups=[f"owner {i}" for i in OWNERS])
    assert made.fit(X, SMOOTH, groups=OWNERS, plan=grouped).release_.private


NEARLY = {
    "a lengthscale": (900 * RBF(1.0001), 900 * RBF(1.0004)),
    "a variance": (900.0001 * RBF(2.0), 900.0004 * RBF(2.0)),
    "lengthscales": (900 * RBF([1.00001]), 900 * RBF([1.00004])),
    "a function": (
        900 * Gibbs(KDELengthscale(X, n=4.0, m=8.0)),
        900 * Gibbs(KDELengthscale(X, n=4.0001, m=8.0)),
    ),
    "another row of a table": (
        900 * Gibbs(KDELengthscale(X, n=4.0, m=8.0, bandwidth=1.0)),
        900 * Gibbs(KDELengthscale(X + np.eye(N)[:, :1], n=4.0, m=8.0, bandwidth=1.0)),
    ),
}


@pytest.mark.parametrize("where", ["grid", "estimator"])
@pytest.mark.parametrize("case", NEARLY)
def test_a_plan_for_settings_that_only_print_alike_is_refused(case, where):
    """Kernels print three digits; all of them count."""

    def asked(kernel):
        grid = {"kernel": [kernel, 900 * RBF(9.0)]} if where == "grid" else {"rank": [1, 2]}
        return searching(regressor(kernel if where == "estimator" else None, rank=2), grid)

    one, other = NEARLY[case]
    assert repr(one) == repr(other)
    plan = asked(one).plan(X)
    name = "param_grid" if where == "grid" else "estimator__kernel"
    with pytest.raises(ValueError, match=f"plan was made with other {name}"):
        asked(other).fit(X, SMOOTH, plan=plan)
    assert asked(clone(one)).fit(X, SMOOTH, plan=plan).release_.private


def test_candidates_that_differ_in_the_last_digits_look_different_in_the_table():
    lengths = (1.0001, 1.0004)
    plan = searching(grid={"kernel": [900 * RBF(length) for length in lengths]}).plan(X)
    shown = plan.to_frame()["kernel"].tolist()
    assert [str(length) in text for length, text in zip(lengths, shown, strict=True)] == [True] * 2


def test_a_kernel_that_was_changed_after_the_plan_is_noticed():
    kernel = 900 * RBF(2.0)
    made = searching(regressor(kernel), {"rank": [1, 2]})
    plan = made.plan(X)
    kernel.k2.length_scale = 5.0
    with pytest.raises(ValueError, match="plan was made with other estimator__kernel"):
        made.fit(X, SMOOTH, plan=plan)


# --------------------------------------------------------------------------- whether a search pays


def test_the_usual_mechanism_is_the_one_that_costs_least_beside_a_release():
    made = searching(regressor(epsilon=1.0, delta=0.01, mechanism="gaussian"))
    assert made.mechanism == "exponential"
    totals = [
        m.plan(X).total_epsilon
        for m in (made, clone(made).set_params(mechanism="permute-and-flip"))
    ]
    assert np.round(totals, 2).tolist() == [1.49, 1.93]


def test_beside_laplace_noise_every_way_to_choose_adds_its_epsilon_and_needs_no_delta():
    for way in ("exponential", "permute-and-flip", "generalised"):
        plan = searching(regressor(epsilon=1.0), mechanism=way, epsilon=0.5).plan(X)
        assert (plan.total_epsilon, plan.delta) == (1.5, 0.0)


def test_a_plan_says_when_the_estimator_alone_is_likely_to_be_better():
    """Ten kernels that hardly differ, few people and a small budget; then the opposite."""
    alike = {"kernel": [900 * RBF(length) for length in np.linspace(1.9, 2.1, 10)]}
    poor = searching(regressor(epsilon=0.3), alike, epsilon=0.3).plan(X)
    assert not poor.forecast.search_pays
    assert poor.forecast.alone < poor.forecast.search
    assert "The search is NOT likely to pay" in str(poor)
    assert f"epsilon={poor.forecast.whole_epsilon:.4g}" in str(poor)
    many = np.random.default_rng(5).uniform(0, 10, (300, 1))
    unlike = {"kernel": [900 * RBF(0.3), 900 * RBF(50.0)], "noise_variance": [25.0]}
    rich = searching(regressor(900 * RBF(50.0), epsilon=20.0), unlike, epsilon=5.0).plan(many)
    assert rich.forecast.search_pays
    assert "The search is likely to pay" in str(rich)


def test_the_whole_budget_is_what_choice_and_release_spend_together():
    for options in ({}, {"refit": False}, {"epsilon": 1.5, "split": 0.4}):
        plan = searching(**options).plan(X)
        spends = [Spend("bounded-range", plan.selection_epsilon)]
        spends.append(Spend.gaussian(gaussian_sigma(plan.release_epsilon, plan.delta)))
        assert plan.forecast.whole_epsilon == total_guarantee(spends, plan.delta)


@pytest.mark.parametrize("mechanism", ["exponential", "generalised"])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_the_forecast_is_what_a_search_on_made_up_outputs_gives(loss, mechanism):
    """Losses by numerical integration, choices counted.

    The forecast is about 1 % off, and the mean of 600 choices has a standard error of 1.4 % at
    most: within 8 % the false-alarm rate is below 1e-6.
    """
    grid = {"kernel": [900 * RBF(0.7), 900 * RBF(6.0)]}
    alone = regressor(900 * RBF(40.0), epsilon=8.0)
    made = searching(alone, grid, epsilon=4.0, loss=loss, mechanism=mechanism)
    plan = made.plan(X)
    errors, alone = [], []
    whole = made.estimator.set_params(epsilon=plan.forecast.whole_epsilon)
    for i, params in enumerate(plan.candidates):
        truth = clone(whole).set_params(**params)
        for y in draw_outputs(truth.public_facts(X), DRAWN, np.random.default_rng([0, i])):
            losses = [loss_of(folds, y, BOUNDS, loss) / N for folds in plan.folds]
            unit = 2.0**-20
            steps = [math.ceil(s / unit) for s in plan.sensitivities]
            totals = [round(value * N / unit) for value in losses]
            choice = Choice(plan.selection_epsilon, mechanism)
            errors += [losses[choose(totals, steps, choice)] for _ in range(10)]
            alone.append(loss_of(folds_of(whole, X), y, BOUNDS, loss) / N)
    assert plan.forecast.search == pytest.approx(np.mean(errors), rel=0.08)
    assert plan.forecast.alone == pytest.approx(np.mean(alone), rel=0.02)
    assert plan.forecast.search != pytest.approx(plan.forecast.alone, rel=0.04)


#: Data sets that a forecast of two candidates draws from each of them.
DRAWN = 30
_FOLDS = {}


def folds_of(estimator, rows):
    key = estimator.epsilon
    if key not in _FOLDS:
        table = FoldInputs(rows, split_rows(3, rows, None), None, None)
        _FOLDS[key] = plan_folds(clone(estimator), table)
    return _FOLDS[key]


def test_made_up_outputs_have_the_moments_of_the_prior():
    model = regressor(100 * RBF(2.0), noise_variance=25.0, prior_mean=30.0)
    drawn = draw_outputs(model.public_facts(X[:5]), 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), 30.0, atol=0.5)
    np.testing.assert_allclose(np.cov(drawn.T), 100 * RBF(2.0)(X[:5]) + 25.0 * np.eye(5), atol=6.0)
    assert drawn.min() >= BOUNDS[0]
    assert drawn.max() <= BOUNDS[1]
    spec = classifier(prior_mean=1.0).public_facts(X[:5])
    labels = draw_outputs(spec, 40_000, np.random.default_rng(0))
    assert set(np.unique(labels)) == {-1.0, 1.0}
    expected = 2.0 * expected_logistic(np.ones(1), np.full(1, 4.0))[0] - 1.0
    np.testing.assert_allclose(labels.mean(axis=0), expected, atol=0.03)


def test_an_estimator_that_cannot_be_used_as_it_is_is_not_compared_with(monkeypatch):
    monkeypatch.setattr("cloakgp.gp.exact.MOST_PEOPLE", 5)
    plan = searching(grid={"inducing": [3, 4]}).plan(X)
    assert plan.forecast is None
    assert "likely to pay" not in str(plan)


def test_labels_are_forecast_too():
    plan = searching(classifier(epsilon=5.0), {"kernel": [4 * RBF(0.5), 4 * RBF(3.0)]}).plan(X)
    assert 0.0 < plan.forecast.search < 2.0
    assert 0.0 < plan.forecast.alone < 2.0
