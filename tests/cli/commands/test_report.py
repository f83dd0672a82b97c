"""``cloakgp report`` writes one page, and an entry for the registry, from a release file alone."""

import pytest
from command_line import SPEND, fails, run
from report_cases import case

from cloakgp import Release
from cloakgp.release import SignatureCheck
from cloakgp.report.page import report_page
from cloakgp.report.registry import registry_yaml


def test_report_writes_the_page_of_a_release_file(saved, tmp_path):
    out = tmp_path / "report.html"
    result = run("report", saved, "--out", out)
    assert result.exit_code == 0, result.output
    unsigned = SignatureCheck("not signed", "there is no release.cloakgp.sig beside it")
    assert out.read_text() == report_page(Release.load(saved), unsigned)
    assert "open it in a browser" in result.stdout


def test_report_describes_the_release_for_the_registry(saved, tmp_path):
    out, entry = tmp_path / "report.html", tmp_path / "entry.yaml"
    result = run("report", saved, "--out", out, "--registry", entry)
    assert result.exit_code == 0, result.output
    assert entry.read_text() == registry_yaml(Release.load(saved))
    assert out.exists()


def test_every_release_has_its_page_beside_it(data, tmp_path):
    assert run("release", data, *SPEND, "--out", tmp_path / "out").exit_code == 0
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert (tmp_path / "out" / "report.html").read_text() == report_page(release)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "report.txt"), "must end in .html"),
        (("--out", "report.html", "--registry", "entry.json"), "must end in .yaml or .yml"),
        (("--out", "none/report.html"), "there is no folder"),
    ],
)
def test_files_that_cannot_be_written_are_refused_at_once(saved, words, message):
    fails(run("report", saved, *words), message)


def test_a_page_that_exists_is_kept_unless_forced(saved, tmp_path):
    out = tmp_path / "report.html"
    out.write_text("old")
    fails(run("report", saved, "--out", out), "exists")
    assert out.read_text() == "old"
    assert run("report", saved, "--out", out, "--force").exit_code == 0
    assert out.read_text() != "old"


def test_a_trial_needs_a_word_more_and_has_no_entry(tmp_path):
    trial, out = tmp_path / "trial.cloakgp", tmp_path / "report.html"
    case("not private").save(trial)
    fails(run("report", trial, "--out", out), "NOT private", "--not-private")
    assert not out.exists()
    assert run("report", trial, "--out", out, "--not-private").exit_code == 0
    assert "THIS RELEASE IS NOT PRIVATE" in out.read_text()
    entry = ("--registry", tmp_path / "entry.yaml", "--not-private", "--force")
    fails(run("report", trial, "--out", out, *entry), "no place in a registry")


def test_what_is_no_release_file_has_no_page(tmp_path):
    (tmp_path / "x.cloakgp").write_text("nothing")
    fails(run("report", tmp_path / "x.cloakgp", "--out", tmp_path / "x.html"), "refused")
