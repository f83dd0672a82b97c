"""``cloakgp plan``: what it shows, and that it reads no private value."""

import csv
import json

import pytest
from command_line import PLAN, SECRET, SPEND, TASKS, fails, outcomes, people, run

from cloakgp.app.tables.files import to_csv
from cloakgp.plot import draw
from cloakgp.plot.draw import plot_plan


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


def test_a_plan_shows_the_noise_the_budgets_and_the_designs(data):
    parts = ("Noise at a few points", "Other budgets", "nothing was")
    text = run("plan", data, *PLAN).stdout
    for part in (*parts, "Laplace noise was chosen"):
        assert part in text
    assert "nan" not in text  # cells have no certificate
    text = run("plan", data, *PLAN, "--mechanism", "gaussian").stdout
    for part in (*parts, "Other designs", "worst"):
        assert part in text


def test_json_is_one_object_and_nothing_else(data, saved):
    plan = run("plan", data, *PLAN, "--json", "--required-std", "20")
    report = json.loads(plan.stdout)
    assert {row["design"] for row in report["designs"]} == {"cells"}
    plan = run("plan", data, *PLAN, "--mechanism", "gaussian", "--json")
    report = json.loads(plan.stdout)
    assert [row["epsilon"] for row in report["epsilons"]] == [0.1, 0.3, 1.0, 3.0, 10.0]
    assert {row["design"] for row in report["designs"]} == {
        "bayes",
        "cells",
        "total",
        "worst",
        "volume",
    }
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
        return json.loads(shown)["largest_bound"]

    assert largest(epsilon) <= 12 < largest(0.97 * epsilon)


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


def test_the_picture_of_a_plan_marks_the_accuracy_that_is_asked_for(data, tmp_path, monkeypatch):
    asked = {}

    def picture(plan, **kwargs):
        asked.update(kwargs)
        return plot_plan(plan, **kwargs)

    monkeypatch.setattr(draw, "plot_plan", picture)
    words = ("--no-compare", "--required-std", "12", "--plot", tmp_path / "p.svg")
    assert run("plan", data, *PLAN, *words).exit_code == 0
    assert asked["max_std"] == 12.0
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()


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


def test_a_plan_of_labels_reads_no_private_column(cases):
    cases.write_bytes(to_csv(outcomes().assign(ill=SECRET, flag=SECRET, falls=SECRET)))
    for task in ("text", "numbers", "counts"):
        result = run("plan", cases, *TASKS[task], "--no-compare")
        assert result.exit_code == 0, result.output
        assert SECRET not in result.output


def test_parquet_and_csv_give_the_same_plan(data, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    people().to_parquet(path)
    words = (*PLAN, "--json", "--no-compare")
    assert run("plan", data, *words).stdout == run("plan", path, *words).stdout
    assert run("release", path, *SPEND, "--out", tmp_path / "out").exit_code == 0


def test_points_that_matter_are_read_from_the_inputs_of_a_file_alone(tmp_path):
    path, at = tmp_path / "people.csv", tmp_path / "at.csv"
    path.write_bytes(to_csv(people()))
    at.write_bytes(to_csv(people().assign(height=SECRET)))
    result = run("plan", path, *PLAN, "--at", at, "--output", "height", "--no-compare")
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
