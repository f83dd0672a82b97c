"""What is certain from the beginning is said before a plan is drawn, and what was spent is said as
it is known."""

import errno
import os

import pytest
from command_line import OUTPUTS, PLAN, SPEND, fails, people, run

from cloakgp import Ledger, Release
from cloakgp.cli import publish
from cloakgp.cli.tables import to_csv

SELECT = (*SPEND, "--try", "rank=1|2", "--folds", "2", "--selection-epsilon", "0.5")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    return path


@pytest.fixture
def unplanned(monkeypatch):
    """Drawing a plan, or even reading the table, is an error."""
    monkeypatch.setattr(publish.Job, "prepare", lambda *_, **__: pytest.fail("planned too early"))


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "budget.ledger"
    result = run("budget", "open", path, "people", "--epsilon", "3", "--delta", "1e-5", "--new")
    assert result.exit_code == 0, result.output
    return path


@pytest.mark.usefixtures("unplanned")
@pytest.mark.parametrize("command", ["release", "select"])
def test_a_ledger_that_is_not_there_or_not_open_is_found_before_the_plan(
    command, data, tmp_path, book
):
    words = (*(SPEND if command == "release" else SELECT), "--out", tmp_path / "out")
    missing = ("--ledger", tmp_path / "no.ledger", "--dataset", "people")
    fails(run(command, data, *words, *missing), "there is no ledger", "no privacy budget was spent")
    wrong = ("--ledger", book, "--dataset", "peple")
    fails(run(command, data, *words, *wrong), "no data set 'peple'")
    fails(run(command, data, *words, "--ledger", data, "--dataset", "people"), "ledger")
    assert not (tmp_path / "no.ledger").exists()


@pytest.mark.usefixtures("unplanned")
@pytest.mark.parametrize("command", ["release", "select"])
def test_a_budget_that_is_certainly_too_small_is_found_before_the_plan(
    command, data, tmp_path, book
):
    words = (*(SPEND if command == "release" else SELECT), "--epsilon", "3.5")
    account = ("--ledger", book, "--dataset", "people", "--out", tmp_path / "out")
    text = fails(run(command, data, *words, *account), "requested epsilon = 3.5", "remaining")
    assert text.endswith("Nothing was published, so no privacy budget was spent.")
    assert Ledger(book).spent("people") == 0.0


def test_a_release_of_exactly_the_cap_is_not_refused(data, tmp_path, book):
    words = (*SPEND, "--epsilon", "3", "--ledger", book, "--dataset", "people")
    assert run("release", data, *words, "--out", tmp_path / "out").exit_code == 0


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
    three = ("--inputs", "age,height,weight", "--plot", tmp_path / "p.png")
    fails(run("plan", data, *PLAN, *three), "--plot shows one or two inputs")
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
    os.link(book, out / "release.cloakgp")
    account = ("--ledger", book, "--dataset", "people")
    fails(run("release", data, *SPEND, "--out", out, "--force", *account), "would overwrite")
    os.rename(out / "release.cloakgp", out / "elsewhere")
    os.link(data, out / "predictions.csv")
    fails(run("release", data, *SPEND, "--out", out, "--force"), "would overwrite the data")


def test_a_table_of_predictions_that_cannot_be_written_is_found_before_the_release_is_read(
    tmp_path,
):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("precious")
    for name, part in (
        ("no/p.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
        ("p.txt", "must end in .csv"),
        ("there.csv", "--force"),
    ):
        out = ("--out", tmp_path / name)
        fails(run("predict", tmp_path / "none.cloakgp", "--at", "age=1", *out), part)


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_name_is_not_the_current_folder(data, tmp_path, book, empty, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    for words in (
        ("release", data, *SPEND, "--out", empty),
        ("select", data, *SELECT, "--out", empty),
        ("release", data, *SPEND, "--out", "out", "--ledger", empty, "--dataset", "people"),
        ("release", data, *SPEND, "--out", "out", "--config", empty),
        ("plan", data, *PLAN, "--plot", empty),
        ("plan", data, *PLAN, "--at", empty),
        ("plan", empty, *PLAN),
        ("predict", empty, "--at", "age=1"),
        ("predict", "x.cloakgp", "--at", "age=1", "--out", empty),
        ("budget", "export", book, "--out", empty),
        ("budget", "open", book, "b", "--epsilon", "1", "--delta", "1e-5", "--inputs-from", empty),
        ("verify", empty),
        ("demo", "--out", empty),
    ):
        fails(run(*words), code=2)
    assert sorted(tmp_path.iterdir()) == before


# ----------------------------------------------------------------------- what became of the budget


def failing(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("command", ["release", "select"])
def test_a_refused_release_leaves_no_folder(command, data, tmp_path, monkeypatch):
    words = SPEND if command == "release" else SELECT
    out = tmp_path / "deep" / "deeper"
    monkeypatch.setattr(publish.Job, "draw", failing)
    fails(run(command, data, *words, "--out", out), "disk is full", "no privacy budget was spent")
    assert not (tmp_path / "deep").exists()
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("precious")
    fails(run(command, data, *words, "--out", out), "disk is full")
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_a_release_that_cannot_be_saved_says_what_the_ledger_says(
    data, tmp_path, book, monkeypatch
):
    save = Release.save
    monkeypatch.setattr(Release, "save", lambda r, path: failing() if r.private else save(r, path))
    account = ("--ledger", book, "--dataset", "people", "--out", tmp_path / "out")
    text = fails(run("release", data, *SPEND, *account), "WAS spent", "it is wasted")
    assert "no privacy budget was spent" not in text
    assert "If " not in text
    assert Ledger(book).spent("people") > 1.9
    assert not (tmp_path / "out").exists()


def test_an_error_before_the_spend_says_that_nothing_was_spent(data, tmp_path, book):
    """Also with a ledger: it is known that the spend is not in it."""
    frame = people().astype(object)
    frame.loc[3, "height"] = "tall"
    data.write_bytes(to_csv(frame))
    account = ("--ledger", book, "--dataset", "people", "--out", tmp_path / "out")
    text = fails(run("release", data, *SPEND, *account), "no privacy budget was spent")
    assert "wasted" not in text
    assert "recorded" not in text
    assert Ledger(book).spent("people") == 0.0


def test_a_ledger_that_cannot_be_read_afterwards_is_the_only_doubt(
    data, tmp_path, book, monkeypatch
):
    spend = Ledger.spend

    def spend_and_lose(ledger, *args, **options):
        spend(ledger, *args, **options)
        os.rename(ledger.path, tmp_path / "lost")
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Ledger, "spend", spend_and_lose)
    account = ("--ledger", book, "--dataset", "people", "--out", tmp_path / "out")
    text = fails(run("release", data, *SPEND, *account), "The ledger cannot be read now")
    assert "WAS spent" not in text
    assert "no privacy budget was spent" not in text


def test_a_release_with_a_ledger_that_ends_well_is_whole(data, tmp_path, book):
    account = ("--ledger", book, "--dataset", "people", "--out", tmp_path / "out")
    assert run("release", data, *SPEND, *account).exit_code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    assert Ledger(book).spent("people") > 1.9
