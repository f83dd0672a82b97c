"""Workers of a Dask cluster read blocks themselves; the integers are those of the table in memory.

The processes of one cluster serve all of these tests, since they take seconds to start.
"""

import operator
import os
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from block_cases import INPUTS, PEOPLE, write
from cluster import cluster
from stream_cases import CROWD, Fatal, check_nothing_is_spent, crowd_in, integers_of

from cloakgp import PrivateGPRegressor, scan
from cloakgp.data.blocks.dask import blocks_of, output_blocks_of

dask = pytest.importorskip("dask", reason="pip install 'cloakgp[dask]'")
pytest.importorskip("distributed", reason="pip install 'cloakgp[dask]'")
da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::cloakgp.errors.NotPrivateWarning"),
]


@pytest.fixture(scope="module")
def client():
    """A cluster of two, in which a block that kills two workers is not tried again."""
    # A setting made before its defaults are there would take them along when it ends.
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster() as found:
        yield found


def test_workers_read_parts_themselves(client, tmp_path):
    read = joblib.delayed(operator.methodcaller("read"))
    pids = set(client.run(os.getpid).values())
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert set(joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(8))) <= pids
    table = dd.read_parquet(write(tmp_path))
    for frame in (table, dd.from_pandas(PEOPLE, npartitions=4).persist()):
        for blocks in (blocks_of(frame[INPUTS]), output_blocks_of(frame["height"])):
            found = np.concatenate(joblib.Parallel()(read(part) for part in blocks.parts))
            wanted = PEOPLE[INPUTS] if found.ndim == 2 else PEOPLE["height"]
            np.testing.assert_array_equal(found, wanted)
    kept = da.from_array(PEOPLE[INPUTS].to_numpy(), chunks=(300, 2)).persist()
    found = joblib.Parallel()(read(part) for part in blocks_of(kept).parts)
    np.testing.assert_array_equal(np.concatenate(found), PEOPLE[INPUTS])


@pytest.mark.usefixtures("client")
def test_whole_rows_give_the_integers_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 96)
    rng = np.random.default_rng(4)
    age, region = rng.uniform(0, 90, 120), rng.choice(["north", "south"], 120).astype(object)
    age[3], age[50], region[70:90] = np.nan, -7.0, None  # in some blocks alone
    table = pd.DataFrame({"age": age, "region": region})
    height = pd.Series(100.0 + np.arange(120) / 2, name="height")
    box = {"age": (0, 90), "region": ["north", "south"]}
    model = PrivateGPRegressor(
        bounds=(40, 200), protect="rows", box=box, epsilon=np.inf, neighbours="add-remove"
    )

    def integers(X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y, people=50).release_.noisy.values.tolist()

    folder = write(tmp_path / "people", table.assign(height=height), (0, 40, 41, 120), 17)
    expected = integers(table, height)
    assert any(map(any, expected))
    X, y = scan(folder, inputs=["age", "region"], output="height", protect="rows")
    assert integers(X, y) == expected
    frame = dd.read_parquet(folder)
    assert integers(frame[["age", "region"]], frame["height"]) == expected


@pytest.mark.usefixtures("client")
def test_the_integers_are_the_same_and_a_worker_may_die(tmp_path, monkeypatch):
    """A worker that is killed once is replaced; a block that kills them all ends the release."""
    with joblib.parallel_config("threading", n_jobs=1):
        expected = integers_of(CROWD[["age"]], CROWD["height"])
    X, y = crowd_in(tmp_path / "people")
    marks = tmp_path / "marks"
    marks.mkdir()
    once = replace(y, parts=(*y.parts[:-1], Fatal(y.parts[-1], str(marks), 1)))
    assert integers_of(X, y) == expected
    frame = dd.read_parquet(tmp_path / "people")
    assert integers_of(frame[["age"]], frame["height"]) == expected
    assert integers_of(X, once) == expected
    assert [path.name for path in marks.iterdir()] == ["0"]
    always = replace(y, parts=(Fatal(y.parts[0], str(marks), 99), *y.parts[1:]))
    check_nothing_is_spent(tmp_path, X, y, always, monkeypatch)
