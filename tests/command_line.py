"""Commands run in this process or in one of their own, and what they are run on."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import typer
from typer import testing

from cloakgp.cli.app import app

SECRET = "SECRET4711"
PLAN = ("--inputs", "age", "--bounds", "40,200", "--kernel", "900*RBF(20)")
SPEND = (*PLAN, "--output", "height", "--yes", "--epsilon", "2")
TRY = ("--try", "kernel=900*RBF(5)|900*RBF(40)", "--folds", "3")
SELECT = (*SPEND, *TRY, "--selection-epsilon", "0.5")
LABELS = ("--task", "classification", "--inputs", "age", "--kernel", "9*RBF(20)")
COUNTS = ("--task", "counts", "--inputs", "age", "--kernel", "1*RBF(20)", "--cap", "9")
TASKS = {
    "text": (*LABELS, "--output", "ill", "--classes", "yes,no"),
    "numbers": (*LABELS, "--output", "flag", "--classes", "0,1", "--iterations", "2"),
    "three": (*LABELS, "--output", "grade", "--classes", "a,b,c", "--design", "total"),
    "paper": (
        *(*LABELS, "--output", "ill", "--classes", "no,yes", "--decode", "direct"),
        *("--design", "volume", "--calibration", "hall", "--target", "latents", "--epsilon", "1"),
    ),
    "counts": (*COUNTS, "--output", "falls"),
    "exposure": (*COUNTS, "--output", "falls", "--exposure", "years", "--iterations", "2"),
}
OUTPUTS = {"release.cloakgp", "predictions.csv", "plot.png", "statement.md", "report.html"}


#: The command of an app is made from the signatures of all its functions: once is enough.
testing._get_command = cache(typer.main.get_command)


def run(*words, app=app):
    try:
        runner = testing.CliRunner(mix_stderr=False)
    except TypeError:  # newer ones never mix them
        runner = testing.CliRunner()
    return runner.invoke(app, [str(word) for word in words])


def start(*words, stdin=subprocess.DEVNULL, **options):
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "cloakgp", *map(str, words)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        **options,
    )


def people(count=40):
    age = np.arange(count) * 2 % 71
    return pd.DataFrame({"age": age, "height": 100.0 + age / 2, "weight": 20.0 + age / 3})


def outcomes():
    """People with labels and counts."""
    age = np.arange(40) * 2 % 71
    return pd.DataFrame(
        {
            "age": age,
            "ill": np.where(age > 35, "yes", "no"),
            "grade": np.array(["a", "b", "c"])[age // 24],
            "flag": (age > 35).astype(int),
            "falls": age // 10,
            "years": 1.0 + age / 70,
        }
    )


def account(book):
    """The options of a spend on this ledger."""
    return ("--ledger", book.path, "--dataset", "people")


def fails(result, *parts, code=2):
    """Check that a command failed in one paragraph on stderr, and return that."""
    assert result.exit_code == code, result.output
    text = " ".join(result.stderr.split())
    assert text.startswith("error: ")
    assert "Traceback" not in result.output
    for part in parts:
        assert part in text, text
    return text
