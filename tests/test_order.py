"""What is published follows from the rows of a table and not from their order, whoever reads it.

A file may be sorted by the private column.  Rows that are shuffled, or cut into blocks elsewhere,
give the same plan and the same release, byte for byte.
"""

import pickle
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from block_cases import write
from sklearn.gaussian_process.kernels import RBF
from web_cases import FORM

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    scan,
)
from cloakgp.app.job import Job
from cloakgp.app.settings import gather_settings
from cloakgp.app.tables import columns as blocks
from cloakgp.columns import Category
from cloakgp.data import partition as places
from cloakgp.data import table as public_table
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.data.partition import build_partition
from cloakgp.gp.defaults import default_lengths
from cloakgp.gp.inducing import summarise
from cloakgp.kernels import Gibbs, KDELengthscale
from cloakgp.privacy.mechanism import release as core
from cloakgp.web.form import read_submission
from cloakgp.web.planner import Planner

RNG = np.random.default_rng(0)
N = 60
#: Ages and towns come again, so that some rows are alike; −0 and 0 are one number.
TABLE = pd.DataFrame(
    {
        "age": np.r_[-0.0, 0.0, RNG.integers(1, 30, N - 2)],
        "weight": RNG.choice([50.25, 61.5, 70.125], N),
        "town": RNG.choice(["north", "south", "east"], N),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 9, N), unit="D"),
        "owner": RNG.integers(0, 12, N),
        "years": RNG.choice([0.1, 0.7, 1.3], N),
        "height": RNG.uniform(40, 200, N),
        "length": RNG.uniform(10, 50, N),
        "ill": RNG.choice(["no", "yes"], N),
        "grade": RNG.choice(["a", "b", "c"], N),
        "falls": RNG.integers(0, 8, N),
    }
)
SORTED = TABLE.sort_values("height", ignore_index=True)
SHUFFLED = TABLE.iloc[RNG.permutation(N)].reset_index(drop=True)
ORDERS = (SORTED, SHUFFLED)

TASKS = {
    "numbers": (partial(PrivateGPRegressor, bounds=(40, 200)), "height"),
    "two columns": (
        partial(PrivateGPRegressor, 900 * RBF(9.0), bounds=[(40, 200), (10, 50)], design="total"),
        ["height", "length"],
    ),
    "sparse": (partial(PrivateGPRegressor, 900 * RBF(9.0), bounds=(40, 200), inducing=5), "height"),
    "two classes": (
        partial(PrivateGPClassifier, 9 * RBF(9.0), classes=["no", "yes"], iterations=2),
        "ill",
    ),
    "three classes": (
        partial(PrivateGPClassifier, 9 * RBF(9.0), classes=["a", "b", "c"], design="volume"),
        "grade",
    ),
    "counts": (partial(PrivateGPCountRegressor, RBF(9.0), cap=8, iterations=2), "falls"),
}


def frame_of(table):
    return table[["age", "weight", "town", "since"]]


def array_of(table):
    return table[["age", "weight"]].to_numpy()


def arrow_of(table):
    """A table whose levels are those of its rows, by their first appearance."""
    inputs = pa.Table.from_pandas(table[["age", "town"]], preserve_index=False)
    return inputs.set_column(1, "town", inputs["town"].combine_chunks().dictionary_encode())


SOURCES = {
    "array": array_of,
    "frame": frame_of,
    "polars": lambda table: pl.DataFrame(table[["age", "town"]].to_dict("list")),
    "arrow": lambda table: arrow_of(table).to_pandas(),
}


pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.errors.NotPrivateWarning")


def saved(release, folder):
    """Return a release as bytes; two of them differ in their names and times alone."""
    same = replace(release, release_id="0" * 32, created="2025-01-01T00:00:00+00:00")
    same.save(folder / "one.cloakgp")
    return (folder / "one.cloakgp").read_bytes()


def published(model, X, y, folder, **public):
    """Plan, and release with repeatable noise; return the bytes of both."""
    plan = model.plan(X, **public)
    release = model.set_params(random_state=1).fit(X, y, **public).release_
    return saved(release, folder), pickle.dumps(plan.sketch), repr(plan.to_dict())


