"""Values of options and settings files are read strictly."""

import pytest
from command_line import PLAN, SPEND, fails, people, run

from cloakgp.cli.tables import to_csv


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
