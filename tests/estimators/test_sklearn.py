"""The estimators as scikit-learn's."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_regressors_no_decision_function,
    parametrize_with_checks,
)

from cloakgp import (
    NotPrivateWarning,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    Release,
)
from cloakgp.columns import Number
from cloakgp.kernels import Gibbs, KDELengthscale

pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")

N = 40
X = np.random.default_rng(0).uniform(0, 10, (N, 2))
y = 5.0 + 3.0 * np.sin(X[:, 0])
COLUMNS = ["age", "height"]


class WholeCounts(PrivateGPCountRegressor):
    """The checks draw fractions, which counts refuse: round them, and ask for no R² of that."""

    def fit(self, X, y, **data):
        if y is not None and np.asarray(y).dtype.kind != "c":
            y = np.rint(np.asarray(y, dtype=float))
        return super().fit(X, y, **data)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


# scikit-learn's checks draw standardised outputs, and ask for R² > 0.5 on two hundred of them.
# Numbers and labels learn their prior, with few inducing inputs; the others have a fixed one, and
# counts the exact model.
CHECKED = {
    "learnt": PrivateGPRegressor(bounds=(-4, 4), epsilon=50, inducing=10),
    "paper": PrivateGPRegressor(
        bounds=(-4, 4), epsilon=50, inducing=50, design="volume", decode="direct", learn=False
    ),
    "labels": PrivateGPClassifier(classes="public", epsilon=2, inducing=10),
    "counts": WholeCounts(cap=5, epsilon=50, design="total", target="points", learn=False),
}
#: Name of a check of regressors: why it cannot pass.
EXPECTED_FAILURES = {
    "check_regressors_no_decision_function": "its y is a column of its X, which would publish y",
}


class WithCopies(PrivateGPRegressor):
    """Takes a copy of y, which nobody can tell from other columns."""

    def fit(self, X, y, **data):
        return super().fit(X, np.array(y), **data)


def test_what_fails_for_a_view_of_the_inputs_passes_for_a_copy():
    model = PrivateGPRegressor(bounds=(-4, 4))
    with pytest.raises(ValueError, match="X shares memory with y"):
        check_regressors_no_decision_function("PrivateGPRegressor", model)
    check_regressors_no_decision_function("WithCopies", WithCopies(bounds=(-4, 4)))


@pytest.mark.usefixtures("few_settings", "one_start")
@parametrize_with_checks(
    list(CHECKED.values()),
    expected_failed_checks=lambda estimator: (
        EXPECTED_FAILURES if isinstance(estimator, PrivateGPRegressor) else {}
    ),
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    # The checks set random_state, which repeats the noise, and the library warns of that.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        check(estimator)


def test_the_tags_say_what_it_is():
    model = PrivateGPRegressor()
    tags = get_tags(model)
    assert is_regressor(model)
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert not tags.input_tags.allow_nan
    assert not tags.input_tags.sparse


def test_a_clone_has_the_parameters_and_nothing_else():
    kernel = 2.0 * Gibbs(KDELengthscale(X, n=3.0, m=5.0)) + RBF([1.0, 2.0])
    model = PrivateGPRegressor(
        kernel, bounds=[(0, 10), (0, 20)], inducing=X[:5], epsilon=2.0, rank=3, random_state=1
    )
    model.fit(X, np.column_stack([y, y]))
    copy = clone(model)
    assert not hasattr(copy, "release_")
    assert copy.kernel == kernel
    assert copy.get_params().keys() == model.get_params().keys()
    for name in ("bounds", "epsilon", "rank", "random_state", "design", "delta"):
        assert getattr(copy, name) == getattr(model, name)
    np.testing.assert_array_equal(copy.inducing, X[:5])
    again = copy.fit(X, np.column_stack([y, y]))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_parameters_inside_the_kernel_can_be_set():
    model = PrivateGPRegressor(ConstantKernel(1.0) * RBF(2.0), bounds=(0, 10))
    model.set_params(kernel__k2__length_scale=7.0, epsilon=3.0)
    assert model.kernel.k2.length_scale == 7.0
    released = model.fit(X, y).release_
    assert released.facts.model.kernel.k2.length_scale == 7.0
    assert released.epsilon == 3.0


def test_fitting_leaves_the_parameters_alone():
    kernel = ConstantKernel(1.0) * RBF(2.0)
    model = PrivateGPRegressor(kernel, bounds=(0, 10), inducing=4)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y)
    assert model.kernel is kernel
    assert {name: repr(value) for name, value in model.get_params().items()} == before
    # A later change of the caller's kernel does not reach the release.
    mean = model.predict(X)
    kernel.k2.length_scale = 0.01
    np.testing.assert_array_equal(model.predict(X), mean)


def test_later_changes_of_the_inputs_do_not_reach_the_release():
    mine, outputs, at = X.copy(), y.copy(), X[:5].copy()
    inducing = X[5:10].copy()
    model = PrivateGPRegressor(bounds=(0, 10), inducing=inducing).fit(mine, outputs, at=at)
    before = model.predict(X, return_std=True)
    for array in (mine, outputs, at, inducing):
        array[:] = 0.0
    np.testing.assert_array_equal(model.predict(X, return_std=True), before)


def test_it_works_at_the_end_of_a_pipeline():
    # Of a fixed prior: what is learnt may happen to make a band narrower.
    model = PrivateGPRegressor(bounds=(0, 10), epsilon=50, random_state=0, learn=False)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(X, y)
    mean, std = pipeline.predict(X, return_std=True)
    assert mean.shape == std.shape == (N,)
    assert pipeline.score(X, y) > 0.3
    grouped = clone(pipeline).fit(X, y, privategpregressor__groups=np.arange(N) // 2)
    wider = grouped.predict(X, return_std=True)[1]
    assert np.all(wider > std)


def test_cross_validation_and_grid_search_run():
    model = PrivateGPRegressor(bounds=(0, 10), epsilon=50, random_state=0)
    scores = cross_validate(model, X, y, cv=3, scoring="neg_mean_squared_error")
    assert np.all(np.isfinite(scores["test_score"]))
    assert cross_val_predict(model, X, np.column_stack([y, y]), cv=3).shape == (N, 2)
    search = GridSearchCV(model, {"kernel": [4.0 * RBF(0.01), 4.0 * RBF(3.0)]}, cv=3).fit(X, y)
    assert search.best_params_["kernel"].k2.length_scale == 3.0


def test_a_pickle_predicts_the_same():
    model = PrivateGPRegressor(2.0 * RBF(3.0), bounds=(0, 10), inducing=6).fit(X, y)
    first = model.predict(X, return_cov=True)
    copy = pickle.loads(pickle.dumps(model))
    for ours, theirs in zip(first, copy.predict(X, return_cov=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert copy.release_.release_id == model.release_.release_id


# --- frames

FRAMES = {
    "pandas": lambda table: pd.DataFrame(table, columns=COLUMNS),
    "polars": lambda table: pl.DataFrame(table, schema=COLUMNS),
    "pyarrow": lambda table: pa.table({c: table[:, i] for i, c in enumerate(COLUMNS)}),
}
DATA_FRAMES = [name for name in FRAMES if name != "pyarrow"]


@pytest.mark.parametrize("kind", FRAMES)
def test_names_of_columns_are_kept(kind):
    frame = FRAMES[kind]
    model = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(frame(X), y)
    assert list(model.feature_names_in_) == COLUMNS
    assert model.release_.facts.feature_names == tuple(COLUMNS)
    plan = PrivateGPRegressor(bounds=(0, 10)).plan(frame(X))
    assert plan.facts.feature_names == tuple(COLUMNS)
    assert list(plan.to_frame().columns[:2]) == COLUMNS
    plain = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(frame(X)), plain.predict(X), atol=1e-12)


@pytest.mark.parametrize("kind", DATA_FRAMES)
def test_columns_of_the_workload_and_of_a_release_are_found_by_name(kind):
    frame = FRAMES[kind]
    turned = frame(X[:5])[COLUMNS[::-1]]
    model = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(frame(X), y, at=turned)
    np.testing.assert_array_equal(model.release_.facts.points, X[:5])
    np.testing.assert_array_equal(model.release_.predict(turned), model.predict(frame(X[:5])))
    with pytest.raises(ValueError, match="order"):
        model.predict(turned)
    with pytest.raises(ValueError, match=r"at lacks the columns.*height"):
        PrivateGPRegressor(bounds=(0, 10)).plan(frame(X), at=frame(X)[["age"]])
    with pytest.raises(ValueError, match=r"X lacks the columns.*height"):
        model.release_.predict(frame(X)[["age"]])


@pytest.mark.parametrize("kind", FRAMES)
def test_outputs_may_be_a_frame(kind):
    table = np.column_stack([y, 10.0 - y])
    model = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(X, FRAMES[kind](table))
    plain = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(X, table)
    np.testing.assert_array_equal(model.release_.noisy.values, plain.release_.noisy.values)
    assert model.release_.target_names == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("outputs", "name"),
    [
        (pd.Series(y, name="height"), ("height",)),
        (pd.Series(y), None),
        (pd.Series(y, index=range(100, 100 + N)), None),
        (pl.Series("height", y), ("height",)),
        (pl.Series(y), None),
        (pa.chunked_array([y]), None),
        (pa.array(y), None),
        (list(y), None),
        (tuple(y), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_outputs_may_be_a_column_of_any_library(outputs, name):
    model = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(X, outputs)
    plain = PrivateGPRegressor(bounds=(0, 10), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.release_.noisy.values, plain.release_.noisy.values)
    assert model.release_.target_names == name
    assert model.predict(X).shape == (N,)


def test_columns_without_names_are_found_by_their_place():
    frame = pd.DataFrame(X)  # columns 0 and 1
    model = PrivateGPRegressor(bounds=(0, 10))
    assert model.plan(frame, at=frame[:5]).facts.feature_names is None
    fitted = model.fit(frame, y, at=frame[:5])
    assert not hasattr(fitted, "feature_names_in_")
    np.testing.assert_array_equal(fitted.release_.predict(frame), fitted.predict(X))


def test_integers_and_single_precision_are_fine():
    whole = np.round(X).astype(int)
    model = PrivateGPRegressor(bounds=(0, 10), random_state=0)
    ints = clone(model).fit(whole, y).predict(whole)
    np.testing.assert_array_equal(ints, clone(model).fit(whole.astype(float), y).predict(whole))
    single = clone(model).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.predict(X.astype(np.float32)).dtype == np.float64


def test_the_release_alone_predicts_what_the_estimator_does():
    model = PrivateGPRegressor(bounds=(0, 10)).fit(X, y)
    assert isinstance(model.release_, Release)
    for ours, theirs in zip(
        model.predict(X, return_std=True), model.release_.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


# --- classes and counts

LABELS = np.where(X[:, 0] > 5, "yes", "no")
COUNTS = np.floor(X[:, 0] / 2).astype(int)
OUTCOMES = {
    "labels": (PrivateGPClassifier(4.0 * RBF(3.0), classes=["no", "yes"], epsilon=5.0), LABELS),
    "counts": (PrivateGPCountRegressor(1.0 * RBF(3.0), cap=6, epsilon=5.0), COUNTS),
}


def test_the_tags_of_classes_and_counts_say_what_they_are():
    labels, counts = PrivateGPClassifier(), PrivateGPCountRegressor()
    assert is_classifier(labels)
    assert is_regressor(counts)
    assert get_tags(labels).classifier_tags.multi_class
    assert get_tags(counts).target_tags.positive_only
    for model in (labels, counts):
        assert get_tags(model).target_tags.required
        assert not get_tags(model).input_tags.allow_nan


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_clone_of_them_has_the_parameters_and_nothing_else(kind):
    model, outputs = OUTCOMES[kind]
    model = clone(model).set_params(random_state=3, iterations=2, inducing=X[:6]).fit(X, outputs)
    copy = clone(model)
    assert not hasattr(copy, "release_")
    assert copy.get_params().keys() == model.get_params().keys()
    again = copy.fit(X, outputs)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_pickle_of_them_predicts_the_same(kind):
    model, outputs = OUTCOMES[kind]
    model = clone(model).fit(X, outputs)
    first = model.predict(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(first, copy.predict(X))
    assert copy.release_.verify().ok


def test_cross_validation_of_classes_and_counts_runs():
    labels, counts = (clone(model).set_params(random_state=0) for model, _ in OUTCOMES.values())
    for scoring in ("accuracy", "neg_log_loss", "roc_auc"):
        scores = cross_val_score(labels, X, LABELS, cv=3, scoring=scoring)
        assert np.all(np.isfinite(scores))
    assert cross_val_score(labels, X, LABELS, cv=3).mean() > 0.6
    deviance = cross_val_score(counts, X, COUNTS, cv=3, scoring="neg_mean_poisson_deviance")
    assert np.all(np.isfinite(deviance))
    search = GridSearchCV(labels, {"kernel": [4.0 * RBF(0.01), 4.0 * RBF(3.0)]}, cv=3)
    assert search.fit(X, LABELS).best_params_["kernel"].k2.length_scale == 3.0
    # scikit-learn numbers the labels here, so they cannot be named beforehand.
    labels.set_params(classes="public")
    assert cross_val_predict(labels, X, LABELS, cv=3, method="predict_proba").shape == (N, 2)


def test_classes_and_counts_work_at_the_end_of_a_pipeline():
    labels, counts = (clone(model).set_params(kernel=None) for model, _ in OUTCOMES.values())
    first = make_pipeline(StandardScaler(), labels).fit(X, LABELS)
    assert first.predict_proba(X).shape == (N, 2)
    assert first.score(X, LABELS) > 0.6
    exposure = np.linspace(1.0, 2.0, N)
    second = make_pipeline(StandardScaler(), counts)
    second.fit(X, COUNTS, privategpcountregressor__exposure=exposure)
    assert np.all(second.predict(X) > 0)
    found = second[-1].release_.spec.likelihood.exposure
    np.testing.assert_array_equal(np.sort(found), exposure)  # rows are in canonical order


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", OUTCOMES)
def test_frames_of_inputs_and_outcomes_keep_their_names(kind, frame):
    model, outputs = OUTCOMES[kind]
    table = FRAMES[frame](X)
    column = {
        "pandas": lambda: pd.Series(outputs, name="ill", index=range(7, 7 + N)),
        "polars": lambda: pl.Series("ill", outputs),
        "pyarrow": lambda: pa.table({"ill": outputs}),
    }[frame]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table of one column is a column vector
        named = clone(model).set_params(random_state=0).fit(table, column)
    plain = clone(model).set_params(random_state=0).fit(X, outputs)
    np.testing.assert_array_equal(named.release_.noisy.values, plain.release_.noisy.values)
    assert named.release_.target_names == ("ill",)
    assert list(named.feature_names_in_) == COLUMNS
    np.testing.assert_array_equal(named.predict(table), plain.predict(X))
    assert list(named.release_.to_frame(X[:2]))[:2] == COLUMNS


# --- what else a user of scikit-learn tries


def test_owners_reach_the_fit_behind_a_splitter_and_a_pipeline():
    """Owners that only the splitter knew would leave each row protected as another person's."""
    rng = np.random.default_rng(5)
    X, y, owners = rng.uniform(size=(60, 1)), rng.uniform(size=60), np.arange(60) // 3
    model = PrivateGPRegressor(bounds=(0, 1))
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator in (model, make_pipeline(StandardScaler(), model)):
            found = cross_validate(
                *(estimator, X, y),
                cv=GroupKFold(2),
                params={"groups": owners, "at": [[0.2], [0.4], [0.6]]},
                return_estimator=True,
                error_score="raise",
            )["estimator"]
            for each in found:
                spec = (each[-1] if hasattr(each, "steps") else each).release_.spec
                assert spec.people == 10
                assert len(spec.points) == 3


