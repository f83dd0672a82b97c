"""Pictures show public things only, say what they are, and need no screen."""

import subprocess
import sys
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor
from cloakgp.drawing.predictions import NORMAL_95
from cloakgp.drawing.views import PANEL_PLACES
from cloakgp.plot.draw import plot_plan, plot_release
from cloakgp.plot.maps import MAP_MARKS

pytestmark = pytest.mark.usefixtures("coarse_maps")

RNG = np.random.default_rng(0)
X1 = pd.DataFrame({"age": np.sort(RNG.uniform(0, 80, 40))})
X2 = pd.DataFrame({"east": RNG.uniform(0, 10, 60), "north": RNG.uniform(0, 5, 60)})
Y1 = pd.Series(120 + 20 * np.sin(X1["age"] / 20), name="height_cm")
Y2 = pd.Series(100 + 5 * X2["east"], name="income")
MODEL = PrivateGPRegressor(900 * RBF(20.0), bounds=(40, 200), epsilon=3.0)
MAP = PrivateGPRegressor(900 * RBF([4.0, 3.0]), bounds=(40, 200), epsilon=3.0, inducing=9)


@pytest.fixture(scope="module")
def curve():
    return MODEL.fit(X1, Y1).release_


@pytest.fixture(scope="module")
def area():
    return MAP.fit(X2, Y2).release_


def drawn(figure):
    """Render, as a file would be, and return the figure."""
    figure.savefig(BytesIO(), format="png", dpi=40)
    return figure


def texts(figure):
    return [text.get_text() for text in figure.findobj(Text)]


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_curve_has_two_labelled_bands_and_the_names_of_the_columns(curve):
    figure = drawn(curve.plot())
    ax = figure.axes[0]
    assert ax.get_xlabel() == "age"
    assert ax.get_ylabel() == "height_cm"
    assert "95 % band of the curve" in labels(figure)
    assert any("noise for privacy alone" in label for label in labels(figure))


def test_the_bands_are_95_percent_of_the_uncertainty(curve):
    ax = curve.plot().axes[0]
    total, inner = (band.get_paths()[0].vertices for band in ax.collections[:2])
    x = np.array([[40.0]])
    mean, std = curve.predict(x, return_std=True)
    dp = curve.uncertainty(x).dp
    for band, half in ((total, std[0]), (inner, dp[0])):
        near = band[np.abs(band[:, 0] - 40.0) < 0.2][:, 1]
        assert near.max() == pytest.approx(mean[0] + NORMAL_95 * half, abs=0.5)
        assert near.min() == pytest.approx(mean[0] - NORMAL_95 * half, abs=0.5)


def test_the_guarantee_is_written_under_the_picture(curve, area):
    for release in (curve, area):
        text = " ".join(" ".join(texts(drawn(plot_release(release)))).split())
        assert "rows, each taken to be another person's (epsilon = 3);" in text
        assert "NOT PRIVATE" not in text


def test_what_is_not_private_says_so_in_big_letters_on_every_panel():
    with pytest.warns(UserWarning, match="NOT private"):
        release = clone(MAP).set_params(random_state=0).fit(X2, Y2).release_
    figure = drawn(release.plot())
    stamps = [t for ax in figure.axes for t in ax.texts if t.get_text() == "NOT PRIVATE"]
    assert len(stamps) == 2
    assert all(stamp.get_fontsize() >= 30 for stamp in stamps)


def test_the_view_stays_near_the_bounds_however_wide_the_bands_are():
    wide = PrivateGPRegressor(1e6 * RBF(20.0), bounds=(100, 130), epsilon=0.1).fit(X1, Y1).release_
    ax = wide.plot().axes[0]
    lo, hi = ax.get_ylim()
    assert 95.0 < lo < 100.0
    assert 130.0 < hi < 135.0
    heights = np.concatenate([line.get_ydata() for line in ax.lines if len(line.get_xdata()) > 90])
    assert heights.min() >= 100.0
    assert heights.max() <= 130.0


def test_what_lies_beyond_the_bounds_is_drawn_if_asked_for():
    wide = PrivateGPRegressor(1e6 * RBF(20.0), bounds=(100, 130), epsilon=0.1).fit(X1, Y1).release_
    low, high = wide.predict_interval(X1)
    lo, hi = wide.plot(clip=None).axes[0].get_ylim()
    assert lo < low.min() < 100.0
    assert hi > high.max() > 130.0
    with pytest.raises(ValueError, match="clip must be"):
        wide.plot(clip="none")


