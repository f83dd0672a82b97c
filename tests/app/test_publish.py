"""A release is saved the moment its noise is drawn, and only if it is private."""

import errno
import os
import signal
from dataclasses import replace

import pytest
from command_line import OUTPUTS, SELECT, SPEND, fails, people, run

from cloakgp import Release
from cloakgp.app import outputs
from cloakgp.app.job import Job
from cloakgp.app.tables.files import to_csv
from cloakgp.files import write_file


def test_what_is_not_private_is_never_written(data, tmp_path, monkeypatch):
    draw = Job.release

    def spoilt(job, plan, _):
        release = draw(job, plan)
        return replace(release, noisy=replace(release.noisy, private=False))

    monkeypatch.setattr(Job, "release", spoilt)
    out = tmp_path / "out"
    fails(run("release", data, *SPEND, "--out", out), "not be private", "no privacy budget")
    assert not out.exists()


def test_an_old_picture_is_replaced_and_three_inputs_have_one_too(tmp_path, drawn):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people().assign(a=range(40), b=range(40))))
    out = tmp_path / "out"
    out.mkdir()
    (out / "plot.png").write_text("old")
    words = ("--inputs", "age,a,b", "--output", "height", "--bounds", "40,200", "--yes", "--force")
    assert run("release", path, *words, "--out", out).exit_code == 0
    assert {path.name for path in out.iterdir()} == OUTPUTS
    assert (out / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_disk_that_fills_up_after_the_release_loses_nothing(data, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def fail_at_the_end(path, content):
        if path.parent == out:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_file(path, content)

    monkeypatch.setattr(outputs, "write_file", fail_at_the_end)
    fails(run("release", data, *SPEND, "--out", out), "disk is full", "WAS spent", "is complete")
    assert Release.load(out / "release.cloakgp").private


def test_an_error_after_the_file_is_in_place_counts_as_spent(data, tmp_path, monkeypatch):
    save = Release.save

    def save_then_fail(release, path):
        save(release, path)
        if release.private:
            raise OSError(errno.EIO, "the folder could not be synced")

    monkeypatch.setattr(Release, "save", save_then_fail)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "WAS spent")


def test_an_interrupt_while_saving_waits_until_the_release_is_whole(data, tmp_path, monkeypatch):
    save = Release.save
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(release, path):
        if release.private:
            os.kill(os.getpid(), signal.SIGINT)
        save(release, path)

    monkeypatch.setattr(Release, "save", interrupted)
    out = tmp_path / "out"
    result = run("release", data, *SPEND, "--out", out)
    signal.signal(signal.SIGINT, before)
    fails(result, "interrupted", "WAS spent", code=130)
    assert Release.load(out / "release.cloakgp").private


def failing(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("command", ["release", "select"])
def test_a_refused_release_leaves_no_folder(command, data, tmp_path, monkeypatch):
    words = SPEND if command == "release" else SELECT
    out = tmp_path / "deep" / "deeper"
    monkeypatch.setattr(Job, "release", failing)
    fails(run(command, data, *words, "--out", out), "disk is full", "no privacy budget was spent")
    assert not (tmp_path / "deep").exists()
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("precious")
    fails(run(command, data, *words, "--out", out), "disk is full")
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
