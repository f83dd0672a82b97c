"""Every kind of release has its picture, with what it shows in words."""

import re

import pytest
from report_cases import case

from cloakgp.drawing import views
from cloakgp.drawing.predictions import predictions_of
from cloakgp.drawing.views import describe_inputs
from cloakgp.report.figures import SIDE, attacker, figures, shown_inputs
from cloakgp.report.html import Html


def drawn(name):
    release = case(name)
    return figures(predictions_of(release), describe_inputs(release.facts), Html("<i>ask</i>"))


@pytest.mark.parametrize("name", ["stationary", "map", "three classes", "three inputs", "counts"])
def test_there_is_a_picture_that_the_script_finds_and_one_place_to_ask(name):
    made = drawn(name)
    assert "data-varies" in made
    assert made.count("<i>ask</i>") == 1
    assert "NaN" not in made
    assert "nan" not in made


def test_several_outputs_have_a_picture_each():
    assert drawn("two outputs").count("<figure>") == 2


def test_classes_share_a_picture():
    assert drawn("three classes").count("<figure>") == 1


def test_a_map_has_another_beside_it_that_says_how_sure_it_is():
    for name in ("map", "two classes, map", "three classes, map", "counts, map"):
        made = drawn(name)
        small = 3 if name == "three classes, map" else 0  # one for each class
        assert made.count('data-varies="0 1"') == 2 + small
        assert "How sure" in made


def test_more_inputs_have_a_panel_each_and_say_where_the_others_are():
    made = drawn("three inputs")
    assert made.count("<svg") - made.count('viewBox="0 0 22 12"') == 3
    assert "Medians: east" in made


def test_of_too_many_inputs_the_page_says_which_are_shown(monkeypatch):
    monkeypatch.setattr(views, "MAX_PANELS", 2)
    release = case("three inputs")
    assert "the 2 of 3 inputs along which" in drawn("three inputs")
    assert len(shown_inputs(predictions_of(release), describe_inputs(release.facts))) == 2


def test_every_picture_of_a_trial_is_stamped():
    assert drawn("not private").count("NOT PRIVATE") == 2  # wide and narrow
    assert "NOT PRIVATE" not in drawn("curve")


@pytest.mark.parametrize("chance", [0.5, 0.554, 0.75, 1.0])
def test_the_orange_squares_add_up_to_what_the_release_adds(chance):
    drawn = attacker(chance)
    widths = re.findall(r'width="([\d.]+)" height="[\d.]+" class="cell-extra"', drawn)
    assert sum(map(float, widths)) / SIDE == pytest.approx(100.0 * chance - 50.0, abs=0.01)
    assert drawn.count('class="cell-coin"') == 50