def test_a_map_shows_mean_and_total_uncertainty_with_bars_inputs_and_inducing_inputs(area):
    figure = drawn(area.plot())
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[:2] == ["income", "how sure: ± of the 95 % band"]
    assert any("Colours fade" in text for text in texts(figure))
    assert len(figure.axes) == 4  # two maps, two colour bars
    assert {"public inputs", "inducing inputs", MAP_MARKS} == set(labels(figure))
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert len(crosses[0].get_xdata()) == len(area.facts.model.inducing)


def test_inducing_inputs_are_marked_on_curves_too():
    sparse = PrivateGPRegressor(900 * RBF(20.0), bounds=(40, 200), inducing=6).fit(X1, Y1)
    figure = drawn(sparse.release_.plot())
    assert "inducing inputs" in labels(figure)


def test_the_plan_shows_noise_beside_the_floor_for_one_and_two_inputs():
    one = drawn(plot_plan(MODEL.plan(X1), target_names=["height_cm"]))
    assert {"added by privacy", "without privacy"} <= set(labels(one))
    assert one.axes[0].get_ylabel() == "height_cm: standard deviation"
    two = drawn(MAP.plan(X2).plot(epsilons=()))
    titles = [ax.get_title(loc="left") for ax in two.axes]
    assert titles[:3] == [
        *("output: noise for privacy (std)", "output: std without privacy"),
        "output: together (std)",
    ]
    scales = {(ax.get_ylim()) for ax in two.axes[3:]}
    assert len(scales) == 1  # the three can be compared


@pytest.mark.parametrize(("mechanism", "exact"), [("gaussian", 0.05), ("laplace", 0.1)])
def test_the_plan_shows_error_by_epsilon_with_what_is_wanted_marked(mechanism, exact):
    """Cells come and go between two budgets, and a line between them passes over that."""
    plan = clone(MODEL).set_params(mechanism=mechanism).plan(X1, at=X1.iloc[5:35])
    figure = drawn(plan.plot(max_std=12.0))
    ax = figure.axes[1]
    assert (ax.get_xlabel(), ax.get_xscale()) == ("epsilon", "log")
    assert {"wanted: at most 12", "this plan"} <= set(labels(figure))
    mark = next(line for line in ax.lines if line.get_marker() == "D")
    assert mark.get_xdata()[0] == pytest.approx(plan.required_epsilon(12.0), rel=exact)
    assert mark.get_ydata()[0] == 12.0
    # It is marked beside the noise at every place, too.
    assert any(np.allclose(line.get_ydata(), 12.0) for line in figure.axes[0].lines)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan, "8"])
def test_a_wish_that_is_no_accuracy_is_refused(wrong):
    with pytest.raises(ValueError, match="max_std must be a number > 0"):
        MODEL.plan(X1).plot(max_std=wrong)


def test_the_budgets_of_a_plan_can_be_chosen_or_left_out():
    plan = MODEL.plan(X1)
    assert len(drawn(plan.plot(epsilons=())).axes) == 1
    line = drawn(plan.plot(epsilons=[0.5, 9.0])).axes[1].lines[0]
    assert line.get_xdata().tolist() == [0.5, 3.0, 9.0]


def test_a_plan_without_noise_has_no_budgets_to_compare():
    figure = drawn(clone(MODEL).set_params(epsilon=np.inf).plan(X1).plot())
    assert len(figure.axes) == 1
    assert "NOT PRIVATE" in " ".join(texts(figure))


def test_the_plan_draws_the_figures_it_reports():
    plan = MODEL.plan(X1, at=X1)
    line = plan.plot().axes[0].lines[0]
    on_curve = np.interp(X1["age"], line.get_xdata(), line.get_ydata())
    np.testing.assert_allclose(on_curve, plan.noise_std, rtol=0.02)


@pytest.mark.parametrize("inputs", [X1, X2])
def test_every_output_has_a_row_of_its_own(inputs):
    y = pd.DataFrame({"a": np.full(len(inputs), 50.0), "b": np.full(len(inputs), 7.0)})
    model = PrivateGPRegressor(bounds=[(0, 100), (0, 10)], epsilon=3.0, learn=False).fit(inputs, y)
    panels = inputs.shape[1]
    figure = drawn(model.release_.plot())
    maps = [ax for ax in figure.axes if ax.get_xlabel()]
    assert len(maps) == 2 * panels
    planned = drawn(model.plan(inputs).plot(epsilons=(1.0,)))
    each = 2 if panels == 1 else 4  # with the panel of budgets
    assert len([ax for ax in planned.axes if ax.get_xlabel()]) == 2 * each


