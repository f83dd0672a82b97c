"""Commands run in this process or in one of their own, and what they are run on."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from cloakgp.cli.app import app

SECRET = "SECRET4711"
PLAN = ("--inputs", "age", "--bounds", "40,200", "--kernel", "900*RBF(20)")
SPEND = (*PLAN, "--output", "height", "--yes", "--epsilon", "2")
OUTPUTS = {"release.cloakgp", "predictions.csv", "plot.png", "statement.md"}


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer ones never mix them
        runner = CliRunner()
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


def fails(result, *parts, code=2):
    """Check that a command failed in one paragraph on stderr, and return that."""
    assert result.exit_code == code, result.output
    text = " ".join(result.stderr.split())
    assert text.startswith("error: ")
    assert "Traceback" not in result.output
    for part in parts:
        assert part in text, text
    return text