def facts_of(table, task, **options):
    facts = dict(options)
    if task == "counts":
        facts["exposure"] = table["years"].to_numpy()
    if facts.pop("owned", False):
        facts["groups"] = table["owner"].to_numpy()
    return facts


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize(
    ("task", "source"),
    [
        *((task, "array") for task in TASKS),
        *product(["numbers", "three classes", "counts"], ["frame", "polars", "arrow"]),
    ],
)
def test_shuffled_rows_in_memory_give_the_same_bytes(task, source, owned, tmp_path):
    make, output = TASKS[task]
    found = [
        published(
            make(),
            SOURCES[source](table),
            table[output],
            tmp_path,
            **facts_of(table, task, owned=owned),
        )
        for table in ORDERS
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("task", ["numbers", "three classes", "counts"])
def test_the_same_rows_of_each_owner_are_kept_whatever_their_order(task, most, tmp_path):
    """Rows of one owner that are alike may stand for each other: here they have one output."""
    make, output = TASKS[task]
    found = []
    for table in ORDERS:
        alike = table.groupby(["age", "weight", "owner", "years"])[output]
        facts = facts_of(table, task, owned=True, max_contributions=most)
        found.append(published(make(), array_of(table), alike.transform("min"), tmp_path, **facts))
    assert found[0] == found[1]


@pytest.mark.parametrize("owned", [False, True])
def test_a_search_has_the_same_folds_and_chooses_the_same(owned, tmp_path):
    """Of rows that are alike any may be in any fold: here there are none without owners."""
    found = []
    for table in ORDERS:
        model = PrivateGPRegressor(bounds=(40, 200))
        search = PrivateGridSearch(model, {"kernel": [900 * RBF(3.0), 900 * RBF(20.0)]}, cv=3)
        X = table[["age", "length"]]
        plan = search.plan(X, groups=table["owner"] if owned else None)
        search.set_params(random_state=1)
        search.fit(X, table["height"], groups=table["owner"] if owned else None, plan=plan)
        folds = pickle.dumps([[np.asarray(f.G) for f in each] for each in plan.folds])
        found.append((folds, saved(search.release_, tmp_path), search.best_index_))
    assert found[0] == found[1]


def of_arrays(table, folder):
    rows = len(table) // 3 + int(table["age"].iloc[0])
    X = cut_array(array_of(table), rows)
    return X, cut_array(table[["years"]].to_numpy(), rows), partial(cut_outputs, rows=rows)


def of_parquet(table, folder):
    cuts = (0, 7 + int(table["age"].iloc[0]), N)
    path = write(folder / str(len([*folder.iterdir()])), table, cuts, group=5 + cuts[1] % 3)
    X, _ = scan(path, inputs=["age", "weight", "since"])
    years, _ = scan(path, inputs=["years"])
    return X, years, lambda y: scan(path, inputs=["age"], output=y.name)[1]


def of_dask(table, folder):
    import dask.dataframe as dd

    parts = 2 + int(table["age"].iloc[0]) % 3
    frame = dd.from_pandas(table, npartitions=parts)
    frame["town"] = frame["town"].astype(pd.CategoricalDtype([*dict.fromkeys(table["town"])]))
    return frame[["age", "town"]], frame[["years"]], lambda y: frame[y.name]


IN_BLOCKS = {"arrays": of_arrays, "parquet": of_parquet, "dask": of_dask}


@pytest.mark.parametrize("sample", [20, 100_000])
@pytest.mark.parametrize("source", IN_BLOCKS)
@pytest.mark.parametrize("task", ["numbers", "three classes", "counts"])
def test_shuffled_rows_in_other_blocks_give_the_same_bytes(
    task, source, sample, tmp_path, monkeypatch
):
    monkeypatch.setattr(places, "SAMPLE_ROWS", sample)
    make, output = TASKS[task]
    (tmp_path / "tables").mkdir()
    found = []
    for table in ORDERS:
        X, years, cut = IN_BLOCKS[source](table, tmp_path / "tables")
        facts = {"exposure": years} if task == "counts" else {}
        found.append(published(make(), X, cut(table[output]), tmp_path, **facts))
    assert found[0] == found[1]


def test_many_people_in_memory_are_gathered_at_the_same_places(tmp_path, monkeypatch):
    monkeypatch.setattr(public_table, "MOST_EXACT", N - 1)
    make, output = TASKS["counts"]
    found = [
        published(make(), array_of(t), t[output], tmp_path, **facts_of(t, "counts")) for t in ORDERS
    ]
    assert found[0] == found[1]


def test_a_place_of_many_is_found_though_few_rows_are_looked_at(monkeypatch):
    """A third has one value, among more others than are looked at."""
    monkeypatch.setattr(places, "SAMPLE_ROWS", 200)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.concatenate([np.full(1000, 0.123 + seed), rng.uniform(0, 10, 2000)])[:, None]
        found = build_partition(cut_array(X, 700).parts, default_lengths)
        at = found.assign(np.array([[0.123 + seed]]))[0]
        assert found.counts[at] < 1050
        assert abs(found.centres[at, 0] - 0.123 - seed) < 0.05
        assert np.isclose(found.counts @ found.centres[:, 0] / 3000, X.mean(), atol=0.4)


def test_a_sample_is_of_people_and_not_of_values(monkeypatch):
    """Half of them have ten values; the others are all different."""
    monkeypatch.setattr(places, "SAMPLE_ROWS", 500)
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.integers(0, 10, 4000), rng.uniform(20, 30, 4000)])[:, None]
    looked = places._sample_rows(cut_array(X, 999).parts, lambda rows: None)[0]
    assert np.isclose(looked.people.sum(), 8000)
    assert np.isclose(looked.people[looked.rows[:, 0] < 15].sum(), 4000)


