"""A plan is known again by its public inputs and settings, in every digit."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.data.table import (
    Table,
    as_planned,
    bounded,
    in_bins,
    in_canonical_order,
    read_table,
    with_points,
)
from cloakgp.gp.defaults import default_lengths
from cloakgp.release.settings import EstimatorSettings, copy_settings

ROWS = np.arange(6.0).reshape(3, 2)
OWNERS = np.array([0, 0, 1])
USUAL = Table(
    X=None,
    names=("a", "b"),
    columns=None,
    rows=ROWS,
    owners=OWNERS,
    exposure=np.ones(3),
    at=ROWS[:1],
    max_contributions=2,
    left_out=4,
)
OTHERS = {
    "rows": (ROWS + 1e-12, "inputs X"),
    "names": (("a", "c"), "column names of X"),
    "at": (None, "points at"),
    "owners": (np.array([0, 1, 1]), "groups"),
    "exposure": (np.array([1.0, 1.0, 2.0]), "exposure"),
    "max_contributions": (1, "max_rows"),
    "left_out": (3, "max_rows"),
}
SETTINGS = EstimatorSettings("PrivateGPRegressor", {"kernel": 2.0 * RBF(1.0), "rank": None})


def test_equal_tables_are_the_same():
    USUAL.check_same(deepcopy(USUAL))


@pytest.mark.parametrize("name", OTHERS)
def test_a_table_that_differs_in_anything_is_another(name):
    value, told = OTHERS[name]
    with pytest.raises(ValueError, match=f"made for other {told}; leave it out or plan again"):
        USUAL.check_same(replace(USUAL, **{name: value}))


def test_the_people_in_bins_are_part_of_a_table():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (50, 1))
    table = in_bins(read_table(X), default_lengths)
    again = in_bins(read_table(X), default_lengths, table)
    table.check_same(again)
    X[0] += 1e-9
    with pytest.raises(ValueError, match="made for other people"):
        table.check_same(in_bins(read_table(X), default_lengths, table))


def test_what_a_plan_keeps_of_a_table_is_the_same_and_has_no_order():
    """Two orders of one table leave the same plan, and what a fit is given is known again."""
    order = np.array([2, 0, 1])
    kept = []
    for rows in (slice(None), order):
        table = bounded(in_canonical_order(read_table(ROWS[rows], OWNERS[rows])), 1)
        table = with_points(table, ROWS[:1])
        kept.append(as_planned(table))
        kept[-1].check_same(table)
        assert kept[-1].limit == table.limit == (1, 1)
    one, other = (vars(each) for each in kept)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
    for name in ("X", "blocks", "order", "ties", "kept", "every_row", "every_owner"):
        assert one[name] is None


def test_a_setting_that_differs_is_named():
    SETTINGS.check_same(deepcopy(SETTINGS))
    other = EstimatorSettings(SETTINGS.maker, {"kernel": 2.0 * RBF(1.0 + 1e-12), "rank": 2})
    with pytest.raises(ValueError, match="with other kernel, rank; leave it out or plan again"):
        SETTINGS.check_same(other)


def test_a_setting_more_or_less_makes_others():
    more = EstimatorSettings(SETTINGS.maker, {**SETTINGS.values, "cap": 3})
    for one, other in ((SETTINGS, more), (more, SETTINGS)):
        with pytest.raises(ValueError, match="other cap"):
            one.check_same(other)


def test_a_plan_says_first_which_estimator_made_it():
    plan = PrivateGPRegressor(bounds=(0, 1)).plan(ROWS)
    other = copy_settings(PrivateGPClassifier(classes=[0, 1]))
    with pytest.raises(ValueError, match="by a PrivateGPRegressor, not by a PrivateGPClassifier"):
        plan.check_same(USUAL, other)


def test_settings_are_copies_without_those_of_the_spend():
    kernel = 2.0 * RBF(1.0)
    model = PrivateGPRegressor(kernel, bounds=(0, 1), ledger="x", dataset="y")
    settings = copy_settings(model)
    assert settings.maker == "PrivateGPRegressor"
    assert not settings.values.keys() & {"ledger", "dataset", "random_state"}
    kernel.k2.length_scale = 9.0
    assert settings.values["kernel"].k2.length_scale == 1.0
