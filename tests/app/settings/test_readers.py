"""Values of options and settings files are read strictly."""

import pytest
from command_line import PLAN, SPEND, fails, people, run

from cloakgp.app.settings import readers
from cloakgp.app.tables.files import to_csv
from cloakgp.errors import CommandError


@pytest.mark.parametrize("text", ["１０", "1_0", "nan", "infinity", "0x10"])
@pytest.mark.parametrize(
    "option",
    [
        *("--epsilon", "--delta", "--noise-variance", "--prior-mean", "--inducing", "--rank"),
        *("--required-std", "--bounds", "--at"),
    ],
)
def test_every_option_refuses_odd_numbers(option, text, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    value = {"--bounds": f"0,{text}", "--at": f"age=0:{text}:3"}.get(option, text)
    shown = fails(run("plan", path, *PLAN, option, value), option)
    assert "unexpected" not in shown


@pytest.mark.parametrize("text", ["５", "5_0", "²", "1e1"])
def test_a_search_and_counts_refuse_odd_numbers(text, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    for words in (("--try", f"rank=1|{text}"), ("--try", "rank=1|2", "--folds", text)):
        assert "unexpected" not in fails(
            run("select", path, *PLAN, *words, "--plan-only"), words[-2]
        )
    counts = ("--task", "counts", "--inputs", "age", "--cap", text.replace("1e1", "1_1"))
    fails(run("plan", path, *counts), "--cap")


def test_bounds_are_pairs_or_the_word_private():
    assert readers.read_bounds("--bounds", ["40,200"]) == ((40.0, 200.0),)
    assert readers.read_bounds("--bounds", ["private"]) == readers.read_bounds("x", "private")
    assert readers.read_bounds("--bounds", "private") == (readers.PRIVATE,)
    for wrong in (["private", "1,2"], "secret", ["private", "private"]):
        with pytest.raises(CommandError, match="must be"):
            readers.read_bounds("--bounds", wrong)


def test_grids_are_linear_logarithmic_or_lists():
    assert readers.read_grid("--grid", "0:1:11")[3] == 0.3  # not 0.30000000000000004
    assert readers.read_grid("--grid", "log:1:1000:4") == (1.0, 10.0, 100.0, 1000.0)
    assert readers.read_grid("--grid", [1, 5, 7]) == (1.0, 5.0, 7.0)


@pytest.mark.parametrize("grid", ["1:2", "a:b:3", "2:1:3", "0:1:2.5", "log:0:1:3", "0:1:99999", 7])
def test_grids_that_are_none_are_refused(grid):
    with pytest.raises(CommandError, match="--grid"):
        readers.read_grid("--grid", grid)


def test_an_address_of_a_ledger_is_checked_at_once_and_not_repeated(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    words = (*SPEND, "--out", tmp_path / "out", "--dataset", "people", "--ledger")
    text = fails(run("release", path, *words, "postgresql://u:hu/sh@h/db"), "--ledger: the address")
    assert "hu/sh" not in text
    config = tmp_path / "release.toml"
    config.write_text('ledger = "postgresql://u:hu/sh@h/db"\ndataset = "people"\n')
    words = (*SPEND, "--out", tmp_path / "out", "--config", config)
    assert "hu/sh" not in fails(run("release", path, *words), "cannot be used")
