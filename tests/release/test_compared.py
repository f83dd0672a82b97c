"""A release compared with the inputs of everybody: whatever differs is noticed."""

import numpy as np
import pandas as pd
import pytest
from block_cases import write

from cloakgp import PrivateGPCountRegressor, PrivateGPRegressor, scan
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.release.verify import FILE_ALONE

RNG = np.random.default_rng(0)
N = 600
PEOPLE = pd.DataFrame(
    {"age": RNG.integers(0, 90, N).astype(float), "weight": RNG.uniform(20, 99, N)}
)
Y = RNG.uniform(40.0, 200.0, N)
YEARS = RNG.uniform(0.5, 3.0, N)


@pytest.fixture(scope="module")
def gathered():
    X = cut_array(PEOPLE, rows=250)
    return (
        PrivateGPRegressor(bounds=(40, 200), learn=False).fit(X, cut_outputs(Y, rows=250)).release_
    )


@pytest.fixture(scope="module")
def complete():
    few = PEOPLE[:60]
    return PrivateGPRegressor(bounds=(40, 200), learn=False).fit(few, Y[:60]).release_


def compared(report):
    """What was found when the data were looked at."""
    return {c.name: c.passed for c in report.checks if c.name in ("people", "inputs", "exposure")}


def as_dask(frame):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(frame, npartitions=3)


SOURCES = {
    "array": lambda frame, _: frame.to_numpy(),
    "frame": lambda frame, _: frame,
    "frame with more columns": lambda frame, _: frame.assign(a=1.0)[["a", "weight", "age"]],
    "blocks": lambda frame, _: cut_array(frame, rows=77),
    "parquet": lambda frame, folder: scan(
        write(folder, frame, cuts=(0, 20, len(frame))), inputs=["age", "weight"]
    )[0],
    "dask": lambda frame, _: as_dask(frame),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_people_pass_from_wherever_they_come(source, gathered, complete, tmp_path):
    for release, frame in ((gathered, PEOPLE), (complete, PEOPLE[:60])):
        report = release.verify(SOURCES[source](frame, tmp_path / str(len(frame))))
        assert report.ok
        assert compared(report) == {"people": True, "inputs": True}
        assert report.scope.endswith("Compared with the data: people, inputs.")


def test_people_may_come_in_any_order(gathered, complete):
    assert gathered.verify(PEOPLE[::-1]).ok
    assert complete.verify(PEOPLE[:60][::-1]).ok


def moved(frame, by):
    frame = frame.copy()
    frame.iloc[7, 0] += by
    return frame


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda frame: frame[1:], {"people": False, "inputs": False}),
        (lambda frame: pd.concat([frame, frame[:1]]), {"people": False, "inputs": False}),
        (lambda frame: moved(frame, 60.0), {"people": False, "inputs": False}),
        (lambda frame: moved(frame, 1e-9), {"people": True, "inputs": False}),
        (lambda frame: frame + 1000.0, {"people": False, "inputs": False}),
    ],
    ids=["one less", "one more", "one moved", "one moved by a hair", "others"],
)
def test_other_people_at_places_are_noticed(change, found, gathered):
    report = gathered.verify(change(PEOPLE))
    assert compared(report) == found
    assert not report.ok


def test_other_rows_of_a_complete_release_are_noticed(complete):
    assert compared(complete.verify(moved(PEOPLE[:60], 1e-9))) == {"people": True, "inputs": False}
    assert compared(complete.verify(PEOPLE[:59])) == {"people": False}


def test_other_columns_are_refused_or_noticed(gathered):
    with pytest.raises(ValueError, match="in that order"):
        gathered.verify(cut_array(PEOPLE[["weight", "age"]]))
    assert compared(gathered.verify(PEOPLE.to_numpy()[:, :1])) == {"inputs": False}


def test_without_data_a_report_says_what_was_not_compared(gathered, complete):
    for release, words in (
        (gathered, "How many people are at each place"),
        (complete, "The inputs"),
    ):
        report = release.verify()
        assert compared(report) == {}
        assert report.scope.startswith(f"{FILE_ALONE} {words}")
        assert report.scope.endswith("were not compared with the data.")
        assert report.scope in str(report).splitlines()


@pytest.mark.parametrize("rows", [60, N])
def test_exposures_are_compared_if_they_are_given(rows):
    X, y, years = PEOPLE[:rows], RNG.integers(0, 5, rows), YEARS[:rows]
    model = PrivateGPCountRegressor(cap=5, learn=False)
    if rows < N:
        release = model.fit(X, y, exposure=years).release_
    else:
        blocks = cut_array(X, rows=250), cut_outputs(y, rows=250)
        release = model.fit(*blocks, exposure=cut_array(years[:, None], rows=250)).release_
    assert compared(release.verify(X, years)) == {"people": True, "inputs": True, "exposure": True}
    assert not compared(release.verify(X, np.roll(years, 1)))["exposure"]
    assert "exposure" not in compared(release.verify(X))
    assert compared(release.verify(X, years[1:])) == {"exposure": False}


def test_releases_of_numbers_have_no_exposure(gathered, complete):
    for release, rows in ((gathered, N), (complete, 60)):
        assert not compared(release.verify(PEOPLE[:rows], YEARS[:rows]))["exposure"]
