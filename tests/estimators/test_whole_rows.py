"""Whole rows: a plan needs no table, nothing of X gets out, and what is published is exact."""

import io
import itertools
import logging
import pickle
import re
import sys
import traceback
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from block_cases import damage, write
from matplotlib.figure import Figure

import cloakgp
from cloakgp import (
    BoundsGrid,
    Ledger,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
    scan,
)
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.data.blocks.parquet import RowRange
from cloakgp.data.box import read_box
from cloakgp.errors import ReleaseFileError, RepeatedSpendWarning
from cloakgp.estimators.spending import forget
from cloakgp.privacy import Spend, gaussian_sigma
from cloakgp.privacy.mechanism import release as core
from cloakgp.release import decode, sketch
from cloakgp.release.decode import posterior_mixtures
from cloakgp.release.file.archive import write_archive
from cloakgp.release.meaning import in_other_units
from cloakgp.report.settings_toml import settings_toml

pytestmark = pytest.mark.usefixtures("few_settings", "coarse_maps")

BOX = {"age": (0, 90), "region": ["north", "south"]}
POINTS = pd.DataFrame({"age": [5.0, 50.0, 89.0], "region": ["north", "south", "other"]})
RNG = np.random.default_rng(4)
N = 120
X = pd.DataFrame({"age": RNG.uniform(0, 90, N), "region": RNG.choice(["north", "south"], N)})
Y = (100.0 + X["age"] / 2 + RNG.normal(0, 5, N)).rename("height")
MAKERS = {
    "numbers": (PrivateGPRegressor, {"bounds": (40, 200)}, Y),
    "two": (PrivateGPClassifier, {"classes": ["no", "yes"]}, np.where(Y > 120, "yes", "no")),
    "three": (PrivateGPClassifier, {"classes": list("abc")}, RNG.choice(list("abc"), N)),
    "counts": (PrivateGPCountRegressor, {"cap": 8}, RNG.poisson(X["age"].to_numpy() / 30)),
}


@pytest.fixture(autouse=True)
def few_bins(monkeypatch):
    """Grids of a tenth of the usual number of bins: what is tested does not depend on it."""
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 96)


def maker(kind="numbers", **more):
    make, own, _ = MAKERS[kind]
    return make(**{**own, "protect": "rows", "box": BOX, **more})


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


# --- plans


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_plan_needs_no_table_and_is_released_as_it_is(kind, neighbours, mechanism):
    model = maker(kind, neighbours=neighbours, mechanism=mechanism)
    plan = model.plan(people=N)
    assert plan.spec.rows.people == N
    assert plan.points.shape[1] == 4  # age, and three levels
    assert np.all(plan.noise_std > 0)
    said = plan.summary()
    assert "Whole rows are protected, inputs included" in said
    assert ("adding or removing" in said) == (neighbours == "add-remove")
    model.fit(X, MAKERS[kind][2], plan=plan)
    assert model.release_.sketch is plan.sketch
    assert model.release_.verify().ok
    assert len(model.predict(POINTS)) == 3


def test_a_plan_that_knows_how_many_rows_there_are_may_count_them_if_they_are_replaced():
    assert maker().plan(X).spec.people == N
    assert quiet(maker(random_state=0).fit, X, Y).release_.spec.people == N
    hidden = maker(neighbours="add-remove")
    for ask in (lambda: hidden.plan(X), hidden.plan, lambda: hidden.fit(X, Y)):
        with pytest.raises(ValueError, match="people is missing"):
            ask()


def test_a_plan_for_others_is_refused():
    plan = maker().plan(people=N)
    with pytest.raises(ValueError, match="plan was made for other inputs X"):
        maker(box={"age": (0, 91), "region": ["north", "south"]}).fit(X, Y, plan=plan)
    with pytest.raises(ValueError, match="plan was made for other people"):
        maker().fit(X, Y, plan=maker().plan(people=N + 1))
    with pytest.raises(ValueError, match="plan was made for other"):
        PrivateGPRegressor(bounds=(40, 200)).fit(X[["age"]], Y, plan=plan)


# --- what is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"box": None}, "box is missing"),
        ({"protect": "both"}, "protect must be one of"),
        ({"protect": "outputs"}, "box is for protect='rows'"),
        ({"neighbours": "all"}, "neighbours must be one of"),
        ({"box": {"age": (9, 0)}}, "lower end below"),
        ({"box": {"age": 9}}, "must be a range such as"),
        ({"box": {f"x{i}": (0, 1) for i in range(11)}}, "1 to 10"),
        ({"box": {"age": (0, 1), "region": [str(i) for i in range(60)]}}, "too many levels"),
        ({"box": {"region": ["1", "1.0"]}}, "are not different"),
        ({"box": "age"}, "must name the range"),
        ({"inducing": 5}, "inducing cannot be combined"),
        ({"inducing": np.zeros((2, 2))}, "inducing cannot be combined"),
        ({"decode": "direct"}, "decode cannot be combined"),
        ({"design": "bayes"}, "design cannot be combined"),
        ({"columns": {"age": cloakgp.columns.Number()}}, "columns cannot be combined"),
        ({"bounds": BoundsGrid(np.linspace(0, 300, 31))}, "bounds that are chosen privately"),
        ({"bounds": [(0, 1), (0, 2)]}, "y must have 2 column"),
    ],
)
def test_what_whole_rows_cannot_have_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        maker(**settings).fit(X, Y)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: m.fit(X, Y, at=POINTS), "at cannot be combined"),
        (lambda m: m.plan(people=9, at=POINTS), "at cannot be combined"),
        (lambda m: m.plan(people=0), "people must be a whole number"),
        (lambda m: m.plan(people=9, max_contributions=2), "groups has to name the owner"),
        (lambda m: m.compare_max_contributions(X, groups=X["age"]), "cannot be combined"),
        (lambda m: m.public_facts(X), "a private search cannot be combined"),
        (
            lambda m: PrivateGridSearch(m, {"noise_variance": [1.0, 4.0]}, epsilon=1).fit(X, Y),
            "a private search cannot be combined",
        ),
        (lambda m: m.fit(X[["age"]], Y), "lacks the columns"),
        (lambda m: m.fit(X, Y.rename("age")), "box has the column 'age', and so has y"),
        (lambda m: quiet(m.fit, X, Y).release_.with_inputs(None), "has a public box"),
    ],
)
def test_questions_that_whole_rows_have_no_answer_to_are_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(maker())