def test_exposures_are_summed_without_rounding():
    values = np.array([1e16, 1.0, 1e-9, 0.1, 3.0, 1e16])
    rows = np.zeros((6, 1))
    ours = [
        build_partition(
            cut_array(rows, size).parts,
            default_lengths,
            cut_array(values[order][:, None], size).parts,
        ).exposure
        for order in (np.arange(6), np.argsort(values), np.argsort(-values))
        for size in (1, 4, 6)
    ]
    assert {each[0] for each in ours} == {float(np.sum(values.astype(object)) / 6)}


def repeatable(rng, total, scale):
    return total + np.rint(scale * rng.standard_normal(total.shape)).astype(np.int64)


#: What is asked of a table at the command line; levels and dates are read from text in a CSV.
TOLD = {
    "numbers": {"inputs": "age,weight", "output": "height", "bounds": "40,200"},
    "gaussian": {
        "inputs": "age,weight",
        "output": "height",
        "bounds": "40,200",
        "mechanism": "gaussian",
    },
    "owners": {"inputs": "age,town", "output": "height", "bounds": "40,200", "groups": "owner"},
    "three classes": {
        "task": "classification",
        "inputs": "age,town",
        "output": "grade",
        "classes": "a,b,c",
    },
    "counts": {
        "task": "counts",
        "inputs": "age,since",
        "dates": "since=2020-01-01",
        "output": "falls",
        "cap": "8",
        "exposure": "years",
    },
}


@pytest.mark.parametrize(
    ("task", "ending"),
    [  # rows of owners are not read in blocks
        *product(TOLD, ["csv", "parquet"]),
        *product([task for task in TOLD if task != "owners"], ["folder", "blocks"]),
    ],
)
def test_the_command_line_publishes_the_same_of_every_order(task, ending, tmp_path, monkeypatch):
    told = {"mechanism": "laplace"} | TOLD[task]
    in_blocks = ending in ("folder", "blocks")
    if "town" in told["inputs"]:  # a single table is asked what it holds, and blocks are told
        told["levels"] = "town=north,south,east" if in_blocks else "town"
    monkeypatch.setattr(blocks, "MOST_EXACT", N - 1 if ending == "blocks" else N)
    asked, found = gather_settings(told | {"kernel": "9*RBF(9)"}), []
    for number, table in enumerate(ORDERS):
        folder = tmp_path / str(number)
        folder.mkdir()
        if ending == "csv":
            path = folder / "people.csv"
            table.to_csv(path, index=False)
        else:
            path = write(folder / "people", table, (0, N) if ending != "folder" else (0, 9, N))
            path = path if ending == "folder" else path / "part-0.parquet"
        noise = partial(repeatable, np.random.default_rng(0))
        monkeypatch.setattr(core, f"add_discrete_{told['mechanism']}", noise)
        job = Job.read(path, asked, to_release=True)
        found.append(saved(job.release(job.plan()), tmp_path))
    assert found[0] == found[1]


