"""The page is one file that names nothing outside of itself and says everything that it should."""

import base64
import hashlib
import html
import re
from dataclasses import replace

import numpy as np
import pytest
from report_cases import CASES, COMBINED, NASTY, ON_A_GRID, case

from cloakgp import PrivateGPRegressor, Release
from cloakgp.privacy import total_guarantee
from cloakgp.release import SignatureCheck
from cloakgp.release.spec import Chosen
from cloakgp.release.verify import Check, VerificationReport
from cloakgp.report import page as room
from cloakgp.report.page import report_page


def words_of(page):
    inside = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", inside))


@pytest.fixture(scope="module")
def page(written):
    return written("curve").read_text()


@pytest.mark.parametrize("name", [*CASES, *ON_A_GRID, *COMBINED])
def test_a_page_names_no_address_but_those_inside_of_it(written, name):
    page = written(name).read_text()
    assert page.startswith("<!DOCTYPE html>")
    for address in re.findall(r'(?:href|src|action|srcset)="([^"]*)"', page):
        assert address.startswith("data:")
    assert "@import" not in page
    assert "url(" not in page
    assert " style=" not in page


def test_the_policy_allows_our_style_and_script_by_their_hash_and_nothing_else(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    assert rules["default-src"] == "'none'"
    for rule, (content,) in (("script-src", scripts), ("style-src", styles)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["img-src"] == "data:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_the_page_says_what_was_published_and_what_it_means(page):
    said = " ".join(words_of(page).split())
    for part in (
        "height_cm by age",
        "of 90 rows, each taken to be another person's",
        "What is protected",
        "What is not protected",
        "98.3 %",
        "Tossing a coin gives 50 %",
        "as the model expects",
        "Every public step of the guarantee was worked out again",
        "one person can move the sketch",
        "Release.load",
        'output = ["height_cm"]',
        case("curve").release_id,
    ):
        assert part in said, part


def test_the_page_of_a_combination_says_what_it_combines(written):
    both, page = case("combined, learnt"), written("combined, learnt").read_text()
    said = " ".join(words_of(page).split())
    assert "2 differentially private releases, read together" in said
    assert "What it combines" in said
    assert "Do it again" not in said  # each release has settings of its own
    for member in both.members:
        assert f"{member.release_id}, made" in said
    assert f"epsilon {both.total_epsilon:g}" in said


def test_the_release_is_inside_the_page(page, tmp_path):
    data = re.search(r'href="data:application/zip;base64,([^"]*)" download="release', page)[1]
    path = tmp_path / "release.cloakgp"
    path.write_bytes(base64.b64decode(data))
    x = np.array([[30.0]])
    np.testing.assert_array_equal(Release.load(path).predict(x), case("curve").predict(x))


def test_nasty_names_are_words_everywhere(written):
    page = written("nasty").read_text()
    for name in NASTY:
        assert name not in page
        assert html.escape(name) in page
    assert page.count("<script") == 2


def test_a_trial_says_so_first_and_promises_nothing(written):
    said = words_of(written("not private").read_text())
    assert "THIS RELEASE IS NOT PRIVATE" in said
    assert "What is protected" not in said
    assert "Tossing a coin" not in said


def test_a_private_choice_is_part_of_the_guess():
    chosen = Chosen(0.5, "exponential", "absolute", 4, total_epsilon=4.4)
    said = words_of(report_page(replace(case("stationary"), selection=chosen)))
    assert "choice of settings and the release together" not in said  # its total is not true
    assert "THE GUARANTEE DOES NOT HOLD" in said
    total = total_guarantee([chosen.spend, *case("stationary").spends], 0.0)
    honest = replace(chosen, total_epsilon=total)
    said = words_of(report_page(replace(case("stationary"), selection=honest)))
    assert "choice of settings and the release together" in said


def test_what_verify_found_is_on_the_page(monkeypatch):
    bad = VerificationReport((Check("noise", False, "too <little>"),), ("far too quiet",))
    monkeypatch.setattr(Release, "checked", lambda release, signature: bad)
    said = words_of(report_page(case("stationary")))
    assert "THE GUARANTEE DOES NOT HOLD" in said
    assert "Tossing a coin" not in said
    assert "too <little>" in said
    assert "WARNING: far too quiet" in said


@pytest.mark.parametrize("status", ["signed", "refused", "not checked", "not signed"])
def test_the_page_says_of_the_signature_what_was_found(status):
    check = SignatureCheck(status, "a <reason>", "<office>", "a key")
    page = report_page(case("stationary"), check)
    assert f"When this page was made: {check}" in words_of(page)
    assert ("you have the signer's word" in words_of(page)) == (status == "signed")
    assert "<office>" not in page
    assert "THE GUARANTEE DOES NOT HOLD" not in page


def test_a_release_that_is_too_large_or_cannot_be_saved_is_not_in_its_page(monkeypatch):
    monkeypatch.setattr(room, "LARGEST_RELEASE", 10)
    page = report_page(case("stationary"))
    assert "application/zip" not in page
    assert "not in this page" in words_of(page)


def test_a_release_that_is_loaded_has_the_page_of_the_one_that_was_saved(tmp_path):
    path = tmp_path / "release.cloakgp"
    case("stationary").save(path)
    assert report_page(Release.load(path)) == report_page(case("stationary"))


def test_report_writes_the_page(tmp_path):
    path = tmp_path / "report.html"
    case("stationary").report(path)
    assert path.read_text() == report_page(case("stationary"))


def test_a_single_person_and_a_single_place_have_a_page():
    model = PrivateGPRegressor(bounds=(0, 1), epsilon=1.0)
    release = model.fit([[2.0]], [0.5]).release_
    assert "of 1 row, taken to be one person's" in words_of(report_page(replace(release)))
