"""Options of commands: those of settings follow from the declarations."""

import pytest
from command_line import PLAN, SELECT, SPEND, fails, run


@pytest.mark.parametrize("text", ["１", "1_0", "nan", "inf", ""])
@pytest.mark.parametrize("option", ["--epsilon", "--delta"])
def test_a_cap_is_a_plain_number(option, text, tmp_path):
    words = {"--epsilon": "1", "--delta": "1e-5", option: text}
    pairs = [word for pair in words.items() for word in pair]
    fails(run("budget", "open", tmp_path / "b.ledger", "people", *pairs, "--new"), option)
    assert not (tmp_path / "b.ledger").exists()


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