def test_classes_and_counts_refuse_theirs():
    with pytest.raises(ValueError, match="iterations cannot be combined"):
        maker("two", iterations=2).plan(people=9)
    with pytest.raises(ValueError, match="target cannot be combined"):
        maker("two", target="latents").plan(people=9)
    with pytest.raises(ValueError, match=r"exposure cannot be .* watched stands in their row"):
        maker("counts").fit(X, MAKERS["counts"][2], exposure=np.ones(N))
    with pytest.raises(ValueError, match="a plan does not read y"):
        maker("two", classes="public").fit(X, MAKERS["two"][2])


def test_without_whole_rows_nothing_of_them_is_taken():
    with pytest.raises(ValueError, match="neighbours='add-remove' is for"):
        PrivateGPRegressor(bounds=(0, 1), neighbours="add-remove").fit(X[["age"]], Y)
    with pytest.raises(ValueError, match="people is for protect='rows'"):
        PrivateGPRegressor(bounds=(0, 1)).plan(X[["age"]], people=5)
    with pytest.raises(ValueError, match="X is missing"):
        PrivateGPRegressor(bounds=(0, 1)).plan()
    model = quiet(PrivateGPRegressor(bounds=(40, 200), random_state=0).fit, X[["age"]], Y)
    with pytest.raises(ValueError, match="a density is for releases"):
        model.release_.density()


# --- many inputs


MANY = {**{f"x{number}": (0, 1) for number in range(4)}, "region": ["north", "south"]}


def many_people():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 1, (N, 4)), columns=list(MANY)[:4])
    return table.assign(region=X["region"]), (100 + 40 * table["x0"]).rename("height")


@pytest.mark.parametrize("numbers", [1, 2, 3, 4, 5, 7, 10])
def test_of_many_numbers_those_named_first_are_cut_more_often(numbers, monkeypatch):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 1024)
    box = read_box([(0, 1)] * numbers)
    assert sorted(box.parts, reverse=True) == list(box.parts)
    assert max(box.parts) <= min(box.parts) + 1
    assert 512 < box.grid.bins <= 1024 or box.parts == (256,)


@pytest.mark.parametrize("numbers", [1, 3, 4, 10])
def test_the_middle_of_each_bin_lies_in_it(numbers, monkeypatch):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 1024)
    box = read_box([(-1, 3)] * numbers)
    assert np.array_equal(box.grid.places(list(box.codes.T)), np.arange(box.grid.bins))


def test_cells_of_several_numbers_are_finer_than_people_who_fill_the_box_would_need(monkeypatch):
    """A category fills its levels, and one number nearly its range."""
    boxes = {"age": (0, 90)}, BOX, {"age": (0, 90), "weight": (0, 100)}
    cells = [len(maker(box=box).plan(people=N).sketch.rounded) for box in boxes]
    first = sketch.CELL_NOISE_ROWS[0]
    monkeypatch.setattr(sketch, "CELL_NOISE_ROWS", (first, first, first))
    even = [len(maker(box=box).plan(people=N).sketch.rounded) for box in boxes]
    assert cells[:2] == even[:2]
    assert cells[2] > even[2]


@pytest.mark.parametrize("kind", ["numbers", "three"])
def test_settings_that_are_left_in_later_rounds_are_those_of_the_family(kind):
    model = maker(kind).fit(X, MAKERS[kind][2], people=N)
    family = model.release_.spec.family
    for mixture in posterior_mixtures(model.release_):
        assert len(set(mixture.settings)) == len(mixture.decoders)
        for k, decoder in zip(mixture.settings, mixture.decoders, strict=True):
            setting = family.settings[k]
            assert decoder.model.level == setting.level
            assert [v for _, v in decoder.model.parts] == [v for _, v in setting.variances]


def test_people_off_the_middle_of_bins_count_where_f_is_steep():
    spec = maker(box={"age": (0, 90), "weight": (0, 100)}).plan(people=N).spec
    T = np.eye(len(spec.X))
    flat = SimpleNamespace(mean=lambda points: np.full(len(points), 100.0))
    assert not decode._off_centre(spec, flat, 0, T).any()
    steep = SimpleNamespace(mean=lambda points: 50.0 + points[:, 0])
    each = (90 / spec.rows.box.parts[0] / 160) ** 2 / 12  # bounds are 160 apart
    np.testing.assert_allclose(
        decode._off_centre(spec, steep, 0, 3.0 * T), 9.0 * each * T, atol=1e-15
    )


