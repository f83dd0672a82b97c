"""``cloakgp web``: the command starts the right server, on this machine alone."""

import sys

import pytest
from command_line import fails, run

from cloakgp.web import server


@pytest.fixture
def served(monkeypatch):
    """What would be served, instead of serving it."""
    found = []
    monkeypatch.setattr(server, "serve_release", lambda *args: found.append(("release", *args)))
    monkeypatch.setattr(server, "serve_planner", lambda *args: found.append(("planner", *args)))
    return found


def test_a_table_is_planned_and_a_release_is_explored(served, data, saved, tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text('inputs = "age"\nledger = "old.ledger"\ndataset = "people"\n')
    words = ("--config", config, "--ledger", "new.ledger", "--out", tmp_path / "out")
    assert run("web", data, *words).exit_code == 0
    kind, planner, listening, host, _ = served[0]
    assert (kind, host, listening.getsockname()[0]) == ("planner", "127.0.0.1", "127.0.0.1")
    told = {"inputs": "age", "ledger": "new.ledger", "dataset": "people"}
    assert (planner.data, planner.out, planner.base) == (data, tmp_path / "out", told)
    assert run("web", saved).exit_code == 0
    assert served[1][:2] == ("release", saved)
    for call in served:
        call[-3].close()


def test_other_machines_are_let_in_only_on_purpose(served, data):
    fails(run("web", data, "--host", "0.0.0.0"), "--other-machines")
    assert served == []
    assert run("web", data, "--host", "0.0.0.0", "--other-machines").exit_code == 0
    served[0][2].close()


def test_a_table_that_cannot_be_read_is_said_at_once(tmp_path):
    fails(run("web", tmp_path / "no.csv"), "there is no file")
    (tmp_path / "data.csv").write_text("31,152.7\n0,60.3\n")
    fails(run("web", tmp_path / "data.csv"), "looks like data")
    (tmp_path / "no.cloakgp").write_text("")
    assert run("web", tmp_path / "no.cloakgp").exit_code == 2


def test_settings_that_no_page_can_show_are_said_at_once(data, tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text('output = ["height", "weight"]\n')
    fails(run("web", data, "--config", config), "one private column")
    config.write_text("bounds = 7\n")
    fails(run("web", data, "--config", config), "bounds", "pair")


def test_without_the_libraries_the_error_says_how_to_get_them(data, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("cloakgp.web", "starlette"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    fails(run("web", data), "starlette", "pip install 'cloakgp[web]'")
