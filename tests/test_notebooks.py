"""What a fresh notebook shows: cards and pictures, by themselves, in Jupyter's own kernel."""

import base64
import html.parser
import io
import json
import re
import warnings
from pathlib import Path

import matplotlib.image
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from cloakgp import (
    BoundsGrid,
    NotPrivateWarning,
    PrivateGPRegressor,
    PrivateGridSearch,
    private_bounds,
)
from cloakgp.datasets import make_heights

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
PEOPLE = make_heights(200)

CELLS = """
from cloakgp import PrivateGPRegressor, private_bounds
from cloakgp.datasets import make_heights
people = make_heights(200)
model = PrivateGPRegressor(bounds=(40, 200))
plan = model.plan(people[["age"]])
plan
---
plan.plot(epsilons=())
---
release = model.fit(people[["age"]], people["height_cm"], plan=plan).release_
release
---
release.plot()
---
release.check()
---
release.verify()
---
private_bounds(people["height_cm"], [0, 50, 100, 150, 200, 250], 5.0)
"""


def run(notebook, folder):
    """Run a notebook in a kernel of its own, and return what each cell of code shows."""
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own connection
        client.execute()
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown.append([output.data for output in cell.outputs if "data" in output])
    return shown


def pixels(data):
    image = matplotlib.image.imread(io.BytesIO(base64.b64decode(data["image/png"])))
    return image[..., :3]


@pytest.mark.slow
def test_a_fresh_notebook_shows_cards_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS.split("---")]
    shown = run(nbformat.v4.new_notebook(cells=cells), tmp_path)
    assert [len(outputs) for outputs in shown] == [1] * len(cells)
    plan, planned, release, drawn, check, verified, bounds = (outputs[0] for outputs in shown)
    for card in (plan, release, check, verified, bounds):
        assert len(card["text/html"]) < 6000
        assert len(card["text/plain"]) < 2000
    for picture in (planned, drawn):
        assert np.ptp(pixels(picture)) > 0.9  # something is drawn, on white
    assert "epsilon=1" in plan["text/plain"]
    assert "height_cm" in release["text/html"]


@pytest.mark.slow
def test_a_notebook_of_the_gallery_shows_its_pictures(tmp_path):
    script = GALLERY / "plot_12_categories_and_dates.py"
    settings = {"notebook_images": False, "promote_jupyter_magic": False}
    settings |= {"first_notebook_cell": None, "last_notebook_cell": None, "pypandoc": False}
    blocks = split_code_and_text_blocks(str(script))[1]
    made = jupyter_notebook(blocks, settings, str(script.parent))
    shown = run(nbformat.reads(json.dumps(made), as_version=4), tmp_path)
    pictures = [data for outputs in shown for data in outputs if "image/png" in data]
    calls = re.findall(r"\.plot\(\)$|plt\.show\(\)", script.read_text(), re.M)
    assert len(pictures) == len(calls) >= 2


class Tags(html.parser.HTMLParser):
    """Counts tags, so that what is open is closed and nothing unwanted is there."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        assert not any(name.startswith("on") for name, _ in attrs)
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def things(name):
    """Return everything that has a card, with one input of this name."""
    people = PEOPLE.rename(columns={"age": name})
    X, y = people[[name]], people["height_cm"].rename(name + "!")
    model = PrivateGPRegressor(bounds=(40, 200))
    release = model.fit(X, y).release_
    grid = [0, 50, 100, 150, 200, 250]
    search = PrivateGridSearch(model, {"noise_variance": [25.0, 100.0]}, cv=2)
    return [
        *(model.plan(X), release, release.check(), release.verify()),
        *(private_bounds(y, grid, 5.0), BoundsGrid(grid).plan(200, 5.0), search.plan(X)),
    ]


def test_cards_are_plain_html_and_escape_every_name():
    name = "<img src=x onerror=alert(1)>\x1b[31m & co"
    for thing in things(name):
        tags = Tags()
        tags.feed(thing._repr_html_())
        assert tags.open == []
        assert tags.seen <= {"div", "details", "summary", "pre"}
        assert "\x1b" not in thing._repr_html_()
        assert len(repr(thing)) < 2000


def test_cards_take_their_colours_from_the_page():
    """The words have the colour of the page, light or dark; nothing has a background."""
    for thing in things("age"):
        styles = re.findall(r'style="([^"]*)"', thing._repr_html_())
        assert styles
        for style in styles:
            assert re.findall(r"background:(?!none)", style) == []
            assert re.findall(r"(?:^|;)color:(?!inherit)", style) == []  # none of them warns


def test_a_card_warns_where_there_is_no_guarantee():
    model = PrivateGPRegressor(bounds=(40, 200), random_state=0)
    with pytest.warns(NotPrivateWarning):
        model.fit(PEOPLE[["age"]], PEOPLE["height_cm"])
    card = model.release_._repr_html_()
    assert "NOT PRIVATE" in card
    assert "color:#D55E00" in card
