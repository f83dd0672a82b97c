"""Addresses: what they mean, and that no password ever shows."""

import copy
import pickle

import pytest

from cloakgp.privacy.ledger import LedgerError
from cloakgp.privacy.ledger.address import (
    Address,
    Secrets,
    checked_schema,
    is_address,
    own_schema,
    server_address,
)

FULL = (
    "postgresql://al%40ice:p%2Fw@[::1]:5433/bud%20gets?schema=trial&sslmode=verify-full"
    "&sslpassword=key%26word&connect_timeout=3"
)


def test_every_part_of_an_address_reaches_the_connection():
    address = server_address(FULL)
    assert address.keywords() == {
        "user": "al@ice",
        "password": "p/w",
        "host": "::1",
        "port": "5433",
        "dbname": "bud gets",
        "sslmode": "verify-full",
        "sslpassword": "key&word",
        "connect_timeout": "3",
        "keepalives_idle": "20",
        "keepalives_interval": "5",
        "keepalives_count": "4",
        "application_name": "cloakgp",
    }
    assert address.schema == "trial"
    named = server_address("postgresql://h/db?application_name=a=b")
    assert dict(named.parameters)["application_name"] == "a=b"
    plain = server_address("postgres:///db")
    assert plain.parameters == (("dbname", "db"),)
    assert plain.schema == "cloakgp"
    assert plain.keywords()["connect_timeout"] == "10"


@pytest.mark.parametrize("name", ["passfile", "application_name", "sslrootcert", "require_auth"])
def test_what_says_how_to_get_there_may_be_in_an_address(name):
    address = server_address(f"postgresql://h/db?{name}=x")
    assert address.keywords()[name] == "x"
    assert str(address) == f"postgresql://h/db?{name}=x"
    assert address.name == "postgresql://h/db"


def test_an_address_is_written_without_passwords_and_read_again():
    address = server_address(FULL)
    assert str(address) == (
        "postgresql://al%40ice@[::1]:5433/bud%20gets"
        "?connect_timeout=3&sslmode=verify-full&schema=trial"
    )
    again = server_address(str(address))
    assert again == address
    assert again.secrets.reveal() == {}
    for text in (
        "postgresql:///db?host=/var/run/postgresql",
        "postgresql:///?service=ledger",
        "postgresql://a@h/db",
        "postgresql://a@h:65535/db",
        "postgresql://a%2Fb@c%2Fd/e%2Ff",
        "postgresql://X@Xh/X?application_name=a%3Db",
    ):
        assert str(server_address(text)) == text


def test_a_place_is_the_same_for_all_users():
    names = {
        server_address(text).name
        for text in ("postgresql://a:x@h:1/db", "postgresql://b@h:1/db?sslmode=require")
    }
    assert names == {"postgresql://h:1/db"}
    assert server_address("postgresql://h:1/db?schema=s").name == "postgresql://h:1/db?schema=s"
    other = ("postgresql://g:1/db", "postgresql://h:2/db", "postgresql://h:1/other")
    assert not names & {server_address(text).name for text in other}


def test_a_password_is_in_no_form_of_an_address_but_a_copy_can_still_connect():
    address = server_address(FULL)
    for text in (repr(address), str(address), address.name, repr(address.secrets)):
        assert "p/w" not in text
        assert "p%2Fw" not in text
        assert "key" not in text.replace("keepalives", "")
    assert b"p/w" not in pickle.dumps(address)
    assert b"p%2Fw" not in pickle.dumps(address)
    loaded = pickle.loads(pickle.dumps(address))
    assert loaded == address
    assert loaded.secrets.reveal() == {}
    for same in (copy.copy(address), copy.deepcopy(address), copy.deepcopy([address])[0]):
        assert same.secrets.reveal() == {"password": "p/w", "sslpassword": "key&word"}
    with pytest.raises(TypeError, match="never stored"):
        pickle.dumps(address.secrets)


def test_addresses_that_differ_in_the_password_alone_are_the_same_place():
    assert server_address("postgresql://a:1@h/db") == server_address("postgresql://a:2@h/db")
    assert Address((("dbname", "db"),)) == server_address("postgresql:///db")


def test_passwords_are_taken_out_of_what_others_say():
    secrets = Secrets({"password": "a b", "sslpassword": "a b c"})
    assert secrets.hide("x a b y a%20b z a b c") == "x *** y *** z ***"
    assert Secrets({"password": ""}).hide("abc") == "abc"
    # The longest first, or a part of it would be left; and however it is escaped.
    secrets = Secrets({"password": "b", "sslpassword": "abc"})
    assert secrets.hide("x abc y") == "x *** y"
    assert Secrets({"password": "p/w"}).hide("x p%2Fw y p/w") == "x *** y ***"


