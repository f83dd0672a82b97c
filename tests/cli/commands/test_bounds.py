"""``cloakgp bounds`` chooses bounds, and ``release --bounds private`` chooses and publishes."""

import json

import numpy as np
import pytest
from command_line import fails, people, run

from cloakgp import Ledger, Release
from cloakgp.privacy import Spend

CHOOSE = ("--inputs", "age", "--output", "height", "--grid", "0:400:11", "--epsilon", "8")
RELEASE = (
    *("--inputs", "age", "--output", "height", "--bounds", "private", "--bounds-grid", "0:400:11"),
    *("--epsilon", "8", "--kernel", "900*RBF(20)", "--design", "total"),
)


def account_in_use(folder):
    """Open an account; after a first entry, two choices are accounted for more quickly."""
    book = Ledger(folder / "ledger").open("people", 20.0, 1e-5, create=True)
    before = {"what": "before", "parameters": {}, "release_id": "before"}
    book.spend("people", [Spend.gaussian(1000.0)], **before)
    return book


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("bounds") / "people.csv"
    frame = people(200)
    frame["who"] = np.arange(200) // 2
    frame.to_csv(path, index=False)
    return path


def test_a_plan_reads_no_private_value_and_spends_nothing(table, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text(table.read_text().replace("100.0", "SECRET4711"))
    result = run("bounds", broken, *CHOOSE, "--plan-only")
    assert result.exit_code == 0, result.output
    assert "among 11 candidates from 0 to 400" in result.stdout
    told = run("bounds", broken, *CHOOSE, "--plan-only", "--json")
    assert json.loads(told.stdout)["candidates"] == 11
    result = run("bounds", broken, *CHOOSE, "--yes")
    assert result.exit_code != 0
    assert "SECRET" not in result.output + result.stderr


@pytest.mark.slow
def test_bounds_are_chosen_and_recorded(table, tmp_path):
    book = account_in_use(tmp_path)
    account = ("--ledger", tmp_path / "ledger", "--dataset", "people")
    result = run("bounds", table, *CHOOSE, "--yes", "--json", *account)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert 0 <= found["lo"] < found["hi"] <= 400
    assert book.history()[-1].facts["what"] == "private_bounds"
    said = run("bounds", table, *CHOOSE, "--yes", "--groups", "who")
    assert "They cost epsilon = 8" in " ".join(said.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--grid", "5:1:11"), "must be lo:hi:count"),
        (("--grid", "log:0:10:11"), "above 0 on a logarithmic grid"),
        (("--grid", "0:1:2"), "3 to 1000 candidates"),
        (("--epsilon", "0.01"), "too few to choose bounds"),
        (("--quantiles", "0.9,0.1"), "must be two numbers"),
        (("--output", "height,weight"), "one private column"),
        (("--ledger", "x"), "belong together"),
    ],
)
def test_what_cannot_be_chosen_is_refused(table, words, message):
    words = ["--bounds-quantiles" if w == "--quantiles" else w for w in words]
    fails(run("bounds", table, *CHOOSE, "--yes", *words), message)


def test_nobody_spends_without_being_asked(table):
    fails(run("bounds", table, *CHOOSE), "--yes")


