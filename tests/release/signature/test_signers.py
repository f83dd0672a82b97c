"""Files of allowed signers mean what they mean to ssh-keygen, or are refused with the line.

Here it is said what they mean; ``test_openssh`` asks the real ssh-keygen.
"""

import base64
import contextlib
import datetime
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.errors import SignatureError
from cloakgp.release.signature.keys import string
from cloakgp.release.signature.signers import (
    LONGEST_PATTERN,
    check_allowed,
    matches,
    parse_signers,
    read_time,
)
from cloakgp.release.signature.sshsig import NAMESPACE

NOON = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
BLOB = string(b"ssh-ed25519") + string(bytes(32))
BASE64 = base64.b64encode(BLOB).decode()
KEY = f"ssh-ed25519 {BASE64}"

#: Lines with a key, who should have signed, and whether that key may sign at noon.
LINES = [
    ("office@a.org {key}", "office@a.org", True),
    ("office@a.org {key} any comment, here", "office@a.org", True),
    ("  office@a.org\t{key}", "office@a.org", True),
    ("# office@a.org {key}\nx {key}", "office@a.org", False),
    ("office@a.org {key}", "Office@a.org", False),
    ("office@a.org {key}", "office@b.org", False),
    ("office@a.org {other}", "office@a.org", False),
    ("office@a.org {other}\noffice@a.org {key}", "office@a.org", True),
    ("a,office@a.org {key}", "office@a.org", True),
    ("*@a.org {key}", "office@a.org", True),
    ("*@a.org {key}", "office@a.org.evil", False),
    ("o?fice@a.org {key}", "office@a.org", True),
    ("?office@a.org {key}", "office@a.org", False),
    ("*@a.org,!office@a.org {key}", "office@a.org", False),
    ("!office@a.org,*@a.org {key}", "office@a.org", False),
    ("*@a.org,!office@a.org {key}", "press@a.org", True),
    ("!office@a.org {key}", "press@a.org", False),
    ('"office@a.org,the press" {key}', "the press", True),
    ('"the office" namespaces="cloakgp-release" {key}', "the office", True),
    ('o namespaces="cloakgp-*" {key}', "o", True),
    ('o NameSpaces="file,cloakgp-release" {key}', "o", True),
    ('o namespaces="file" {key}', "o", False),
    ('o namespaces="*,!cloakgp-release" {key}', "o", False),
    ("o cert-authority {key}", "o", False),
    ('o cert-authority,namespaces="cloakgp-release" {key}', "o", False),
    ("o cert-authority {key}\no {key}", "o", True),
    ('o valid-after="20260601Z" {key}', "o", True),
    ('o valid-after="20260602Z" {key}', "o", False),
    ('o valid-after="202606011200Z" {key}', "o", True),
    ('o valid-after="20260601120001Z" {key}', "o", False),
    ('o valid-before="20260601Z" {key}', "o", False),
    ('o valid-before="20260602Z" {key}', "o", True),
    ('o valid-before="20260601120000Z" {key}', "o", True),
    ('o valid-before="20260601115959Z" {key}', "o", False),
    ('o valid-after="20260101Z",valid-before="20270101Z" {key}', "o", True),
    ('o valid-before="20260101Z" {key}\no valid-after="20260101Z" {key}', "o", True),
    ('o namespaces="cloakgp-release",valid-before="20260101Z" {key}', "o", False),
    ('o valid-after="20260602" {key}', "o", False),
    ('o valid-before="20260531" {key}', "o", False),
    # A letter of two bytes is two of ?.
    ("*,!??lice {key}", "älice", False),
    ("*,!?lice {key}", "älice", True),
    ("?lice {key}", "älice", False),
    ("*\xff,!o\udcff {key}", "o\udcff", False),
    ("o\udcff {key}", "o\udcff", True),
    ("o {key}\r\n\r\n# comment\r\n", "o", True),
    ("o {key}\no ssh-ed448 AAAACXNzaC1lZDQ0OA==", "o", True),
]


def parse(text):
    """Return everybody in a text; single bytes that are not UTF-8 are as Python has them."""
    return parse_signers(os.fsencode(text), "it")


