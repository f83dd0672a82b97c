"""The private search: its predictors are those of releases, its losses stay inside, its cost is
stated.

What the search compares is worked out again from releases without noise and by numerical
integration. Choices of known probability are counted, with 1000 draws each and five standard
errors allowed: a false alarm in one of a million comparisons.
"""

import itertools
import math
import pickle
import struct
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference import no_noise
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_leaks import contents, leaks, needles, pickled, search, words_of

import cloakgp
from cloakgp import (
    Ledger,
    NotPrivateWarning,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
)
from cloakgp.errors import ReleaseFileError
from cloakgp.estimators.search.folds import Table, plan_folds, split_rows
from cloakgp.gp.likelihoods import expected_logistic
from cloakgp.kernels import Gibbs, KDELengthscale
from cloakgp.privacy import Choice, Noise, Spend, choose, gaussian_sigma, release, total_guarantee
from cloakgp.privacy.choice import utility
from cloakgp.privacy.choice.folds import unit_folds
from cloakgp.release.file.archive import write_archive

N = 30
BOUNDS = (-20.0, 80.0)
X = np.random.default_rng(0).uniform(0, 10, (N, 1))
SMOOTH = 30.0 + 30.0 * np.sin(X[:, 0] / 3.0)
WIGGLY = 30.0 + 40.0 * np.sign(np.sin(2.5 * X[:, 0]))
POINTS = np.linspace(-1, 11, 7)[:, None]
OWNERS = np.arange(N) // 3
LABELS = np.where(np.sin(X[:, 0]) > 0, "yes", "no")
GRID = {"kernel": [900 * RBF(0.5), 900 * RBF(3.0)], "noise_variance": [25.0, 400.0]}


def regressor(kernel=None, **options):
    return PrivateGPRegressor(
        900 * RBF(2.0) if kernel is None else kernel, bounds=BOUNDS, **options
    )


def classifier(**options):
    return PrivateGPClassifier(4 * RBF(2.0), classes=["no", "yes"], **options)


def searching(estimator=None, grid=None, **options):
    estimator = regressor(epsilon=2.0) if estimator is None else estimator
    return PrivateGridSearch(estimator, GRID if grid is None else grid, **{"cv": 3, **options})


def released(plan, y, noise=no_noise):
    """A release by a plan of one output column, with chosen noise."""
    facts = plan.facts
    noise = Noise(rehearsal=noise)
    noisy = release(
        plan.sketch, y, (facts.lo, facts.hi), facts.budget, groups=facts.groups, noise=noise
    )
    return Release(facts=facts, sketch=plan.sketch, noisy=noisy, gap=0.0, status="")


def noise_of(plan, y, points):
    """τ at points: what one standard deviation in each published value does, taken together."""
    rest = released(plan, y).predict(points)
    squares = np.zeros(len(points))
    for i in range(len(plan.sketch.matrix)):

        def one(scale, count, i=i):
            return np.rint(scale * (np.arange(count) == i)).astype(np.int64)

        squares += np.square(released(plan, y, one).predict(points) - rest)
    return np.sqrt(squares)


def expected_loss(mean, tau, y, bounds, loss):
    """E|clamp(p + τz) − y| or its square summed over rows, by the trapezoidal rule."""
    z = np.linspace(-9, 9, 2001)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    guess = np.clip(np.clip(mean, *bounds)[:, None] + tau[:, None] * z, *bounds)
    return float((np.abs(guess - y[:, None]) ** (1 if loss == "absolute" else 2) @ weight).sum())


def loss_of(folds, y, bounds, loss):
    """The cross-validated loss of a candidate, from its linear predictors."""
    return sum(
        expected_loss(f.offset + f.G @ y[f.train], f.tau, y[f.test], bounds, loss) for f in folds
    )


def inside(folds, y, bounds, loss):
    """The same as the core computes it."""
    lo, width = bounds[0], bounds[1] - bounds[0]
    scaled = unit_folds(folds, len(y), lo, width)
    steps = utility._total_loss(scaled, utility._unit_outputs(y, lo, width), loss)
    return steps * utility._unit(width, loss)


def silent(monkeypatch):
    """Let rehearsals choose without noise."""
    still = lambda search: lambda scale, count: np.zeros(count)  # noqa: E731
    monkeypatch.setattr(PrivateGridSearch, "_rehearsal", still)