def test_functions_of_many_private_inputs_may_be_additive(monkeypatch):
    """A sum of as many functions as there are inputs, which no other family has."""
    for box, wanted in ((MANY, 2), (dict(list(MANY.items())[1:]), 0)):
        family = maker(box=box, mechanism="laplace").plan(people=N).spec.family
        sums = {
            tuple(number for number, _ in setting.variances)
            for setting in family.settings
            if len(setting.variances) == len(box)
        }
        assert len(sums) == wanted


def test_a_release_with_many_inputs_can_do_all_that_others_can(tmp_path):
    table, y = many_people()
    model = maker(box=MANY, neighbours="add-remove").fit(table, y, people=N)
    release = model.release_
    assert release.verify().ok
    release.save(tmp_path / "r.cloakgp")
    release.report(tmp_path / "r.html")
    assert isinstance(release.plot(), Figure)
    again = Release.load(tmp_path / "r.cloakgp")
    assert np.array_equal(again.predict(table[:5]), model.predict(table[:5]))
    assert again.statement() == release.statement()
    assert np.all(again.density(table[:5])["people"] > 0)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_neighbours_who_differ_in_many_inputs_are_hidden_as_others_are(mechanism, monkeypatch):
    seen = watched(monkeypatch)
    table, y = many_people()
    model = maker(box=MANY, mechanism=mechanism, epsilon=0.8, delta=1e-3)
    plan = model.plan(people=N + 1)
    totals = []
    for value, region, height in ((0.0, "north", 40.0), (1.0, "south", 200.0)):
        row = pd.DataFrame([[*[value] * 4, region]], columns=list(MANY))
        model.fit(pd.concat([table, row]), [*y, height], plan=plan)
        totals.append(seen.pop())
    (one, scale), (other, _) = totals
    if mechanism == "laplace":
        assert Fraction(int(abs(one - other).sum())) / Fraction(scale) <= Fraction(0.8)
    else:
        moved = np.sqrt(float(((one - other) ** 2).sum())) / scale
        assert moved <= 1.0 / gaussian_sigma(0.8, 1e-3)


# --- nothing of X gets out


def two_tables(kind):
    """Two tables that share no age and no order, with the same sums in every cell of a plan."""
    plan = maker(kind, mechanism="laplace").plan(people=N)
    box = plan.spec.rows.box
    T = plan.sketch.matrix
    y = MAKERS[kind][2]
    bins = box.grid.places(box.values(X))
    alike = {}  # bins with the same column of T
    for number, column in enumerate(T.T):
        alike.setdefault((column.tobytes()), []).append(number)
    other = X.copy()
    codes = box.codes
    for row, number in enumerate(bins):
        choices = [b for b in alike[T[:, number].tobytes()] if b != number]
        moved = codes[choices[row % len(choices)] if choices else number]
        other.loc[row, "age"] = moved[0] + 0.01
        other.loc[row, "region"] = ["north", "south", "elsewhere"][int(moved[1])]
    order = np.random.default_rng(9).permutation(N)
    other = other.iloc[order]
    other.index = range(1000, 1000 + N)
    shuffled = pd.Series(np.asarray(y)[order], index=other.index, name=getattr(y, "name", None))
    return plan, (X, y), (other, shuffled)