@pytest.mark.parametrize(("lines", "identity", "allowed"), LINES)
def test_a_key_may_sign_exactly_if_its_line_says_so(lines, identity, allowed):
    other = base64.b64encode(BLOB[:-1] + b"x").decode()
    signers = parse(lines.format(key=KEY, other=f"ssh-ed25519 {other}"))
    with contextlib.nullcontext() if allowed else pytest.raises(SignatureError):
        check_allowed(signers, os.fsencode(identity), BLOB, NAMESPACE, NOON)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "lists nobody"),
        ("# nobody", "lists nobody"),
        ("office", "has no key"),
        ("office ssh-ed25519", "line 1 of it is not a type and a key"),
        ("office ssh-ed25519 ###", "not base64"),
        (f"office {KEY.replace('ssh-ed25519', 'ssh-rsa')}", "says 'ssh-rsa'"),
        (f"office\n\no {KEY}", "line 1 of it has no key"),
        (f"o {KEY}\n\nx unknown {KEY}", "line 3 of it .*not base64"),
        (f'o {KEY}\nx unknown="y" {KEY}', "line 2 .*not known or not quoted: 'unknown"),
        (f"o namespaces=file {KEY}", "not known or not quoted"),
        (f'o cert-authority="x" {KEY}', "not known or not quoted"),
        (f"o namespaces,cert-authority {KEY}", "not known or not quoted"),
        (f'o namespaces="a b {KEY}', "has no key"),
        (f'o namespaces="a",namespaces="b" {KEY}', "namespaces twice"),
        (f"o cert-authority, {KEY}", "comma after its last option"),
        (f'"o {KEY}', "quote that does not end"),
        (f'"" {KEY}', "empty or badly quoted"),
        (f"a,,b {KEY}", "empty or badly quoted"),
        (f'a"b c" {KEY}', "empty or badly quoted"),
        (f'o valid-after="2026" {KEY}', "time '2026'"),
        (f'o valid-after="20261301Z" {KEY}', "time '20261301Z'"),
        (f'o valid-after="20270101Z",valid-before="20270101Z" {KEY}', "never valid"),
        # To OpenSSH these are no date, and one in the far future.
        (f'o valid-after="19700101Z" {KEY}', "time '19700101Z'.*later than 1970 began"),
        (f'o valid-after="19691231Z" {KEY}', "later than 1970 began"),
        (f'o valid-before="19691231Z" {KEY}', "later than 1970 began"),
        (f"{'a' * (LONGEST_PATTERN + 1)} {KEY}", "pattern of more than 1022 bytes"),
        (f"*,!{'?' * (LONGEST_PATTERN + 1)} {KEY}", "pattern of more than 1022 bytes"),
        (f'o namespaces="{"*" * (LONGEST_PATTERN + 1)}" {KEY}', "more than 1022 bytes"),
        # Spaces that are none.
        (f"o ssh-ed25519\v{BASE64}", "line 1 of it holds a control character"),
        (f"o ssh-ed25519\f{BASE64}", "line 1 of it holds a control character"),
        (f"o\r{KEY}", "line 1 of it holds a control character"),
        (f"o {KEY}\0", "line 1 of it holds a control character"),
        (f"o ssh-ed25519\u00a0{BASE64}", "not a type and a key"),
        (f"o ssh-ed25519\u3000{BASE64}", "not a type and a key"),
        (f"o {KEY}=", "not base64"),
    ],
)
def test_a_line_that_cannot_be_understood_refuses_the_file(line, reason):
    with pytest.raises(SignatureError, match=reason):
        parse(line)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (f"press {KEY}", "office is not among the allowed signers"),
        (f'office valid-before="20260101Z" {KEY}', "valid only until 2026-01-01T00:00:00"),
        (f'office valid-after="20270101Z" {KEY}', "valid only from 2027-01-01"),
        (f'office namespaces="file" {KEY}', "may not sign for 'cloakgp-release', only for 'file'"),
        (f"office cert-authority {KEY}", "certificate authority, which is not supported"),
    ],
)
def test_a_refusal_says_why(lines, reason):
    with pytest.raises(SignatureError, match=reason):
        check_allowed(parse(lines), b"office", BLOB, NAMESPACE, NOON)


def test_another_key_is_said_to_be_that_and_authorities_are_mentioned():
    for option, more in (("", "office's$"), ("cert-authority", "authorities are not supported")):
        signers = parse(f"office {option} {KEY}")
        with pytest.raises(SignatureError, match=more):
            check_allowed(signers, b"office", BLOB + b"x", NAMESPACE, NOON)


def test_keys_of_others_may_be_of_any_type():
    """A list that is shared may hold keys that this library does not know."""
    unknown = base64.b64encode(string(b"ssh-ed448") + bytes(3)).decode()
    assert len(parse(f"a ssh-ed448 {unknown}\noffice {KEY}\r\n")) == 2


def test_a_quote_inside_a_quoted_option_is_part_of_it():
    assert parse(f'o namespaces="a\\"b" {KEY}')[0].namespaces == b'a"b'


def test_times_are_in_the_zone_of_the_machine_unless_they_end_in_z(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        local, utc = read_time(b"20260601", "it"), read_time(b"20260601Z", "it")
        assert utc == datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
        assert utc - local == datetime.timedelta(hours=9)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_pattern_may_have_so_many_bytes_and_an_exclusion_its_mark():
    for patterns in ("*" * LONGEST_PATTERN, f"*,!{'?' * LONGEST_PATTERN}"):
        check_allowed(parse(f"{patterns} {KEY}"), b"o", BLOB, NAMESPACE, NOON)


def test_without_z_a_time_is_standard_time_even_in_summer(monkeypatch):
    """As OpenSSH has it: in Berlin it is an hour later than the clock on the wall says."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert read_time(b"202606011300", "it") == NOON
        assert read_time(b"202601011300", "it") == NOON.replace(month=1)
        with pytest.raises(SignatureError, match="later than 1970 began"):
            read_time(b"19700101010000", "it")
    finally:
        monkeypatch.undo()
        time.tzset()


def slow_match(name, pattern):
    """Whether a name fits a pattern, by its definition."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(slow_match(name[i:], pattern[1:]) for i in range(len(name) + 1))
    return bool(name) and pattern[0] in ("?", name[0]) and slow_match(name[1:], pattern[1:])


@given(st.text("abä", max_size=6), st.text("abä?*", max_size=6))
def test_patterns_fit_bytes_by_their_definition(name, pattern):
    name, pattern = name.encode(), pattern.encode()
    # One character stands for each byte.
    assert matches(name, pattern) == slow_match(name.decode("latin-1"), pattern.decode("latin-1"))
    assert not matches(name, pattern + b",!" + pattern)


def test_a_pattern_of_many_stars_takes_no_time():
    assert not matches(b"a" * 2000, b"*a" * 300 + b"b")


PARTS = ("o", KEY, " ", '"', "\\", ",", "=", "!", "*", "#", "\n", "cert-authority", "namespaces")
PARTS += ("valid-after", '="20260601Z"', '="', "ssh-ed25519", "0", "\0", "ä")


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PARTS)).map("".join)))
def test_no_text_gives_another_error_than_ours(text):
    with contextlib.suppress(SignatureError):
        check_allowed(parse_signers(text.encode(), "it"), b"o", BLOB, NAMESPACE, NOON)