@pytest.fixture(scope="module")
def usual():
    """A plan that tests only read."""
    return searching().plan(X)


# ----------------------------------------------------------------------------- linear predictors


REGRESSIONS = {
    "default": {},
    "prior mean": {"prior_mean": 7.0, "noise_variance": 9.0},
    "default kernel": {"kernel": "default"},
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


# ------------------------------------------------------------------------------ losses and choice


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("y", [SMOOTH, WIGGLY], ids=["smooth", "wiggly"])
def test_without_noise_in_the_choice_the_smallest_loss_is_chosen(monkeypatch, y, loss):
    """Losses by brute force: a release of each training part, integrated over its noise."""
    grid = {"kernel": [900 * RBF(0.5), 900 * RBF(1.5), 900 * RBF(20.0)], "noise_variance": [25.0]}
    found = searching(regressor(epsilon=20.0), grid, loss=loss, random_state=0, refit=False)
    plan = found.plan(X)
    losses = []
    for params in plan.candidates:
        total = 0.0
        for train, test in KFold(3, shuffle=True, random_state=0).split(X):
            part = regressor(epsilon=20.0).set_params(**params).plan(X[train])
            mean = released(part, y[train]).predict(X[test])
            tau = noise_of(part, y[train], X[test])
            total += expected_loss(mean, tau, y[test], BOUNDS, loss)
        losses.append(total)
    silent(monkeypatch)
    assert found.fit(X, y, plan=plan).best_index_ == np.argmin(losses)
    for folds, total in zip(plan.folds, losses, strict=True):
        assert inside(folds, y, BOUNDS, loss) == pytest.approx(total, rel=1e-5)
    assert np.sort(losses)[1] > 1.05 * min(losses)


def test_different_outputs_lead_to_different_choices(monkeypatch):
    silent(monkeypatch)
    grid = {"kernel": [900 * RBF(0.5), 900 * RBF(20.0)]}
    made = searching(regressor(epsilon=20.0), grid, refit=False, random_state=0)
    assert made.fit(X, WIGGLY).best_params_ == {"kernel": 900 * RBF(0.5)}
    assert made.fit(X, X[:, 0] * 5.0).best_params_ == {"kernel": 900 * RBF(20.0)}


def test_without_noise_labels_are_chosen_for_as_well(monkeypatch):
    silent(monkeypatch)
    labels = np.where(np.sin(2.5 * X[:, 0]) > 0, "yes", "no")
    grid = {"kernel": [9 * RBF(50.0), 9 * RBF(0.5)]}
    for loss in ("absolute", "squared"):
        made = searching(classifier(epsilon=20.0), grid, loss=loss, refit=False, random_state=0)
        plan = made.plan(X)
        y = np.where(labels == "yes", 1.0, -1.0)
        losses = [loss_of(folds, y, (-1.0, 1.0), loss) for folds in plan.folds]
        assert made.fit(X, labels, plan=plan).best_index_ == np.argmin(losses) == 1


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
    assert readers == ["privacy", "privacy"]  # once to choose, once to release


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
    made = searching(regressor(epsilon=2.0)).set_params(**change)
    with pytest.raises(ValueError, match=message):
        made.fit(X, SMOOTH, plan=usual)
    assert not hasattr(made, "best_index_")


def test_a_plan_of_other_inputs_or_groups_is_refused(usual):
    made, plan = searching(), usual
    for other in (X[::-1], X[:-1], np.c_[X, X]):
        with pytest.raises(ValueError, match="other inputs X"):
            made.fit(other, SMOOTH[: len(other)], plan=plan)
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


# ------------------------------------------------------------------------------- nothing to choose


def test_one_candidate_spends_nothing_on_a_choice(tmp_path, monkeypatch):
    monkeypatch.setattr(utility, "choose", lambda *_, **__: pytest.fail("a choice was made"))
    book = opened(tmp_path, 5.0)
    made = searching(grid={"rank": [3]}, epsilon=0.9, ledger=book, dataset="people")
    plan = made.plan(X)
    assert (plan.selection_epsilon, plan.release_epsilon, plan.total_epsilon) == (0.0, 2.0, 2.0)
    assert plan.chosen is None
    assert plan.chance(0.0) == 1.0
    assert "there is nothing to choose, so nothing is spent on a choice" in str(plan)
    made.fit(X, SMOOTH, plan=plan)
    assert made.best_index_ == 0
    assert made.best_params_ == {"rank": 3}
    assert made.selection_ is None
    assert made.release_.selection is None
    assert made.total_epsilon_ == made.release_.total_epsilon == made.release_.epsilon == 2.0
    assert book.spent("people") == pytest.approx(2.0, rel=1e-6)
    (facts,) = [entry.facts for entry in book.history("people") if entry.facts["event"] == "spent"]
    assert [spend["kind"] for spend in facts["spends"]] == ["gaussian"]
    assert facts["release_id"] == made.release_.release_id
    check = {c.name: c for c in made.release_.verify().checks}["selection"]
    assert check.detail == "no settings were chosen from the private outputs"
    assert "chosen among" not in made.release_.statement()
    assert made.best_estimator_.ledger is None


@pytest.mark.parametrize("split", [0.3, "auto"])
def test_one_candidate_gets_the_whole_of_a_budget_to_share(split):
    made = searching(regressor(epsilon=0.1), {"rank": [3]}, epsilon=1.5, split=split).fit(X, SMOOTH)
    assert made.release_.epsilon == made.total_epsilon_ == made.release_.total_epsilon == 1.5
    alone = regressor(epsilon=1.5, rank=3).fit(X, SMOOTH).release_
    assert made.release_.noisy.sigma == alone.noisy.sigma


def test_one_candidate_that_is_left_gets_the_whole_budget_too():
    shared = searching(epsilon=1.5, split=0.5).plan(X)
    assert shared.release_epsilon < 1.5
    limit = 1.0001 * float(np.min(shared.sensitivities))
    made = searching(epsilon=1.5, split=0.5, max_sensitivity=limit)
    plan = made.plan(X)
    assert plan.kept.sum() == 1
    assert (plan.selection_epsilon, plan.release_epsilon, plan.total_epsilon) == (0.0, 1.5, 1.5)
    assert "One candidate (3 too sensitive ones left out)" in str(plan)
    assert made.fit(X, SMOOTH).release_.epsilon == 1.5
    # Its noise is that of the release it will get.
    only = int(np.flatnonzero(plan.kept)[0])
    assert plan.noise[only] != pytest.approx(shared.noise[only], rel=0.01)


def test_one_candidate_without_a_release_spends_nothing_at_all(tmp_path):
    book = opened(tmp_path, 5.0)
    before = book.verify()
    made = searching(grid={"rank": [3]}, refit=False, ledger=book, dataset="people")
    assert "nothing is spent at all" in str(made.plan(X))
    assert made.fit(X, SMOOTH).total_epsilon_ == 0.0
    assert book.verify() == before


def test_bad_outputs_of_one_candidate_are_refused_before_anything_is_spent(tmp_path):
    book = opened(tmp_path, 5.0)
    before = book.verify()
    made = searching(grid={"rank": [3]}, ledger=book, dataset="people")
    with pytest.raises(ValueError, match="y holds NaN"):
        made.fit(X, [*SMOOTH[:-1], np.nan])
    assert book.verify() == before
    assert not hasattr(made, "best_index_")


# --------------------------------------------------------------------------- whether a search pays


def test_the_usual_mechanism_is_the_one_that_costs_least_beside_a_release():
    made = searching(regressor(epsilon=1.0, delta=0.01))
    assert made.mechanism == "exponential"
    totals = [
        m.plan(X).total_epsilon
        for m in (made, clone(made).set_params(mechanism="permute-and-flip"))
    ]
    assert np.round(totals, 2).tolist() == [1.49, 1.93]


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
    """Losses by numerical integration, choices counted: within 4 % (the error of 600 choices)."""
    grid = {"kernel": [900 * RBF(0.7), 900 * RBF(6.0)]}
    alone = regressor(900 * RBF(40.0), epsilon=8.0)
    made = searching(alone, grid, epsilon=4.0, loss=loss, mechanism=mechanism)
    plan = made.plan(X)
    errors, alone = [], []
    whole = made.estimator.set_params(epsilon=plan.forecast.whole_epsilon)
    for i, params in enumerate(plan.candidates):
        truth = clone(whole).set_params(**params)
        for y in truth.public_facts(X).draw_outputs(DRAWN, np.random.default_rng([0, i])):
            losses = [loss_of(folds, y, BOUNDS, loss) / N for folds in plan.folds]
            unit = 2.0**-20
            steps = [math.ceil(s / unit) for s in plan.sensitivities]
            totals = [round(value * N / unit) for value in losses]
            choice = Choice(plan.selection_epsilon, mechanism)
            errors += [losses[choose(totals, steps, choice)] for _ in range(10)]
            alone.append(loss_of(folds_of(whole, X), y, BOUNDS, loss) / N)
    assert plan.forecast.search == pytest.approx(np.mean(errors), rel=0.04)
    assert plan.forecast.alone == pytest.approx(np.mean(alone), rel=0.02)
    assert plan.forecast.search != pytest.approx(plan.forecast.alone, rel=0.04)


#: Data sets that a forecast of two candidates draws from each of them.
DRAWN = 30
_FOLDS = {}


def folds_of(estimator, rows):
    key = estimator.epsilon
    if key not in _FOLDS:
        table = Table(rows, split_rows(3, rows, None), None, None)
        _FOLDS[key] = plan_folds(clone(estimator), table)
    return _FOLDS[key]


def test_made_up_outputs_have_the_moments_of_the_prior():
    model = regressor(100 * RBF(2.0), noise_variance=25.0, prior_mean=30.0)
    drawn = model.public_facts(X[:5]).draw_outputs(40_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), 30.0, atol=0.5)
    np.testing.assert_allclose(np.cov(drawn.T), 100 * RBF(2.0)(X[:5]) + 25.0 * np.eye(5), atol=6.0)
    assert drawn.min() >= BOUNDS[0]
    assert drawn.max() <= BOUNDS[1]
    labels = (
        classifier(prior_mean=1.0)
        .public_facts(X[:5])
        .draw_outputs(40_000, np.random.default_rng(0))
    )
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


