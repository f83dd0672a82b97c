"""The statement of a combination says what holds for whom, and every figure is that of the code."""

import numpy as np
import pandas as pd
import pytest
from combine_cases import PAIRS, chosen, fitted, heights, pair, people

from cloakgp import PrivateGPRegressor, Release
from cloakgp.release.combine.statement import for_whom, shown
from cloakgp.report.html import sections

TITLES = [
    *("What was published", "What is protected", "What is not protected", "What the figures mean"),
    *("What predictions assume", "How it was made", "How to check it"),
]


@pytest.mark.parametrize("name", PAIRS)
def test_a_statement_has_the_sections_of_any_other(name):
    both = Release.combine(pair(name))
    words = sections(both.statement())
    assert list(words)[-len(TITLES) :] == TITLES
    for member in pair(name):
        assert member.release_id in words["What was published"]
        assert f"epsilon = {member.epsilon:g}" in words["What was published"]
    assert f"epsilon = {both.epsilon:g} and delta = {both.delta:g}" in words[TITLES[3]]


@pytest.mark.parametrize(
    ("epsilon", "text"), [(0.1, "0.1"), (5.993, "5.993"), (1.46517, "1.466"), (1.0, "1")]
)
def test_figures_are_rounded_up_and_not_twice(epsilon, text):
    assert shown(epsilon) == text


def test_people_who_may_be_in_all_have_the_composition():
    both = Release.combine(pair("learnt"))
    said = sections(both.statement())["What the figures mean"]
    assert "in one of the releases alone is protected as that release says" in said
    assert "for a person who is in all of them" in said
    assert "may be in all" in for_whom(both)


def test_disjoint_people_have_the_largest_and_what_else_would_hold():
    members = pair("learnt")
    apart = Release.combine(members, people="disjoint")
    said = sections(apart.statement())["What the figures mean"]
    assert "says that nobody is in two" in said
    assert "the largest of the releases" in said
    assert f"epsilon = {Release.combine(members).epsilon:g} would hold" in said
    assert f"epsilon = {apart.epsilon:g} and" in said
    assert "if nobody is in two" in for_whom(apart)


def test_with_a_choice_only_what_any_guarantee_means_is_said():
    first, second = pair("gaussian, learnt")
    words = sections(Release.combine([chosen(first), second]).statement())
    assert "In odds" not in words["What the figures mean"]
    assert "private choice of its settings included" in words["What was published"]
    assert "In odds" in sections(Release.combine([first, second]).statement())[TITLES[3]]


def test_bounds_that_differ_are_said_release_by_release():
    said = sections(Release.combine(pair("bounds, noise, budgets")).statement())[TITLES[1]]
    assert "Release 1: Values count" in said
    assert "from 20 to 220" in said
    alike = sections(Release.combine(pair("learnt")).statement())[TITLES[1]]
    assert alike.count("Values count") == 1
    assert "Release 1" not in alike


def test_people_in_several_releases_make_bands_too_narrow_and_that_is_said():
    assert "somewhat too narrow" in sections(Release.combine(pair("learnt")).statement())[TITLES[4]]


def test_rows_without_owners_are_said_to_be_taken_for_people():
    words = sections(Release.combine(pair("learnt")).statement())
    assert "people, as each release counts them" in words["What was published"]
    assert words["What was published"].count("rows, each taken to be another person's") == 2
    assert "names no owners of rows" in words["What is protected"]


def test_owners_of_several_rows_are_mentioned():
    table = people(8)
    owned = fitted(
        PrivateGPRegressor(bounds=(40, 200)),
        table[["age"]],
        table["height"],
        groups=np.arange(60) // 2,
    )
    words = sections(Release.combine([owned, heights(1)]).statement())
    assert "belong to one person are protected together" in words["What is protected"]
    assert "Which rows belong to the same person" in words["What is not protected"]


def test_names_cannot_be_taken_for_markdown():
    table = people(1).rename(columns={"age": "*a*", "height": "[h](x)"})
    other = people(2).rename(columns={"age": "*a*", "height": "[h](x)"})
    members = [
        fitted(PrivateGPRegressor(bounds=(40, 200)), pd.DataFrame(t[["*a*"]]), t["[h](x)"])
        for t in (table, other)
    ]
    text = Release.combine(members).statement()
    assert "[h](x)" not in text
    assert "(**a*" not in text


def test_a_trial_promises_nothing():
    both = Release.combine([heights(s, random_state=s) for s in (1, 2)])
    words = both.statement()
    assert "THIS RELEASE IS NOT PRIVATE" in words
    assert "What the figures mean" not in words
    assert for_whom(both) == "none: these are trials"