X3 = X2.assign(age=RNG.uniform(0, 80, 60))


def curves_of(ax):
    """Return what is drawn along all places of a panel."""
    return [line for line in ax.lines if len(line.get_xdata()) == PANEL_PLACES]


def test_of_more_than_two_inputs_each_has_a_panel_with_the_others_at_their_median():
    model = PrivateGPRegressor(900 * RBF([4.0, 3.0, 30.0]), bounds=(40, 200), epsilon=3.0)
    release = model.fit(X3, Y2).release_
    figure = drawn(release.plot())
    assert [ax.get_xlabel() for ax in figure.axes] == ["east", "north", "age"]
    said = " ".join(" ".join(texts(figure)).split())
    medians = [float(f"{X3[name].median():.4g}") for name in X3]
    assert f"the others stay at their median: east {medians[0]:g}, north {medians[1]:g}" in said
    for column, ax in enumerate(figure.axes):
        *_, line = curves_of(ax)
        points = np.tile(medians, (PANEL_PLACES, 1))
        points[:, column] = line.get_xdata()
        np.testing.assert_allclose(line.get_ydata(), release.predict(points, clip="bounds"))
    assert len({ax.get_ylim() for ax in figure.axes}) == 1


def test_plans_of_more_than_two_inputs_have_a_panel_each_and_one_of_budgets():
    model = PrivateGPRegressor(900 * RBF([4.0, 3.0, 30.0]), bounds=(40, 200), epsilon=3.0)
    plan = model.plan(X3)
    figure = drawn(plan.plot(epsilons=(1.0,)))
    assert [ax.get_xlabel() for ax in figure.axes] == ["east", "north", "age", "epsilon"]
    noise, floor, both = curves_of(figure.axes[2])
    np.testing.assert_allclose(np.hypot(noise.get_ydata(), floor.get_ydata()), both.get_ydata())
    assert "the others stay at their median" in " ".join(" ".join(texts(figure)).split())


def test_of_very_many_inputs_those_are_shown_along_which_most_changes():
    X = RNG.uniform(size=(30, 12))
    kernel = RBF([0.5, 0.5, *[50.0] * 10])
    model = PrivateGPRegressor(kernel, bounds=(0, 1), epsilon=50.0).fit(X, 0.9 * X[:, 0])
    released, planned = drawn(model.release_.plot()), drawn(model.plan(X).plot(epsilons=()))
    for figure in (released, planned):
        assert len(figure.axes) == 9
        assert "Shown are the 9 of 12 inputs" in " ".join(" ".join(texts(figure)).split())
    assert "x0" in {ax.get_xlabel() for ax in released.axes}


def test_axes_can_be_given_for_a_curve_and_for_maps(curve, area):
    figure = Figure()
    ax = figure.subplots()
    assert plot_release(curve, ax) is figure
    assert plot_plan(MODEL.plan(X1), ax) is figure
    beside = Figure()
    pair = beside.subplots(1, 2)
    assert plot_release(area, pair) is beside
    assert [len(ax.images) for ax in pair] == [1, 1]
    assert any("epsilon = 3" in text.replace("\n", " ") for text in texts(beside))
    alone = Figure()
    plot_release(area, alone.subplots())
    assert len([ax for ax in alone.axes if ax.images]) == 1
    three = Figure().subplots(1, 3)
    plot_plan(MAP.plan(X2), three)
    assert [len(ax.images) for ax in three] == [1, 1, 1]
    with pytest.raises(ValueError, match="ax must be one Axes for each panel, up to 2"):
        plot_release(area, three)


def test_the_legend_covers_no_panel(curve, area):
    for figure in (drawn(curve.plot()), drawn(area.plot())):
        box = figure.legends[0].get_window_extent()
        assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes)


@pytest.mark.parametrize("name", ["price in $", r"$\frac{", "a\nb\x1b", "x" * 500, "身長"])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_odd_names_are_drawn_as_they_are_or_shortened(name):
    release = PrivateGPRegressor(bounds=(40, 200)).fit(X1, Y1.rename(name)).release_
    label = drawn(release.plot()).axes[0].get_ylabel()
    assert label.isprintable()
    assert len(label) < 80


