"""The commands, their help, and the bare call."""

import pytest
from command_line import fails, run

import cloakgp


@pytest.mark.parametrize("command", ["plan", "release", "predict", "verify", "demo"])
def test_the_help_of_every_command_shows_an_example(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"cloakgp {command} " in shown.stdout.split("Example")[1]


def test_version_and_bare_call():
    assert run("--version").stdout == f"cloakgp {cloakgp.__version__}\n"
    assert "plan" in run().stdout
    fails(run("plann"), "plan")


@pytest.mark.parametrize("command", ["select", "budget"])
def test_the_help_of_select_and_budget_shows_what_they_are_for(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert ("--try" if command == "select" else "history") in shown.stdout
