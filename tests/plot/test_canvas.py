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


def test_one_panel_may_be_given_and_no_more():
    _, [[only]] = panels(None, 1, 1)
    assert panels(only, 1, 1) == (only.figure, [[only]])
    for outputs, each in ((2, 1), (1, 2)):
        with pytest.raises(ValueError, match="one input and one output"):
            panels(only, outputs, each)


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
    finish(ax.figure, [[ax]], "guarantee", private=True, embedded=True)
    assert ax.get_title(loc="left") == "guarantee"
    assert ax.get_legend() is not None
    assert not ax.figure.legends
