"""What a plan says, for what it is given."""

from dataclasses import replace

import numpy as np
import pytest
from input_cases import ESTIMATORS, A

from cloakgp.data.rows import RowLimit
from cloakgp.release.summary import Figures, plan_summary

X = A[:, [0]]
PLAN = ESTIMATORS["regressor"](mechanism="gaussian").plan(X)
CELLS = ESTIMATORS["regressor"](mechanism="laplace").plan(X)
FIGURES = Figures(
    total_epsilon=1.5,
    published_values=7,
    typical_noise=2.5,
    largest_noise=4.5,
    floor=0.5,
    errors=(),
    error_bound=6.0,
    lost=(0.0, 0.0),
)


def words(figures=FIGURES, choice=None, **changes):
    return plan_summary(replace(PLAN.spec, **changes), PLAN.design, figures, choice)


def test_the_figures_are_told_as_they_are():
    text = words()
    for part in (
        "Release of 7 numbers",
        "(epsilon=1.5, delta=1e-05)-private",
        "typically 2.5, at most 4.5",
        "uncertain by 0.5",
        f"{PLAN.design.status[1:]}.",
    ):
        assert part in text


def test_laplace_noise_has_no_delta_and_no_calibration():
    text = plan_summary(CELLS.spec, CELLS.design, FIGURES, None)
    assert "epsilon=1.5, with no delta." in text
    assert "Laplace noise, design 'cells'" in text
    owned = replace(CELLS.spec, groups=np.arange(len(X)) // 4)
    owned = plan_summary(owned, CELLS.design, FIGURES, None)
    assert "Cells were chosen before they were scaled for people with several rows" in owned
    for part in ("calibration", "delta=", "ertif", "learnt"):
        assert part not in text + owned


def test_no_noise_promises_nothing():
    budget = replace(PLAN.spec.budget, epsilon=np.inf)
    assert "NOT PRIVATE" in words(budget=budget)
    assert "-private" not in words(budget=budget)


def test_what_is_not_so_is_not_told():
    text = words()
    for part in ("learnt", "rows of each person", "before it was scaled", "grid", "place", "steps"):
        assert part not in text


def test_a_learnt_prior_says_what_is_expected_if_the_truth_is_smooth_or_rough():
    spec = ESTIMATORS["regressor"](learn=True).plan(X).spec
    text = plan_summary(spec, PLAN.design, replace(FIGURES, errors=(3.0, 9.0, 1.0)), None)
    assert (
        "1 for a smooth truth and 9 for a rough one; nine releases in ten state at most 6." in text
    )


def test_each_row_is_said_to_be_taken_for_another_person_unless_owners_are_named():
    said = f"Each of the {len(X)} rows is taken to be another person's"
    assert f"numbers about {len(X)} rows, each taken to be another person's" in words()
    assert said in words()
    assert "protected less" in words()
    assert "(groups=)" in words()
    owned = words(groups=np.arange(len(X)) // 4)
    assert f"numbers about {-(-len(X) // 4)} people" in owned
    assert said not in owned


def test_rows_and_owners_are_told():
    groups = np.zeros(len(X), dtype=np.int64)
    text = words(groups=groups, limit=RowLimit(2, 5))
    assert "At most 2 rows of each person count" in text
    assert "5 left out" in text
    assert "people with several rows" in text


def test_nothing_published_is_explained():
    text = words(replace(FIGURES, published_values=0))
    assert "nothing would be published" in text


@pytest.mark.parametrize(
    ("lost", "part"),
    [
        ((0.0, 0.0), "Nothing is lost by that"),
        ((1e-5, 1e-5), "less than 0.1 % of what varies"),
        ((0.02, 0.02), "2 % of what varies"),
        ((0.2, 0.2), "WARNING: that is much"),
    ],
)
def test_what_places_lose_is_told(lost, part, monkeypatch):
    monkeypatch.setattr("cloakgp.data.table.MOST_EXACT", 5)
    spec = ESTIMATORS["regressor"](inducing="auto").plan(X).spec
    assert spec.partition is not None
    text = plan_summary(spec, PLAN.design, replace(FIGURES, lost=lost), None)
    assert part in text
    assert ("WARNING" in text) == ("WARNING" in part)


def test_a_delta_that_is_not_far_below_one_over_the_people_is_a_warning():
    assert "WARNING: delta" not in words()
    loose = replace(PLAN.spec.budget, delta=0.2 / PLAN.spec.people)
    text = words(budget=loose)
    assert "WARNING: delta = " in text
    assert "0.2 of them on average" in text
    tight = replace(PLAN.spec.budget, delta=0.09 / PLAN.spec.people)
    assert "WARNING: delta" not in words(budget=tight)


@pytest.mark.parametrize("name", ["patient_id", "ID", "e-mail", "house uuid", "Kundennummer"])
def test_an_input_that_is_called_like_an_identifier_is_a_warning(name):
    assert f"WARNING: {name} looks like the name of an identifier" in words(feature_names=(name,))


@pytest.mark.parametrize("name", ["age", "idle_hours", "grid", "paid"])
def test_other_names_are_no_warning(name):
    assert "identifier" not in words(feature_names=(name,))