@pytest.mark.parametrize("task", ["numbers", "three classes"])
def test_a_search_at_the_command_line_plans_the_same_of_every_order(task, tmp_path):
    """Of rows that are alike any may be in any fold: here there are none."""
    told = TOLD[task] | {"inputs": "age,length", "mechanism": "laplace", "folds": "3"}
    if task == "three classes":
        told |= {"output": "ill", "classes": "no,yes"}
    asked = gather_settings(told | {"candidates": "kernel=9*RBF(3)|9*RBF(20)"})
    found = []
    for table in ORDERS:
        table.to_csv(tmp_path / "people.csv", index=False)
        job = Job.read(tmp_path / "people.csv", asked, searching=True)
        plan = job.plan_search()
        folds = [[np.asarray(f.G).tobytes() for f in each] for each in plan.folds]
        found.append((folds, plan.to_frame().to_csv(), plan.summary()))
    assert found[0] == found[1]


SHOWN = {
    "numbers": {},
    "classes": {"task": "classification", "output": "grade", "classes": "a,b,c"},
    "counts": {"task": "counts", "output": "falls", "cap": "8", "exposure": "years"},
    "owners": {"groups": "owner"},
}


@pytest.mark.parametrize("task", SHOWN)
def test_the_planner_shows_the_same_of_every_order(task, tmp_path):
    found = []
    for table in ORDERS:
        table.to_csv(tmp_path / "people.csv", index=False)
        planner = Planner(tmp_path / "people.csv", tmp_path / "out", {})
        plan = planner.preview(
            read_submission(FORM | SHOWN[task], planner.base), lambda words: None
        )
        found.append((pickle.dumps(plan.sketch), repr(plan.to_dict()), plan.facts.X.tobytes()))
    assert found[0] == found[1]


def test_levels_come_in_the_order_of_their_names_unless_they_have_one():
    for town in (["south", "north"], ["north", "south"]):
        table = pd.DataFrame({"town": pd.Categorical(town, [*town])})
        model = PrivateGPRegressor(bounds=(0, 1))
        assert model.plan(table).facts.inputs.columns == (Category(("north", "south")),)
    ordered = pd.DataFrame({"town": pd.Categorical(["b", "a"], ["b", "a"], ordered=True)})
    assert model.plan(ordered).facts.inputs.columns == (Category(("b", "a")),)


def test_a_density_is_the_same_for_every_order(tmp_path):
    found = []
    for table in ORDERS:
        kernel = Gibbs(KDELengthscale(array_of(table), n=5, m=9.0))
        model = PrivateGPRegressor(900 * kernel, bounds=(40, 200))
        found.append(published(model, array_of(table), table["height"], tmp_path))
    assert found[0] == found[1]


def test_summaries_of_inputs_are_the_same_for_every_order():
    X = RNG.normal(size=(300, 2))
    ours, theirs = (summarise(X[order], 10) for order in (slice(None), slice(None, None, -1)))
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_rows_that_are_alike_have_one_column(task, owned):
    make, _ = TASKS[task]
    plan = make().plan(array_of(TABLE), **facts_of(TABLE, task, owned=owned))
    facts, T = plan.facts, plan.sketch.matrix
    told = [facts.X, *facts.outcome.arrays().values(), *([facts.groups] if owned else [])]
    rows = [tuple(row) for row in np.column_stack(told)]
    assert len({*rows}) < N
    assert len({(row, column.tobytes()) for row, column in zip(rows, T.T.copy(), strict=True)}) == (
        len({*rows})
    )


def test_numbers_of_owners_follow_from_what_they_own():
    for table in ORDERS:
        plan = PrivateGPRegressor(bounds=(0, 1)).plan(array_of(table), groups=table["owner"])
        owners = plan.facts.groups
        first = np.unique(owners, return_index=True)[1]
        assert np.all(np.diff(first) > 0)
    renamed = table["owner"].map(lambda owner: f"name {99 - owner}")
    again = PrivateGPRegressor(bounds=(0, 1)).plan(table[["length"]], groups=renamed)
    before = PrivateGPRegressor(bounds=(0, 1)).plan(table[["length"]], groups=table["owner"])
    assert np.array_equal(again.facts.groups, before.facts.groups)
