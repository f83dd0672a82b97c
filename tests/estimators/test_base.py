"""What holds for every estimator: numbers beyond all sense, many people, and what is read once."""

import warnings

import numpy as np
import pytest
from input_cases import AGES, ESTIMATORS, HEIGHTS, WEIGHTS, A, N
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import KFold

import cloakgp
from cloakgp import (
    PrivateGPRegressor,
)
from cloakgp.estimators import steps
from cloakgp.privacy import Budget

# ------------------------------------------------------------------------ numbers beyond all sense


HUGE_INPUTS = np.where(np.arange(N)[:, None] == 3, 1e200, A[:, [0]])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_input_that_cannot_be_computed_with_is_refused_by_the_plan(kind):
    model = ESTIMATORS[kind]()
    for call in (lambda: model.plan(HUGE_INPUTS), lambda: model.fit(HUGE_INPUTS, HEIGHTS)):
        with pytest.raises(ValueError, match=r"X holds a number of size 1e\+200.*unit"):
            call()
    with pytest.raises(ValueError, match="at holds a number of size"):
        model.plan(A[:, [0]], at=[[1e300]])
    fitted = model.fit(A[:, [0]], HEIGHTS.copy())
    with pytest.raises(ValueError, match="X holds a number of size"):
        fitted.predict([[1e300]])


SENSELESS = [
    ("regressor", "prior_mean", 1e308),
    ("regressor", "prior_mean", -1e30),
    ("regressor", "noise_variance", 1e308),
    ("regressor", "noise_variance", 1e150),
    ("regressor", "kernel", 1e308 * RBF(1.0)),
    ("regressor", "kernel", 1e200 * RBF(1.0)),
    ("regressor", "bounds", (-1e308, 1e308)),
    ("regressor", "bounds", [(0, 1), (-1e308, 1e308)]),
    ("regressor", "inducing", [[1e300]]),
    ("classifier", "kernel", 1e308 * RBF(1.0)),
    ("classifier", "prior_mean", 1e308),
    ("classifier", "inducing", [[1e300]]),
    ("counts", "kernel", 1e308 * RBF(1.0)),
    ("counts", "prior_mean", 1e308),
    ("counts", "cap", 1e308),
]


@pytest.mark.parametrize(("kind", "name", "value"), SENSELESS, ids=str)
def test_a_parameter_that_cannot_be_computed_with_is_named_by_the_plan(kind, name, value):
    model = ESTIMATORS[kind]().set_params(**{name: value})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=name):
            model.plan(A[:, [0]])
        with pytest.raises(ValueError, match=name):
            model.fit(A[:, [0]], HEIGHTS)


@pytest.mark.parametrize("exposure", [1e300, 1e-300])
def test_an_exposure_that_cannot_be_computed_with_is_refused_with_its_limits(exposure):
    with pytest.raises(ValueError, match=r"exposure must lie between 1e-09 and 1e\+09"):
        ESTIMATORS["counts"]().plan(A[:, [0]], exposure=exposure)


