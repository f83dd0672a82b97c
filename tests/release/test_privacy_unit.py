"""Whom a guarantee protects is called by one word, in every sentence, picture and file."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from cloakgp import PrivateGPRegressor, Release
from cloakgp.plot.canvas import guarantee
from cloakgp.release.privacy_unit import PERSON, PrivacyUnit
from cloakgp.report.page import report_page
from cloakgp.report.registry import registry_entry

X = pd.DataFrame({"rooms": np.linspace(1.0, 5.0, 60)})
OWNERS = np.arange(60) // 2
Y = pd.Series(np.linspace(0.0, 9.0, 60), name="kWh")
HOME = PrivacyUnit("home", "homes")


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("person", ("person", "people")),
        ("home", ("home", "homes")),
        ("company", ("company", "companies")),
        ("business", ("business", "businesses")),
        (("Haus", "Häuser"), ("Haus", "Häuser")),
        (["care home", "care homes"], ("care home", "care homes")),
    ],
)
def test_a_word_has_a_plural(unit, words):
    assert PrivacyUnit.of(unit) == words


@pytest.mark.parametrize(
    "unit", ["", None, 3, "a<b>", "home\n", ("a", "b", "c"), ("a", 1), "x" * 99]
)
def test_what_is_no_word_is_refused(unit):
    with pytest.raises(ValueError, match="unit must be a word"):
        PrivateGPRegressor(bounds=(0, 10), unit=unit).plan(X)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Somebody with several rows is one.", "A home with several rows is one."),
        ("Who is in the data, in people.", "Which homes are in the data, in homes."),
        ("knows everybody else's values", "knows all other homes' values"),
        ("somebody who knows all of everybody else.", "somebody who knows all of all other homes."),
        ("one person's rows, each another person's", "one home's rows, each another home's"),
        ("where nobody is; single people's values", "where no home is; single homes' values"),
        ("a person who may; people who own several", "a home that may; homes that own several"),
        ("**people** of `person.csv` per person", "**people** of `person.csv` per home"),
        ("Anybody who has it and persona stay.", "Anybody who has it and persona stay."),
    ],
)  # fmt: skip
def test_sentences_about_people_are_told_of_homes(said, told):
    assert HOME.told(said) == told
    assert PERSON.told(said) == said


def test_names_of_columns_stay():
    assert HOME.told("by people, of person_id and person", ["people", "person_id"]) == (
        "by people, of person_id and home"
    )
    assert PrivacyUnit.of("office").told("A person and a person.") == "An office and an office."


@pytest.fixture(scope="module")
def release():
    model = PrivateGPRegressor(bounds=(0, 10), unit="home")
    return model.fit(X, Y, groups=OWNERS).release_


WORDS = re.compile(r"\b(person|people|everybody|nobody)\b", re.IGNORECASE)


def test_a_plan_is_about_homes_from_the_summary_to_the_card():
    plan = PrivateGPRegressor(bounds=(0, 10), unit="home").plan(X)
    told = plan.summary() + repr(plan) + plan._repr_html_() + guarantee(plan.spec, True, 1.0)
    assert WORDS.findall(told) == []
    assert "60 rows, each taken to be another home's" in told


def test_a_release_says_homes_wherever_it_speaks(release):
    told = [release.statement(), repr(release), guarantee(release.spec, True, 1.0)]
    told += [check.detail for check in release.verify().checks]
    for text in told:
        assert WORDS.findall(text) == []
    assert "30 homes" in told[0]


def test_a_page_and_an_entry_of_the_registry_say_homes(release):
    page = report_page(release)
    seen = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", page)
    seen = seen.replace("people.csv", "").replace("nobody who reads the release", "")
    assert WORDS.findall(seen) == []
    entry = registry_entry(release)
    assert entry["deployment"]["privacy_loss"]["privacy_unit"] == "Home, with all of its rows"


def test_a_file_keeps_the_word_and_says_none_of_people(release, tmp_path):
    release.save(tmp_path / "a.cloakgp")
    loaded = Release.load(tmp_path / "a.cloakgp")
    assert loaded.spec.privacy_unit == HOME
    assert loaded.statement() == release.statement()
    manifest, _ = release.contents()
    assert manifest["privacy_unit"] == ("home", "homes")
    plain = PrivateGPRegressor(bounds=(0, 10)).fit(X, Y).release_
    assert "privacy_unit" not in plain.contents()[0]
    with pytest.raises(ValueError, match="one protects each home, the other each person"):
        Release.combine([release, plain])


def test_whole_rows_of_homes_are_homes_in_their_pictures_too():
    model = PrivateGPRegressor(
        bounds=(0, 10), protect="rows", box={"rooms": (0, 9)}, unit="home", epsilon=9.0
    )
    release = model.fit(X, Y).release_
    figure = release.plot()
    said = " ".join(text.get_text() for text in figure.findobj(Text))
    page = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", report_page(release))
    page = (
        page.replace("people.csv", "")
        .replace("nobody who reads the release", "")
        .replace("people = 60", "")
    )
    assert "homes per unit of rooms" in said
    assert WORDS.findall(said + release.statement() + page) == []
