"""Owners of rows: two spellings of one person are one person."""

import json

import pytest
from command_line import PLAN, fails, people, run

from cloakgp.cli.tables import to_csv
from cloakgp.cli.tables.owners import owner_key

pytestmark = pytest.mark.usefixtures("undrawn")

SAME = [
    ("7", "7.0"),
    ("7", "07"),
    ("7", "+7"),
    ("7", "7e0"),
    ("7", "７"),
    ("7", " 7"),
    ("7", "7\u00a0"),
    ("7", "7\u200b"),
    ("0", "-0.0"),
    ("1200", "1.2e3"),
    ("é", "e\u0301"),
    ("Zoë", "zoe\u0308"),
    ("Anna Smith", "anna  smith"),
    ("ﬁn", "fin"),
    ("straße", "STRASSE"),
]


DIFFERENT = [
    ("7", "70"),
    ("7", "-7"),
    ("0.7", "7"),
    ("12345678901234567890", "12345678901234567891"),
    ("0.1", "0.10000000000000000001"),
    ("1e400", "1e401"),
    ("a1", "a01"),
    ("ab", "a b"),
    ("e", "é"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_are_one_owner_at_the_command_line(one, other, tmp_path):
    frame = people().assign(owner=[f"p{i}" for i in range(40)])
    frame.loc[3, "owner"], frame.loc[4, "owner"] = one, other
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    result = run("plan", path, *PLAN, "--groups", "owner", "--json", "--no-compare")
    assert json.loads(result.stdout)["people"] == 39
    if one != other.strip():
        assert "taken for one" in result.stderr


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_owners_stay_different(one, other, tmp_path):
    frame = people().assign(owner=[f"p{i}" for i in range(40)])
    frame.loc[3, "owner"], frame.loc[4, "owner"] = one, other
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    result = run("plan", path, *PLAN, "--groups", "owner", "--json", "--no-compare")
    assert json.loads(result.stdout)["people"] == 40
    assert result.stderr == ""


def test_with_decimal_commas_owners_are_read_likewise():
    assert owner_key("7,0", ",") == owner_key("7", ",")
    assert owner_key("7,0") != owner_key("7")


def test_an_exponent_beyond_any_number_is_a_name():
    assert owner_key("1e99999999999999999999") == "1e99999999999999999999"


def test_owners_in_bytes_that_are_not_utf8_are_refused(tmp_path):
    """In a file of two encodings one owner would count as two."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"age,owner\n1,Zo\xeb\n2,Zo\xc3\xab\n")
    fails(run("plan", path, *PLAN, "--groups", "owner"), "'owner'", "UTF-8")
