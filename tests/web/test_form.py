"""What a form says becomes settings, and what is wrong with it finds its field."""

import json
import tomllib

import pytest
from web_cases import FORM

from cloakgp.app.settings import gather_settings
from cloakgp.errors import CommandError, ParameterError
from cloakgp.web.form import (
    Problem,
    problem_of,
    read_form,
    read_submission,
    shown_ledger,
    values_of,
)


def test_a_form_becomes_the_settings_of_the_command_line():
    settings = read_submission(FORM, {"ledger": "b.ledger", "dataset": "people"}).settings
    assert (settings.inputs, settings.output) == (("age",), ("height",))
    assert settings.bounds == ((40.0, 200.0),)
    assert (settings.epsilon, settings.delta, settings.ledger) == (1.0, 1e-5, "b.ledger")


@pytest.mark.parametrize(("field", "size"), [("rho", "0.1"), ("mu", "0.5")])
def test_a_budget_in_other_units_takes_the_place_of_epsilon(field, size):
    """Whose field is never empty."""
    submission = read_submission(FORM | {field: size}, {})
    assert submission.settings.epsilon is None
    assert getattr(submission.settings, field) == float(size)
    assert f"{field} = {size}" in submission.toml
    with pytest.raises(Problem, match="give one of") as caught:
        read_submission(FORM | {"rho": "0.1", "mu": "0.5"}, {})
    assert caught.value.field in ("epsilon", "rho", "mu")


def test_whose_rows_they_are_is_a_field():
    submission = read_submission(FORM | {"unit": "home"}, {})
    assert submission.settings.privacy_unit.many == "homes"
    assert values_of({"unit": ["datum", "data"]})["unit"] == "datum,data"
    assert 'unit = ["home"]' in submission.toml


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"inputs": ""}, "inputs"),
        ({"output": ""}, "output"),
        ({"low": "", "high": ""}, "bounds"),
        ({"low": "300"}, "bounds"),
        ({"low": "x"}, "bounds"),
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": "-"}, "delta"),
        ({"kernel": "RBF("}, "kernel"),
        ({"inducing": "0"}, "inducing"),
        ({"design": "best"}, "design"),
        ({"task": "classification"}, "classes"),
        ({"task": "counts"}, "cap"),
        ({"at": "/etc/passwd"}, "at"),
        ({"at": "people.csv"}, "at"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(changes, field):
    with pytest.raises(Problem) as caught:
        read_submission(FORM | changes, {})
    assert caught.value.field == field
    assert "--" not in str(caught.value)


def test_a_file_whose_name_looks_like_a_grid_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "age=0:9:3").touch()
    with pytest.raises(Problem, match="grid"):
        read_submission(FORM | {"at": "age=0:9:3"}, {})
    assert (
        read_submission(FORM | {"at": "points.csv"}, {"at": "points.csv"}).settings.at
        == "points.csv"
    )


def test_fields_of_another_kind_of_output_are_left_out():
    asked = read_submission(FORM | {"classes": "no,yes", "cap": "9"}, {})
    assert not {"classes", "cap"} & asked.given.keys()


def test_names_may_hold_commas():
    asked = read_submission(read_form(b"inputs=age%2C+years&inputs=b&output=y&low=0&high=1"), {})
    assert asked.settings.inputs == ("age, years", "b")


def test_settings_are_written_and_loaded_again(tmp_path):
    base = {"noise_variance": 30.0, "ledger": "b.ledger", "dataset": "people"}
    asked = read_submission(FORM | {"at": "age=0:70:8", "epsilon": "0.1234567890123"}, base)
    path = tmp_path / "settings.toml"
    path.write_text(asked.toml)
    assert gather_settings({}, path) == asked.settings
    told = tomllib.loads(asked.toml)
    again = read_submission(values_of(told), told)
    assert again.values() == asked.values()