def test_exposure_reaches_fit_and_prediction():
    rng = np.random.default_rng(6)
    X, y, watched = rng.uniform(size=(60, 1)), rng.poisson(1, 60), rng.uniform(1, 3, 60)
    with sklearn.config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(PrivateGPCountRegressor(cap=5), {"epsilon": [1.0]}, cv=2)
        best = search.set_params(error_score="raise").fit(X, y, exposure=watched).best_estimator_
    np.testing.assert_allclose(
        np.sort(best.release_.spec.outcome.exposure), np.sort(watched), rtol=1e-12
    )


@pytest.mark.parametrize("kind", ["plain", "counts"])
def test_weights_are_refused_with_the_reason(kind):
    make = {"plain": PrivateGPRegressor(bounds=(0, 1)), "counts": PrivateGPCountRegressor(cap=3)}
    with pytest.raises(TypeError, match="more noise would have to hide its person"):
        make[kind].fit([[0.0], [1.0]], [0, 1], sample_weight=[1.0, 2.0])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_inputs_say_how_to_state_them(library):
    X = library({"age": [1.0, None, 3.0], "height": [1.0, 2.0, 3.0]})
    model = PrivateGPRegressor(bounds=(0, 1))
    for act in (lambda: model.fit(X, [0, 1, 0]), lambda: model.plan(X)):
        with pytest.raises(
            ValueError, match="missing values \\(NaN\\) in the column 'age' in 1 of 3"
        ) as e:
            act()
        assert "columns={'age': Number(missing=0)}" in str(e.value)
    stated = PrivateGPRegressor(bounds=(0, 1), columns={"age": Number(missing=0)})
    assert stated.plan(X).spec.people == 3  # the remedy is one
    with pytest.raises(ValueError, match="missing values \\(NaN\\) in 1 of 2 rows; fill") as e:
        model.fit([[1.0], [2.0]], [0, 1]).predict([[1.0], [np.nan]])
    assert "Number" not in str(e.value)


