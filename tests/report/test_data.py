"""What the script is given: a model where it can compute, else a grid; never a way out of JSON."""

import json

import numpy as np
import pytest
from report_cases import CASES, case

from cloakgp.drawing.predictions import predictions_of
from cloakgp.drawing.views import describe_inputs
from cloakgp.release import posterior as outcomes
from cloakgp.report import model as room
from cloakgp.report.model import as_json, page_data


def of(name):
    return page_data(predictions_of(case(name)), describe_inputs(case(name).facts))


@pytest.mark.parametrize("name", CASES)
def test_what_can_be_computed_needs_no_grid(name):
    data = of(name)
    assert data["model"] is not None
    assert data["grid"] is None
    assert len(data["bounds"]) == len(data["names"])


def test_a_grid_holds_the_predictions_of_its_points():
    release = case("Gibbs")
    data = of("Gibbs")
    assert data["model"] is None
    (side,), (series,) = data["grid"]["sides"], data["grid"]["series"]
    np.testing.assert_allclose(series["value"], release.predict(np.array(side)[:, None]), rtol=1e-6)
    assert side[0] < release.facts.X.min()
    assert side[-1] > release.facts.X.max()


def test_more_than_two_inputs_have_no_grid(monkeypatch):
    monkeypatch.setattr(room, "page_model", lambda release: None)
    data = of("three inputs")
    assert data["model"] is data["grid"] is None


def test_no_name_can_end_the_element_that_holds_the_json():
    data = of("nasty")
    assert "<script>" in data["inputs"][0]["name"]
    written = as_json(data)
    assert "<" not in written
    assert json.loads(written)["inputs"] == data["inputs"]


def test_counts_are_integrated_over_as_many_nodes_as_in_python():
    assert room.NODES == outcomes.NODES
    assert sum(of("counts")["hermite"]["weight"]) == pytest.approx(1.0)