def test_secrets_are_shown_as_dots():
    assert repr(Secrets({"password": "abc"})) == "Secrets(...)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("postgresql:secret", "does not begin"),
        ("sqlite://secret/db", "does not begin"),
        ("host=h password=secret", "does not begin"),
        ("password=secret://u@h/db", "does not begin"),
        ("postgresqlsecret://u@h/db", "does not begin"),
        ("postgresql://u:secret@h", "no database"),
        ("postgresql://u:secret@h/", "no database"),
        ("postgresql://u:secret@h,g/db", "one server"),
        ("postgresql://u:secret@h:1,g:2/db", "one server"),
        ("postgresql://u:secret@h%2Cg/db", "one server"),
        ("postgresql://u:secret@/db?host=h,g", "one server"),
        ("postgresql://u:secret@h/db?hostaddr=::1%2C::2", "one server"),
        ("postgresql://u:secret@h/db?port=1,2", "one server"),
        ("postgresql://u:secret@h/db?port=one", "port must be a number"),
        ("postgresql://u:secret@h/db?port=123456", "port must be a number"),
        ("postgresql://u:sec/ret@h/db", "make no sense"),
        ("postgresql://u:1/secret@h/db", "make no sense"),
        ("postgresql://u:secret://x@h/db", "make no sense"),
        ("postgresql://h/a:secret", "make no sense"),
        ("postgresql://h/a,secret", "make no sense"),
        ("postgresql://u:sec?ret@h/db", "make no sense"),
        ("postgresql://u@h/d?secret@h/db", "question mark"),
        ("postgresql://u:secret@h:port/db", "make no sense"),
        ("postgresql://u:secret@h/db?options=-c%20synchronous_commit=off", "question mark"),
        ("postgresql://u:secret@h/db?password=secret", "question mark"),
        ("postgresql://u:secret@h/db?sslmode", "question mark"),
        ("postgresql://u:secret@h/db?schema=", "empty"),
        ("postgresql://u:secret%00@h/db", "cannot be printed"),
        ("postgresql://u:secret%ff@h/db", "cannot be printed"),
        ("postgresql://u:secret@h/db?schema=a.b", "small letters"),
        ("postgresql://u:secret@h/db?schema=Secret", "small letters"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_and_not_repeated(text, words):
    with pytest.raises(LedgerError, match=words) as caught:
        server_address(text)
    assert str(caught.value).startswith("the address of the ledger cannot be used: ")
    assert "secret" not in str(caught.value).lower()
    assert caught.value.__context__ is None  # nor is there another error behind it


def test_what_is_meant_to_be_a_server_is_never_taken_for_a_file():
    for text in ("postgresql://h/db", "postgres://h/db", "PostgreSQL://h/db", "postgresql:/h/db"):
        assert is_address(text)
    for mistyped in (
        "postgresql//u:secret@h/db",
        "//u:secret@h/db",
        "//secret@h",
        "host=h user=u",
        "user=u password = secret",
        "service=secret",
        "hostaddr=secret",
        "x dbname=secret",
    ):
        assert is_address(mistyped)
    for file in ("a@b", "a//b", "epsilon=1.ledger", "a//b/c@d", "ghost=1", "sqlite://a@b"):
        assert not is_address(file)
    for other in ("postgresql.ledger", "my postgresql://h/db", "sqlite:///a", None, 3):
        assert not is_address(other)


def test_a_schema_is_a_name_that_needs_no_quotes():
    assert checked_schema("a" * 50) == "a" * 50
    for wrong in ("", "a" * 51, "1a", "a-b", 'a"; DROP TABLE x; --', "A", "a\n"):
        with pytest.raises(LedgerError, match="schema must be"):
            checked_schema(wrong)


def test_a_ledger_is_never_in_a_schema_of_the_server_nor_made_in_the_one_that_all_share():
    assert checked_schema("pgbudget") == own_schema("pgbudget") == "pgbudget"
    for servers in ("pg_catalog", "pg_temp", "pg_toast", "information_schema"):
        for check in (checked_schema, own_schema):
            with pytest.raises(LedgerError, match="schema must be one of its own, not pg_"):
                check(servers)
    assert checked_schema("public") == "public"  # one that 0.2.0 made there can be read and moved
    with pytest.raises(LedgerError, match="not public, which everybody shares"):
        own_schema("public")