# ------------------------------------------------------------------------------------- accounting


def opened(folder, epsilon):
    """A new ledger with one data set."""
    return Ledger(folder / "budget.ledger").open("people", epsilon, 1e-5, create=True)


def both(made):
    """The spends of a fitted search, from what was really done."""
    noisy = made.release_.noisy
    return [made.selection_.spend, Spend.gaussian(noisy.sigma / math.sqrt(noisy.parts))]


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "generalised"])
def test_the_total_is_that_of_choice_and_release(mechanism):
    made = searching(regressor(epsilon=1.0, delta=0.01), mechanism=mechanism).fit(X, SMOOTH)
    total = total_guarantee(both(made), 0.01)
    assert made.total_epsilon_ == total == made.release_.total_epsilon
    assert made.selection_.spend.kind == (
        "pure" if mechanism == "permute-and-flip" else "bounded-range"
    )
    assert made.total_epsilon_ < 2.0
    assert made.release_.epsilon == 1.0
    assert made.selection_.epsilon == 1.0
    assert made.release_.private
    assert made.selection_.private


def test_the_total_holds_for_iterations_of_a_classifier():
    made = searching(classifier(iterations=3), {"prior_mean": [-1.0, 0.0]}).fit(X, LABELS)
    assert len(made.release_.parts) == 3
    assert made.total_epsilon_ == pytest.approx(total_guarantee(both(made), 1e-5), rel=1e-12)
    assert made.release_.verify().ok


