"""Bounds of outputs: what may be written, and what is refused because it could mean two things."""

import numpy as np
import pytest

from cloakgp import PrivateGPRegressor
from cloakgp.app.settings import gather_settings
from cloakgp.estimators.bounds import read_bounds

X = np.random.default_rng(0).uniform(0, 10, (24, 2))
y = 5.0 + 3.0 * np.sin(X[:, 0]) + 0.1 * X[:, 1]
Y = np.column_stack([y, 10.0 - y, 0.5 * y])


def test_bounds_of_several_outputs_are_a_pair_for_each_column():
    """Two pairs used to be read as all lower bounds, then all upper bounds."""
    table = np.column_stack([35.0 * y, 400.0 + 10.0 * y])
    for pairs in (
        [(0, 350), (400, 500)],
        [[0, 350], (400.0, 500.0)],
        [(0, 350), np.array([400, 500])],
    ):
        model = PrivateGPRegressor(bounds=pairs)
        for facts in (model.plan(X).facts, model.fit(X, table).release_.facts):
            assert (facts.lo.tolist(), facts.hi.tolist()) == ([0.0, 400.0], [350.0, 500.0])
    three = PrivateGPRegressor(bounds=[(0, 1), (2, 4), (5, 9)]).plan(X).facts
    assert (three.lo.tolist(), three.hi.tolist()) == ([0.0, 2.0, 5.0], [1.0, 4.0, 9.0])


@pytest.mark.parametrize(
    "bounds",
    [(0, 10), [0, 10], np.array([0.0, 10.0]), [(0, 10)], (np.int64(0), np.float32(10))],
    ids=str,
)
def test_two_numbers_are_the_bounds_of_all_outputs(bounds):
    for outputs, columns in ((y, 1), (Y, 3)):
        facts = PrivateGPRegressor(bounds=bounds).fit(X, outputs).release_.facts
        assert (facts.lo.tolist(), facts.hi.tolist()) == ([0.0] * columns, [10.0] * columns)


AMBIGUOUS = {
    "a tuple of pairs": (
        ((0, 400), (350, 500)),
        ["[(0, 400), (350, 500)]", "[(0, 350), (400, 500)]"],
    ),
    "a tuple of lists": (([0, 0], [10, 20]), ["[(0, 10), (0, 20)]"]),
    "two arrays": (
        (np.array([0.0, 1.0]), np.array([2.0, 3.0])),
        ["[(0.0, 1.0), (2.0, 3.0)]", "[(0.0, 2.0), (1.0, 3.0)]"],
    ),
    "a table": (
        np.array([[0.0, 1.0], [2.0, 3.0]]),
        ["[(0.0, 1.0), (2.0, 3.0)]", "[(0.0, 2.0), (1.0, 3.0)]"],
    ),
    "three columns": (([0, 1, 2], [3, 4, 5]), ["[(0, 3), (1, 4), (2, 5)]"]),
    "one column": (([0], [3]), ["[(0, 3)]"]),
    "a list of three": ([[0, 1, 2], [3, 4, 5]], ["[(0, 3), (1, 4), (2, 5)]"]),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_bounds_that_could_mean_two_things_are_refused_with_both_spelt_out(case):
    bounds, readings = AMBIGUOUS[case]
    model = PrivateGPRegressor(bounds=bounds)
    for call in (lambda: model.plan(X), lambda: model.fit(X, np.column_stack([y, y]))):
        with pytest.raises(
            ValueError, match="does not say which numbers belong together"
        ) as caught:
            call()
        for reading in readings:
            assert f"bounds={reading}" in str(caught.value)
            assert read_bounds(eval(reading)) == eval(reading)


def test_the_command_line_reads_bounds_as_python_does():
    flags = {"inputs": "x", "output": "a,b", "bounds": ["0,350", "400,500"]}
    assert gather_settings(flags).estimator().bounds == [(0.0, 350.0), (400.0, 500.0)]
    assert gather_settings({**flags, "bounds": ["0,350"]}).estimator().bounds == [(0.0, 350.0)] * 2
    assert gather_settings({**flags, "output": "a", "bounds": ["0,350"]}).estimator().bounds == (
        0.0,
        350.0,
    )
