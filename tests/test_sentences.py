"""What is said under outputs and under whole rows: every sentence that has to change does."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.report.evaluation import answers
from cloakgp.report.page import report_page
from cloakgp.report.registry import registry_yaml

RNG = np.random.default_rng(2)
X = pd.DataFrame({"age": RNG.uniform(0, 90, 80), "site": RNG.choice(["north", "south"], 80)})
Y = (100 + X["age"] / 2).rename("height")
BOX = {"age": (0, 90), "site": ["north", "south"]}
SETTINGS = {
    "outputs": {},
    "replace": {"protect": "rows", "neighbours": "replace"},
    "add-remove": {"protect": "rows", "neighbours": "add-remove"},
}
MODELS = (
    (PrivateGPRegressor, ["age"], Y, {"bounds": (40, 200)}),
    (
        PrivateGPClassifier,
        ["age", "site"],
        np.where(Y > 120, "yes", "no"),
        {"classes": ["no", "yes"]},
    ),
)
#: What is said of public inputs, of values instead of rows, and of where nobody is.
OF_OUTPUTS = (
    r"public inputs?\b",
    r"(?<!box of the )inputs?\b[^.]*\b(are|is) public",
    r"by the inputs alone",
    r"nobody is near",
    r"(else's|two|private) values",
    r"known? (the|everybody else's) values",
    r"among the public",
    r"taken from public columns",
    r"inputs in it were not compared",
    r"for the inputs",
)
#: What is public under whole rows, in words that speak of it.
PUBLIC = (
    "public facts",
    "public box",
    "public bounds",
    "public priors",
    "public registry",
    "labels and caps are public",
    "The possible labels are public",
    "stated to be public, and not chosen from the private outputs",
    "The box of the inputs is public",
    "public, and stated beforehand",
    "Every public step",
    "public number",
    "settings",
)


@pytest.fixture(scope="module", params=SETTINGS)
def said(request):
    """Every sentence of plans and releases under a setting."""
    kind, own, texts = request.param, SETTINGS[request.param], []
    patch = pytest.MonkeyPatch()
    patch.setattr("cloakgp.data.box.MOST_BINS", 48)
    for make, names, y, more in MODELS:
        box = {"box": {name: BOX[name] for name in names}} if own else {}
        people = {"people": 80} if own else {}
        model = make(RBF(20.0), mechanism="laplace", **more, **own, **box)
        plan = model.plan(X[names], **people)
        release = model.fit(X[names], y, plan=plan).release_
        texts += [repr(plan), plan.summary(), plan._repr_html_(), repr(release)]
        texts += [release.statement(), report_page(release), registry_yaml(release)]
        texts += [str(release.verify()), release._repr_html_()]
        texts += [answer for _, answer in answers(release, release.verify())]
        texts += drawn(release.plot()) + drawn(plan.plot(epsilons=()))
    patch.undo()
    return kind, {sentence for text in texts for sentence in sentences(text)}


def drawn(figure):
    """All words of a picture."""
    found = [each.get_text() for each in figure.findobj(match=lambda a: hasattr(a, "get_text"))]
    for ax in figure.axes:
        found += ax.get_legend_handles_labels()[1]
    return found


def sentences(text):
    """Return the sentences of a text, without marks, numbers and addresses."""
    text = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.S)
    text = re.sub(r"data:[\w/;+,=.-]*|[`*]", "", unescape(re.sub(r"<[^>]*>", "\n", text)))
    text = re.sub(r"\n(?! *[-#]|\n)", " ", text)
    return {part.strip(" -#>\n") for part in re.split(r"(?<=[.:?;]) |\n", text)} - {""}


def test_no_sentence_of_whole_rows_says_that_inputs_are_public(said):
    kind, found = said
    wrong = {s for s in found for pattern in OF_OUTPUTS if re.search(pattern, s)}
    if kind == "outputs":
        seen = {p for p in OF_OUTPUTS if any(re.search(p, s) for s in found)}
        assert len(seen) >= 5  # or these patterns find nothing anywhere
    else:
        assert wrong == set()


def test_what_is_called_public_under_whole_rows_is_on_the_list(said):
    kind, found = said
    public = {s for s in found if re.search(r"\bpublic\b", s)}
    if kind == "outputs":
        return
    unknown = {s for s in public if not any(part in s for part in PUBLIC)}
    assert unknown - {"How many people there are is public."} == set()
    assert ("How many people there are is public." in found) == (kind == "replace")


def test_every_text_names_its_neighbours(said):
    kind, found = said
    told = {"replace": "replacing one person's row", "add-remove": "adding or removing one"}
    for each, words in told.items():
        assert (sum(words in s for s in found) >= 5) == (each == kind)
    if kind == "add-remove":
        assert not [s for s in found if re.search(r"replac(ed|ing) ", s)]
        assert not [s for s in found if re.search(r"^Who is in the data", s)]
