"""Pictures of public inputs and plans, as SVG that is well-formed whatever columns are called."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.web.pictures import ledger_picture, noise_picture, people_picture

NASTY = "<script>&\"'"


def inputs(columns, rows=30):
    values = np.random.default_rng(1).normal(50.0, 20.0, (rows, columns))
    return pd.DataFrame(values, columns=[NASTY, "b", "c"][:columns])


@pytest.mark.parametrize("columns", [1, 2])
def test_people_are_drawn_with_names_escaped_and_a_frame_for_the_script(columns):
    svg = ET.fromstring(people_picture(inputs(columns)))
    assert json.loads(svg.get("data-choose"))[0] == NASTY
    assert len(svg.get("data-frame").split()) == 8
    assert len(svg.findall(".//rect" if columns == 1 else ".//path[@class='dots']")) >= 1


def test_every_person_is_in_the_histogram():
    heights = [3.0] * 7 + [5.0] * 2
    svg = ET.fromstring(people_picture(pd.DataFrame({"age": heights})))
    tall = sorted(float(bar.get("height")) for bar in svg.findall(".//rect"))
    assert len(tall) == 2
    assert tall[1] / tall[0] == pytest.approx(3.5, rel=0.02)


def test_more_than_two_inputs_have_no_picture_to_choose_from():
    assert people_picture(inputs(3)) is None


def test_people_at_one_place_are_drawn():
    ET.fromstring(people_picture(pd.DataFrame({"age": [3.0, 3.0]})))


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_noise_of_a_plan_is_drawn(columns):
    plan = PrivateGPRegressor(900 * RBF(20.0), bounds=(0, 100)).plan(inputs(columns))
    svg = ET.fromstring(noise_picture(plan, NASTY))
    assert NASTY in svg.find("title").text
    circles = svg.findall(".//circle")
    assert len(circles) == (len(plan.points) if columns == 2 else 0)


def test_one_point_is_drawn_and_labels_are_measured_in_log_odds():
    model = PrivateGPClassifier(9 * RBF(20.0), classes=["no", "yes"])
    plan = model.plan(inputs(1), at=inputs(1, rows=1))
    picture = noise_picture(plan, "ill")
    assert "ill, log-odds" in picture
    ET.fromstring(picture)


@pytest.mark.parametrize(("requested", "share"), [(0.5, 0.25), (2.0, 1.0), (3.0, 1.0)])
def test_the_bar_of_the_ledger_is_as_long_as_the_cost(requested, share):
    svg = ET.fromstring(ledger_picture(requested, 2.0))
    whole, part = svg.findall("rect")
    assert float(part.get("width")) == pytest.approx(share * float(whole.get("width")))
    assert part.get("class") == ("cell-bad" if requested > 2.0 else "cell-coin")


def test_an_empty_ledger_allows_nothing():
    ET.fromstring(ledger_picture(1.0, 0.0))