def test_tab_completion_shows_names_for_users_alone():
    model = PrivateGPRegressor(bounds=(0, 1)).fit([[0.0], [1.0]], [0, 1])
    plan = model.plan([[0.0], [1.0]])
    for thing in (model, plan, model.release_, model.release_.check(), model.release_.verify()):
        hidden = {n for n in dir(thing) if n.startswith("_") and not n.startswith("__")}
        assert hidden <= {"_repr_html_"}, "a notebook asks for that name"
    assert {"fit", "predict", "plan", "release_"} <= set(dir(model))
    assert {"noise_std", "plot"} <= set(dir(plan))
    assert {"predict", "plot", "verify"} <= set(dir(model.release_))


@pytest.mark.slow
def test_type_checkers_know_when_a_prediction_is_an_array(tmp_path):
    script = tmp_path / "typed.py"
    script.write_text(
        """
from typing import Any, assert_type
import numpy as np
from numpy.typing import NDArray
from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor, Release

Array = NDArray[np.float64]
Two = tuple[Array, Array]
X = [[1.0]]

def check(a: PrivateGPRegressor, b: PrivateGPClassifier, c: PrivateGPCountRegressor, d: Release):
    assert_type(a.predict(X), Array)
    assert_type(a.predict(X, return_std=True), Two)
    assert_type(a.predict(X, True), Two)
    assert_type(a.fit(X, [1.0]).release_.predict(X, clip="bounds"), NDArray[Any])
    assert_type(b.predict_proba(X), Array)
    assert_type(b.predict_proba(X, return_std=True), Two)
    assert_type(c.predict(X), Array)
    assert_type(c.predict(X, return_std=True), Two)
    assert_type(d.latent(X), Array)
"""
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "", "--check-untyped-defs", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
