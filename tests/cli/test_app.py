"""The commands and their help; each ends in an exit code and one paragraph."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PLAN, SECRET, SPEND, fails, run

import cloakgp
from cloakgp.app.job import Job
from cloakgp.cli import reports


@pytest.mark.parametrize("command", ["plan", "release", "predict", "verify", "demo"])
def test_the_help_of_every_command_shows_an_example(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"cloakgp {command} " in shown.stdout.split("Example")[1]


def test_version_and_bare_call():
    assert run("--version").stdout == f"cloakgp {cloakgp.__version__}\n"
    assert "plan" in run().stdout
    fails(run("plann"), "plan")


def test_a_paragraph_of_help_is_broken_by_the_terminal_alone():
    said = run("report", "--help").stdout
    paragraph = said[said.index("The page needs no network") : said.index("in the file.")]
    assert min(len(line.strip()) for line in paragraph.splitlines()[:-1]) > 60


@pytest.mark.parametrize("command", ["select", "budget"])
def test_the_help_of_select_and_budget_shows_what_they_are_for(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert ("--try" if command == "select" else "history") in shown.stdout


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_no_message_of_another_library_is_shown_while_private_values_are_open(
    data, tmp_path, monkeypatch, debug
):
    def blurt(*_):
        try:
            float(SECRET)
        except ValueError as error:
            raise RuntimeError(f"cannot convert {SECRET}") from error

    monkeypatch.setattr(Job, "release", blurt)
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

    monkeypatch.setattr(reports, "guess_at", fail)
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

    monkeypatch.setattr(Job, "release", blurt)
    text = fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "error: OSError")
    assert SECRET not in text


def test_the_help_of_all_is_printed_before_anything_heavy_is_loaded():
    script = (
        "import sys; sys.argv = ['cloakgp', '--help']; from cloakgp.__main__ import main; main(); "
        "print({'numpy', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    env = {**os.environ, "COLUMNS": "120"}
    shown = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    whole = "import sys; sys.argv = ['cloakgp', '--help']; from cloakgp.cli.app import app; app()"
    same = subprocess.run([sys.executable, "-c", whole], env=env, capture_output=True, text=True)
    assert shown.stdout.splitlines()[-1] == "set()"
    assert shown.stdout.splitlines()[:-1] == same.stdout.splitlines()
    assert "--version" in same.stdout


#: Libraries that these do not need; scikit-learn itself loads pandas and scipy.stats.
UNUSED = {"matplotlib", "contourpy", "dask", "polars", "duckdb", "IPython", "cryptography"}
UNUSED |= {"starlette", "uvicorn", "jinja2", "psycopg", "pooch", "xarray", "arviz"}
UNUSED |= {"pyarrow.parquet", "sklearn.model_selection", "sklearn.cluster"}
SAVED = Path(__file__).parent.parent / "saved" / "releases-0.2.0" / "free.cloakgp"
STARTS = {
    "the package": ("import cloakgp", {"numpy", "scipy", "sklearn", "pandas", "typer"}),
    "an estimator": ("from cloakgp import PrivateGPRegressor", {"typer"}),
    "verify": ("from cloakgp.cli.app import app; app(standalone_mode=False)", set()),
}


@pytest.mark.parametrize("start", STARTS)
def test_nothing_is_loaded_that_is_not_used(start):
    code, more = STARTS[start]
    script = f"import sys; unused = {UNUSED | more}; {code}; print(unused & {{*sys.modules}})"
    command = [sys.executable, "-c", script, "verify", str(SAVED)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "set()"
