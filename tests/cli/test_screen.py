"""What is printed cannot control a terminal, and JSON holds finite numbers."""

import json
import math

import numpy as np
from command_line import PLAN, fails, run

from cloakgp.cli.screen import print_json


def test_figures_on_stdout_are_finite_or_null(capsys):
    print_json({"a": [math.inf, np.float64(1.0), np.int64(2)]})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.0, 2]}


def test_names_cannot_control_the_terminal_or_the_markup(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("[red]a[/red],\x9bmb,Age\n1,2,3\n", encoding="utf-8")
    text = fails(run("plan", path, *PLAN), "[red]a[/red]")
    assert "\x9b" not in text
