"""No call shows a private value, nor publishes the private column among the public ones."""

import pytest
from command_line import PLAN, SECRET, SPEND, fails, people, run

from cloakgp.cli import publish
from cloakgp.cli.settings import Settings
from cloakgp.cli.tables import read_columns, to_csv
from cloakgp.errors import CommandError


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    return path


@pytest.mark.parametrize("role", ["inputs", "groups"])
def test_a_private_column_cannot_be_public_in_a_settings_file_either(role, data, tmp_path):
    config = tmp_path / "c.toml"
    named = {"inputs": 'inputs = ["age", "height"]', "groups": 'inputs = "age"\ngroups = "height"'}
    config.write_text(f'{named[role]}\noutput = "height"\nbounds = [40, 200]\n')
    words = ("release", data, "--config", config, "--yes", "--out", tmp_path / "out")
    fails(run(*words), "height is named as private and as public", "no privacy budget")
    config.write_text(f"{named[role]}\nbounds = [40, 200]\n")
    fails(run(*words, "--output", " height "), "private and as public")


def test_a_private_exposure_is_refused(data, tmp_path):
    words = ("--task", "counts", "--cap", "9", "--inputs", "age", "--exposure", "weight")
    out = ("--output", "weight", "--yes", "--out", tmp_path / "out")
    fails(run("release", data, *words, *out), "private and as public")


def test_the_reader_of_tables_refuses_it_by_itself(data):
    for role in ({"inputs": ["age", "height"]}, {"inputs": ["age"], "groups": "height"}):
        with pytest.raises(CommandError, match="private and as public"):
            read_columns(data, **role, outputs=["height"])


def test_points_that_matter_are_read_from_the_inputs_of_a_file_alone(tmp_path):
    path, at = tmp_path / "people.csv", tmp_path / "at.csv"
    path.write_bytes(to_csv(people()))
    at.write_bytes(to_csv(people().assign(height=SECRET)))
    result = run("plan", path, *PLAN, "--at", at, "--output", "height", "--no-compare")
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output


CELLS = [
    "173,5",
    "€173.50",
    "173.5cm",
    "2011-07-13",
    "１７３",
    "tall",
    "173.5 ",
    '"173"".5"',
    "1_73",
    "17 3",
    "nan",
    "-inf",
    "1e999",
    "0x173",
    "=173",
]


@pytest.mark.parametrize("debug", [(), ("--debug",)])
@pytest.mark.parametrize("everywhere", [True, False])
def test_no_way_of_writing_a_private_value_makes_an_error_quote_it(tmp_path, everywhere, debug):
    for cell in CELLS:
        frame = people().astype(object)
        frame.loc[slice(None) if everywhere else 17, "height"] = cell
        path = tmp_path / "p.csv"
        frame.to_csv(path, index=False, sep=";")
        result = run(*debug, "release", path, *SPEND, "--out", tmp_path / "out")
        if result.exit_code == 0:
            assert cell.strip() == "173.5"
            continue
        text = fails(result, "no privacy budget was spent").replace(str(path), "")
        for part in (cell, "173", "１７３", "17", "2011", "tall"):
            assert part not in text, text


def test_an_error_of_the_system_without_a_number_is_only_named(data, tmp_path, monkeypatch):
    """Libraries raise OSError with words of their own, which may quote what they were reading."""

    def blurt(*_):
        raise OSError(f"cannot read {SECRET}")

    monkeypatch.setattr(publish.Job, "draw", blurt)
    text = fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "error: OSError")
    assert SECRET not in text


def test_private_labels_that_look_like_a_header_are_not_listed(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("F,positive\nM,negative\n")
    words = ("--task", "classification", "--classes", "positive,negative", "--inputs", "sex")
    result = run("plan", path, *words, "--output", "result")
    text = fails(result, "not shown")
    assert "positive" not in text


def test_a_search_chooses_by_the_exponential_mechanism_unless_told_otherwise(data):
    assert Settings().mechanism == "exponential"
    words = (*PLAN, "--try", "rank=1|2", "--folds", "2", "--plan-only")
    assert "(exponential, absolute error)" in run("select", data, *words).stdout
