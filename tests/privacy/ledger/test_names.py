"""Names: what may be one, the one form of a data set's, and the file that a path leads to."""

import getpass
import os
import socket

import pytest

from cloakgp.privacy.ledger import LedgerError, names
from cloakgp.privacy.ledger.names import checked_dataset, checked_name, one_form, resolved, user


@pytest.mark.parametrize("name", ["a", "a b", "é", "x" * 200, "heights [2024]"])
def test_names_that_can_be_printed_are_taken_as_they_are(name):
    assert checked_name("what", name) == name
    assert checked_dataset(name) == name


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "a\nb", "a\tb", "x" * 201, None, 3, b"a"])
def test_other_names_are_refused_by_the_name_of_the_parameter(name):
    with pytest.raises(LedgerError, match=r"^what must be a printable string of 1 to 200 "):
        checked_name("what", name)
    with pytest.raises(LedgerError, match=r"^dataset must be a printable string"):
        checked_dataset(name)


def test_a_data_set_has_one_form_and_its_length_is_that_of_this_form():
    assert one_form("cafe\u0301") == checked_dataset("cafe\u0301") == "caf\u00e9"
    assert checked_dataset("e\u0301" * 200) == "\u00e9" * 200


def test_an_address_leads_to_the_file_that_it_names(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    real = str(tmp_path / "a.ledger")
    for name in (real, f"sqlite:///{real}", "a.ledger", "sqlite:///a.ledger", "~/a.ledger"):
        assert resolved(name) == real
    assert resolved(tmp_path / "a.ledger") == real
    os.symlink(real, tmp_path / "link")
    assert resolved("link") == resolved(f"sqlite:///{tmp_path}/link") == real


def test_only_what_comes_first_is_the_kind_of_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolved("sqlite:///a://b") == str(tmp_path / "a:" / "b")


@pytest.mark.parametrize("name", ["postgresql:///a", "sqlite://a", "file:///a", "x://sqlite:///a"])
def test_other_addresses_are_refused(name):
    with pytest.raises(LedgerError, match=r"a ledger is a file, sqlite:///FILE, or postgresql://"):
        resolved(name)


@pytest.mark.parametrize("name", ["//u:secret@h/db", "dbname=secret", "sqlite:///password=secret"])
def test_an_address_that_is_written_wrongly_is_no_file_and_not_repeated(name):
    with pytest.raises(LedgerError, match="got another address") as caught:
        resolved(name)
    assert "secret" not in str(caught.value)


def test_files_with_signs_of_addresses_in_their_names_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a@b.ledger", "a//b.ledger", "epsilon=1.ledger", "a//b/c@d", "ghost=1"):
        assert resolved(name) == os.path.realpath(tmp_path / name)


@pytest.mark.parametrize("name", ["", "sqlite:///", "a\0b", "sqlite:///a\0b"])
def test_what_cannot_be_a_file_is_refused(name):
    with pytest.raises(LedgerError, match="path must name a file"):
        resolved(name)


def test_a_user_is_known_by_name_and_machine_or_as_the_environment_says(monkeypatch):
    monkeypatch.delenv("CLOAKGP_WHO", raising=False)
    monkeypatch.setattr(socket, "gethostname", lambda: "host")
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    assert user() == "ada@host"
    for error in (KeyError, OSError, ImportError):

        def nameless(error=error):
            raise error

        monkeypatch.setattr(getpass, "getuser", nameless)
        assert user() == "unknown@host"
    monkeypatch.setenv("CLOAKGP_WHO", "the committee")
    assert user() == "the committee"


def test_times_are_in_utc_to_the_microsecond_so_that_strings_sort_like_times():
    time = names.now()
    assert time.endswith("+00:00")
    assert len(time) == len("2030-01-01T00:00:00.000000+00:00")