ROWS = {
    "protect": "rows",
    "inputs": "age\nday\nsite\nsmoker",
    "box-kind:age": "number",
    "box-low:age": "0",
    "box-high:age": "90.5",
    "box-kind:day": "date",
    "box-low:day": "2020-01-01",
    "box-high:day": "2020-12-31",
    "box-kind:site": "levels",
    "box-levels:site": "1, 2",
    "box-kind:smoker": "bool",
    "box-low:smoker": "3",
    "neighbours": "add-remove",
    "people": "500",
    "max_contributions": "",
    "at": "age=0:9:3",
}


def test_a_box_is_told_input_by_input_and_loaded_again(tmp_path):
    asked = read_submission(FORM | ROWS, {})
    settings = asked.settings
    assert settings.whole_rows
    assert (settings.neighbours, settings.people, settings.at) == ("add-remove", 500, None)
    day = ("2020-01-01", "2020-12-31")
    box = {"age": (0.0, 90.5), "day": day, "site": ("1", "2"), "smoker": "bool"}
    assert settings.box == box
    path = tmp_path / "settings.toml"
    path.write_text(asked.toml)
    assert gather_settings({}, path) == settings
    rows = json.loads(values_of(tomllib.loads(asked.toml))["box"])
    shown = {f"box-{part}:{row['name']}": row[part] for row in rows for part in row}
    again = read_submission(FORM | ROWS | shown, {})
    assert again.values() == asked.values()


def test_outputs_know_nothing_of_a_box():
    asked = read_submission(FORM | ROWS | {"protect": "outputs", "inputs": "age"}, {})
    assert not {"protect", "box", "neighbours", "people"} & asked.given.keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box-high:age": ""}, "where age may lie"),
        ({"box-levels:site": " , "}, "where site may lie"),
        ({"box-low:age": "young"}, "ends of age must be numbers"),
        ({"box-high:day": "31"}, "ends of day must be dates"),
    ],
)
def test_what_is_wrong_with_a_box_is_said_beside_it(changes, message):
    with pytest.raises(Problem, match=message) as caught:
        read_submission(FORM | ROWS | changes, {})
    assert caught.value.field == "box"


def test_kernels_that_print_alike_are_told_apart():
    one, other = (
        read_submission(FORM | {"kernel": f"900*RBF({x})"}, {}) for x in ("20", "20.00001")
    )
    assert str(one.settings.kernel) == str(other.settings.kernel)
    assert one.values() != other.values()


def test_fields_show_the_defaults_where_nothing_is_told():
    shown = values_of({})
    assert (shown["task"], shown["epsilon"], shown["inputs"]) == ("regression", "1", "")
    shown = values_of({"bounds": [40, 200], "inputs": "age", "classes": ["a", "b"]})
    assert (shown["low"], shown["high"], shown["classes"]) == ("40", "200", "a,b")


@pytest.mark.parametrize("told", [{"output": ["a", "b"]}, {"bounds": [[0, 1], [0, 2]]}])
def test_several_private_columns_are_for_the_command_line(told):
    with pytest.raises(CommandError, match="one private column"):
        values_of(told)


def test_bounds_that_are_chosen_privately_are_for_the_command_line():
    with pytest.raises(CommandError, match="--bounds private"):
        values_of({"bounds": "private"})


def test_other_errors_have_no_field():
    assert problem_of(CommandError("the disk is full")).field is None
    odd = ParameterError("{noise_variance} is odd, so {epsilon:1} is too")
    assert str(problem_of(odd)) == "noise variance is odd, so epsilon 1 is too"
    assert problem_of(odd).field == "epsilon"  # the other one has none


def test_settings_and_pages_name_a_server_without_its_password():
    base = {"ledger": "postgresql://alice:hu%2Fsh@server/budgets", "dataset": "people"}
    asked = read_submission(FORM, base)
    assert tomllib.loads(asked.toml)["ledger"] == "postgresql://alice@server/budgets"
    assert "sh@" not in repr(asked.values())
    assert shown_ledger(base["ledger"]) == "postgresql://alice@server/budgets"
    assert asked.settings.ledger == base["ledger"]  # which is still what connects
    assert shown_ledger("/a/b.ledger") == "b.ledger"
    assert shown_ledger(None) == ""