def artefacts(kind, plan, table, tmp_path, capfd, caplog, points=POINTS, **settings):
    """Everything that a fit leaves and says, but for the time and the random name of a release."""
    model = maker(kind, mechanism="laplace", random_state=3, **settings)
    plan = replace(plan, settings=plan.settings._replace(values={**plan.settings.values}))
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        model.fit(*table, plan=plan)
    release = replace(model.release_, release_id="r" * 32, created="2026-01-01T00:00:00+00:00")
    model.release_ = release
    release.save(tmp_path / "r.cloakgp")
    release.report(tmp_path / "r.html")
    picture = io.BytesIO()
    figure = release.plot()
    assert isinstance(figure, Figure)
    figure.savefig(picture, format="png", metadata={"Software": None})
    said = capfd.readouterr()
    return {
        "file": (tmp_path / "r.cloakgp").read_bytes(),
        "page": (tmp_path / "r.html").read_bytes(),
        "picture": picture.getvalue(),
        "pickle": pickle.dumps(model),
        "attributes": sorted(vars(model)),
        "statement": release.statement(),
        "frame": release.to_frame(points).to_csv(),
        "published": release.published().to_csv(),
        "density": release.density(points).to_csv(),
        "repr": repr(release) + repr(model),
        # scikit-learn counts what it has shown.
        "html": release._repr_html_() + re.sub(r"id-\d+", "", model._repr_html_()),
        "checks": str(release.verify()) + str(release.check()),
        "settings": settings_toml(release),
        "warnings": sorted(str(w.message) for w in caught),
        "printed": (said.out, said.err),
        "logged": caplog.text,
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_two_tables_with_equal_noisy_sums_leave_the_same_artefacts(kind, tmp_path, capfd, caplog):
    """Same noise, same sums, other rows in another order: the same, byte for byte."""
    plan, one, other = two_tables(kind)
    assert not set(one[0]["age"]) & set(other[0]["age"])
    first = artefacts(kind, plan, one, tmp_path, capfd, caplog)
    caplog.clear()
    second = artefacts(kind, plan, other, tmp_path, capfd, caplog)
    for name, value in first.items():
        assert value == second[name], name
    other_sums = maker(kind, mechanism="laplace", random_state=3)
    quiet(other_sums.fit, one[0], np.roll(one[1], 1), plan=plan)
    assert other_sums.release_.published().to_csv() != first["published"]


@pytest.mark.slow
def test_how_many_rows_there_are_is_nowhere_if_it_is_private(tmp_path, capfd, caplog):
    """Add-remove: seven rows without an age are in no bin, so that all sums stay as they are."""
    settings = {"neighbours": "add-remove"}
    plan = maker(mechanism="laplace", **settings).plan(people=50)
    more = pd.concat([X, X.head(7).assign(age=np.nan)], ignore_index=True)
    tables = (X, Y), (more, pd.concat([Y, Y.head(7)], ignore_index=True))
    found = []
    for table in tables:
        caplog.clear()
        found.append(artefacts("numbers", plan, table, tmp_path, capfd, caplog, **settings))
    for name, value in found[0].items():
        assert value == found[1][name], name
    assert "nothing to compare" in str(maker(**settings).fit(X, Y, people=9).release_.verify(X))


class Talkative:
    """Says what it is as soon as anybody asks."""

    def __float__(self):
        warnings.warn(SECRET, stacklevel=1)
        raise ValueError(SECRET)

    __str__ = __repr__ = __hash__ = __eq__ = __lt__ = __float__


SECRET = "8812937.5"
ODD = [
    np.nan,
    np.inf,
    -np.inf,
    1e300,
    -1e-320,
    "x",
    "",
    "1e999",
    "\udcff",
    "３１",
    b"31",
    None,
    pd.NA,
    pd.NaT,
    True,
    31 + 2j,
    10**400,
    Decimal("NaN"),
    Decimal("1e999999"),
    Fraction(1, 3),
    object(),
    "1970-01-01",
    np.datetime64("1970-01-01"),
    pd.Timestamp("2020-01-01", tz="UTC"),
    pd.Timedelta(days=3),
    (1, 2),
    {"age": 3},
    [31.0],
    np.array([1.0]),
    np.float128("1e4000"),
    Talkative(),
]


def test_odd_inputs_are_taken_in_silence(capfd, caplog):
    """Whatever one person's inputs are: no error, no warning, no other word."""
    told, plan = set(), maker(random_state=0).plan(people=N)
    for value in [31.0, *ODD]:
        table = X.astype(object).copy()
        for name in X:
            values = table[name].to_numpy(copy=True)
            values[7] = value
            table[name] = pd.Series(values, dtype=object)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = maker(random_state=0).fit(table, Y, plan=plan)
        told.add(
            (
                tuple(sorted(str(w.message) for w in caught)),
                *capfd.readouterr(),
                caplog.text,
                repr(model.release_),
            )
        )
    assert len(told) == 1


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_errors_about_y_quote_neither_inputs_nor_numbers(neighbours):
    broken = Y.copy()
    broken[5] = np.nan
    for y in (broken, Y[:-1], Y.astype(str) + "secret"):
        with pytest.raises(ValueError, match="y cannot be used") as error:
            maker(neighbours=neighbours).fit(X, y, people=N)
        said = "".join(traceback.format_exception(error.value, limit=0))
        assert not re.search(r"(?<![\d.])1(19|20)(?![\d.])", said)
        assert "secret" not in said


RAGGED = [np.zeros((2, 2))] * (N - 1) + [np.zeros((2, 3))]


@pytest.mark.parametrize(
    "table",
    [np.zeros(N), [0.0] * N, np.zeros((N, 1, 1)), np.zeros((N, 3)), np.zeros((2, N)), RAGGED],
)
def test_errors_about_tables_of_another_shape_do_not_say_how_many_rows_there_are(table):
    model = maker(neighbours="add-remove", box=[(0, 1), (0, 1)])
    with pytest.raises(ValueError, match="column") as error:
        model.fit(table, Y, people=50)
    assert str(N) not in str(error.value)
    assert "2,3" not in str(error.value)


@pytest.mark.parametrize("turned", [Y.to_numpy()[None], Y.to_frame().T])
def test_an_error_about_outputs_on_their_side_does_not_say_how_many_there_are(turned):
    with pytest.raises(ValueError, match="must have 1 column") as error:
        maker(neighbours="add-remove").fit(X, turned, people=50)
    assert str(N) not in str(error.value)


def test_owners_in_another_order_than_the_rows_are_refused():
    """Taken as they come, they would protect the rows of one person as those of several."""
    owners = pd.Series([f"p{i // 2}" for i in range(N)])
    assert maker().fit(X, Y, groups=owners, people=N).release_.private
    for other in (owners[::-1], owners.set_axis(range(7, N + 7)), owners[:-1]):
        with pytest.raises(ValueError, match="groups has another index than X") as error:
            maker(neighbours="add-remove").fit(X, Y, groups=other, people=50)
        assert not any(sign.isdigit() for sign in str(error.value))


def test_the_memory_of_a_release_holds_no_inputs():
    """No array of a fitted estimator has the bytes of an age."""
    model = maker().fit(X, Y)
    held = pickle.dumps(model) + pickle.dumps(model.release_.spec)
    for age in X["age"]:
        assert np.float64(age).tobytes() not in held
    assert sys.getsizeof(held) > 1000


# --- data in blocks

#: With days, and with values that are missing or outside of the box in some blocks alone.
WIDE = X.assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) * 3, "D"))
WIDE.loc[3, "age"], WIDE.loc[50, "age"], WIDE.loc[70:90, "region"] = np.nan, -7.0, None
WIDE_POINTS = POINTS.assign(day=pd.Timestamp("2020-06-01"))
WIDE_BOX = {"age": (0, 90), "region": ["north", "south"], "day": ("2020-01-01", "2020-12-01")}


