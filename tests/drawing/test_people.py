"""Where people are, of whole rows: pictures show what ``density`` tells, and no input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor
from cloakgp.drawing.panels import curve_panels, people_maps, people_panels
from cloakgp.drawing.predictions import per_unit, predictions_of
from cloakgp.drawing.views import MIN_OPACITY, SPARSE, Plane, describe_inputs
from cloakgp.report.page import report_page

BOX = {"age": (0, 90), "site": ["north", "south"], "day": ("2020-01-01", "2020-12-31")}
RNG = np.random.default_rng(3)
X = pd.DataFrame({"age": RNG.uniform(0, 30, 200), "site": ["north"] * 200})
X["day"] = pd.Timestamp("2020-03-01")


@pytest.fixture(scope="module")
def releases():
    """One release by the inputs that it has."""
    found = {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeatable noise
        patch.setattr("cloakgp.data.box.MOST_BINS", 72)
        for names in (("age",), ("age", "site"), ("age", "site", "day")):
            box = {name: BOX[name] for name in names}
            model = PrivateGPRegressor(
                400 * RBF(20.0), bounds=(0, 100), protect="rows", box=box, random_state=0
            )
            found[names] = model.fit(X[[*names]], X["age"].rename("y")).release_
        yield found


def test_curves_of_people_are_those_of_the_density(releases):
    release = releases["age",]
    inputs, predictions = describe_inputs(release.spec), predictions_of(release)
    assert (inputs[0].lo, inputs[0].hi, inputs[0].median) == (0.0, 90.0, 45.0)  # of the box
    ((row,),) = [curve_panels(predictions, inputs)]
    (panel,) = people_panels(predictions, row)
    table = release.density(panel.x[:, None])
    (series,), (marks,) = panel.series, panel.marks
    for values, name in ((series.value, ""), (series.low, "_low95"), (series.high, "_high95")):
        np.testing.assert_allclose(values, table[f"people{name}"])
    assert panel.limits[0] == 0.0
    assert panel.name == "people per unit of age"
    cells = release.published()
    width = cells["age_to"] - cells["age_from"]
    np.testing.assert_allclose(marks.value, cells["people"] / width)
    assert width.sum() == pytest.approx(90.0)


def test_maps_fade_where_hardly_anybody_is(releases):
    release = releases["age", "site"]
    predictions = predictions_of(release)
    plane = Plane.over(release.spec, describe_inputs(release.spec))
    assert np.all(plane.visible == 1.0)
    people, sure = people_maps(predictions, plane)
    table = release.density(release.spec.encoding.frame(plane.points))
    np.testing.assert_allclose(people.values, table["people"])
    reach = 0.5 * (table["people_high95"] - table["people_low95"])
    np.testing.assert_allclose(sure.values, reach)
    faded = plane.faded(people.values).visible
    assert faded.max() == 1.0
    assert np.all((faded == MIN_OPACITY) == (people.values <= 0.025 * people.values.mean()))


def test_people_are_counted_for_each_unit_of_numbers_and_each_day(releases):
    *most, dated = [per_unit(release) for release in releases.values()]
    assert most == ["people per unit of age", "people per unit of age"]
    assert dated == "people per unit of age and day"


@pytest.mark.parametrize(("inputs", "panels"), [(1, 2), (2, 8), (3, 6)])
def test_plots_and_pages_have_them_below(releases, inputs, panels):
    release = list(releases.values())[inputs - 1]
    figure = release.plot()
    assert len(figure.axes) == panels  # maps have one more for their colours
    assert ("fade" in figure.get_supxlabel()) == (inputs == 2)
    page = report_page(release)
    assert "Where people are" in page
    assert (SPARSE in page) == (inputs == 2)
    assert "public inputs" not in page


def test_panels_that_are_given_are_filled_as_far_as_they_reach(releases):
    release = releases["age",]
    one, two = Figure().subplots(), Figure().subplots(1, 2)
    assert release.plot(ax=one).axes[0].get_ylabel() == "y"
    assert [each.get_ylabel() for each in release.plot(ax=two).axes] == [
        "y",
        "people per unit of age",
    ]
    with pytest.raises(ValueError, match="ax must be"):
        release.plot(ax=Figure().subplots(1, 3))