@pytest.mark.parametrize("split", [0.3, "auto"])
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_a_split_budget_is_met_exactly_and_fits_its_own_cap(tmp_path, split, mechanism):
    book = Ledger(tmp_path / "budget.ledger").open("people", 1.5, 1e-5, create=True)
    account = {"ledger": book, "dataset": "people"}
    made = searching(epsilon=1.5, split=split, mechanism=mechanism, **account).fit(X, SMOOTH)
    total = total_guarantee(both(made), 1e-5)
    assert 1.5 * (1 - 1e-6) <= total <= 1.5
    assert made.total_epsilon_ == total
    assert book.spent("people") == total
    if split == 0.3:
        assert made.selection_.epsilon == pytest.approx(0.45)
    # More than what is left by adding up: composition is not addition.
    assert made.release_.epsilon > 1.5 - made.selection_.epsilon


def test_without_a_release_the_choice_alone_is_paid_for(tmp_path):
    book = Ledger(tmp_path / "budget.ledger").open("people", 5.0, 1e-5, create=True)
    made = searching(refit=False, epsilon=0.7, ledger=book, dataset="people").fit(X, SMOOTH)
    assert made.total_epsilon_ == total_guarantee([Spend("bounded-range", 0.7)], 1e-5)
    assert made.total_epsilon_ <= 0.7 + 1e-9
    assert book.spent("people") == made.total_epsilon_
    for use in (lambda: made.predict(X), lambda: made.release_, lambda: made.uncertainty(X)):
        with pytest.raises(AttributeError, match="refit=False"):
            use()
    assert made.best_params_ == made.cv_results_["params"][made.best_index_]