def test_one_place_only_can_be_drawn():
    same = np.full((5, 1), 3.0)
    model = PrivateGPRegressor(RBF(1.0), bounds=(0, 1)).fit(same, np.full(5, 0.5))
    drawn(model.release_.plot())
    drawn(model.plan(same).plot())


def test_the_bands_can_be_told_apart_from_each_other_and_from_paper(curve):
    bands = curve.plot().axes[0].collections[:2]
    colours = [np.array(to_rgb(band.get_facecolor()[0])) for band in bands] + [np.ones(3)]
    for i in range(3):
        for j in range(i):
            assert np.abs(colours[i] - colours[j]).sum() > 0.2


def test_drawing_touches_no_global_state_and_no_screen():
    code = (
        "import sys, numpy as np; from cloakgp import PrivateGPRegressor as P;"
        "m = P(bounds=(0, 1)).fit(np.arange(9.).reshape(-1, 1), np.full(9, .5));"
        "m.release_.plot().savefig(sys.argv[1]);"
        "assert 'matplotlib.pyplot' not in sys.modules, 'pyplot was imported'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "/dev/null.png" if sys.platform == "win32" else "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# --- classes and counts

GRADES = pd.Series(np.array(["low", "mid", "top"])[np.arange(40) // 14], name="grade")
ILL = pd.Series(np.where(X1["age"] > 40, "yes", "no"), name="ill")
FALLS = pd.Series(np.arange(40) // 8, name="falls")
CODES2 = np.arange(60) % 2


@pytest.fixture(scope="module")
def outcomes():
    """Releases of classes and counts, for one and two inputs."""
    kernel, flat = 9.0 * RBF(20.0), 9.0 * RBF([4.0, 3.0])
    yes = {"classes": ["no", "yes"], "epsilon": 3.0}
    more = {"classes": ["low", "mid", "top"], "epsilon": 3.0}
    ill, grade = np.array(["no", "yes"])[CODES2], GRADES.to_numpy()[np.arange(60) % 40]
    return {
        "two, curve": PrivateGPClassifier(kernel, **yes).fit(X1, ILL).release_,
        "three, curve": PrivateGPClassifier(kernel, **more).fit(X1, GRADES).release_,
        "counts, curve": PrivateGPCountRegressor(cap=9, epsilon=3.0).fit(X1, FALLS).release_,
        "two, map": PrivateGPClassifier(flat, **yes, inducing=9).fit(X2, ill).release_,
        "three, map": PrivateGPClassifier(flat, **more, inducing=9).fit(X2, grade).release_,
        "counts, map": PrivateGPCountRegressor(cap=9, epsilon=3.0, inducing=9)
        .fit(X2, CODES2)
        .release_,
    }


def test_a_probability_curve_has_bands_and_says_of_what(outcomes):
    release = outcomes["two, curve"]
    figure = drawn(release.plot())
    ax = figure.axes[0]
    assert ax.get_xlabel() == "age"
    assert ax.get_ylabel() == "probability of ill = yes"
    assert any("95 %" in label for label in labels(figure))
    x = np.array([[40.0]])
    total, inner = (band.get_paths()[0].vertices for band in ax.collections[:2])
    for band, dp_only in ((total, False), (inner, True)):
        low, high = release.probability_band(x, NORMAL_95, dp_only)[:, 0, 0]
        near = band[np.abs(band[:, 0] - 40.0) < 0.3][:, 1]
        assert near.min() == pytest.approx(low, abs=0.02)
        assert near.max() == pytest.approx(high, abs=0.02)
    line = next(line for line in ax.lines if line.get_label() == "probability")
    on_curve = np.interp(40.0, line.get_xdata(), line.get_ydata())
    assert on_curve == pytest.approx(release.predict_proba(x)[0, 1], abs=0.01)


def test_more_classes_have_a_line_each_with_its_name(outcomes):
    figure = drawn(outcomes["three, curve"].plot())
    assert {"low", "mid", "top"} <= set(labels(figure))
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 50]
    total = sum(np.asarray(line.get_ydata()) for line in lines)
    np.testing.assert_allclose(total, 1.0, atol=1e-9)


def test_a_rate_curve_has_its_interval_and_stays_readable(outcomes):
    release = outcomes["counts, curve"]
    figure = drawn(release.plot())
    ax = figure.axes[0]
    assert ax.get_ylabel() == "falls per unit of exposure"
    assert "rate (median)" in labels(figure)
    rate = release.predict(np.linspace(0, 80, 50)[:, None])
    assert rate.max() < ax.get_ylim()[1] <= 5.0 * rate.max()


SURE = "how sure: ± of the 95 % band"
MAPS = {
    "two, map": ("probability of label = yes", SURE),
    "three, map": ("most probable label", "how sure: probability of that class"),
    "counts, map": ("count per unit of exposure", SURE),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_of_outcomes_say_what_they_show(name, outcomes):
    figure = drawn(outcomes[name].plot())
    assert tuple(ax.get_title(loc="left") for ax in figure.axes[:2]) == MAPS[name]
    assert [ax.get_xlabel() for ax in figure.axes[:2]] == ["east", "east"]
    assert len(figure.axes) == 4 + 2 * (3 if name == "three, map" else 0)  # small ones, with scales
    if name == "three, map":
        scales = [[text.get_text() for text in ax.get_yticklabels()] for ax in figure.axes]
        assert ["low", "mid", "top"] in scales
    if name == "two, map":
        assert figure.axes[2].get_ylim() == (0.0, 1.0)
    if name == "counts, map":
        assert figure.axes[2].get_ylim()[0] >= 0.0


def test_pictures_of_outcomes_carry_the_guarantee_and_fit_into_an_axes(outcomes):
    for release in outcomes.values():
        text = " ".join(texts(drawn(plot_release(release))))
        assert "epsilon = 3" in text
        assert "NOT PRIVATE" not in text
        ax = Figure().subplots()
        assert plot_release(release, ax) is ax.figure
        assert "epsilon = 3" in " ".join(texts(drawn(ax.figure))).replace("\n", " ")


def test_rehearsals_of_outcomes_are_stamped_on_every_panel():
    models = (
        PrivateGPClassifier(classes=[0, 1], random_state=0, inducing=9),
        PrivateGPCountRegressor(cap=5, random_state=0, inducing=9),
    )
    for model in models:
        with pytest.warns(UserWarning, match="NOT private"):
            release = model.fit(X2, CODES2).release_
        figure = drawn(release.plot())
        stamps = [t for ax in figure.axes for t in ax.texts if t.get_text() == "NOT PRIVATE"]
        assert len(stamps) == 2


def test_plans_of_outcomes_can_be_drawn():
    plans = (
        PrivateGPClassifier(classes=[0, 1]).plan(X1),
        PrivateGPClassifier(classes=[0, 1, 2], inducing=9).plan(X2),
        PrivateGPCountRegressor(cap=5).plan(X1),
    )
    for plan in plans:
        figure = drawn(plan.plot(epsilons=(2.0,)))
        assert figure.axes[plan.points.shape[1] * 2 - 1].get_xlabel() == "epsilon"
        if plan.points.shape[1] == 1:
            assert {"added by privacy", "without privacy"} <= set(labels(figure))
        else:
            assert "noise for privacy" in figure.axes[0].get_title(loc="left")


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_of_many_inputs_have_a_panel_for_each_input(classes):
    kernel = 9.0 * RBF([4.0, 3.0, 30.0])
    model = PrivateGPClassifier(kernel, classes=[*range(classes)]).fit(X3, np.arange(60) % classes)
    figure = drawn(model.release_.plot())
    assert [ax.get_xlabel() for ax in figure.axes] == ["east", "north", "age"]
    curves = curves_of(figure.axes[0])
    if classes == 3:
        total = sum(np.asarray(line.get_ydata()) for line in curves)
        np.testing.assert_allclose(total, 1.0, atol=1e-9)
    assert np.all([(line.get_ydata() >= 0) & (line.get_ydata() <= 1) for line in curves])


def test_counts_of_many_inputs_have_a_panel_for_each_input():
    model = PrivateGPCountRegressor(RBF([4.0, 3.0, 30.0]), cap=5).fit(X3, CODES2)
    figure = drawn(model.release_.plot())
    assert [ax.get_xlabel() for ax in figure.axes] == ["east", "north", "age"]
    assert figure.axes[0].get_ylabel() == "count per unit of exposure"