def files_of(folder, cuts=(0, 40, 41, N), group=17):
    return write(folder, WIDE.assign(height=Y), cuts, group)


def scanned(folder):
    return scan(folder, inputs=[*WIDE], output="height", protect="rows")


def dask_frames(folder):
    import dask.dataframe as dd

    frame = dd.from_pandas(WIDE.assign(height=Y), npartitions=4)
    return frame[[*WIDE]], frame["height"]


def dask_files(folder):
    import dask.dataframe as dd

    frame = dd.read_parquet(folder)
    return frame[[*WIDE]], frame["height"]


def dask_arrays(folder):
    import dask.array as da

    values = da.from_array(WIDE.to_numpy(dtype=object), chunks=(50, 2))
    return values, da.from_array(Y.to_numpy(), chunks=50)


def arrays_in_parts(folder):
    return cut_array(WIDE, rows=33), cut_outputs(Y, rows=33)


SOURCES = {
    "parquet": scanned,
    "dask frames": dask_frames,
    "dask files": dask_files,
    "dask arrays": dask_arrays,
    "arrays": arrays_in_parts,
}


def integers(X, y, kind="numbers", **more):
    settings = {"box": WIDE_BOX, "epsilon": np.inf, "neighbours": "add-remove", **more}
    return quiet(maker(kind, **settings).fit, X, y, people=50).release_.noisy.values.tolist()


@pytest.mark.parametrize("source", SOURCES)
def test_blocks_give_the_integers_of_the_table(source, tmp_path):
    if source.startswith("dask"):
        pytest.importorskip("dask")
    expected = integers(WIDE, Y)
    assert integers(*SOURCES[source](files_of(tmp_path / "people"))) == expected
    assert any(map(any, expected))


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_threads_and_processes_give_the_integers_of_the_table(backend, tmp_path):
    with joblib.parallel_config(backend, n_jobs=2):
        assert integers(*scanned(files_of(tmp_path / "people"))) == integers(WIDE, Y)


def test_labels_and_counts_come_in_blocks_too(tmp_path):
    for kind in ("two", "three", "counts"):
        y = pd.Series(MAKERS[kind][2], name="y")
        folder = write(tmp_path / kind, WIDE.assign(y=y), (0, 9, N))
        blocks = scan(folder, inputs=[*WIDE], output="y", protect="rows")
        assert integers(*blocks, kind) == integers(WIDE, y, kind)


def test_the_rows_of_blocks_are_counted_only_if_their_number_is_public(tmp_path, monkeypatch):
    folder = files_of(tmp_path / "people")
    assert maker(box=WIDE_BOX).plan(scanned(folder)[0]).spec.people == N
    pytest.importorskip("dask")
    frame, y = dask_frames(None)
    assert maker(box=WIDE_BOX).plan(frame).spec.people == N
    monkeypatch.setattr("cloakgp.data.blocks.dask._lengths", None)
    assert integers(frame, y) == integers(WIDE, Y)
    for X in (frame, scanned(folder)[0]):
        with pytest.raises(ValueError, match="people is missing"):
            maker(box=WIDE_BOX, neighbours="add-remove").plan(X)


def test_one_pass_reads_each_block_once(tmp_path, monkeypatch):
    read, batches = [], RowRange._batches

    def watched(self, file, columns):
        read.append((self.file.path, self.first, self.skipped, tuple(columns)))
        return batches(self, file, columns)

    monkeypatch.setattr(RowRange, "_batches", watched)
    blocks = scanned(files_of(tmp_path / "people"))
    assert not read
    integers(*blocks)
    assert len(read) == len(set(read)) == 2 * len(blocks[0].parts)


def test_blocks_leave_the_artefacts_of_the_table(tmp_path, capfd, caplog):
    """However the table is cut: the same file, page, statement, words and pickle."""
    plan = maker(box=WIDE_BOX, mechanism="laplace", neighbours="add-remove").plan(people=50)
    tables = [
        (WIDE, Y),
        scanned(files_of(tmp_path / "a")),
        scanned(files_of(tmp_path / "b", (0, 7, 119, N), 2)),
    ]
    found = []
    for place, table in enumerate(tables):
        caplog.clear()
        (tmp_path / str(place)).mkdir()
        where = tmp_path / str(place), capfd, caplog
        settings = {"box": WIDE_BOX, "neighbours": "add-remove", "points": WIDE_POINTS}
        found.append(artefacts("numbers", plan, table, *where, **settings))
    for name, value in found[0].items():
        assert value == found[1][name] == found[2][name], name


def damaged(folder, name):
    damage(folder, name)
    return scanned(folder)


