"""The private search: its predictors are those of releases, its losses stay inside, its cost is
stated.

What the search compares is worked out again from releases without noise and by numerical
integration. Choices of known probability are counted, with 1000 draws each and five standard
errors allowed: a false alarm in one of a million comparisons.
"""

import math
import pickle
import struct
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
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
    expected_loss,
    inside,
    loss_of,
    noise_of,
    regressor,
    released,
    searching,
    silent,
)
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
from cloakgp.privacy import Spend, total_guarantee
from cloakgp.privacy.choice import utility
from cloakgp.privacy.choice.folds import unit_folds
from cloakgp.release.file.archive import write_archive

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


# ------------------------------------------------------------------------------------- accounting


def opened(folder, epsilon):
    """A new ledger with one data set."""
    return Ledger(folder / "budget.ledger").open("people", epsilon, 1e-5, create=True)


def both(made):
    """The spends of a fitted search, from what was really done."""
    noisy = made.release_.noisy
    if noisy.mechanism == "laplace":
        return [made.selection_.spend, Spend("pure", noisy.epsilon)]
    return [made.selection_.spend, Spend.gaussian(noisy.sigma / math.sqrt(noisy.parts))]


@pytest.mark.parametrize("noise", ["auto", "gaussian"])
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential", "generalised"])
def test_the_total_is_that_of_choice_and_release(mechanism, noise):
    model = regressor(epsilon=1.0, delta=0.01, mechanism=noise)
    made = searching(model, mechanism=mechanism).fit(X, SMOOTH)
    delta = 0.01 if noise == "gaussian" else 0.0
    assert made.release_.delta == delta
    total = total_guarantee(both(made), delta)
    assert made.total_epsilon_ == total == made.release_.total_epsilon
    assert made.selection_.spend.kind == (
        "pure" if mechanism == "permute-and-flip" else "bounded-range"
    )
    assert made.total_epsilon_ < 2.0 if delta else made.total_epsilon_ == 2.0
    assert made.release_.epsilon == 1.0
    assert made.selection_.epsilon == 1.0
    assert made.release_.private
    assert made.selection_.private


@pytest.mark.parametrize("noise", ["auto", "gaussian"])
def test_the_total_holds_for_iterations_of_a_classifier(noise):
    model = classifier(iterations=3, mechanism=noise)
    made = searching(model, {"prior_mean": [-1.0, 0.0]}).fit(X, LABELS)
    assert len(made.release_.parts) == 3
    delta = made.release_.delta
    assert made.total_epsilon_ == pytest.approx(total_guarantee(both(made), delta), rel=1e-12)
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
    manifest, arrays = chosen.contents()
    manifest["selection"] = manifest["selection"] | LIES[lie]
    if lie == "a total smaller by little":
        manifest["selection"]["total_epsilon"] = 0.999999 * chosen.total_epsilon
    write_archive(tmp_path / "r.zip", manifest, arrays)
    report = Release.load(tmp_path / "r.zip", check=False).verify()
    assert [c.name for c in report.checks if not c.passed] == ["selection"]
    with pytest.raises(ReleaseFileError, match="selection"):
        Release.load(tmp_path / "r.zip")


def test_a_choice_that_is_impossible_is_not_even_read(chosen, tmp_path):
    manifest, arrays = chosen.contents()
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
    made = searching(regressor(epsilon=2.0), {"rank": [3]})
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
    "altered",
    [
        {"selection_epsilon": 20.0},
        {"release_epsilon": 20.0},
        {"mechanism": "permute-and-flip"},
        {"spends": (Spend("pure", 0.1),)},
    ],
    ids=str,
)
def test_a_plan_that_would_spend_more_than_it_says_is_refused(altered):
    search = searching()
    plan = search.plan(X)
    with pytest.raises(ValueError, match="does not spend what it says"):
        search.fit(X, np.zeros(N), plan=replace(plan, **altered))


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([], "no candidates"),
        ({"kernel": []}, "(?i)empty|non-empty"),
        ({"lengthscale": [1]}, "Invalid parameter"),
        *(
            ({name: [1.0]}, f"must not vary {name}")
            for name in ("epsilon", "delta", "rho", "mu", "calibration", "mechanism", "bounds")
        ),
        *(
            ({name: ["a"]}, f"must not vary {name}")
            for name in ("protect", "box", "neighbours", "unit", "ledger", "dataset")
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
