"""Whatever can fail, fails before anything is spent."""

import errno
import multiprocessing
import os
import signal

import pytest
from command_line import OUTPUTS, SPEND, fails, run

from cloakgp.app import outputs
from cloakgp.app import publish as rehearsal
from cloakgp.app.job import Job
from cloakgp.app.publish import draft_statement
from cloakgp.app.settings import gather_settings
from cloakgp.report.html import sections


@pytest.mark.parametrize("victim", ["write_file", "release_picture", "to_csv"])
def test_whatever_fails_in_writing_fails_in_the_rehearsal_unspent(
    data, tmp_path, monkeypatch, victim
):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs, victim, fail)
    monkeypatch.setattr(Job, "release", lambda *_: pytest.fail("private column opened"))
    out = tmp_path / "out"
    fails(run("release", data, *SPEND, "--out", out), "disk is full", "no privacy budget")
    assert not out.exists()


def test_the_statement_that_is_read_beforehand_is_the_one_that_is_published(data):
    settings = gather_settings({"inputs": "age", "output": "height", "bounds": "40,200"})
    job = Job.read(data, settings)
    plan = job.plan()
    drafted = sections(draft_statement(plan, settings.output))
    published = sections(job.release(plan).statement())
    titles = ["What was published", "What is protected", "What is not protected"]
    for title in (*titles, "What the figures mean"):
        assert drafted[title] == published[title]


def test_what_a_killed_rehearsal_left_is_removed_by_the_next(data, tmp_path):
    out = tmp_path / "out"

    def killed():
        Job.release = lambda *_: pytest.fail("private column opened")
        rehearsal.write_derived = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        run("release", data, *SPEND, "--out", out)

    child = multiprocessing.get_context("fork").Process(target=killed)
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    [left] = out.iterdir()
    assert left.name.startswith(rehearsal.SCRATCH_PREFIX)
    (out / f"{rehearsal.SCRATCH_PREFIX}of020").mkdir()
    result = run("release", data, *SPEND, "--out", out)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == OUTPUTS


def test_the_folder_of_a_rehearsal_that_goes_on_is_left_alone(tmp_path):
    with rehearsal._scratch(tmp_path) as mine:
        with rehearsal._scratch(tmp_path) as other:
            assert mine.exists()
            assert other != mine
        assert [*tmp_path.iterdir()] == [mine]
    assert not [*tmp_path.iterdir()]
