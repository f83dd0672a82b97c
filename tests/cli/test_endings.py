"""Every end of a command is an exit code and one paragraph, without a private value."""

import pytest
from command_line import PLAN, SECRET, SPEND, fails, run

from cloakgp.cli import reports
from cloakgp.cli.job import Job


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_no_message_of_another_library_is_shown_while_private_values_are_open(
    data, tmp_path, monkeypatch, debug
):
    def blurt(*_):
        try:
            float(SECRET)
        except ValueError as error:
            raise RuntimeError(f"cannot convert {SECRET}") from error

    monkeypatch.setattr(Job, "draw", blurt)
    result = run(*debug, "release", data, *SPEND, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert SECRET not in result.output.replace('{SECRET}"', "")
    assert "unexpected error: RuntimeError" in result.stderr
    assert "no privacy budget" in " ".join(result.stderr.split())
    assert ("--debug" in result.stderr) is not bool(debug)
    assert ("in blurt" in result.stderr) is bool(debug)


def test_an_unexpected_error_is_named_and_explained_in_debug_only(data, monkeypatch):
    def fail(*_, **__):
        hidden = "a local variable"
        raise LookupError("odd") from ValueError(hidden)

    monkeypatch.setattr(reports, "best_guess", fail)
    text = fails(run("plan", data, *PLAN), "unexpected error: LookupError", "--debug")
    assert "odd" not in text
    shown = run("--debug", "plan", data, *PLAN).stderr
    assert "LookupError: odd" in shown
    assert "in fail" in shown
    assert "hidden = " not in shown


def test_an_error_of_the_system_without_a_number_is_only_named(data, tmp_path, monkeypatch):
    """Libraries raise OSError with words of their own, which may quote what they were reading."""

    def blurt(*_):
        raise OSError(f"cannot read {SECRET}")

    monkeypatch.setattr(Job, "draw", blurt)
    text = fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "error: OSError")
    assert SECRET not in text