ODD_INPUTS = {
    "tiny": 1e-150 * A[:, [0]],
    "tinier": 1e-250 * A[:, [0]],
    "smallest": 1e-310 * A[:, [0]],
    "huge": 1e119 * A[:, [0]],
    "constant": np.full((N, 2), 3.0),
    "constant and huge": np.full((N, 1), 1e120),
    "one of each": np.column_stack([1e-150 * AGES, 1e119 * WEIGHTS, np.full(N, 1e8)]),
    "duplicates": np.repeat(A[:4, :1], N // 4, axis=0),
    "one person": A[:1, :1],
    "an outlier": np.where(np.arange(N)[:, None] == 3, 1e120, A[:, [0]]),
}


#: Every input meets every estimator and both models; every estimator meets both models.
ODD_FITS = [
    (case, (None, 5)[(row + column) % 2], kind)
    for row, case in enumerate(ODD_INPUTS)
    for column, kind in enumerate(("regressor", "classifier", "counts"))
]


@pytest.mark.usefixtures("few_settings")
@pytest.mark.parametrize(("case", "inducing", "kind"), ODD_FITS)
def test_inputs_of_any_scale_give_finite_predictions_without_a_warning(case, inducing, kind):
    X = ODD_INPUTS[case]
    model = ESTIMATORS[kind](inducing=inducing).set_params(kernel=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = model.plan(X)
        assert np.all(np.isfinite(plan.noise_std))
        fitted = model.fit(X, HEIGHTS[: len(X)].copy(), plan=plan)
        assert np.all(np.isfinite(fitted.predict(X)))
        assert np.all(np.isfinite(fitted.uncertainty(X).dp))
    assert fitted.release_.verify().ok


@pytest.mark.parametrize("length", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("kind", ["regressor", "classifier", "counts"])
def test_a_lengthscale_of_any_size_is_used_or_refused_by_name(length, kind):
    model = ESTIMATORS[kind]().set_params(kernel=4.0 * RBF(length))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            noise = model.plan(A[:, [0]]).noise_std
        except ValueError as error:
            noise = str(error)
    assert "kernel" in noise if isinstance(noise, str) else np.all(np.isfinite(noise))


# ------------------------------------------------------------------------------------- many people


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_more_people_than_a_plan_can_take_in_a_minute_need_inducing_inputs(kind, monkeypatch):
    """The limit is below 5,000, where the exact model takes minutes, and inducing inputs do not."""
    many = np.linspace(0.0, 10.0, 5000)[:, None]
    monkeypatch.setattr("cloakgp.gp.exact.evaluate", lambda *_: pytest.fail("work was begun"))
    exact = (
        {"inducing": None} if kind != "search" else {"cv": KFold(50), "estimator__inducing": None}
    )
    model = ESTIMATORS[kind]().set_params(**exact)
    for call in (lambda: model.plan(many), lambda: model.fit(many, np.zeros(5000))):
        with pytest.raises(ValueError, match=r"5000 people|4900 people.*inducing=50"):
            call()


def test_inducing_inputs_are_enough_for_five_thousand_people():
    many = np.linspace(0.0, 10.0, 5000)[:, None]
    assert PrivateGPRegressor(bounds=(0, 10), inducing=20).plan(many).published_values > 0


def test_a_release_of_more_people_than_can_be_planned_is_still_read(tmp_path, monkeypatch):
    release = ESTIMATORS["regressor"]().fit(A[:, [0]], HEIGHTS.copy()).release_
    release.save(tmp_path / "release.cloakgp")
    monkeypatch.setattr("cloakgp.estimators.priors.MOST_EXACT", 5)
    loaded = cloakgp.Release.load(tmp_path / "release.cloakgp")
    np.testing.assert_array_equal(loaded.predict(A[:, [0]]), release.predict(A[:, [0]]))
    with pytest.raises(ValueError, match="inducing=50"):
        ESTIMATORS["regressor"]().set_params(inducing=None).plan(A[:, [0]])


# --------------------------------------------------------------------------------- read only once


class Drifting(float):
    """A number that is another one each time it is asked for."""

    def __new__(cls, *values):
        found = super().__new__(cls, values[0])
        found.values = list(values)
        return found

    def __float__(self):
        return self.values.pop(0) if len(self.values) > 1 else self.values[0]


@pytest.mark.parametrize("mechanism", ["auto", "gaussian"])
@pytest.mark.parametrize("kind", ["regressor", "classifier", "counts"])
def test_what_is_released_is_what_was_planned_though_a_parameter_changes(
    kind, mechanism, monkeypatch
):
    """ε and δ become numbers once, and the core gets those."""
    asked, core = [], steps.release
    monkeypatch.setattr(steps, "release", lambda q, b, **k: asked.append(b) or core(q, b, **k))
    model = ESTIMATORS[kind](mechanism=mechanism)
    model.set_params(epsilon=Drifting(1.0, 40.0), delta=Drifting(1e-5, 0.4))
    released = model.fit(A[:, [0]], HEIGHTS.copy()).release_
    gaussian, laplace = Budget(1.0, 1e-5), Budget(1.0, 0.0, mechanism="laplace")
    assert asked == [gaussian if mechanism == "gaussian" else laplace]
    assert (type(asked[0].epsilon), type(asked[0].delta)) == (float, float)
    assert (released.epsilon, released.delta) == (1.0, asked[0].delta)
    assert released.verify().ok


@pytest.mark.parametrize("number", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_numbers_of_any_precision_give_the_noise_of_the_same_float(number, kind):
    """A float16 of 0.01 is 0.01000213623046875: that is what is promised and kept."""
    model = ESTIMATORS[kind](epsilon=number(0.01), delta=number(2.0**-17))
    exact = ESTIMATORS[kind](epsilon=float(number(0.01)), delta=2.0**-17)
    ours, theirs = (m.fit(A[:, [0]], HEIGHTS.copy()).release_ for m in (model, exact))
    assert ours.noisy.sigma == theirs.noisy.sigma
    assert (ours.epsilon, ours.delta) == (theirs.epsilon, theirs.delta)


def test_inputs_that_change_while_a_release_is_made_change_nothing(tmp_path):
    """The ledger is called in the middle; what it does to X must not reach the release."""
    mine = A[:, [0]].copy()
    book = cloakgp.Ledger(tmp_path / "budget.ledger")
    book.open("people", 5.0, 1e-5, create=True)
    spend = book.spend

    def meddle(*args, **kwargs):
        mine[:] = 0.0
        return spend(*args, **kwargs)

    book.spend = meddle
    model = ESTIMATORS["regressor"]().set_params(ledger=book, dataset="people")
    fitted = model.fit(mine, HEIGHTS.copy())
    assert np.all(mine == 0.0)
    np.testing.assert_array_equal(fitted.release_.facts.model.X, np.sort(A[:, [0]], axis=0))
    assert fitted.release_.verify().ok


def test_every_estimator_of_the_package_is_tried_here():
    public = {name for name in cloakgp.__all__ if name.startswith("Private")}
    assert public == {type(make()).__name__ for make in ESTIMATORS.values()}