@pytest.mark.parametrize(
    ("blocks", "options", "message"),
    [
        (lambda f: (scanned(f)[0], Y), {}, "both be in memory, or both in blocks"),
        (lambda f: (WIDE, scanned(f)[1]), {}, "both be in memory, or both in blocks"),
        (lambda f: (cut_array(WIDE, 60), cut_outputs(Y, 41)), {}, "cut at the same rows"),
        (lambda f: (cut_array(WIDE, 60), cut_outputs(Y, [61, N - 61])), {}, "y cannot be used"),
        (lambda f: (cut_array(WIDE[["age"]], 60), cut_outputs(Y, 60)), {}, "lacks the columns"),
        (lambda f: (cut_array(np.ones((N, 2)), 9), cut_outputs(Y, 9)), {}, "X must have 3 column"),
        (scanned, {"groups": ["a"] * N}, "groups cannot be combined with data in blocks"),
        (lambda f: damaged(f, "age"), {}, "a block of the data could not be read"),
        (lambda f: damaged(f, "height"), {}, "a block of the data could not be read"),
    ],
)
def test_blocks_that_cannot_be_used_are_refused_without_a_number(
    blocks, options, message, tmp_path
):
    table = blocks(files_of(tmp_path / "people"))
    with pytest.raises(ValueError, match=message) as error:
        maker(box=WIDE_BOX, neighbours="add-remove").fit(*table, people=50, **options)
    said = "".join(traceback.format_exception(error.value, limit=0)).replace(str(tmp_path), "")
    assert not re.search(rf"(?<![\d.])({N}|{N - 1}|60|61|41|40|79|17)(?![\d.])", said)


def test_a_scan_for_whole_rows_needs_no_levels_and_takes_no_columns(tmp_path):
    folder = files_of(tmp_path / "people")
    with pytest.raises(ValueError, match="levels must be stated"):
        scan(folder, inputs=[*WIDE], output="height")
    told = {"region": cloakgp.columns.Category(["north"])}
    with pytest.raises(ValueError, match="columns cannot be combined"):
        scan(folder, inputs=[*WIDE], output="height", protect="rows", columns=told)
    with pytest.raises(ValueError, match="protect must be 'outputs' or 'rows'"):
        scan(folder, inputs=[*WIDE], output="height", protect="inputs")


# --- exact audits


def watched(monkeypatch):
    """What noise is added to, and its scale, in every release from now on."""
    seen = []
    for name in ("add_discrete_laplace", "add_discrete_gaussian"):
        draw = getattr(core, name)

        def watch(total, scale, draw=draw):
            seen.append((total.astype(object), scale))
            return draw(total, scale)

        monkeypatch.setattr(core, name, watch)
    return seen