def test_a_second_search_does_not_keep_the_release_of_the_first():
    made = searching().fit(X, SMOOTH)
    assert hasattr(made, "best_estimator_")
    made.set_params(refit=False).fit(X, SMOOTH)
    assert not hasattr(made, "best_estimator_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must lie"),
        ({"epsilon": math.inf}, "epsilon must lie"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"split": 1.0}, "split must lie"),
        ({"split": 0.0}, "split must lie"),
        ({"split": "half"}, "split must be a number"),
        ({"mechanism": "laplace"}, "mechanism must be"),
        ({"loss": "cubed"}, "loss must be"),
        ({"max_sensitivity": "mean"}, "max_sensitivity must be a number"),
        ({"estimator": regressor(epsilon=math.inf)}, "epsilon must lie"),
        ({"estimator": regressor(calibration="hall"), "split": 0.5}, "calibration"),
    ],
    ids=str,
)
def test_a_budget_or_option_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        searching(**options).plan(X)


# ---------------------------------------------------------------------- releases that were chosen


@pytest.fixture(scope="module")
def chosen():
    return searching(epsilon=0.8, mechanism="permute-and-flip").fit(X, SMOOTH).release_


def test_how_settings_were_chosen_survives_the_file_and_is_checked(chosen, tmp_path):
    chosen.save(tmp_path / "r.zip")
    loaded = Release.load(tmp_path / "r.zip")
    assert loaded.selection == chosen.selection == pickle.loads(pickle.dumps(chosen)).selection
    assert (loaded.selection.epsilon, loaded.selection.candidates) == (0.8, 4)
    assert loaded.total_epsilon == chosen.total_epsilon > loaded.epsilon
    assert loaded.verify().ok
    check = {c.name: c for c in loaded.verify().checks}["selection"]
    assert f"{chosen.total_epsilon:.6g} is stated" in check.detail


