"""What all pictures share: panels, and names drawn as they are."""

import pytest
from matplotlib.figure import Figure

from cloakgp.plot.canvas import axis_label, finish, panels


@pytest.mark.parametrize(
    ("name", "label"),
    [("age", "age"), ("$x$", r"\$x\$"), ("a\nb", "a?b"), ("x" * 70, "x" * 59 + "…")],
    ids=["plain", "formula", "two lines", "long"],
)
def test_names_are_drawn_as_they_are_or_shortened(name, label):
    assert axis_label(name) == label


@pytest.mark.parametrize(("each", "across"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (10, 3)])
def test_every_output_has_its_panels_in_rows(each, across):
    figure, rows = panels(None, 2, each)
    assert [len(row) for row in rows] == [each, each]
    assert len(figure.axes) == 2 * each  # none is empty
    assert figure.axes[0].get_gridspec().ncols == across


def test_as_many_panels_are_drawn_as_are_given():
    _, [[only]] = panels(None, 1, 1)
    assert panels(only, 1, 1) == panels(only, 1, 3) == (only.figure, [[only]])
    figure = Figure()
    four = figure.subplots(2, 2)
    assert panels(four, 2, 2) == (figure, [[*four[0]], [*four[1]]])
    assert panels(four[0], 2, 2) == (figure, [[four[0][0]], [four[0][1]]])
    for given, outputs, each in ((only, 2, 1), (four, 1, 3), ([], 1, 1), (four.ravel()[:3], 2, 2)):
        with pytest.raises(ValueError, match="ax must be one Axes for each panel"):
            panels(given, outputs, each)


def test_a_long_line_below_is_broken_and_a_label_is_in_the_legend_once():
    figure, rows = panels(None, 1, 2)
    for ax in rows[0]:
        ax.plot([0, 1], [0, 1], label="curve")
    finish(figure, rows, "word " * 60, private=True)
    assert max(len(line) for line in figure.get_supxlabel().split("\n")) < 200
    assert figure.get_supxlabel().count("\n") >= 1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["curve"]


def test_what_is_embedded_says_everything_in_its_panel():
    ax = Figure().subplots()
    ax.plot([0, 1], [0, 1], label="curve")
    ax.set_title("of somebody else")
    finish(ax.figure, [[ax]], "guarantee", private=True, embedded=True)
    assert ax.get_legend().get_title().get_text() == "guarantee"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["curve"]
    assert ax.get_title() == "of somebody else"
    assert ax.get_title(loc="left") == ""
    assert not ax.figure.legends


def test_a_legend_inside_a_small_panel_lies_above_what_is_drawn():
    figure = Figure(figsize=(5.0, 3.0))
    ax = figure.subplots()
    for number in range(5):
        ax.plot([0, 1], [number, 4.0], label=f"one of several curves, number {number}")
    finish(figure, [[ax]], "word " * 40, private=True, embedded=True)
    figure.draw_without_rendering()
    foot = ax.transData.inverted().transform(ax.get_legend().get_window_extent())[0, 1]
    assert 4.0 < foot < 6.0
    assert max(ax.get_yticks()) <= 4.5