WORST = {
    "numbers": (40.0, 200.0),
    "two": ("no", "yes"),
    "three": ("a", "c"),
    "counts": (0, 8),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_whole_fits_are_private_for_their_worst_neighbours(
    kind, mechanism, neighbours, monkeypatch
):
    """One person's row differs in x, in y, in both, or is missing; the loss is exact."""
    seen = watched(monkeypatch)
    model = maker(kind, mechanism=mechanism, neighbours=neighbours, epsilon=0.8, delta=1e-3)
    plan = model.plan(people=N)
    low, high = WORST[kind]
    ends = {"age": [0.0, 89.9], "region": ["north", "south"]}
    rows = [
        (ends["age"][a], ends["region"][r], v) for a in (0, 1) for r in (0, 1) for v in (low, high)
    ]
    base_y = list(MAKERS[kind][2])

    def released(*more):
        table = pd.concat([X, pd.DataFrame([r[:2] for r in more], columns=[*X])])
        model.fit(table, np.array([*base_y, *(r[2] for r in more)]), plan=plan, people=N)
        return seen.pop()

    if neighbours == "add-remove":
        worlds = [(released(), released(row)) for row in rows]
    else:
        totals = [released(row) for row in rows]
        worlds = [(one, other) for i, one in enumerate(totals) for other in totals[:i]]
    losses = []
    for (one, scale), (other, again) in worlds:
        assert scale == again  # the scale says nothing of the rows
        apart = one - other
        if mechanism == "laplace":
            losses.append(Fraction(int(abs(apart).sum())) / Fraction(scale))
            assert losses[-1] <= Fraction(0.8)
        else:
            losses.append(np.sqrt(float((apart**2).sum())) / scale)
            assert losses[-1] <= 1.0 / gaussian_sigma(0.8, 1e-3)
    wanted = 0.8 if mechanism == "laplace" else 1.0 / gaussian_sigma(0.8, 1e-3)
    hard = "hard" in plan.design.status
    assert float(max(losses)) > (0.99 if hard or mechanism == "laplace" else 0.6) * wanted


# --- several outputs

BOTH = pd.DataFrame({"height": Y, "weight": 20 + X["age"] / 3})
TWO = {"bounds": [(40, 200), (0, 60)]}


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_several_outputs_move_together_as_far_as_their_noise_is_for(
    mechanism, neighbours, monkeypatch
):
    """A person who differs in x and in every output, or is missing: the loss is exact."""
    seen = watched(monkeypatch)
    model = maker(mechanism=mechanism, neighbours=neighbours, epsilon=0.8, delta=1e-3, **TWO)
    plan = model.plan(people=N)

    def released(*rows):
        table = pd.concat([X, pd.DataFrame([r[:2] for r in rows], columns=[*X])])
        y = pd.concat([BOTH, pd.DataFrame([r[2:] for r in rows], columns=[*BOTH])])
        model.fit(table, y, plan=plan, people=N)
        return seen.pop()

    rows = [(a, "north", h, w) for a in (0.0, 89.9) for h in (40.0, 200.0) for w in (0.0, 60.0)]
    totals = [released(row) for row in rows]
    worlds = itertools.combinations(totals, 2)
    if neighbours == "add-remove":
        worlds = [(released(), total) for total in totals]
    losses = []
    for (one, scale), (other, again) in worlds:
        assert scale == again
        apart = one - other
        if mechanism == "laplace":
            losses.append(Fraction(int(abs(apart).sum())) / Fraction(scale))
            assert losses[-1] <= Fraction(0.8)
        else:
            losses.append(np.sqrt(float((apart**2).sum())) / scale)
            assert losses[-1] <= (1.0 + 1e-12) / gaussian_sigma(0.8, 1e-3)
    wanted = 0.8 if mechanism == "laplace" else 1.0 / gaussian_sigma(0.8, 1e-3)
    hard = "hard" in plan.design.status
    assert float(max(losses)) > (0.99 if hard or mechanism == "laplace" else 0.6) * wanted


def test_several_outputs_are_predicted_saved_and_read_in_blocks(tmp_path):
    model = maker(**TWO, mechanism="laplace", neighbours="add-remove")
    plan = model.plan(people=N)
    release = model.fit(X, BOTH, plan=plan).release_
    assert release.noisy.sensitivity == 2.0
    assert release.noisy.values.shape[1] == 4
    assert plan.published_values == release.published_values == release.noisy.values.size
    assert model.predict(POINTS).shape == (3, 2)
    release.save(tmp_path / "r.cloakgp")
    again = Release.load(tmp_path / "r.cloakgp")
    assert again.verify().ok
    pd.testing.assert_frame_equal(
        again.to_frame(POINTS), release.to_frame(POINTS), check_exact=True
    )
    pd.testing.assert_frame_equal(again.published(), release.published(), check_exact=True)
    assert "**height** and **weight**, and the inputs" in release.statement()
    folder = write(tmp_path / "people", WIDE.assign(**BOTH), (0, 9, N))
    blocks = scan(folder, inputs=[*WIDE], output=[*BOTH], protect="rows")
    assert integers(*blocks, **TWO) == integers(WIDE, BOTH, **TWO)
    with pytest.raises(ValueError, match="y must have 1 column"):
        maker().fit(X, BOTH)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_second_output_tells_of_people_as_the_first_one_does(mechanism):
    """Without noise both say how many people there are, and predictions follow the curves."""
    settings = {"epsilon": 50.0, "mechanism": mechanism, "delta": 1e-2, "box": {"age": (0, 90)}}
    both = maker(**{**TWO, **settings}).fit(X[["age"]], BOTH)
    cells = both.release_.published()
    assert cells["people"].sum() == pytest.approx(N, abs=8)
    weights = both.predict(pd.DataFrame({"age": [20.0, 70.0]}))[:, 1]
    np.testing.assert_allclose(weights, [20 + 20 / 3, 20 + 70 / 3], atol=3.0)


def test_owners_of_several_rows_are_protected_with_all_that_count(monkeypatch):
    seen = watched(monkeypatch)
    model = maker(mechanism="laplace", epsilon=1.0)
    limit = {"max_contributions": 2}
    plan = model.plan(people=N, groups=True, **limit)
    assert plan.spec.rows.max_rows == 2
    owners = [f"p{i}" for i in range(N)]
    totals = []
    for extra in ((0.0, 40.0), (89.9, 200.0)):
        rows = pd.DataFrame({"age": [extra[0]] * 5, "region": ["north"] * 5})
        y = np.array([*Y, *[extra[1]] * 5])
        model.fit(pd.concat([X, rows]), y, groups=[*owners, *["new"] * 5], plan=plan, **limit)
        totals.append(seen.pop())
    (one, scale), (other, _) = totals
    loss = Fraction(int(abs(one - other).sum())) / Fraction(scale)
    assert Fraction(99, 100) < loss <= 1
    assert model.release_.spec.rows.max_rows == 2
    assert "up to 2 count, chosen at random" in model.release_.statement()
    assert model.release_.verify().ok


# --- files, and what they say


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_release_comes_back_from_its_file_to_the_bit(kind, neighbours, tmp_path):
    model = maker(kind, neighbours=neighbours).fit(X, MAKERS[kind][2], people=N)
    model.release_.save(tmp_path / "r.cloakgp")
    again = Release.load(tmp_path / "r.cloakgp")
    pd.testing.assert_frame_equal(
        again.to_frame(POINTS), model.release_.to_frame(POINTS), check_exact=True
    )
    pd.testing.assert_frame_equal(
        again.density(POINTS), model.release_.density(POINTS), check_exact=True
    )
    assert again.statement() == model.release_.statement()
    assert again.verify().ok
    again.save(tmp_path / "again.cloakgp")
    assert (tmp_path / "again.cloakgp").read_bytes() == (tmp_path / "r.cloakgp").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, a: m["box"].update(neighbours="add-remove"), "other neighbours than the box"),
        (lambda m, a: m["guarantee"].update(sensitivity=1.0), "outputs"),
        (lambda m, a: m["box"].update(max_rows=3, owned=True), "outputs"),
        (lambda m, a: m["box"].update(max_rows=3), "whose rows nobody named"),
        (lambda m, a: m["box"]["ranges"].__setitem__(0, [0.0, 80.0]), "not the bins of the box"),
        (lambda m, a: m["box"]["ranges"].__setitem__(0, None), "does not fit the kinds"),
        (lambda m, a: m["box"]["parts"].__setitem__(1, 2), "does not fit the kinds"),
        (lambda m, a: m["box"]["ranges"].pop(), "one range"),
        (lambda m, a: m["box"].update(neighbours="all"), "neighbours"),
        (lambda m, a: m.pop("box"), "other neighbours than the box"),
        (lambda m, a: m["box"].update(people=0), "people"),
        (lambda m, a: a.update(groups=np.arange(len(a["X"]))), "owners of whole rows are private"),
        (lambda m, a: a.update(noisy=a["noisy"][:, :1].copy()), "noisy"),
        (lambda m, a: a.update(sketch=-a["sketch"]), "no negative entries"),
    ],
)
def test_a_file_that_says_something_else_is_refused(change, message, tmp_path):
    model = maker(mechanism="laplace").fit(X, Y)
    manifest, arrays = model.release_.contents()
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(manifest, arrays)
    write_archive(tmp_path / "r.cloakgp", manifest, arrays)
    with pytest.raises(ReleaseFileError, match=message):
        Release.load(tmp_path / "r.cloakgp")