LIES = {
    "a smaller total": {"total_epsilon": 2.0},
    "a total smaller by little": {"total_epsilon": "0.999999 of it"},
    "a larger total": {"total_epsilon": 3.5},
    "a cheaper choice": {"epsilon": 0.4},
    "a choice cheaper by little": {"epsilon": 0.799},
    "a cheaper mechanism": {"mechanism": "exponential"},
    "a costlier choice": {"epsilon": 0.9},
    "a choice that is hardly private": {"epsilon": 50.0},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_the_choice_is_reported_and_refused(lie, chosen, tmp_path):
    manifest, arrays = chosen._to_archive()
    manifest["selection"] = manifest["selection"] | LIES[lie]
    if lie == "a total smaller by little":
        manifest["selection"]["total_epsilon"] = 0.999999 * chosen.total_epsilon
    write_archive(tmp_path / "r.zip", manifest, arrays)
    report = Release.load(tmp_path / "r.zip", check=False).verify()
    assert [c.name for c in report.checks if not c.passed] == ["selection"]
    with pytest.raises(ReleaseFileError, match="selection"):
        Release.load(tmp_path / "r.zip")


def test_a_choice_that_is_impossible_is_not_even_read(chosen, tmp_path):
    manifest, arrays = chosen._to_archive()
    manifest["selection"] = manifest["selection"] | {"epsilon": 1e6}
    write_archive(tmp_path / "r.zip", manifest, arrays)
    with pytest.raises(ReleaseFileError, match=r"selection\.epsilon"):
        Release.load(tmp_path / "r.zip", check=False)


def test_more_noise_than_stated_is_still_a_good_choice(chosen):
    louder = replace(chosen, noisy=replace(chosen.noisy, sigma=1.5 * chosen.noisy.sigma))
    assert {c.name: c for c in louder.verify().checks}["selection"].passed


def test_the_statement_tells_what_both_cost_and_promises_nothing_for_a_trial(chosen):
    text = chosen.statement()
    stated = float(text.split("together are differentially private with epsilon = ")[1].split()[0])
    assert chosen.total_epsilon <= stated <= 1.001 * chosen.total_epsilon
    assert "chosen among 4, privately" in text
    with pytest.warns(NotPrivateWarning):
        trial = searching(random_state=0).fit(X, SMOOTH).release_
    assert not trial.private
    assert "chosen among 4 for a trial" in trial.statement()
    for promise in ("privately", "differentially private"):
        assert promise not in trial.statement()


# ------------------------------------------------------------------------------------------ leaks


def test_a_search_leaves_nothing_of_outputs_and_losses(tmp_path):
    """The numbers to look for are those of the search for leaks in a fit."""
    import test_leaks as known

    bounds = (known.LO, known.HI)
    model = PrivateGPRegressor(1e12 * RBF(3.0), bounds=bounds)
    grid = {"noise_variance": [1e10, 1e12], "rank": [2, 4]}
    made = PrivateGridSearch(model, grid, cv=3)
    plan = made.plan(known.X)
    made.fit(known.X, known.FLOATS, plan=plan)
    assert leaks(made.best_estimator_, known.FLOATS, tmp_path) == []
    wanted = needles(known.FLOATS, made.release_.sketch)
    for folds in plan.folds:
        unit = unit_folds(folds, known.N, known.LO, known.HI - known.LO)
        u = utility._unit_outputs(known.FLOATS, known.LO, known.HI - known.LO)
        for part in (unit, *([fold] for fold in unit)):
            steps = utility._total_loss(part, u, "absolute")
            share = math.ldexp(steps, -utility.LOSS_BITS)
            losses = (share, share * (known.HI - known.LO), share / known.N)
            wanted += [("a loss", struct.pack("<d", loss)) for loss in losses]
            wanted += [("a loss", struct.pack(">d", loss)) for loss in losses]
            wanted += [("a loss in steps", struct.pack("<q", steps))]
            wanted += [("a loss", repr(loss)[:10].encode()) for loss in losses]
    texts = f"{made!r} {made.cv_results_} {made.selection_} {vars(made)} {made._repr_html_()}"
    modules = [vars(m) for name, m in sys.modules.items() if name.split(".")[0] == "cloakgp"]
    for data in (contents(made, plan), pickled(made), pickled(plan), texts, contents(*modules)):
        assert data
        assert search(data, wanted) == []
    made.secret_ = steps
    assert search(contents(made), wanted) == ["a loss in steps"]


BAD = {
    "missing": [*SMOOTH[:-1], np.nan],
    "text": [*map(repr, SMOOTH[:-1].tolist()), "4711 euro"],
    "too few": SMOOTH[:-1],
    "too many": [*SMOOTH, 1.0],
    "two columns": np.c_[SMOOTH, SMOOTH],
    "none": None,
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("case", BAD)
def test_bad_outputs_are_refused_without_a_value_and_before_anything_is_spent(case, tmp_path):
    book = Ledger(tmp_path / "budget.ledger").open("people", 9.0, 1e-5, create=True)
    before = book.verify()
    made = searching(ledger=book, dataset="people")
    with pytest.raises(ValueError, match="y ") as caught:
        made.fit(X, BAD[case])
    text = words_of(caught.value)
    assert "4711" not in text
    assert not any(repr(v)[:10] in text for v in SMOOTH.tolist())
    assert book.verify() == before
    assert not hasattr(made, "best_index_")


def test_an_unknown_label_is_refused_without_naming_it(tmp_path):
    book = Ledger(tmp_path / "budget.ledger").open("people", 9.0, 1e-5, create=True)
    before = book.verify()
    made = searching(classifier(), {"prior_mean": [0.0, 1.0]}, ledger=book, dataset="people")
    labels = [*LABELS[:-1], "SECRET"]
    with pytest.raises(ValueError, match="not among the public classes") as caught:
        made.fit(X, labels)
    assert "SECRET" not in words_of(caught.value)
    assert book.verify() == before


def test_there_are_no_scores():
    made = searching(refit=False).fit(X, SMOOTH)
    assert not hasattr(made, "best_score_")
    with pytest.raises(AttributeError, match="would leak"):
        made.best_score_  # noqa: B018
    names = {"params", "param_kernel", "param_noise_variance"}
    assert set(made.cv_results_) == names | {"sensitivity", "release_noise_std", "kept"}


# --------------------------------------------------------------------------- scikit-learn's manners


def test_parameters_can_be_read_set_and_cloned():
    made = searching(loss="squared", cv=4)
    copy = clone(made)
    assert copy.get_params()["estimator__epsilon"] == 2.0
    assert (copy.loss, copy.cv) == ("squared", 4)
    copy.set_params(estimator__kernel__k2__length_scale=7.0, estimator__noise_variance=3.0)
    assert copy.estimator.kernel == ConstantKernel(900.0) * RBF(7.0)
    assert made.estimator.kernel == ConstantKernel(900.0) * RBF(2.0)
    before = repr(made)
    assert made.set_params(cv=3).fit(X, SMOOTH) is made
    assert repr(made.set_params(cv=4)) == before
    assert not hasattr(clone(made), "best_index_")
    assert is_regressor(made)
    assert is_classifier(searching(classifier()))


def test_it_predicts_as_the_release_does_and_knows_its_inputs():
    frame = pd.DataFrame(X, columns=["age"])
    at = pd.DataFrame({"name": "x", "age": POINTS[:, 0]})
    made = searching().fit(frame, pd.Series(SMOOTH, name="height"), at=at)
    np.testing.assert_array_equal(made.predict(frame), made.release_.predict(X))
    np.testing.assert_array_equal(made.release_.facts.points, POINTS)
    assert made.feature_names_in_.tolist() == ["age"]
    assert made.n_features_in_ == 1
    assert made.n_splits_ == 3
    assert made.release_.target_names == ("height",)
    mean, std = made.predict(frame, return_std=True)
    assert np.all(std > 0)
    assert made.score(frame, SMOOTH) == made.best_estimator_.score(frame, SMOOTH)
    assert not hasattr(made, "predict_proba")
    assert not hasattr(made, "classes_")
    loaded = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(loaded.predict(frame), mean)


def test_points_given_as_a_frame_are_found_by_name():
    frame = pd.DataFrame({"age": X[:12, 0], "weight": X[12:24, 0]})
    at = frame[["weight", "age"]].head(4)
    made = searching(grid={"rank": [3]})
    plan, same = made.plan(frame, at=at), made.plan(frame.to_numpy(), at=frame.head(4).to_numpy())
    np.testing.assert_allclose(plan.sensitivities, same.sensitivities, rtol=1e-3)
    other = made.plan(frame, at=at.set_axis(["age", "weight"], axis=1))
    assert abs(other.sensitivities[0] / plan.sensitivities[0] - 1.0) > 0.01
    assert searching(grid={"rank": [2, 3]}, split="auto").plan(frame, at=at).release_epsilon < 1.0
    with pytest.raises(ValueError, match="lacks the columns"):
        searching().plan(frame, at=frame[["age"]])
    with pytest.raises(ValueError, match="columns"):
        searching().plan(X, at=np.ones((3, 2)))


def test_a_classifier_is_searched_and_predicts_probabilities():
    made = searching(classifier(epsilon=5.0), {"kernel": [4 * RBF(1.0), 4 * RBF(3.0)]})
    made.fit(X, LABELS)
    assert made.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(made.predict_proba(X).sum(axis=1), 1.0)
    assert set(made.predict(X)) <= {"no", "yes"}
    assert made.decision_function(X).shape == (N,)
    with pytest.warns(DataConversionWarning):
        made.fit(X, LABELS[:, None])


def test_before_a_fit_nothing_is_predicted():
    made = searching()
    with pytest.raises(NotFittedError):
        made.predict(X)
    with pytest.raises(NotFittedError):
        made.release_  # noqa: B018


def test_a_grid_may_name_parameters_inside_the_kernel():
    grid = {"kernel__k2__length_scale": [1.0, 4.0]}
    plan = searching(grid=grid).plan(X)
    whole = searching(grid={"kernel": [900 * RBF(1.0), 900 * RBF(4.0)]}).plan(X)
    np.testing.assert_allclose(plan.sensitivities, whole.sensitivities, rtol=1e-3)
    made = searching(grid=grid).fit(X, SMOOTH, plan=plan)
    length = made.best_params_["kernel__k2__length_scale"]
    assert made.release_.facts.model.kernel.k2.length_scale == length


def test_settings_that_only_some_candidates_have_are_masked():
    grid = [{"kernel": [900 * RBF(1.0)]}, {"inducing": [X[:4], X[:5]], "approximation": ["dtc"]}]
    made = searching(grid=grid, refit=False).fit(X, SMOOTH)
    assert made.cv_results_["param_kernel"].mask.tolist() == [False, True, True]
    assert made.cv_results_["param_inducing"].mask.tolist() == [True, False, False]
    np.testing.assert_array_equal(made.cv_results_["param_inducing"][2], X[:5])
    assert len(made.plan(X).to_frame()) == 3


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), regressor()),
        PrivateGPCountRegressor(cap=5),
        PrivateGridSearch(regressor(), {}),
        "ridge",
    ],
    ids=lambda e: type(e).__name__,
)
def test_other_estimators_are_refused(estimator):
    with pytest.raises(ValueError, match="a private search is for PrivateGPRegressor"):
        PrivateGridSearch(estimator, {}).plan(X)


