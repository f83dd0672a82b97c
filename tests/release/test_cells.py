"""What was published is said in words, tables and pictures, and agrees with the numbers."""

import numpy as np
import pandas as pd
import pytest

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor, Release
from cloakgp.drawing.marks import MAX_MARKS, collect_marks
from cloakgp.drawing.predictions import predictions_of
from cloakgp.drawing.views import describe_inputs
from cloakgp.release.cells import collect_cells
from cloakgp.report.html import sections
from cloakgp.report.page import report_page

N = 240
AGE = pd.DataFrame({"age": np.repeat(np.arange(20.0, 80.0), 4)})
REGION = pd.DataFrame({"region": np.array(["north", "south", "a_b & <c>"])[np.arange(N) % 3]})
VISIT = pd.DataFrame({"visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D")})
HEIGHT = pd.Series(150.0 + AGE["age"] / 4.0, name="height")


def numbers(X, y=HEIGHT, **settings):
    return PrivateGPRegressor(**{"bounds": (100, 200), "epsilon": 3.0, **settings}).fit(X, y)


@pytest.fixture(scope="module")
def ages():
    return numbers(AGE).release_


def marks(release):
    return collect_marks(predictions_of(release), describe_inputs(release.spec))


def test_words_name_the_people_of_each_cell(ages):
    (cells,) = collect_cells(ages)
    table = ages.published()
    for words, low, high in zip(cells.words(), table["age_from"], table["age_to"], strict=True):
        assert words == f"age {low:g} to {high:g}"
    assert cells.people.sum() == pytest.approx(N)


def test_words_leave_out_inputs_along_which_a_cell_is_everywhere():
    release = numbers(pd.concat([AGE, REGION], axis=1)).release_
    (cells,) = collect_cells(release)
    table = release.published()
    for words, row in zip(cells.words(), table.to_dict("records"), strict=True):
        assert ("region" in words) == (row["region"].count(",") < 2)
        assert ("age" in words) == ((row["age_from"], row["age_to"]) != (20.0, 79.0))
    everybody = numbers(AGE, epsilon=0.001).release_
    assert everybody.published_values == 1
    assert collect_cells(everybody)[0].words() == ["everybody"]


@pytest.mark.parametrize("X", [AGE, REGION, VISIT], ids=["number", "category", "date"])
def test_marks_are_the_published_means_where_their_people_are(X):
    release = numbers(X).release_
    (shown,) = marks(release)
    table, (cells,) = release.published(), collect_cells(release)
    np.testing.assert_allclose(np.unique(shown.value), np.unique(table["height_mean"]), rtol=1e-12)
    codes = describe_inputs(release.spec)[0]
    assert np.all((shown.start >= codes.lo) & (shown.end <= codes.hi))
    assert np.all((shown.start <= shown.middle) & (shown.middle <= shown.end))
    # 95 % of Laplace noise: e^−t = 0.05 at ln 20 times its scale.
    scale = 100.0 * release.noisy.noise_std / np.sqrt(2.0) / cells.people
    np.testing.assert_allclose(np.unique(shown.reach), np.unique(np.log(20.0) * scale))


def test_maps_have_a_mark_for_each_cell_and_more_inputs_have_none():
    two = numbers(pd.concat([AGE, VISIT], axis=1)).release_
    (shown,) = marks(two)
    assert shown.middle.shape == (two.published_values, 2)
    assert marks(numbers(pd.concat([AGE, REGION, VISIT], axis=1)).release_) == [None]


def test_other_designs_have_neither_marks_nor_words():
    release = numbers(AGE, mechanism="gaussian").release_
    assert marks(release) == [None]
    assert collect_cells(release) == []
    assert "What the numbers are" not in sections(release.statement())
    assert 'id="published"' not in report_page(release)


def test_labels_are_numbers_of_people_and_shares():
    stage = pd.Series(np.array(["a", "b", "c"])[(AGE["age"] // 27).astype(int)], name="stage")
    release = PrivateGPClassifier(classes=["a", "b", "c"], epsilon=3.0).fit(AGE, stage).release_
    shown, table = marks(release), release.published()
    for one, label in zip(shown, "abc", strict=True):
        np.testing.assert_allclose(one.value, table[f"stage_{label}_sum"] / table["people"])
    words = sections(release.statement())["What the numbers are"]
    assert "number with **stage = a**" in words
    assert "share" in words


def test_counts_are_rates_where_an_exposure_is_known():
    years = np.where(np.arange(N) % 2, 0.5, 2.0)
    count = pd.Series(np.round(3.0 * years).astype(int), name="incidents")
    model = PrivateGPCountRegressor(cap=10, epsilon=10.0).fit(AGE, count, exposure=years)
    release = model.release_
    table, (shown,) = release.published(), marks(release)
    np.testing.assert_allclose(table["incidents_rate"], table["incidents_sum"] / table["exposure"])
    np.testing.assert_allclose(shown.value, table["incidents_rate"])
    np.testing.assert_allclose(table["exposure"].sum(), years.sum(), rtol=1e-6)
    exact = release.sketch.rounded @ count / (release.sketch.rounded @ years)
    assert np.all(np.abs(exact - table["incidents_rate"]) < 8.0 * shown.reach)
    assert "exposure" not in PrivateGPCountRegressor(cap=10).fit(AGE, count).release_.published()


def test_combined_releases_show_the_cells_of_all():
    halves = [numbers(AGE[part::2], HEIGHT[part::2]).release_ for part in (0, 1)]
    both = Release.combine(halves)
    table = both.published()
    assert table["release"].value_counts().to_dict() == {
        number: half.published_values for number, half in enumerate(halves, start=1)
    }
    (shown,) = marks(both)
    np.testing.assert_allclose(shown.value, table["height_mean"])
    assert 'scope="col">release</th>' in report_page(both)


def test_people_in_bins_are_counted_whole():
    rng = np.random.default_rng(0)
    many = pd.DataFrame({"age": rng.uniform(20.0, 80.0, 5000)})
    release = numbers(many, pd.Series(150.0 + many["age"] / 4.0, name="height")).release_
    assert release.spec.partition is not None
    assert release.published()["people"].sum() == pytest.approx(5000, rel=1e-3)
    (shown,) = marks(release)
    assert 0 < len(shown.value) <= MAX_MARKS


def test_statement_and_page_list_the_cells_and_escape_names():
    release = numbers(REGION).release_
    words = sections(release.statement())["What the numbers are"]
    assert words.count("\n- ") == release.published_values
    assert "a_b &amp; &lt;c&gt;" in words
    page = report_page(release)
    assert "region a_b &amp; &lt;c&gt;" in page
    assert 'class="published bars"' in page
    assert 'class="published spots"' in page