def test_every_sentence_says_what_is_protected_and_for_which_relation():
    for neighbours, words in (("replace", "replacing"), ("add-remove", "adding or removing")):
        release = maker(neighbours=neighbours).fit(X, Y, people=N).release_
        said = release.statement()
        assert "Each person's whole row" in said
        assert f"for {words} one person's row" in said
        assert "they are public" not in said
        assert ("- How many people there are." in said) == (neighbours == "replace")
    outputs = quiet(PrivateGPRegressor(bounds=(40, 200), random_state=0).fit, X[["age"]], Y)
    assert "whole row" not in outputs.release_.statement()


# --- the ledger


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_ledger_counts_what_replacing_costs_and_keeps_no_inputs(mechanism, tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.open("people", 20.0, 0.5, create=True)
    for neighbours in ("replace", "add-remove"):
        model = maker(neighbours=neighbours, mechanism=mechanism, ledger=ledger, dataset="people")
        model.fit(X, Y, people=N)
        facts = ledger.history("people")[-1].facts
        assert facts["release_id"] == model.release_.release_id
        assert facts["parameters"]["protects"] == "whole rows"
        assert facts["parameters"]["neighbours"] == neighbours
        assert facts["inputs"] is None
        budget = model.release_.spec.budget
        spent = Spend.of(budget, neighbours)
        # Plan and release say the same as the ledger.
        assert model.release_.spends == model.plan(people=N).spends == (spent,)
        # Units of a statement are about its own neighbours.
        own = in_other_units([Spend.of(budget)])
        for said in (model.release_.statement(), model.plan(people=N).summary()):
            assert own in said
        assert facts["spends"] == [{"kind": spent.kind, "size": spent.size}]
        more = {"laplace": 2.0, "gaussian": 2.0**0.5}[mechanism]
        factor = more if neighbours == "add-remove" else 1.0
        assert Spend.of(budget, neighbours).size == pytest.approx(
            factor * Spend.of(budget).size, rel=1e-15
        )
    # Other people's rows under the same name: nothing that is kept could tell.
    other = X.assign(age=X["age"][::-1].to_numpy())
    maker(ledger=ledger, dataset="people", mechanism=mechanism).fit(other, Y)


def test_fits_in_one_box_are_counted_whoever_is_in_it(tmp_path):
    """A warning that looked at rows would say that they are those of an earlier fit."""
    box = {"age": (0, 91), "region": ["north", "south"]}
    other = X.assign(age=X["age"][::-1].to_numpy())
    said = []
    for table in (X, X, other):
        forget()
        maker(box=box, neighbours="add-remove").fit(X, Y, people=N)
        with pytest.warns(RepeatedSpendWarning) as caught:
            maker(box=box, neighbours="add-remove").fit(table, Y, people=N)
        said.append([str(w.message) for w in caught])
    assert said[0] == said[1] == said[2]
    assert "fit number 2 of whole rows in this box" in said[0][0]
    assert "together epsilon = 4 " in said[0][0]  # what a ledger would count
    ledger = Ledger(tmp_path / "l.db")
    ledger.open("people", 20.0, 0.5, create=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        maker(box=BOX).fit(X, Y)  # another box
        maker(box=box, ledger=ledger, dataset="people").fit(X, Y)


def test_owners_of_one_row_each_are_owners():
    owners = [f"p{i}" for i in range(N)]
    release = maker().fit(X, Y, groups=owners, people=N).release_
    said = release.statement()
    assert "No owners of rows were named" not in said
    assert "all rows of one person (one counts, chosen at random)" in said
    assert "No owners of rows were named" in maker().fit(X, Y).release_.statement()
    with pytest.raises(ValueError, match="plan was made for other people"):
        maker().fit(X, Y, groups=owners, people=N, plan=maker().plan(people=N))


def test_days_beyond_all_calendars_move_nobody_else():
    """The largest 32-bit day of Arrow, which neither pandas nor Python can tell."""
    arrow = pytest.importorskip("pyarrow")
    box = read_box({"day": ("2019-01-01", "2020-01-01")})
    days = [18_000, None, 17_950, 18_100]
    usual = np.array([*days[:1], "NaT", *days[2:]], dtype=object)
    expected = box.grid.places([np.array([np.datetime64(d, "D") for d in usual])])
    assert len(set(expected.tolist())) == 4
    for odd in (2_147_483_647, -2_147_483_648, None):
        column = arrow.array([*days, odd], type=arrow.int32()).cast(arrow.date32())
        places = box.grid.places(box.values(arrow.table({"day": column})))
        np.testing.assert_array_equal(places[:4], expected)
        assert places[4] == -1


def test_an_error_of_a_conversion_quotes_nothing():
    class Table:
        shape = (N, 2)

        def __array__(self, *_, **__):
            raise ValueError("1234567.5")

    with pytest.raises(ValueError, match="cannot be turned into values") as caught:
        maker().fit(Table(), Y)
    assert caught.value.__context__ is None
    assert "1234567" not in "".join(traceback.format_exception(caught.value))
