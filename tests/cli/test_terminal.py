"""What is printed cannot control a terminal, and JSON holds finite numbers."""

import io
import json
import math

import numpy as np
import pandas as pd
from command_line import PLAN, fails, run
from rich import progress as rich_progress
from rich.console import Console

from cloakgp.cli import terminal
from cloakgp.cli.terminal import RowsColumn, print_json, rich_table, show_progress
from cloakgp.data.blocks.progress import passes


def test_figures_on_stdout_are_finite_or_null(capsys):
    print_json({"a": [math.inf, np.float64(1.0), np.int64(2)]})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.0, 2]}


def test_names_cannot_control_the_terminal_or_the_markup(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("[red]a[/red],\x9bmb,Age\n1,2,3\n", encoding="utf-8")
    text = fails(run("plan", path, *PLAN), "[red]a[/red]")
    assert "\x9b" not in text


def test_what_an_error_repeats_of_the_command_line_is_cut(tmp_path):
    long = "x" * 3000
    for given in (
        ["plan", tmp_path / long, *PLAN],
        [long],
        ["budget", "show", long],
        ["demo", long],
    ):
        assert len(fails(run(*given), "xxx… (")) < 1500
    near = "y" * 200  # a path, say, of which every letter matters
    assert near in fails(run("budget", "show", near), near)


def rows_shown(done, total, elapsed):
    clock = iter([0.0, elapsed, elapsed, elapsed])
    with rich_progress.Progress(get_time=lambda: next(clock, elapsed), disable=True) as bar:
        bar.add_task("rows", total=total)
        task = bar.tasks[-1]
        bar.advance(task.id, done)
        return RowsColumn().render(task).plain


def test_a_pass_shows_rows_speed_and_time_left():
    assert rows_shown(0, 2_000_000, 1.0) == "0 of 2,000,000 rows"
    shown = rows_shown(500_000, 2_000_000, 10.0)
    assert shown == "500,000 of 2,000,000 rows, 50,000 rows/s, 0:00:30 left"


def test_what_is_no_pass_shows_no_rows():
    assert rows_shown(0, None, 1.0) == ""


def test_passes_are_shown_on_a_terminal_until_they_end(monkeypatch):
    tasks = []
    show = terminal._show_pass

    def noted(bar, name, rows):
        done = show(bar, name, rows)
        tasks.append(bar.tasks[-1])
        return done

    monkeypatch.setattr(terminal, "_show_pass", noted)
    with show_progress("Reading"):
        done = passes(10, "one", "two")
        done(4)
        assert [(t.description, t.completed, t.visible) for t in tasks] == [("one", 4, True)]
        done(6)
        done(3)
    found = [(t.description, t.completed, t.total, t.visible) for t in tasks]
    assert found == [("one", 10, 10, False), ("two", 3, 10, True)]


def test_a_wide_table_fits_eighty_columns(monkeypatch):
    """Names that are too long are broken where their words end, and no number is."""
    monkeypatch.setenv("COLUMNS", "80")
    ends = ("", "_std", "_noise_std", "_low95", "_high95", "_person_low95", "_person_high95")
    frame = pd.DataFrame({"age": [40.0], **{f"height_cm{end}": [157.6789] for end in ends}})
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(rich_table(frame))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].split() == ["40", *(["157.7"] * 7)]
    words = {word for line in lines[:-1] for word in line.split()}
    assert {"person_", "high95", "std"} <= words  # none is broken within


def test_a_narrow_table_keeps_its_names(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(rich_table(pd.DataFrame({"age": [40.0], "height_cm_person_low95": [1.0]})))
    assert "height_cm_person_low95" in console.export_text()