@pytest.mark.slow
def test_release_chooses_bounds_from_one_budget(table, tmp_path):
    book = account_in_use(tmp_path)
    account = ("--ledger", tmp_path / "ledger", "--dataset", "people")
    limit = ("--groups", "who", "--max-contributions", "1")
    result = run("release", table, *RELEASE, *account, *limit, "--yes", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output + result.stderr
    assert "the choice of bounds included" in " ".join(result.stdout.split())
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.bounds_choice is not None
    assert release.total_epsilon <= 8.0
    assert release.facts.limit == (1, 100)
    assert book.history()[-1].facts["stated"] == [release.total_epsilon, 1e-5]
    checked = run("verify", tmp_path / "out" / "release.cloakgp")
    assert checked.exit_code == 0
    assert "candidates for bounds" in " ".join(checked.stdout.split())


def test_a_plan_with_private_bounds_says_how_well_it_chooses(table):
    result = run("plan", table, *RELEASE, "--json")
    assert result.exit_code == 0, result.output + result.stderr
    found = json.loads(result.stdout)
    assert found["bounds"]["candidates"] == 11
    assert found["epsilon"] < found["total_epsilon"] <= 8.0
    assert "epsilons" not in found


def test_a_plan_with_owners_compares_limits(table):
    settings = ("--inputs", "age", "--bounds", "40,200", "--kernel", "900*RBF(20)")
    result = run("plan", table, *settings, "--groups", "who", "--design", "total", "--json")
    limits = json.loads(result.stdout)["limits"]
    assert [row["max_rows"] for row in limits] == [1, 2, 5, "all"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--bounds", "private"), "--bounds-grid is missing"),
        (("--bounds", "0,9", "--bounds-grid", "0:9:4"), "is for --bounds private"),
        (("--bounds", "0,9", "--max-contributions", "2"), "with --groups"),
        (
            ("--bounds", "private", "--bounds-grid", "0:9:4", "--output", "height,weight"),
            "one private column",
        ),
        (("--bounds", "private", "--bounds-grid", "0:9:2"), "--bounds-grid must have 3"),
        (("--bounds", "private", "--task", "counts", "--cap", "3"), "no meaning for --task counts"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(table, words, message):
    fails(run("plan", table, "--inputs", "age", *words), message)


def recorded_inputs(book):
    """Return by what the ledger knows the inputs of each spend but the first."""
    return [e.facts["inputs"] for e in book.history() if e.facts["event"] == "spent"][1:]


@pytest.mark.slow
def test_a_release_after_a_choice_of_bounds_is_known_to_be_of_the_same_people(tmp_path):
    """Also if inputs are categories, dates or missing: both commands read them in one way."""
    book, path = account_in_use(tmp_path), tmp_path / "people.csv"
    frame = people(200)
    frame["region"] = np.where(np.arange(200) % 3 == 0, "north", "south")
    frame.loc[5, "region"] = None
    frame["born"] = [f"19{n % 90 + 10}-01-02" for n in range(200)]
    frame.to_csv(path, index=False)
    told = ("--inputs", "age,region,born", "--output", "height")
    told += ("--levels", "region=north,south", "--dates", "born=1950-01-01")
    told += ("--missing", "region=level", "--ledger", tmp_path / "ledger", "--dataset", "people")
    chosen = run("bounds", path, *told, "--grid", "0:400:11", "--epsilon", "8", "--yes", "--json")
    assert chosen.exit_code == 0, chosen.output
    more = ("--bounds", "0,400", "--epsilon", "1", "--kernel", "900*RBF(20)", "--design", "total")
    released = run("release", path, *told, *more, "--out", tmp_path / "pub", "--yes")
    assert released.exit_code == 0, released.output
    first, second = recorded_inputs(book)
    assert first == second is not None


@pytest.mark.slow
def test_a_folder_is_read_in_blocks_as_a_release_reads_it(tmp_path):
    book, folder = account_in_use(tmp_path), tmp_path / "people"
    folder.mkdir()
    for number, part in enumerate((people(150), people(150))):
        part.to_parquet(folder / f"{number}.parquet")
    account = ("--ledger", tmp_path / "ledger", "--dataset", "people")
    plan = run("bounds", folder, *CHOOSE, "--plan-only")
    assert "by 300 rows" in " ".join(plan.stdout.split())
    chosen = run("bounds", folder, *CHOOSE, "--yes", *account)
    assert chosen.exit_code == 0, chosen.output
    assert "takes them for public ones" in " ".join(chosen.stdout.split())
    told = ("--inputs", "age", "--output", "height", "--bounds", "0,400", "--epsilon", "0.5")
    released = run("release", folder, *told, "--out", tmp_path / "pub", "--yes", *account)
    assert released.exit_code == 0, released.output
    first, second = recorded_inputs(book)
    assert first == second is not None
    owned = run("bounds", folder, *CHOOSE, "--groups", "age", "--plan-only")
    assert "--groups cannot be combined with a folder" in " ".join(owned.stderr.split())
