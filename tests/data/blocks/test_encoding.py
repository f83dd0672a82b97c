"""Categories, dates and booleans in blocks: of Parquet and of Dask, as in memory."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from cloakgp import PrivateGPRegressor, scan
from cloakgp.columns import Category, Columns, Date, Number
from cloakgp.data.blocks.dask import blocks_of
from cloakgp.data.blocks.table import columns_in_blocks, encoded
from cloakgp.data.columns import recognise
from cloakgp.errors import TableError

N = 60
RNG = np.random.default_rng(3)
LEVELS = Category(("north", "south", "west"))
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(20, 24, N).astype(float),
        "region": RNG.choice(["north", "south"], N),
        "visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 3, N), unit="D"),
        "smoker": RNG.random(N) < 0.5,
    }
)
NAMES = list(FRAME)
STATED = {"region": LEVELS, "visit": Date("2020-01-01")}
ROWS = recognise(FRAME, STATED).rows(FRAME)


def tables(folder):
    """Return the same table in blocks, in every way it may be written."""
    FRAME.to_parquet(folder / "strings.parquet", row_group_size=25)
    as_categories = FRAME.astype({"region": "category"})
    as_categories.to_parquet(folder / "dictionary.parquet", row_group_size=25)
    yield scan(folder / "strings.parquet", inputs=NAMES, columns=STATED)[0]
    yield scan(folder / "dictionary.parquet", inputs=NAMES, columns=STATED)[0]
    yield blocks_of(dd.from_pandas(FRAME, npartitions=3), STATED)
    yield blocks_of(dd.from_pandas(as_categories, npartitions=3), STATED)


def test_blocks_are_encoded_as_tables_in_memory(tmp_path):
    for table in tables(tmp_path):
        assert table.names == tuple(NAMES)
        assert (table.columns, table.width) == (4, 6)
        assert np.array_equal(np.vstack([part.read() for part in table.parts]), ROWS)


def test_known_categories_of_dask_bring_their_levels():
    frame = FRAME[["region"]].astype(pd.CategoricalDtype(["north", "south", "west"]))
    table = blocks_of(dd.from_pandas(frame, npartitions=2))
    assert table.inputs.columns == (LEVELS,)


def test_levels_must_be_stated_where_blocks_do_not_know_them(tmp_path):
    FRAME.to_parquet(tmp_path / "a.parquet")
    for make in (
        lambda: scan(tmp_path, inputs=NAMES),
        lambda: blocks_of(dd.from_pandas(FRAME, npartitions=2)),
    ):
        with pytest.raises(TableError, match="'region' holds labels, whose levels must be stated"):
            make()
    with pytest.raises(TableError, match="speaks of 'size', which is not an input"):
        scan(tmp_path, inputs=["age"], columns={"size": Number(missing=0)})


def test_unknown_levels_and_gaps_are_refused_with_the_block(tmp_path):
    FRAME.assign(region="mars").to_parquet(tmp_path / "a.parquet")
    (part,) = scan(tmp_path, inputs=NAMES, columns=STATED)[0].parts
    with pytest.raises(TableError, match="row group 0, column 'region', has 'mars'"):
        part.read()
    gaps = FRAME.assign(visit=pd.NaT)
    with pytest.raises(TableError, match="here, column 'visit', is missing in 60"):
        encoded(recognise(FRAME, STATED), gaps, "here")


def test_a_scanned_table_knows_its_columns_and_is_not_told_others(tmp_path):
    FRAME.to_parquet(tmp_path / "a.parquet")
    table = scan(tmp_path, inputs=NAMES, columns=STATED)[0]
    assert blocks_of(table, STATED) is table
    with pytest.raises(TableError, match=r"give it to cloakgp.scan\(…, columns"):
        blocks_of(table, {"region": Category(["north"])})


def test_a_release_of_blocks_is_asked_in_raw_values(tmp_path):
    FRAME.assign(cost=5.0).to_parquet(tmp_path / "a.parquet")
    X, y = scan(tmp_path, inputs=NAMES, output="cost", columns=STATED)
    release = PrivateGPRegressor(bounds=(0, 10)).fit(X, y).release_
    assert release.facts.inputs == Columns(tuple(NAMES), recognise(FRAME, STATED).columns)
    assert release.predict(FRAME.head(2).assign(region="west")).shape == (2,)
    report = release.verify(FRAME)
    assert report.ok
    assert [c.name for c in report.checks][-2:] == ["people", "inputs"]
    assert not release.verify(FRAME.assign(region="north"))


def test_plain_columns_need_no_words():
    assert columns_in_blocks(("a",), {"a": Number()}, None, "X") is None
    assert columns_in_blocks(None, {}, None, "X") is None
