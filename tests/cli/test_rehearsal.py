"""Whatever can fail, fails before anything is spent."""

import errno

import pytest
from command_line import SPEND, fails, run

from cloakgp.cli import outputs
from cloakgp.cli.job import Job


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
