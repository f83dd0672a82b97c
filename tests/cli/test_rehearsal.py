"""Whatever can fail, fails before anything is spent."""

import errno

import pytest
from command_line import SPEND, fails, run

from cloakgp.cli import outputs
from cloakgp.cli.job import Job
from cloakgp.cli.rehearsal import draft_statement
from cloakgp.cli.settings import Settings
from cloakgp.release.report.words import sections


@pytest.mark.parametrize("victim", ["write_file", "picture_of_release", "to_csv"])
def test_whatever_fails_in_writing_fails_in_the_rehearsal_unspent(
    data, tmp_path, monkeypatch, victim
):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs, victim, fail)
    monkeypatch.setattr(Job, "draw", lambda *_: pytest.fail("private column opened"))
    out = tmp_path / "out"
    fails(run("release", data, *SPEND, "--out", out), "disk is full", "no privacy budget")
    assert not out.exists()


def test_the_statement_that_is_read_beforehand_is_the_one_that_is_published(data):
    settings = Settings.gather({"inputs": "age", "output": "height", "bounds": "40,200"})
    job = Job.read(data, settings)
    plan = job.plan()
    drafted = sections(draft_statement(plan, settings.output))
    published = sections(job.draw(plan).statement())
    titles = ["What was published", "What is protected", "What is not protected"]
    for title in (*titles, "What the figures mean"):
        assert drafted[title] == published[title]
