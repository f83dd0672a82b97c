"""Options that say whose signature counts, in the words of the command line."""

import pytest
from command_line import fails, run


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--signature", "s"), "--signature alone shows nothing; give --key"),
        (("--identity", "office"), "--identity needs --allowed-signers"),
        (("--allowed-signers", "list"), "--allowed-signers needs --identity"),
        (("--key", "k", "--identity", "office"), "not both"),
        (("--key", "none.pub"), "the key file none.pub does not exist"),
        (("--allowed-signers", "none", "--identity", "o"), "none does not exist"),
    ],
)
@pytest.mark.parametrize("command", [("verify",), ("report", "--out", "page.html")])
def test_what_was_forgotten_or_is_not_there_is_one_paragraph(
    saved, command, words, reason, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    fails(run(command[0], saved, *command[1:], *words), reason)
