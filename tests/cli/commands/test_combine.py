"""``cloakgp combine`` writes one file from several, which every other command reads."""

import json

import numpy as np
import pytest
from combine_cases import KERNEL, heights, pair
from command_line import fails, run

from cloakgp import Release


@pytest.fixture
def two(tmp_path):
    paths = tmp_path / "north.cloakgp", tmp_path / "south.cloakgp"
    for path, release in zip(paths, pair("learnt"), strict=True):
        release.save(path)
    return paths


@pytest.fixture
def both(two, tmp_path):
    out = tmp_path / "both.cloakgp"
    result = run("combine", *two, "--out", out)
    assert result.exit_code == 0, result.output
    assert "2 releases" in result.stdout
    assert "nothing was spent" in result.stdout
    assert "may be in all of them" in result.stdout
    return out


def test_the_file_is_that_of_python(both):
    expected = Release.combine(pair("learnt"))
    found = Release.load(both)
    np.testing.assert_array_equal(found.predict([[30.0]]), expected.predict([[30.0]]))
    assert found.total_epsilon == expected.total_epsilon


def test_every_command_reads_it(both, tmp_path):
    result = run("verify", both)
    assert result.exit_code == 0
    assert "release 2" in result.stdout
    facts = json.loads(run("verify", both, "--json").stdout)
    assert facts["ok"]
    assert facts["people"] == 100
    table = run("predict", both, "--at", "age=0:80:3").stdout.splitlines()
    assert table[0].startswith("age,height,height_std")
    assert len(table) == 4
    page = tmp_path / "both.html"
    assert run("report", both, "--out", page).exit_code == 0
    assert "2 differentially private releases, read together" in page.read_text()
    fails(
        run("report", both, "--out", tmp_path / "x.html", "--registry", tmp_path / "x.yaml"),
        "no deployment",
    )
    ages = tmp_path / "ages.csv"
    ages.write_text("age\n1\n2\n")
    fails(run("verify", both, "--inputs", ages), "belong to one release")


def test_disjoint_people_are_stated_and_json_says_all(two, tmp_path):
    out = tmp_path / "both.cloakgp"
    facts = json.loads(run("combine", *two, "--out", out, "--disjoint", "--json").stdout)
    assert (facts["epsilon"], facts["disjoint"], facts["people"]) == (2.0, True, 100)
    assert facts["releases"] == [m.release_id for m in Release.load(out).members]


def test_a_combination_and_a_release_make_a_larger_one(both, tmp_path):
    third, out = tmp_path / "third.cloakgp", tmp_path / "all.cloakgp"
    heights(3).save(third)
    assert run("combine", both, third, "--out", out).exit_code == 0
    assert len(Release.load(out).members) == 3


def test_what_cannot_be_combined_is_refused_in_words_of_the_command_line(two, both, tmp_path):
    out, fixed = tmp_path / "out.cloakgp", tmp_path / "fixed.cloakgp"
    heights(3, KERNEL).save(fixed)
    fails(run("combine", two[0], both, "--out", out), "releases 1 and 2 are the same one")
    fails(run("combine", two[0], "--out", out), "from two")
    fails(run("combine", two[0], fixed, "--out", out), "fixed one; say --learn to")
    assert not out.exists()
    assert run("combine", two[0], fixed, "--out", out, "--learn").exit_code == 0
    fails(run("combine", *two, "--out", both), "exists", "--force")
    fails(run("combine", *two, "--out", tmp_path / "x.zip"), ".cloakgp")
    fails(
        run("combine", two[0], tmp_path / "none", "--out", tmp_path / "y.cloakgp"), "No such file"
    )


def test_trials_need_a_word_more(tmp_path):
    paths = [tmp_path / f"{s}.cloakgp" for s in (1, 2)]
    for seed, path in enumerate(paths):
        heights(seed, random_state=seed).save(path)
    out = tmp_path / "both.cloakgp"
    fails(run("combine", *paths, "--out", out), "NOT private", "--not-private")
    assert not out.exists()
    assert run("combine", *paths, "--out", out, "--not-private").exit_code == 0
