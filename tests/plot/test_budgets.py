"""Error against epsilon is what plans at those budgets forecast, found quickly."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor
from cloakgp.plot.budgets import COUNT, Budgets, budgets_of, draw_budgets

X = np.linspace(0.0, 80.0, 40)[:, None]
MODEL = PrivateGPRegressor(900 * RBF(20.0), bounds=(40, 200), epsilon=1.0)


@pytest.fixture(scope="module")
def plan():
    return MODEL.plan(X)


@pytest.fixture(scope="module")
def budgets(plan):
    return Budgets.of(plan, (0.1, 0.3, 3.0, 10.0))


def test_errors_are_those_of_plans_at_these_budgets(plan, budgets):
    assert budgets.epsilon.tolist() == [0.1, 0.3, 1.0, 3.0, 10.0]
    table = plan.compare_epsilons(tuple(budgets.epsilon))
    np.testing.assert_allclose(budgets.noise[:, 0], table["typical_noise_std"], rtol=0.01)
    assert np.all(budgets.largest[:, 0] > table["largest_noise_std"])
    assert np.all(np.diff(budgets.noise[:, 0]) < 0)
    np.testing.assert_allclose(budgets.floor, budgets.floor[:1].repeat(5, axis=0), rtol=1e-6)


def test_the_epsilon_that_an_accuracy_takes_is_about_the_one_that_a_search_finds(plan):
    found = Budgets.of(plan, budgets_of(plan)).required(0, 18.0)
    assert found == pytest.approx(plan.required_epsilon(18.0), rel=0.1)


def test_an_accuracy_beyond_all_budgets_has_no_epsilon(budgets):
    assert budgets.required(0, 1e-3) is None
    assert budgets.required(0, 1e3) == 0.1


def test_several_outputs_have_columns_of_their_own():
    model = PrivateGPRegressor(RBF(20.0), bounds=[(0, 1), (0, 5)], epsilon=1.0)
    found = Budgets.of(model.plan(X), (3.0,))
    assert found.noise.shape == (2, 2)
    assert np.all(found.noise[:, 1] > found.noise[:, 0])


@pytest.mark.parametrize(("epsilon", "low", "high"), [(1.0, 0.1, 10.0), (0.04, 0.01, 10.0)])
def test_a_few_budgets_lie_around_that_of_the_plan(plan, epsilon, low, high):
    found = budgets_of(plan.near(epsilon))
    assert len(found) == COUNT <= 8
    assert (found[0], found[-1]) == (low, high)


def test_budgets_of_hall_end_where_it_is_proven():
    plan = clone(MODEL).set_params(calibration="hall").plan(X)
    assert budgets_of(plan)[-1] == 1.0


@pytest.mark.parametrize(
    ("wanted", "title"),
    [
        (None, "At all points that matter, by epsilon"),
        (20.0, "At every point, that takes epsilon of about"),
        (1e-3, "No epsilon up to 10 gives that"),
        (1e3, "epsilon below 0.1 gives that"),
    ],
)
def test_the_picture_says_what_an_accuracy_takes(plan, budgets, wanted, title):
    ax = Figure().subplots()
    draw_budgets(ax, budgets, 0, plan, "height", wanted)
    assert ax.get_title(loc="left").startswith(title)
    marked = [line for line in ax.lines if line.get_label() == "this plan"]
    assert marked[0].get_xdata()[0] == 1.0
    assert ax.get_ylabel() == "height: standard deviation"
