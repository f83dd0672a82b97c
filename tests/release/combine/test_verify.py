"""Checking a combination checks every release in it."""

import hashlib
from dataclasses import replace

import pytest
from combine_cases import heights, pair

from cloakgp import Release
from cloakgp.release.verify import CHECKS


def names(report, passed):
    return [check.name for check in report.checks if check.passed is passed]


def test_every_release_is_checked_and_named_by_the_hash_of_its_own_file(tmp_path):
    both = Release.combine(pair("learnt"))
    report = both.verify()
    assert report.ok
    assert names(report, True) == [
        *("release 1", "release 2", "together", "guarantee", "decoding", "privacy")
    ]
    for check, member in zip(report.checks, pair("learnt"), strict=False):
        member.save(tmp_path / "own.cloakgp")
        assert hashlib.sha256((tmp_path / "own.cloakgp").read_bytes()).hexdigest() in check.detail
        assert f"{len(CHECKS)} checks of {member.release_id}" in check.detail


@pytest.mark.parametrize("number", [1, 2])
def test_a_release_that_fails_is_named_with_the_reason(number):
    members = list(pair("learnt"))
    noisy = members[number - 1].noisy
    members[number - 1] = replace(
        members[number - 1], noisy=replace(noisy, sigma=0.9 * noisy.sigma)
    )
    report = Release.combine(members).verify()
    assert names(report, False) == [f"release {number}"]
    assert report.checks[number - 1].detail.startswith("noise: ")


def test_releases_that_do_not_belong_together_fail():
    first, second = pair("learnt")
    both = replace(Release.combine([first, second]), members=(first, first))
    assert "together" in names(both.verify(), False)


def test_warnings_name_the_release_that_they_are_about():
    first, second = pair("learnt")
    zeros = replace(second, noisy=replace(second.noisy, values=0 * second.noisy.values))
    report = Release.combine([first, zeros]).verify()
    assert report.warnings
    assert all(w.startswith("release 2: plausibility") for w in report.warnings)


def test_trials_are_said_to_be_trials():
    report = Release.combine([heights(s, random_state=s) for s in (1, 2)]).verify()
    assert names(report, False) == ["privacy"]


def test_that_nobody_is_in_two_releases_is_taken_on_trust():
    members = pair("learnt")
    assert "is the word of" in Release.combine(members, people="disjoint").verify().scope
    assert "is the word of" not in Release.combine(members).verify().scope
