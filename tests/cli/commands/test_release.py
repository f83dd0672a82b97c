"""``cloakgp release``: asks, spends once, and writes a folder that verifies."""

import io
import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
from command_line import (
    LABELS,
    OUTPUTS,
    PLAN,
    SELECT,
    SPEND,
    TASKS,
    account,
    fails,
    outcomes,
    run,
    start,
)
from postgres_server import ESCAPED, PASSWORD

from cloakgp import Ledger, Release
from cloakgp.app.settings import gather_settings
from cloakgp.app.tables.files import to_csv
from cloakgp.privacy import Spend, total_guarantee


def test_a_release_writes_a_folder_that_verifies(data, tmp_path, drawn):
    out = tmp_path / "deep" / "out"
    result = run("release", data, *SPEND, "--out", out)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == OUTPUTS
    release = Release.load(out / "release.cloakgp")
    assert release.private
    assert release.epsilon == 2.0
    assert release.target_names == ("height",)
    table = pd.read_csv(out / "predictions.csv")
    assert list(table)[:4] == ["age", "height", "height_std", "height_noise_std"]
    bands = ("height_low95", "height_high95", "height_person_low95", "height_person_high95")
    assert tuple(table)[4:] == bands
    np.testing.assert_allclose(table["height"], release.predict(table[["age"]]), rtol=1e-8)
    assert "Privacy statement" in (out / "statement.md").read_text()
    assert (out / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert run("verify", out / "release.cloakgp").exit_code == 0


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


def test_a_release_needs_to_know_what_is_private(data, tmp_path):
    fails(run("release", data, *PLAN, "--yes", "--out", tmp_path / "o"), "--output is missing")
    words = (*PLAN, "--output", "hight", "--yes", "--out", tmp_path / "o")
    fails(run("release", data, *words), "'hight'", "age, height, weight")


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


def test_without_a_terminal_and_without_yes_nothing_is_spent(data, tmp_path):
    words = [word for word in SPEND if word != "--yes"]
    process = start("release", data, *words, "--out", tmp_path / "out")
    _, shown = process.communicate(timeout=300)
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
    _, rest = process.communicate(timeout=300)
    os.close(keyboard)
    os.close(terminal_end)
    assert process.returncode == code, rest
    assert "Traceback" not in rest
    assert out.exists() is (code == 0)
    assert ("no privacy budget was spent" in rest) is (code != 0)


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
    assert book.spent("people") == total_guarantee([Spend("pure", 2.0)], 1e-5)
    asked = {"inputs": "a", "bounds": "0,1", "ledger": book.path, "dataset": "people"}
    settings_of = gather_settings(asked | {"candidates": ["rank=1|2"]})
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
    assert release.total_epsilon == (2.0 if command == "release" else 2.5)
    assert book.spent("people") == total_guarantee(release.spends, 1e-5)  # the cap has a delta
    shown = run("budget", "show", book.path, "people").stdout
    assert release.release_id[:12] in shown
    assert f"{book.spent('people'):.4g}" in shown


def test_labels_that_look_missing_are_labels_if_they_are_named(cases, tmp_path):
    frame = outcomes()
    frame["ill"] = np.where(frame["ill"] == "yes", "none", "NA")
    cases.write_bytes(to_csv(frame))
    words = (*LABELS, "--output", "ill", "--classes", "none,NA", "--yes")
    result = run("release", cases, *words, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.facts.classes == ("NA", "none")


def test_a_release_of_exactly_the_cap_is_not_refused(data, tmp_path, book):
    words = (*SPEND, "--epsilon", "3", *account(book), "--out", tmp_path / "out")
    assert run("release", data, *words).exit_code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    assert book.spent("people") == total_guarantee([Spend("pure", 3.0)], 1e-5)


def test_a_release_spends_on_a_server_and_nothing_of_its_password_is_written(
    data, tmp_path, postgres
):
    address, out = postgres.address(schema="command"), tmp_path / "out"
    ledger = Ledger(address).open("people", 2.5, 1e-5, create=True)
    words = (*SPEND, "--ledger", address, "--dataset", "people", "--out")
    done = run("release", data, *words, out)
    assert done.exit_code == 0, done.output
    assert ledger.spent("people") == total_guarantee([Spend("pure", 2.0)], 1e-5)
    assert (
        ledger.history()[-1].facts["release_id"] == Release.load(out / "release.cloakgp").release_id
    )
    said = [done.output, fails(run("release", data, *words, tmp_path / "two"), "does not allow")]
    for text in (*said, *(path.read_bytes().decode("latin-1") for path in out.iterdir())):
        assert PASSWORD not in text
        assert ESCAPED not in text
