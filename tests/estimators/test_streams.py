"""Whoever reads the blocks, the release is the same, and nothing is spent if one of them dies."""

import os
import traceback
from dataclasses import replace

import joblib
import numpy as np
import pytest
from stream_cases import CROWD, Fatal, check_nothing_is_spent, crowd_in, integers_of

from cloakgp import BoundsGrid, Ledger, PrivateGPClassifier, PrivateGPRegressor, scan
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.errors import NotPrivateWarning, TableError
from cloakgp.estimators import steps
from cloakgp.estimators.bounds import draw_bounds
from cloakgp.privacy.choice import bounds as choice

pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.errors.NotPrivateWarning")


@pytest.fixture(scope="module")
def expected():
    """The integers of the crowd in memory, read by this process alone."""
    with pytest.warns(NotPrivateWarning):
        return integers_of(CROWD[["age"]], CROWD["height"])


def test_arrays_and_files_give_the_same_integers(expected, tmp_path):
    X, y = CROWD[["age"]], CROWD["height"]
    assert integers_of(cut_array(X, rows=700), cut_outputs(y, rows=700)) == expected
    for name, cuts, group in (("a", (0, 1, 6000), 999), ("b", (0, 3000, 6000), 6000)):
        assert integers_of(*crowd_in(tmp_path / name, cuts, group)) == expected


def test_the_integers_are_those_of_a_plain_sum(expected):
    release = (
        PrivateGPRegressor(bounds=(40, 200), epsilon=np.inf, learn=False)
        .fit(CROWD[["age"]], CROWD["height"])
        .release_
    )
    steps = 2 ** (release.noisy.bits - release.sketch.bits)
    u = np.rint((CROWD["height"].clip(40.0, 200.0) - 40.0) / 160.0 * steps).astype(int)
    at = release.facts.partition.assign(CROWD[["age"]].to_numpy())
    sums = [sum(u[at == place].tolist()) for place in range(len(release.facts.partition.counts))]
    T = release.sketch.matrix.tolist()
    assert [sum(t * s for t, s in zip(row, sums, strict=True)) for row in T] == expected


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_threads_and_processes_give_the_same_integers(backend, expected, tmp_path):
    with joblib.parallel_config(backend, n_jobs=2):
        assert integers_of(*crowd_in(tmp_path)) == expected


def test_a_process_that_is_killed_ends_a_release_before_it_is_spent(tmp_path, monkeypatch):
    X, y = crowd_in(tmp_path / "people")
    marks = tmp_path / "marks"
    marks.mkdir()
    fatal = replace(y, parts=(*y.parts[:2], Fatal(y.parts[2], str(marks), 1), *y.parts[3:]))
    with joblib.parallel_config("loky", n_jobs=2):
        check_nothing_is_spent(tmp_path, X, y, fatal, monkeypatch)


def test_a_plan_holds_for_the_same_people_in_other_blocks_alone(tmp_path):
    X, _ = crowd_in(tmp_path / "one")
    model = PrivateGPRegressor(bounds=(40, 200), learn=False)
    plan = model.plan(X)
    again, heights = crowd_in(tmp_path / "two", cuts=(0, 10, 6000), group=77)
    assert model.fit(again, heights, plan=plan).release_.facts is plan.facts
    other = CROWD.assign(age=CROWD["age"].where(CROWD.index != 17, 45.0))
    blocks = cut_array(other[["age"]], rows=900), cut_outputs(other["height"], rows=900)
    with pytest.raises(ValueError, match="plan was made for other people"):
        model.fit(*blocks, plan=plan)


def test_a_plan_of_other_columns_is_refused(tmp_path):
    model = PrivateGPRegressor(bounds=(40, 200), learn=False)
    plan = model.plan(cut_array(CROWD))
    with pytest.raises(ValueError, match="plan was made for other inputs X"):
        model.fit(cut_array(CROWD[["age"]]), cut_outputs(CROWD["height"]), plan=plan)


def test_several_steps_read_the_blocks_once(tmp_path, monkeypatch):
    """The files may change, or be gone, once the spend was recorded: nothing is wasted."""
    labels = np.where(CROWD["height"] > 120.0, "tall", "short")
    path = tmp_path / "people.parquet"
    CROWD.assign(size=labels).to_parquet(path)
    book = Ledger(tmp_path / "budget.ledger").open("people", 1.0, 1e-5, create=True)
    restarted = steps.restarted

    def without_file(spec, f):
        if book.spent("people"):  # not for the plan
            path.unlink()
        return restarted(spec, f)

    monkeypatch.setattr(steps, "restarted", without_file)
    model = PrivateGPClassifier(
        classes=["short", "tall"], iterations=2, learn=False, ledger=book, dataset="people"
    )
    release = model.fit(*scan(path, inputs=["age"], output="size")).release_
    assert len(release.parts) == 2
    assert not path.exists()


def grid_model(folder):
    """Return a model that chooses its bounds, its ledger, and the crowd in a file."""
    path = folder / "people.parquet"
    CROWD.to_parquet(path)
    book = Ledger(folder / "budget.ledger").open("people", 1.0, 1e-5, create=True)
    grid = BoundsGrid(np.linspace(0, 300, 31))
    model = PrivateGPRegressor(bounds=grid, learn=False, ledger=book, dataset="people")
    return model, book, path


def test_a_touch_between_choosing_bounds_and_releasing_is_harmless(tmp_path, monkeypatch):
    model, book, path = grid_model(tmp_path)

    def then_touch(*given):
        chosen = draw_bounds(*given)
        os.utime(path, ns=(0, 0))
        return chosen

    monkeypatch.setattr("cloakgp.estimators.base.draw_bounds", then_touch)
    assert model.fit(*scan(path, inputs=["age"], output="height")).release_.private
    assert len(book.history("people")) == 2


def test_a_file_that_goes_while_values_are_counted_costs_nothing(tmp_path, monkeypatch):
    model, book, path = grid_model(tmp_path)
    counted = choice._counted

    def then_remove(*given):
        found = counted(*given)
        path.unlink()
        return found

    monkeypatch.setattr(choice, "_counted", then_remove)
    with pytest.raises(TableError, match=r"has changed(.|\n)*nothing was spent\.$") as caught:
        model.fit(*scan(path, inputs=["age"], output="height"))
    assert book.spent("people") == 0.0
    assert "nothing was spent" not in str(caught.value)  # a note, of those who know


def test_an_error_after_the_record_says_that_the_budget_is_spent(tmp_path, monkeypatch):
    model, book, path = grid_model(tmp_path)

    def then_change(*given):
        chosen = draw_bounds(*given)
        CROWD[:-1].to_parquet(path)
        return chosen

    monkeypatch.setattr("cloakgp.estimators.base.draw_bounds", then_change)
    with pytest.raises(ValueError, match="could not be read") as caught:
        model.fit(*scan(path, inputs=["age"], output="height"))
    said = "".join(traceback.format_exception(caught.value))
    assert "recorded in the ledger before, and is spent" in said
    assert "nothing was spent" not in said
    assert book.spent("people") > 0.0
