"""Repeated private runs as squares: for studies of the method."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from cloakgp.plot.hinton import plot_hinton

GRID = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0)), axis=-1).reshape(12, 2)


def test_a_hinton_picture_has_a_square_for_each_run_sized_by_how_sure_it_was():
    P = np.random.default_rng(0).uniform(size=(7, 12))
    P[0], P[1] = 1.0, 0.5
    figure = plot_hinton(GRID, P, names=("east", "north"), classes=("no", "yes"))
    figure.savefig(BytesIO(), format="png", dpi=40)
    ax = figure.axes[0]
    squares = [path for c in ax.collections for path in c.get_paths()]
    assert 6 * 12 <= len(squares) <= 7 * 12  # a run that does not know has no square to speak of
    widths = np.sort([np.ptp(path.vertices[:, 0]) for path in squares])
    assert widths[-1] == pytest.approx(widths[-12])  # the twelve that are certain are the largest
    assert widths[0] < 0.2 * widths[-1]
    assert ax.get_xlabel() == "east"
    assert {"no", "yes"} <= {
        word for text in figure.findobj(Text) for word in text.get_text().split()
    }
    # squares of one point do not reach into the next
    assert widths[-1] < 1.0 / 3.0
    inside = Figure().subplots()
    assert plot_hinton(GRID, P, ax=inside) is inside.figure


@pytest.mark.parametrize(
    ("points", "P"),
    [
        (GRID, np.full((3, 11), 0.5)),
        (GRID[:, :1], np.full((3, 12), 0.5)),
        (GRID, np.full(12, 0.5)),
        (GRID, np.full((3, 12), 1.5)),
        (GRID, np.full((3, 12), np.nan)),
    ],
)
def test_a_hinton_picture_needs_probabilities_at_points(points, P):
    with pytest.raises(ValueError, match="probabilities"):
        plot_hinton(points, P)
