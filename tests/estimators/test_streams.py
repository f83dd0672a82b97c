"""Whoever reads the blocks, the release is the same, and nothing is spent if one of them dies."""

from dataclasses import replace

import dask
import joblib
import numpy as np
import pytest
from cluster import cluster
from joblib.externals.loky.process_executor import TerminatedWorkerError
from stream_cases import CROWD, Fatal, crowd_in, integers_of

from cloakgp import Ledger, PrivateGPClassifier, PrivateGPRegressor
from cloakgp.errors import NotPrivateWarning
from cloakgp.inputs.blocks.arrays import cut_array, cut_outputs
from cloakgp.privacy.mechanism import gathered as core

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
    at = release.facts.places.of(CROWD[["age"]].to_numpy())
    sums = [sum(u[at == place].tolist()) for place in range(len(release.facts.places.counts))]
    T = release.sketch.matrix.tolist()
    assert [sum(t * s for t, s in zip(row, sums, strict=True)) for row in T] == expected


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_threads_and_processes_give_the_same_integers(backend, expected, tmp_path):
    with joblib.parallel_config(backend, n_jobs=2):
        assert integers_of(*crowd_in(tmp_path)) == expected


@pytest.mark.slow
def test_a_cluster_gives_the_same_integers_and_survives_a_worker(expected, tmp_path, monkeypatch):
    """A worker that is killed once is replaced; a block that kills them all ends the release."""
    # First of all: a setting made before its defaults are there would take them along when it ends.
    pytest.importorskip("distributed", reason="pip install 'cloakgp[dask]'")
    import dask.dataframe as dd

    X, y = crowd_in(tmp_path / "people")
    marks = tmp_path / "marks"
    marks.mkdir()
    once = replace(y, parts=(*y.parts[:-1], Fatal(y.parts[-1], str(marks), 1)))
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster():
        assert integers_of(X, y) == expected
        frame = dd.read_parquet(tmp_path / "people")
        assert integers_of(frame[["age"]], frame["height"]) == expected
        assert integers_of(X, once) == expected
        assert [path.name for path in marks.iterdir()] == ["0"]
        always = replace(y, parts=(Fatal(y.parts[0], str(marks), 99), *y.parts[1:]))
        check_nothing_is_spent(tmp_path, X, y, always, monkeypatch)


def test_a_process_that_is_killed_ends_a_release_before_it_is_spent(tmp_path, monkeypatch):
    X, y = crowd_in(tmp_path / "people")
    marks = tmp_path / "marks"
    marks.mkdir()
    fatal = replace(y, parts=(*y.parts[:2], Fatal(y.parts[2], str(marks), 1), *y.parts[3:]))
    with joblib.parallel_config("loky", n_jobs=2):
        check_nothing_is_spent(tmp_path, X, y, fatal, monkeypatch)


def check_nothing_is_spent(folder, X, y, fatal, monkeypatch):
    """Check that ``fatal`` outputs spend nothing, and that good ones are spent once afterwards."""
    book = Ledger(folder / "budget.ledger").open("people", 1.0, 1e-5, create=True)
    model = PrivateGPRegressor(
        bounds=(40, 200), epsilon=1.0, learn=False, ledger=book, dataset="people"
    )
    plan = model.plan(X)
    with monkeypatch.context() as patch:
        patch.setattr(core, "PATIENCE", 6.0)
        # joblib may try the block itself in the end, which the block of this test refuses.
        ends = r"killed|terminated|could not be read"
        with pytest.raises((ValueError, TerminatedWorkerError), match=ends):
            model.fit(X, fatal, plan=plan)
    assert book.spent("people") == 0.0
    assert [entry.facts["event"] for entry in book.history()] == ["created", "opened"]
    assert not hasattr(model, "release_")
    assert model.fit(X, y, plan=plan).release_.private
    assert book.spent("people") == pytest.approx(1.0, rel=1e-6)
    assert [entry.facts["event"] for entry in book.history()][2:] == ["spent"]


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


def test_several_steps_read_the_blocks_again():
    labels = np.where(CROWD["height"] > 120.0, "tall", "short")
    X, y = cut_array(CROWD[["age"]], rows=2500), cut_outputs(labels, rows=2500)
    model = PrivateGPClassifier(classes=["short", "tall"], iterations=2, learn=False)
    assert len(model.fit(X, y).release_.parts) == 2