def test_several_columns_or_classes_are_refused():
    with pytest.raises(ValueError, match="one output column"):
        searching(PrivateGPRegressor(bounds=[(0, 1), (0, 1)]), {"rank": [1]}).plan(X)
    for classes, message in ((["a", "b", "c"], "two classes"), ("public", "name the classes")):
        with pytest.raises(ValueError, match=message):
            searching(PrivateGPClassifier(classes=classes), {"rank": [1]}).plan(X)


@pytest.mark.parametrize("name", ["ledger", "dataset", "random_state"])
def test_the_account_and_the_seed_belong_to_the_search(name):
    with pytest.raises(ValueError, match=f"give {name} to the search"):
        searching(regressor(**{name: 1})).plan(X)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([], "no candidates"),
        ({"kernel": []}, "(?i)empty|non-empty"),
        ({"lengthscale": [1]}, "Invalid parameter"),
        *(
            ({name: [1.0]}, f"must not vary {name}")
            for name in ("epsilon", "delta", "calibration", "bounds", "ledger", "dataset")
        ),
        ({"random_state": [0, 1]}, "must not vary random_state"),
    ],
    ids=str,
)
def test_a_grid_that_makes_no_sense_is_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        searching(grid=grid).plan(X)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "from 2 to the 30 people"),
        (31, "from 2 to the 30 people"),
        (True, "number of folds or a splitter"),
        ("five", "number of folds or a splitter"),
        (StratifiedKFold(3), "does not need the private outputs"),
        (KFold(31), "cannot split these rows"),
        (LeaveOneGroupOut(), "cannot split these rows"),
        (RepeatedKFold(n_splits=3), "tests a row in several folds"),
    ],
    ids=str,
)
def test_folds_that_make_no_sense_or_need_outputs_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        searching(cv=cv).plan(X)


def test_splitters_are_used_as_they_are():
    folds = searching(cv=KFold(4)).plan(X).folds[0]
    for fold, (train, test) in zip(folds, KFold(4).split(X), strict=True):
        np.testing.assert_array_equal(fold.test, test)
        np.testing.assert_array_equal(fold.train, train)
    assert len(searching(cv=np.int64(4)).plan(X).folds[0]) == 4


@pytest.mark.parametrize("cv", [5, GroupKFold(5)], ids=str)
def test_the_rows_of_a_person_stay_in_one_fold(cv):
    plan = searching(cv=cv).plan(X, groups=[f"owner {i}" for i in OWNERS])
    for fold in plan.folds[0]:
        assert not set(OWNERS[fold.test]) & set(OWNERS[fold.train])
    assert sorted(np.concatenate([f.test for f in plan.folds[0]])) == list(range(N))
    with pytest.raises(ValueError, match="from 2 to the 10 people"):
        searching(cv=11).plan(X, groups=OWNERS)


def test_progress_is_shown_only_to_people(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searching(verbose=1, refit=False).fit(X, SMOOTH)
    assert capsys.readouterr() == ("", "")
