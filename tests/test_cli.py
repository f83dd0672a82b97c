"""The command line: what it reads, what it spends, what it says, and how it ends."""

import csv
import errno
import io
import json
import math
import os
import re
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import OUTPUTS, PLAN, SECRET, SPEND, fails, people, run, start
from sklearn.gaussian_process.kernels import RBF

import cloakgp
from cloakgp import Ledger, PrivateGPRegressor, Release
from cloakgp.cli import csv_table, publish, terminal
from cloakgp.cli.tables.points import read_points
from cloakgp.cli.settings import Settings
from cloakgp.cli.tables import read_columns, to_csv, write_file
from cloakgp.datasets import make_heights
from cloakgp.errors import CommandError
from cloakgp.gp.kernels.grammar import parse_kernel
from cloakgp.privacy import Spend, sketch

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A release file that tests only read."""
    frame = people()
    model = PrivateGPRegressor(900 * RBF(20.0), bounds=(40, 200)).fit(
        frame[["age"]], frame["height"]
    )
    path = tmp_path_factory.mktemp("saved") / "release.cloakgp"
    model.release_.save(path)
    return path


# -------------------------------------------------------------------------------------------- plan


@pytest.mark.parametrize("private", [SECRET, "", "12,5", '"', "\x00\x01", "é\n"])
def test_a_plan_is_made_whatever_stands_in_the_private_column(tmp_path, private):
    path = tmp_path / "people.csv"
    with open(path, "w", newline="", encoding="latin-1") as file:
        csv.writer(file).writerows([("age", "height"), *((age, private) for age in range(20))])
    result = run("plan", path, *PLAN, "--no-compare")
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output


def test_a_plan_is_made_without_a_private_column(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()[["age"]]))
    assert run("plan", path, *PLAN, "--output", "height", "--no-compare").exit_code == 0


def test_a_plan_reads_no_byte_of_a_private_parquet_column(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    people().to_parquet(path, compression=None)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    assert chunk.path_in_schema == "height"
    raw = bytearray(path.read_bytes())
    first = chunk.dictionary_page_offset or chunk.data_page_offset
    raw[first : first + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(raw)
    assert run("plan", path, *PLAN, "--no-compare").exit_code == 0
    fails(run("release", path, *SPEND, "--out", tmp_path / "out"), "damaged", "no privacy budget")


def test_only_the_columns_asked_for_become_numbers(data, monkeypatch):
    opened = []
    numbers = csv_table.CsvTable.numbers
    monkeypatch.setattr(
        csv_table.CsvTable,
        "numbers",
        lambda table, name: opened.append(name) or numbers(table, name),
    )
    assert run("plan", data, *PLAN, "--output", "height", "--no-compare").exit_code == 0
    assert opened == ["age"]


def test_a_plan_shows_the_noise_the_budgets_and_the_designs(data):
    text = run("plan", data, *PLAN).stdout
    for part in ("Noise at a few points", "Other budgets", "Other designs", "worst", "nothing was"):
        assert part in text


def test_json_is_one_object_and_nothing_else(data, saved):
    plan = run("plan", data, *PLAN, "--json", "--required-std", "20")
    report = json.loads(plan.stdout)
    assert [row["epsilon"] for row in report["epsilons"]] == [0.1, 0.3, 1.0, 3.0, 10.0]
    assert {row["design"] for row in report["designs"]} == {"bayes", "total", "worst", "volume"}
    assert report["people"] == 40
    assert len(report["points"]) == 40
    predictions = json.loads(run("predict", saved, "--at", "age=0:70:3", "--json").stdout)
    assert len(predictions["predictions"]) == 3
    assert json.loads(run("verify", saved, "--json").stdout)["ok"] is True


def test_the_required_epsilon_is_enough_and_barely_so(data):
    found = json.loads(run("plan", data, *PLAN, "--json", "--required-std", "12").stdout)
    epsilon = found["required"]["epsilon"]
    assert 0.1 < epsilon < 20

    def largest(at):
        shown = run("plan", data, *PLAN, "--epsilon", at, "--json", "--no-compare").stdout
        return json.loads(shown)["largest_noise_std"]

    assert largest(epsilon) <= 12 < largest(0.99 * epsilon)


def test_accuracy_that_no_budget_gives_is_answered_not_an_error(data):
    result = run("plan", data, *PLAN, "--required-std", "1e-9", "--no-compare")
    assert result.exit_code == 0
    assert "No budget gives that" in result.stdout
    fails(run("plan", data, *PLAN, "--required-std", "-1"), "--required-std")


def test_a_plan_can_be_drawn_and_only_as_a_picture(data, tmp_path):
    assert run("plan", data, *PLAN, "--no-compare", "--plot", tmp_path / "p.png").exit_code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    before = data.read_bytes()
    fails(run("plan", data, *PLAN, "--plot", data), ".png")
    assert data.read_bytes() == before


def test_several_outputs_share_the_budget(data):
    two = ("--output", "height,weight", "--bounds", "0,120")

    def noise(*words):
        shown = run("plan", data, *PLAN, "--json", "--no-compare", *words)
        return json.loads(shown.stdout)

    one, both = noise(), noise(*two)
    assert both["published_values"] % 2 == 0
    assert both["points"][0]["noise_std_0"] > one["points"][0]["noise_std"]


def test_owners_of_several_rows_are_counted_as_people(tmp_path):
    frame = people().assign(owner=[f"p{i // 2}" for i in range(40)])
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    shown = run("plan", path, *PLAN, "--groups", "owner", "--json", "--no-compare").stdout
    assert json.loads(shown)["people"] == 20
    frame.loc[3, "owner"] = None
    path.write_bytes(to_csv(frame))
    fails(run("plan", path, *PLAN, "--groups", "owner"), "'owner'", "1 of 40")


# ----------------------------------------------------------------------------------------- release


def test_a_release_writes_a_folder_that_verifies(data, tmp_path):
    out = tmp_path / "deep" / "out"
    result = run("release", data, *SPEND, "--out", out)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == OUTPUTS
    release = Release.load(out / "release.cloakgp")
    assert release.private
    assert release.epsilon == 2.0
    assert release.target_names == ("height",)
    table = pd.read_csv(out / "predictions.csv")
    assert list(table) == ["age", "height", "height_std", "height_noise_std"]
    np.testing.assert_allclose(table["height"], release.predict(table[["age"]]), rtol=1e-8)
    assert "Privacy statement" in (out / "statement.md").read_text()
    assert (out / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert run("verify", out / "release.cloakgp").exit_code == 0


def test_parquet_and_csv_give_the_same_plan(data, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    people().to_parquet(path)
    words = (*PLAN, "--json", "--no-compare")
    assert run("plan", data, *words).stdout == run("plan", path, *words).stdout
    assert run("release", path, *SPEND, "--out", tmp_path / "out").exit_code == 0


def test_two_releases_of_the_same_data_have_different_noise(data, tmp_path):
    values = []
    for name in ("a", "b"):
        assert run("release", data, *SPEND, "--out", tmp_path / name).exit_code == 0
        values.append(Release.load(tmp_path / name / "release.cloakgp").noisy.values)
    assert not np.array_equal(*values)


def test_repeatable_noise_cannot_be_asked_for(data, tmp_path):
    out = tmp_path / "out"
    fails(run("release", data, *SPEND, "--random-state", "1", "--out", out), "No such option")
    config = tmp_path / "c.toml"
    config.write_text("random_state = 1\n")
    fails(run("release", data, *SPEND, "--config", config, "--out", out), "random_state")
    fails(run("release", data, *SPEND, "--epsilon", "inf", "--out", out), "finite")
    assert not out.exists()


def test_what_is_not_private_is_never_written(data, tmp_path, monkeypatch):
    draw = publish.Job.draw
    monkeypatch.setattr(
        publish.Job,
        "draw",
        lambda job, _: (lambda r: replace(r, noisy=replace(r.noisy, private=False)))(draw(job)),
    )
    out = tmp_path / "out"
    fails(run("release", data, *SPEND, "--out", out), "not be private", "no privacy budget")
    assert not out.exists()


def test_outputs_are_not_overwritten_without_force(data, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "predictions.csv").write_text("mine")
    fails(run("release", data, *SPEND, "--out", out), "predictions.csv", "--force")
    assert [path.name for path in out.iterdir()] == ["predictions.csv"]
    assert (out / "predictions.csv").read_text() == "mine"
    assert run("release", data, *SPEND, "--out", out, "--force").exit_code == 0
    assert {path.name for path in out.iterdir()} == OUTPUTS


def test_the_data_itself_is_never_overwritten(tmp_path):
    path = tmp_path / "predictions.csv"
    path.write_bytes(to_csv(people()))
    fails(run("release", path, *SPEND, "--out", tmp_path, "--force"), "overwrite the data")
    assert path.read_bytes() == to_csv(people())


def test_an_old_picture_does_not_stay_beside_a_new_release(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people().assign(a=range(40), b=range(40))))
    out = tmp_path / "out"
    out.mkdir()
    (out / "plot.png").write_text("old")
    words = ("--inputs", "age,a,b", "--output", "height", "--bounds", "40,200", "--yes", "--force")
    assert run("release", path, *words, "--out", out).exit_code == 0
    assert {path.name for path in out.iterdir()} == OUTPUTS - {"plot.png"}


def test_a_folder_that_cannot_be_written_is_found_before_the_private_column_is_opened(
    data, tmp_path, monkeypatch
):
    monkeypatch.setattr(publish.Job, "draw", lambda *_: pytest.fail("private column opened"))
    (tmp_path / "file").write_text("")
    fails(run("release", data, *SPEND, "--out", tmp_path / "file"), "is a file")
    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    fails(
        run("release", data, *SPEND, "--out", tmp_path / "out"), "cannot be written", "no privacy"
    )


@pytest.mark.parametrize("victim", ["write_file", "plot_release", "to_csv"])
def test_whatever_fails_in_writing_fails_in_the_rehearsal_unspent(
    data, tmp_path, monkeypatch, victim
):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(publish, victim, fail)
    monkeypatch.setattr(publish.Job, "draw", lambda *_: pytest.fail("private column opened"))
    out = tmp_path / "out"
    fails(run("release", data, *SPEND, "--out", out), "disk is full", "no privacy budget")
    assert not out.exists()


def test_a_disk_that_fills_up_after_the_release_loses_nothing(data, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def fail_at_the_end(path, content):
        if path.parent == out:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_file(path, content)

    monkeypatch.setattr(publish, "write_file", fail_at_the_end)
    fails(run("release", data, *SPEND, "--out", out), "disk is full", "WAS spent", "is whole")
    assert Release.load(out / "release.cloakgp").private


def test_a_release_that_cannot_be_saved_is_not_spent(data, tmp_path, monkeypatch):
    save = Release.save

    def fail(release, path):
        if release.private:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(release, path)

    monkeypatch.setattr(Release, "save", fail)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "no privacy budget was spent")


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


def test_data_that_changes_after_the_plan_is_not_released(data, tmp_path, monkeypatch):
    prepare = publish.Job.prepare

    def change(*words, **options):
        job = prepare(*words, **options)
        data.write_bytes(to_csv(people().iloc[::-1]))
        return job

    monkeypatch.setattr(publish.Job, "prepare", change)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "changed", "no privacy budget")


def test_a_column_cannot_be_private_and_public(data, tmp_path):
    both = ("--inputs", "age,height", "--output", "height", "--bounds", "40,200", "--yes")
    fails(run("release", data, *both, "--out", tmp_path / "out"), "private and as public")
    owner = (*SPEND, "--groups", "height")
    fails(run("release", data, *owner, "--out", tmp_path / "out"), "private and as public")


# -------------------------------------------------------------------- private values stay private


@pytest.mark.parametrize("value", [SECRET, "", "inf", "12,34 or so"])
@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_bad_private_values_are_refused_without_a_row_a_count_or_a_value(tmp_path, value, debug):
    frame = people().astype({"height": object})
    frame.loc[17, "height"] = value
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    out = tmp_path / "out"
    text = fails(
        run(*debug, "release", path, *SPEND, "--out", out), "'height'", "inside the bounds"
    )
    assert SECRET not in text
    assert not re.search(r"\b(1|17|18|19|40)\b", text), "a row or a count"
    assert not out.exists()


def test_bad_private_values_in_parquet_are_refused_likewise(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    for column in (pd.Series([SECRET] * 40), people()["height"].where(people()["age"] > 2)):
        people().assign(height=column).to_parquet(path)
        text = fails(run("release", path, *SPEND, "--out", tmp_path / "out"), "'height'")
        assert SECRET not in text


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_no_message_of_another_library_is_shown_while_private_values_are_open(
    data, tmp_path, monkeypatch, debug
):
    def blurt(job, ledger):
        try:
            float(SECRET)
        except ValueError as error:
            raise RuntimeError(f"cannot convert {SECRET}") from error

    monkeypatch.setattr(publish.Job, "draw", blurt)
    result = run(*debug, "release", data, *SPEND, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert SECRET not in result.output.replace('{SECRET}"', "")
    assert "unexpected error: RuntimeError" in result.stderr
    assert "no privacy budget" in " ".join(result.stderr.split())
    assert ("--debug" in result.stderr) is not bool(debug)
    assert ("in blurt" in result.stderr) is bool(debug)


def test_faults_found_by_the_core_are_explained_and_those_of_others_only_named(
    data, tmp_path, monkeypatch
):
    def others(*_, **__):
        raise ValueError(f"could not convert {SECRET}")

    monkeypatch.setattr("cloakgp.estimators.regression.release_sketch", others)
    text = fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "error: ValueError")
    assert SECRET not in text
    monkeypatch.undo()
    monkeypatch.setattr("cloakgp.privacy.sketch.FEWEST_VALUE_BITS", 60)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "sums too many people")


def test_an_unexpected_error_is_named_and_explained_in_debug_only(data, monkeypatch):
    def fail(*_, **__):
        hidden = "a local variable"
        raise LookupError("odd") from ValueError(hidden)

    monkeypatch.setattr(terminal, "people_in", fail)
    text = fails(run("plan", data, *PLAN), "unexpected error: LookupError", "--debug")
    assert "odd" not in text
    shown = run("--debug", "plan", data, *PLAN).stderr
    assert "LookupError: odd" in shown
    assert "in fail" in shown
    assert "hidden = " not in shown


# ------------------------------------------------------------------------------------ other faults


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"age,height\n", "no rows"),
        ("a.csv", bytes(range(256)) * 20, "UTF-8"),
        ("a.csv", b"PAR1\x00\x01\x02", "name it .parquet"),
        ("a.csv", b"age,height\n1,2\n3\n", "more or fewer fields"),
        ("a.csv", b"age,height\n1,2\n3,4,5\n", "more or fewer fields"),
        ("a.csv", b'age,height\n1,"2\n', "quote is never closed"),
        ("a.csv", b"age,age\n1,2\n", "more than one column"),
        ("a.csv", b"Age,height,x\n1,2,3\n", "it has: Age, height, x"),
        ("a.csv", b"age,height\nNA,2\n5,1\n", "missing in 1 of 2 rows"),
        ("a.csv", b"age,height\nyoung,2\n5,1\n", "not a finite number in 1 of 2 rows"),
        ("a.csv", b"age,height\ninf,2\n", "not a finite number"),
        ("a.parquet", b"age,height\n1,2\n", "not a Parquet file"),
        ("a.parquet", b"PAR1" + b"\x00" * 50, "damaged"),
        ("a.xlsx", b"PK", "does not end in"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_explained(tmp_path, name, content, part):
    path = tmp_path / name
    path.write_bytes(content)
    if part == "not a Parquet file" or part == "damaged":
        pytest.importorskip("pyarrow")
    fails(run("plan", path, *PLAN), part)


def test_missing_files_folders_and_pipes_are_explained(tmp_path):
    fails(run("plan", tmp_path / "none.csv", *PLAN), "there is no file")
    fails(run("plan", tmp_path, *PLAN), "not a regular file")
    fails(run("verify", tmp_path / "none.cloakgp"), "No such file")
    fails(run("predict", tmp_path / "none.cloakgp", "--at", "age=1"), "No such file")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    fails(run("plan", path, *PLAN), "pip install 'cloakgp[parquet]'")


def test_a_dotted_neighbour_is_not_opened_by_accident(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    people().rename(columns={"height": "age.height"}).to_parquet(path)
    fails(run("plan", path, *PLAN), "age.height", "rename")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found_in_the_header(tmp_path, separator):
    path = tmp_path / "a.csv"
    people().to_csv(path, sep=separator, index=False)
    read = read_columns(path, ["weight", "age"]).inputs
    pd.testing.assert_frame_equal(read, people()[["weight", "age"]].astype(float))


def test_names_cannot_control_the_terminal_or_the_markup(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("[red]a[/red],\x9bmb,Age\n1,2,3\n", encoding="utf-8")
    text = fails(run("plan", path, *PLAN), "[red]a[/red]")
    assert "\x9b" not in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--inputs", "age"), "--bounds is missing"),
        (("--bounds", "40,200"), "--inputs is missing"),
        (("--inputs", "age", "--bounds", "200,40"), "lo < hi"),
        (("--inputs", "age", "--bounds", "40"), "a pair such as 40,200"),
        ((*PLAN, "--epsilon", "0"), "epsilon must lie between"),
        ((*PLAN, "--epsilon", "much"), "--epsilon"),
        ((*PLAN, "--delta", "2"), "delta must lie between"),
        ((*PLAN, "--design", "nice"), "bayes, total, worst, volume"),
        ((*PLAN, "--inducing", "0"), "at least 1"),
        ((*PLAN, "--kernel", "900*RBF([1,2])"), "list of 2 lengthscales"),
        ((*PLAN, "--prior-mean", "1,2"), "--prior-mean"),
        ((*PLAN, "--at", "age=0:80"), "name=lo:hi:count"),
        ((*PLAN, "--at", "weight=0:80:3"), "the inputs are age"),
        ((*PLAN, "--calibration", "hall", "--epsilon", "2"), "analytic"),
        (
            (
                *PLAN,
                "--nonsense",
            ),
            "No such option",
        ),
    ],
)
def test_bad_options_are_explained(data, words, part):
    fails(run("plan", data, *words), part)


def test_a_release_needs_to_know_what_is_private(data, tmp_path):
    fails(run("release", data, *PLAN, "--yes", "--out", tmp_path / "o"), "--output is missing")
    words = (*PLAN, "--output", "hight", "--yes", "--out", tmp_path / "o")
    fails(run("release", data, *words), "'hight'", "age, height, weight")


# ---------------------------------------------------------------------------------- settings files


def test_settings_come_from_a_file_and_flags_win(data, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(
        'inputs = ["age"]\nbounds = [40, 200]\nepsilon = 3\nkernel = "900*RBF(20)"\n'
        'design = "total"\nnoise-variance = 49\n'
    )
    shown = run("plan", data, "--config", config, "--epsilon", "5", "--json", "--no-compare").stdout
    report = json.loads(shown)
    assert report["epsilon"] == 5.0
    assert report["design"] == "total"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("epsilom = 1", "epsilom"),
        ("epsilom = 1", "known are: task, inputs, output, classes, cap, exposure, bounds, epsilon"),
        ('task = "ranking"', "one of regression, classification, counts"),
        ("iterations = 0", "whole number"),
        ('target = "people"', "one of auto, points, latents"),
        ("classes = [true, false]", "must be a string"),
        ('task = "classification"\ninputs = "age"', "--classes is missing"),
        ('task = "classification"\ninputs = "age"\nclasses = [1, 1.0]', "twice"),
        ('task = "counts"\ninputs = "age"', "--cap is missing"),
        ('task = "counts"\ninputs = "age"\ncap = 2.5', "whole number"),
        ("epsilon = true", "must be a number"),
        ('epsilon = "', "is not TOML"),
        ("rank = 1.5", "whole number"),
        ("bounds = [1, 2, 3]", "a pair"),
        ("inputs = [1]", "must be a string"),
        ("epsilon = nan", "must be a number"),
    ],
)
def test_faults_of_a_settings_file_are_named(data, tmp_path, text, part):
    config = tmp_path / "c.toml"
    config.write_text(text)
    fails(run("plan", data, "--config", config), part)


def test_every_setting_reaches_the_estimator():
    asked = {
        "inputs": "a",
        "output": "y,z",
        "bounds": ["0,1", "2,4"],
        "epsilon": 0.5,
        "delta": 1e-6,
        "kernel": "2*RBF(3)",
        "noise_variance": 7.0,
        "prior_mean": "0.5,3",
        "inducing": 5,
        "approximation": "dtc",
        "design": "worst",
        "decode": "direct",
        "calibration": "hall",
        "rank": 2,
    }
    model = Settings.gather(asked).estimator()
    assert model.bounds == [(0.0, 1.0), (2.0, 4.0)]
    assert model.prior_mean == [0.5, 3.0]
    assert model.kernel == parse_kernel("2*RBF(3)")
    for name in ("epsilon", "delta", "noise_variance", "inducing", "approximation", "rank"):
        assert getattr(model, name) == asked[name]
    for name in ("design", "decode", "calibration"):
        assert getattr(model, name) == asked[name]
    assert model.random_state is None


def test_the_shipped_example_is_the_made_up_data_and_its_settings_work():
    shipped = (EXAMPLES / "heights.csv").read_bytes()
    assert shipped == to_csv(make_heights(n=400, random_state=0))
    words = ("--config", EXAMPLES / "release.toml", "--json", "--no-compare")
    assert json.loads(run("plan", EXAMPLES / "heights.csv", *words).stdout)["people"] == 400


# ------------------------------------------------------------------------------ predict and verify


def test_predictions_at_a_grid_are_those_of_the_release(saved, tmp_path):
    out = tmp_path / "p.csv"
    assert run("predict", saved, "--at", "age=0:70:15", "--out", out).exit_code == 0
    table = pd.read_csv(out)
    mean, std = Release.load(saved).predict(np.linspace(0, 70, 15)[:, None], return_std=True)
    np.testing.assert_allclose(table["height"], mean, rtol=1e-8)
    np.testing.assert_allclose(table["height_std"], std, rtol=1e-8)
    fails(run("predict", saved, "--at", "age=1", "--out", out), "exists", "--force")
    fails(run("predict", saved, "--at", "age=1", "--out", tmp_path / "p.txt"), ".csv")


def test_predictions_at_a_file_read_its_inputs_only(saved, data):
    piped = run("predict", saved, "--at", data).stdout
    assert piped.splitlines()[0] == "age,height,height_std,height_noise_std"
    assert len(piped.splitlines()) == 41


def test_many_points_are_predicted_in_pieces_without_a_difference(saved, monkeypatch):
    release, points = Release.load(saved), read_points("age=0:70:25", ["age"])
    whole = publish.predictions(release, points)
    monkeypatch.setattr(publish, "CHUNK", 4)
    pd.testing.assert_frame_equal(publish.predictions(release, points), whole)


def test_a_grid_over_several_inputs_is_their_product():
    grid = read_points("b=1:2:2, a=5", ["a", "b"])
    assert grid.to_dict("list") == {"a": [5.0, 5.0], "b": [1.0, 2.0]}


@pytest.mark.parametrize(
    "spec", ["a=0:1", "a=2:1:5", "a=0:1:0", "a=0:1:1.5", "a=0:1:x", "a=0:inf:3", "a=1,a=2", "a="]
)
def test_a_grid_that_makes_no_sense_is_refused(spec):
    with pytest.raises(CommandError, match="--at"):
        read_points(spec, ["a"])


def test_a_grid_is_never_larger_than_memory():
    with pytest.raises(CommandError, match="points"):
        read_points("a=0:1:100000,b=0:1:100000", ["a", "b"])


def test_verify_ends_with_0_1_or_2(saved, tmp_path):
    good = run("verify", saved)
    assert good.exit_code == 0
    assert "The guarantee holds" in good.stdout
    release, weak = Release.load(saved), tmp_path / "weak.cloakgp"
    replace(release, noisy=replace(release.noisy, sigma=release.noisy.sigma / 2)).save(weak)
    bad = run("verify", weak)
    assert bad.exit_code == 1
    assert "does NOT hold (noise" in bad.stdout
    assert json.loads(run("verify", weak, "--json").stdout)["ok"] is False
    weak.write_bytes(b"garbage")
    fails(run("verify", weak), "refused")
    fails(run("verify"), "RELEASE")


def test_a_rehearsal_does_not_verify(tmp_path):
    frame = people()
    model = PrivateGPRegressor(bounds=(40, 200), random_state=0)
    with pytest.warns(UserWarning, match="NOT private"):
        model.fit(frame[["age"]], frame["height"])
    model.release_.save(tmp_path / "r.cloakgp")
    assert run("verify", tmp_path / "r.cloakgp").exit_code == 1
    assert "NOT private" in run("predict", tmp_path / "r.cloakgp", "--at", "age=3").stderr


# ------------------------------------------------------------------------------------------- files


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        write_file(path, b"new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


# ------------------------------------------------------------------------------ labels and counts

LABELS = ("--task", "classification", "--inputs", "age", "--kernel", "9*RBF(20)")
COUNTS = ("--task", "counts", "--inputs", "age", "--kernel", "1*RBF(20)", "--cap", "9")


def outcomes():
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


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_bytes(to_csv(outcomes()))
    return path


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


@pytest.mark.parametrize(
    ("task", "ending"),
    [*((task, "csv") for task in TASKS), ("text", "parquet"), ("numbers", "parquet")],
)
def test_classes_and_counts_are_planned_released_predicted_and_verified(
    task, ending, cases, tmp_path
):
    words, data = TASKS[task], cases
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        data = tmp_path / "cases.parquet"
        outcomes().to_parquet(data)
    plan = json.loads(run("plan", data, *words, "--json", "--no-compare").stdout)
    assert plan["task"] == ("counts" if "falls" in words else "classification")
    out = tmp_path / "out"
    result = run("release", data, *words, "--yes", "--out", out)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == OUTPUTS
    file = out / "release.cloakgp"
    release = Release.load(file)
    assert release.private
    assert len(release.parts) == (2 if "--iterations" in words else 1)
    assert run("verify", file).exit_code == 0
    shown = run("predict", file, "--at", "age=0:70:5")
    assert shown.exit_code == 0, shown.output
    table = pd.read_csv(io.StringIO(shown.stdout))
    expected = release.to_frame(np.linspace(0, 70, 5)[:, None])
    assert list(table) == list(expected)
    numbers = expected.select_dtypes(float).columns
    np.testing.assert_allclose(table[numbers], expected[numbers], rtol=1e-8)
    assert list(pd.read_csv(out / "predictions.csv")) == list(expected)


def test_a_plan_of_labels_reads_no_private_column(cases):
    cases.write_bytes(to_csv(outcomes().assign(ill=SECRET, flag=SECRET, falls=SECRET)))
    for task in ("text", "numbers", "counts"):
        result = run("plan", cases, *TASKS[task], "--no-compare")
        assert result.exit_code == 0, result.output
        assert SECRET not in result.output


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ((*LABELS, "--output", "ill"), ["--classes is missing"]),
        ((*LABELS, "--output", "ill", "--classes", "no"), ["--classes is missing"]),
        ((*LABELS, "--output", "ill", "--classes", "no,no"), ["twice"]),
        ((*LABELS, "--output", "flag", "--classes", "1,1.0"), ["twice"]),
        ((*LABELS, "--output", "ill", "--classes", "no,,yes"), ["must be a string"]),
        ((*LABELS, "--output", "ill,grade", "--classes", "a,b"), ["one private column"]),
        ((*TASKS["text"], "--bounds", "0,1"), ["--bounds has no meaning"]),
        ((*TASKS["text"], "--cap", "3"), ["--cap has no meaning"]),
        ((*TASKS["text"], "--exposure", "years"), ["--exposure has no meaning"]),
        ((*TASKS["text"], "--noise-variance", "3"), ["--noise-variance has no meaning"]),
        ((*TASKS["counts"], "--classes", "a,b"), ["--classes has no meaning"]),
        ((*TASKS["counts"], "--exposure", "falls"), ["private and as public"]),
        ((*TASKS["counts"], "--exposure", "ill"), ["'ill'", "not a finite number"]),
        ((*TASKS["counts"], "--exposure", "age"), ["exposure must be a number > 0"]),
        ((*TASKS["counts"], "--cap", "0"), ["cap must be a whole number"]),
        (COUNTS[:-2], ["--cap is missing"]),
        ((*SPEND[:6], "--output", "falls", "--iterations", "2"), ["--iterations has no meaning"]),
        ((*TASKS["text"], "--task", "ranking"), ["--task", "one of regression"]),
        ((*TASKS["text"], "--prior-mean", "1,2,3"), ["--prior-mean"]),
        ((*TASKS["text"], "--epsilon", "2", "--calibration", "hall"), ["hall"]),
    ],
    ids=lambda value: " ".join(value[-4:]),
)
def test_options_that_do_not_fit_the_task_are_refused_unspent(words, parts, cases, tmp_path):
    out = tmp_path / "out"
    fails(run("release", cases, *words, "--yes", "--out", out), *parts, "no privacy budget")
    assert not out.exists() or list(out.iterdir()) == []


BAD_PRIVATE = {
    "an unknown label": ("text", {"ill": SECRET}),
    "a missing label": ("text", {"ill": None}),
    "a missing label of three": ("three", {"grade": "NA"}),
    "text for numbers": ("numbers", {"flag": SECRET}),
    "an unknown number": ("numbers", {"flag": 4711}),
    "a missing number": ("numbers", {"flag": None}),
    "a negative count": ("counts", {"falls": -4711}),
    "a fraction": ("counts", {"falls": 4711.5}),
    "a missing count": ("counts", {"falls": None}),
    "text for a count": ("counts", {"falls": SECRET}),
}


@pytest.mark.parametrize("case", BAD_PRIVATE)
def test_bad_labels_and_counts_are_refused_unspent_and_unnamed(case, cases, tmp_path):
    task, change = BAD_PRIVATE[case]
    frame = outcomes().astype(object)
    for name, value in change.items():
        frame.loc[17, name] = value
    cases.write_bytes(to_csv(frame))
    out = tmp_path / "out"
    words = ("--debug", "release", cases, *TASKS[task], "--yes", "--out", out)
    text = fails(run(*words), "no privacy budget")
    assert "4711" not in text
    assert not re.search(r"\b(17|18|19|40)\b", text), "a row or a count"
    assert not out.exists()


def test_labels_that_look_missing_are_labels_if_they_are_named(cases, tmp_path):
    frame = outcomes()
    frame["ill"] = np.where(frame["ill"] == "yes", "none", "NA")
    cases.write_bytes(to_csv(frame))
    words = (*LABELS, "--output", "ill", "--classes", "none,NA", "--yes")
    result = run("release", cases, *words, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.blueprint.classes == ("NA", "none")


def test_infinity_is_a_text_among_labels():
    asked = {"task": "classification", "inputs": "a", "classes": "1,inf"}
    assert Settings.gather(asked).labels == ["1", "inf"]


def test_classes_that_are_numbers_or_texts_reach_the_estimator_as_such():
    asked = {"task": "classification", "inputs": "a", "output": "y", "iterations": 2}
    for classes, labels in (
        ("0,1", [0, 1]),
        ("1.5,2", [1.5, 2]),
        ("no,1", ["no", "1"]),
        ([0, 1], [0, 1]),
        (["no", "yes"], ["no", "yes"]),
    ):
        settings = Settings.gather({**asked, "classes": classes, "target": "points"})
        model = settings.estimator()
        assert model.classes == labels
        assert model.iterations == 2
        assert model.target == "points"
    model = Settings.gather(
        {"task": "counts", "inputs": "a", "cap": 7, "prior_mean": 2}
    ).estimator()
    assert (model.cap, model.prior_mean, model.approximation) == (7.0, 2.0, "dtc")


def test_a_settings_file_can_describe_every_task(cases, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(
        'task = "classification"\ninputs = ["age"]\noutput = "flag"\nclasses = [0, 1]\n'
        'iterations = 2\ntarget = "latents"\ndesign = "total"\n'
    )
    shown = run("plan", cases, "--config", config, "--json", "--no-compare")
    report = json.loads(shown.stdout)
    assert (report["iterations"], report["target"], report["task"]) == (
        2,
        "latents",
        "classification",
    )
    config.write_text(
        'task = "counts"\ninputs = "age"\noutput = "falls"\ncap = 9\nexposure="years"'
    )
    out = tmp_path / "out"
    assert run("release", cases, "--config", config, "--yes", "--out", out).exit_code == 0
    exposure = Release.load(out / "release.cloakgp").blueprint.likelihood.exposure
    np.testing.assert_allclose(exposure, outcomes()["years"], rtol=1e-9)


def test_columns_of_one_name_are_refused_before_anything_is_spent(cases, tmp_path):
    words = (*LABELS, "--output", "grade", "--classes", "a,a_std,b,c", "--yes")
    out = tmp_path / "out"
    fails(run("release", cases, *words, "--out", out), "two columns of one name", "no privacy")
    frame = outcomes().rename(columns={"age": "ill_p_no"})
    cases.write_bytes(to_csv(frame))
    words = ("--task", "classification", "--inputs", "ill_p_no", *TASKS["text"][4:], "--yes")
    fails(run("release", cases, *words, "--out", out), "two columns of one name")


# --------------------------------------------------------------------------- help, demo, processes


@pytest.mark.parametrize("command", ["plan", "release", "predict", "verify", "demo"])
def test_the_help_of_every_command_shows_an_example(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"cloakgp {command} " in shown.stdout.split("Example")[1]


def test_version_and_bare_call():
    assert run("--version").stdout == f"cloakgp {cloakgp.__version__}\n"
    assert "plan" in run().stdout
    fails(run("plann"), "plan")


def test_the_demo_leaves_everything_in_one_folder_and_can_run_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        result = run("demo")
        assert result.exit_code == 0, result.output
    names = {path.name for path in Path("demo-output").iterdir()}
    assert names == OUTPUTS | {"heights.csv", "plan.png", "diagnoses.csv", "diagnosis"}
    diagnosis = Path("demo-output", "diagnosis")
    assert {path.name for path in diagnosis.iterdir()} == OUTPUTS
    assert run("verify", diagnosis / "release.cloakgp").exit_code == 0
    for part in ("differentially private with epsilon = 1", "Certificate", "The guarantee holds"):
        assert part in result.stdout


def test_the_demo_does_not_touch_a_folder_that_is_not_its_own(tmp_path):
    (tmp_path / "release.cloakgp").write_text("precious")
    fails(run("demo", "--out", tmp_path), "not the folder of an earlier demo")
    assert (tmp_path / "release.cloakgp").read_text() == "precious"


def test_without_a_terminal_and_without_yes_nothing_is_spent(data, tmp_path):
    words = [word for word in SPEND if word != "--yes"]
    process = start("release", data, *words, "--out", tmp_path / "out")
    _, shown = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--yes" in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), (None, 130)])
def test_a_release_asks_first_and_ctrl_c_spends_nothing(data, tmp_path, answer, code):
    keyboard, terminal_end = os.openpty()
    words = [word for word in SPEND if word != "--yes"]
    out = tmp_path / "out"
    # Whoever runs the tests may ignore interrupts; a user at a terminal does not.
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    process = start("release", data, *words, "--out", out, stdin=terminal_end, **heed)
    shown = ""
    while "[y/N]" not in shown:
        letter = process.stderr.read(1)
        assert letter, shown
        shown += letter
    assert "epsilon = 2" in shown
    if answer is None:
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
    else:
        os.write(keyboard, answer.encode())
    _, rest = process.communicate(timeout=60)
    os.close(keyboard)
    os.close(terminal_end)
    assert process.returncode == code, rest
    assert "Traceback" not in rest
    assert out.exists() is (code == 0)
    assert ("no privacy budget was spent" in rest) is (code != 0)


def test_a_reader_that_leaves_early_is_no_error(saved):
    process = start("predict", saved, "--at", "age=0:70:20000")
    assert process.stdout.readline().startswith("age,")
    process.stdout.close()
    shown = process.stderr.read()
    process.wait(timeout=60)
    assert "Traceback" not in shown


def test_figures_on_stdout_are_finite_or_null():
    assert terminal._plain({"a": [math.inf, np.float64(1.0), np.int64(2)]}) == {"a": [None, 1.0, 2]}


# ----------------------------------------------------------------------------- select and --ledger

TRY = ("--try", "kernel=900*RBF(5)|900*RBF(40)", "--folds", "3")
SELECT = (*SPEND, *TRY, "--selection-epsilon", "0.5")


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "budget.ledger").open("people", 3.0, 1e-5, create=True)


def account(book):
    return ("--ledger", book.path, "--dataset", "people")


def test_a_selection_publishes_and_every_page_states_the_total(data, tmp_path):
    result = run("select", data, *SELECT, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.private
    assert (release.epsilon, release.selection.epsilon) == (2.0, 0.5)
    assert release.selection.candidates == 2
    assert 2.0 < release.total_epsilon < 2.5
    total = f"epsilon = {release.total_epsilon:.6g} and delta"
    assert "one of 2 candidates at epsilon=0.5" in result.stdout
    assert "Chance of choosing the best" in result.stdout
    for words in (result.stdout, run("verify", tmp_path / "out" / "release.cloakgp").stdout):
        assert total in " ".join(words.split())
        assert "choice of settings included" in " ".join(words.split())
    statement = (tmp_path / "out" / "statement.md").read_text()
    stated = float(statement.split("private with epsilon = ")[-1].split()[0])
    assert release.total_epsilon <= stated < 1.001 * release.total_epsilon
    report = json.loads(run("verify", tmp_path / "out" / "release.cloakgp", "--json").stdout)
    assert report["total_epsilon"] == release.total_epsilon > report["epsilon"] == 2.0


def test_a_release_without_a_selection_states_its_own_epsilon(saved):
    words = " ".join(run("verify", saved).stdout.split())
    assert "no more than epsilon = 1 and delta = 1e-05 allow. That" in words


@pytest.mark.parametrize("private", [SECRET, "", "\x00"])
def test_planning_a_selection_opens_no_private_column_and_spends_nothing(tmp_path, book, private):
    path = tmp_path / "people.csv"
    with open(path, "w", newline="", encoding="latin-1") as file:
        csv.writer(file).writerows([("age", "height"), *((age, private) for age in range(20))])
    before, there = book.verify(), sorted(tmp_path.iterdir())
    result = run("select", path, *PLAN, *TRY, *account(book), "--plan-only")
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    for part in ("Chance of choosing the best", "sensitivity", "900*RBF(40)", "blind"):
        assert part in result.stdout
    assert book.verify() == before
    assert sorted(tmp_path.iterdir()) == there


def test_labels_can_be_selected_for(tmp_path):
    frame = people()
    frame["ill"] = np.where(frame["age"] > 35, "yes", "no")
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    words = (
        "--task",
        "classification",
        "--classes",
        "no,yes",
        "--inputs",
        "age",
        "--output",
        "ill",
    )
    tried = ("--try", "prior_mean=-1|0|1", "--folds", "3", "--mechanism", "exponential")
    result = run("select", path, *words, *tried, "--yes", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.selection.mechanism == "exponential"
    assert release.blueprint.prior_mean[0] in (-1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "--try is missing"),
        (("--try", "kernel"), "--try must be a string"),
        (("--try", "colour=red|blue"), "--try must be one of kernel, noise_variance"),
        (("--try", "epsilon=1|2"), "--try must be one of kernel, noise_variance"),
        (("--try", "rank=1", "--try", "rank=2"), "once, with its values"),
        (("--try", "rank=1|two"), "--try must be a whole number"),
        (("--try", "rank=0"), "--try must be a whole number"),
        (("--try", "noise_variance=1|x"), "--try must be a number"),
        (("--try", "prior_mean=1,2|3"), "--try must be one number"),
        (("--try", "kernel=RBF(1)|RBF(1"), "position 6"),
        (("--try", "kernel=RBF(1)|RBF([1,2])"), "lengthscales"),
        (("--try", "design=best"), "one of bayes, total, worst, volume"),
        ((*TRY, "--folds", "1"), "from 2 to the 40 people"),
        ((*TRY, "--folds", "41"), "from 2 to the 40 people"),
        ((*TRY, "--mechanism", "laplace"), "--mechanism must be one of"),
        ((*TRY, "--loss", "cubed"), "--loss must be one of"),
        ((*TRY, "--selection-epsilon", "0"), "epsilon must lie"),
        ((*TRY, "--ledger", "x.ledger"), "--ledger and --dataset belong together"),
        ((*TRY, "--dataset", "people"), "--ledger and --dataset belong together"),
    ],
    ids=str,
)
def test_a_selection_that_makes_no_sense_is_explained(data, words, part):
    text = fails(run("select", data, *PLAN, *words, "--plan-only"), part)
    assert "unexpected" not in text


def test_counts_and_several_columns_cannot_be_selected_for(data):
    words = ("--inputs", "age", "--try", "rank=1|2", "--plan-only")
    counts = ("--task", "counts", "--cap", "200", "--output", "height")
    fails(run("select", data, *words, *counts), "a private search is for")
    several = ("--bounds", "0,200", "--output", "height,weight")
    fails(run("select", data, *words, *several), "one output column")
    labels = ("--task", "classification", "--classes", "a,b", "--try", "noise_variance=1|2")
    fails(run("select", data, *words, *labels), "--noise-variance has no meaning")


def test_a_selection_needs_a_folder_and_consent_and_overwrites_nothing(data, tmp_path):
    fails(run("select", data, *SELECT), "--out is missing", "no privacy budget was spent")
    file = tmp_path / "file"
    file.write_text("precious")
    fails(run("select", data, *SELECT, "--out", file), "is a file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.cloakgp").write_text("precious")
    fails(run("select", data, *SELECT, "--out", tmp_path / "out"), "--force")
    assert (tmp_path / "out" / "release.cloakgp").read_text() == "precious"
    words = [word for word in SELECT if word != "--yes"]
    fails(run("select", data, *words, "--out", tmp_path / "new"), "--yes")
    assert not (tmp_path / "new").exists()


def test_candidates_come_from_a_table_of_a_settings_file_and_flags_win(data, tmp_path):
    config = tmp_path / "select.toml"
    config.write_text(
        'inputs = ["age"]\nbounds = [40, 200]\nselection-epsilon = 0.25\nloss = "squared"\n'
        'mechanism = "generalised"\nfolds = 4\n'
        '[candidates]\nkernel = ["900*RBF(5)", "900*RBF(40)"]\nrank = [2, 3]\n'
        "noise_variance = [50.0]\nprior_mean = [120]\n"
    )
    made = Settings.gather({}, config).search()
    assert (made.epsilon, made.loss, made.cv) == (0.25, "squared", 4)
    assert made.mechanism == "generalised"
    assert made.param_grid["kernel"][1] == parse_kernel("900*RBF(40)")
    assert made.param_grid["rank"] == [2, 3]
    assert made.param_grid["prior_mean"] == [120.0]
    result = run("select", data, "--config", config, "--plan-only")
    assert "one of 4 candidates at epsilon=0.25" in result.stdout, result.output
    result = run("select", data, "--config", config, "--try", "rank=1|2|3", "--plan-only")
    assert "one of 3 candidates" in result.stdout, result.output
    for table in ("rank = 2", "rank = []", 'colour = ["red"]', 'rank = ["two"]'):
        config.write_text(f'inputs = ["age"]\nbounds = [40, 200]\n[candidates]\n{table}\n')
        fails(run("select", data, "--config", config, "--plan-only"), "candidates in ", "must be")


def test_a_release_does_not_pass_over_candidates_or_the_ledger_of_a_settings_file(
    data, tmp_path, book
):
    config = tmp_path / "select.toml"
    lines = f'ledger = "{book.path}"\ndataset = "people"\n'
    config.write_text(f"{lines}[candidates]\nrank = [1, 2]\n")
    out = ("--out", tmp_path / "out")
    fails(run("release", data, *SPEND, "--config", config, *out), "`cloakgp select`")
    assert book.spent("people") == 0.0
    config.write_text(lines)
    assert run("release", data, *SPEND, "--config", config, *out).exit_code == 0
    assert book.spent("people") == pytest.approx(2.0, rel=1e-6)
    asked = {"inputs": "a", "bounds": "0,1", "ledger": book.path, "dataset": "people"}
    settings_of = Settings.gather(asked | {"candidates": ["rank=1|2"]})
    assert settings_of.estimator().ledger == settings_of.search().ledger == str(book.path)
    assert settings_of.search().estimator.ledger is None


@pytest.mark.parametrize("command", ["release", "select"])
def test_a_spend_is_on_the_account_under_the_name_of_the_release(command, data, tmp_path, book):
    words = SPEND if command == "release" else SELECT
    result = run(command, data, *words, *account(book), "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    (facts,) = [e.facts for e in book.history("people") if e.facts["event"] == "spent"]
    assert facts["release_id"] == release.release_id
    assert book.spent("people") == pytest.approx(release.total_epsilon, rel=1e-6)
    shown = run("budget", "show", book.path, "people").stdout
    assert release.release_id[:12] in shown
    assert f"{book.spent('people'):.4g}" in shown


@pytest.mark.parametrize("command", ["release", "select"])
def test_past_the_cap_the_refusal_says_plainly_that_nothing_was_spent(
    command, data, tmp_path, book
):
    words = SPEND if command == "release" else SELECT
    book.spend("people", [Spend("pure", 2.0)], what="before", parameters={}, release_id="before")
    before = book.verify()
    result = run(command, data, *words, *account(book), "--out", tmp_path / "out")
    text = fails(result, "requested", "spent", "remain")
    assert text.endswith("Nothing was published, so no privacy budget was spent.")
    assert "wasted" not in text
    assert book.verify() == before
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["release", "select"])
def test_an_error_after_the_commit_says_that_the_spend_is_wasted(
    command, data, tmp_path, book, monkeypatch
):
    def broken(*_, **__):
        raise RuntimeError(f"overflow in {SECRET}")

    monkeypatch.setattr(sketch, "_add_discrete_gaussian", broken)
    words = SPEND if command == "release" else SELECT
    result = run(command, data, *words, *account(book), "--out", tmp_path / "out")
    text = fails(result, "WAS spent", "it is wasted", "cloakgp budget history")
    assert SECRET not in text
    assert "no privacy budget" not in text
    assert book.spent("people") > 1.9
    assert not (tmp_path / "out").exists()


def test_faults_of_the_account_are_explained_before_anything_is_spent(data, tmp_path, book):
    out = ("--out", tmp_path / "out")
    fails(run("release", data, *SPEND, *out, "--ledger", book.path), "belong together")
    wrong = ("--ledger", book.path, "--dataset", "peple")
    fails(run("release", data, *SPEND, *out, *wrong), "no data set 'peple'")
    missing = ("--ledger", tmp_path / "no.ledger", "--dataset", "people")
    fails(run("select", data, *SELECT, *out, *missing), "there is no ledger")
    assert not (tmp_path / "no.ledger").exists()
    assert book.spent("people") == 0.0


@pytest.mark.parametrize("command", ["select", "budget"])
def test_the_help_of_select_and_budget_shows_what_they_are_for(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert ("--try" if command == "select" else "history") in shown.stdout
