"""What is certain from the beginning is said before a plan is drawn."""

import os

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
    people,
    run,
)

from cloakgp.app.job import Job
from cloakgp.app.outputs import check_folder
from cloakgp.app.tables.files import to_csv
from cloakgp.privacy import Spend


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


def test_a_folder_that_cannot_be_written_is_found_before_the_private_column_is_opened(
    data, tmp_path, monkeypatch
):
    monkeypatch.setattr(Job, "release", lambda *_: pytest.fail("private column opened"))
    (tmp_path / "file").write_text("")
    fails(run("release", data, *SPEND, "--out", tmp_path / "file"), "is a file")
    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    fails(
        run("release", data, *SPEND, "--out", tmp_path / "out"), "cannot be written", "no privacy"
    )


def test_columns_of_one_name_are_refused_before_anything_is_spent(cases, tmp_path):
    words = (*LABELS, "--output", "grade", "--classes", "a,a_std,b,c", "--yes")
    out = tmp_path / "out"
    fails(run("release", cases, *words, "--out", out), "two columns of one name", "no privacy")
    frame = outcomes().rename(columns={"age": "ill_p_no"})
    cases.write_bytes(to_csv(frame))
    words = ("--task", "classification", "--inputs", "ill_p_no", *TASKS["text"][4:], "--yes")
    fails(run("release", cases, *words, "--out", out), "two columns of one name")


def test_faults_of_the_account_are_explained_before_anything_is_spent(data, tmp_path, book):
    out = ("--out", tmp_path / "out")
    fails(run("release", data, *SPEND, *out, "--ledger", book.path), "belong together")
    wrong = ("--ledger", book.path, "--dataset", "peple")
    fails(run("release", data, *SPEND, *out, *wrong), "no data set 'peple'")
    missing = ("--ledger", tmp_path / "no.ledger", "--dataset", "people")
    fails(run("select", data, *SELECT, *out, *missing), "there is no ledger")
    assert not (tmp_path / "no.ledger").exists()
    assert book.spent("people") == 0.0


@pytest.fixture
def unplanned(monkeypatch):
    """Drawing a plan is an error."""
    for name in ("plan", "plan_search"):
        monkeypatch.setattr(Job, name, lambda *_: pytest.fail("planned too early"))


@pytest.mark.usefixtures("unplanned")
@pytest.mark.parametrize("command", ["release", "select"])
def test_a_ledger_that_is_not_there_or_not_open_is_found_before_the_plan(
    command, data, tmp_path, book
):
    words = (*(SPEND if command == "release" else SELECT), "--out", tmp_path / "out")
    missing = ("--ledger", tmp_path / "no.ledger", "--dataset", "people")
    fails(run(command, data, *words, *missing), "there is no ledger", "no privacy budget was spent")
    wrong = ("--ledger", book.path, "--dataset", "peple")
    fails(run(command, data, *words, *wrong), "no data set 'peple'")
    fails(run(command, data, *words, "--ledger", data, "--dataset", "people"), "ledger")
    assert not (tmp_path / "no.ledger").exists()


@pytest.mark.usefixtures("unplanned")
@pytest.mark.parametrize("command", ["release", "select"])
def test_a_budget_that_is_certainly_too_small_is_found_before_the_plan(
    command, data, tmp_path, book
):
    words = (*(SPEND if command == "release" else SELECT), "--epsilon", "3.5")
    words = (*words, *account(book), "--out", tmp_path / "out")
    text = fails(run(command, data, *words), "requested epsilon = 3.5", "remaining")
    assert text.endswith("Nothing was published, so no privacy budget was spent.")
    assert book.spent("people") == 0.0


def test_laplace_noise_that_the_account_does_not_allow_is_refused_with_the_noise_that_it_does(
    data, tmp_path, book
):
    before = {"what": "before", "parameters": {}, "release_id": "before"}
    book.spend("people", [Spend.gaussian(10.0)], **before)
    words = (*SPEND, *account(book), "--out", tmp_path / "out")
    fails(run("release", data, *words), "with Laplace noise", "--mechanism gaussian")
    assert not (tmp_path / "out").exists()


def test_a_way_of_choosing_given_as_the_noise_is_told_its_option(data):
    fails(run("select", data, *SELECT, "--mechanism", "exponential"), "--choice")


@pytest.mark.usefixtures("unplanned")
def test_a_picture_that_cannot_be_written_is_found_before_the_plan(data, tmp_path, monkeypatch):
    (tmp_path / "folder.png").mkdir()
    for name, part in (
        ("no/p.png", "there is no folder"),
        ("folder.png", "is a folder"),
        ("p.docx", "must end in .png or .svg or .pdf"),
        ("people.csv/p.png", "there is no folder"),
    ):
        fails(run("plan", data, *PLAN, "--plot", tmp_path / name), "--plot", part)
    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    fails(run("plan", data, *PLAN, "--plot", tmp_path / "p.png"), "cannot be written")


@pytest.mark.usefixtures("unplanned")
def test_a_folder_that_cannot_take_the_outputs_is_found_before_the_plan(data, tmp_path):
    fails(run("release", data, *SPEND, "--out", data), "is a file")
    fails(run("release", data, *SPEND, "--out", data / "deeper"), "is a file, so it cannot hold")
    (tmp_path / "out" / "plot.png").mkdir(parents=True)
    words = (*SPEND, "--out", tmp_path / "out", "--force")
    fails(run("release", data, *words), "plot.png", "is a folder")


@pytest.mark.usefixtures("unplanned")
def test_no_output_overwrites_a_file_that_is_read(data, tmp_path, book):
    """Not the ledger, the settings or the points either, with or without --force."""
    out = tmp_path / "out"
    out.mkdir()
    os.link(book.path, out / "release.cloakgp")
    words = (*SPEND, "--out", out, "--force", *account(book))
    fails(run("release", data, *words), "would overwrite")
    os.rename(out / "release.cloakgp", out / "elsewhere")
    os.link(data, out / "predictions.csv")
    fails(run("release", data, *SPEND, "--out", out, "--force"), "would overwrite the data")


@pytest.mark.usefixtures("unplanned")
def test_a_ledger_that_was_moved_is_found_before_the_plan(data, tmp_path, book):
    book.move_to(tmp_path / "new.ledger")
    words = (*SPEND, "--out", tmp_path / "out", "--ledger", book.path, "--dataset", "people")
    fails(run("release", data, *words), "is closed: it was moved to", "new.ledger; name that one")


def test_an_address_is_never_taken_for_a_file(tmp_path):
    check_folder(tmp_path / "out", ("postgresql://u@h/" + "d" * 5000, None), force=False)
