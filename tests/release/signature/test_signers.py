"""Files of allowed signers mean what they mean to ssh-keygen, or are refused with the line."""

import base64
import contextlib
import datetime
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signature_cases import CONTENT, make_key, needs_ssh, public, sign

from cloakgp.errors import SignatureError
from cloakgp.release.signature.keys import read_key_file
from cloakgp.release.signature.signers import (
    check_allowed,
    matches,
    parse_signers,
    read_signers,
    read_time,
)
from cloakgp.release.signature.sshsig import NAMESPACE
from cloakgp.release.signature.wire import string

NOON = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
BLOB = string(b"ssh-ed25519") + string(bytes(32))
KEY = f"ssh-ed25519 {base64.b64encode(BLOB).decode()}"

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
]


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """Two keys and a signature by the first."""
    folder = tmp_path_factory.mktemp("signers")
    office, other = (make_key(folder / name, comment="") for name in ("office", "other"))
    (folder / "signature").write_bytes(sign(office))
    words = {
        name: public(key).read_text().strip() for name, key in (("key", office), ("other", other))
    }
    return folder, words, read_key_file(public(office)).blob


@needs_ssh
@pytest.mark.parametrize(("lines", "identity", "allowed"), LINES)
def test_a_key_may_sign_exactly_if_ssh_keygen_says_so(signed, lines, identity, allowed):
    folder, words, blob = signed
    (folder / "list").write_text(lines.format(**words) + "\n")
    where = ("-f", folder / "list", "-s", folder / "signature", "-I", identity)
    when = ("-O", "verify-time=20260601120000Z")
    command = ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, *where, *when]
    assert (subprocess.run(command, input=CONTENT, capture_output=True).returncode == 0) is allowed
    signers = read_signers(folder / "list")
    with contextlib.nullcontext() if allowed else pytest.raises(SignatureError):
        check_allowed(signers, identity, blob, NAMESPACE, NOON)


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
        (f'o {KEY}\nx unknown="y" {KEY}', "line 2 .*not known or not quoted: unknown"),
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
    ],
)
def test_a_line_that_cannot_be_understood_refuses_the_file(line, reason):
    with pytest.raises(SignatureError, match=reason):
        parse_signers(line, "it")


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
        check_allowed(parse_signers(lines, "it"), "office", BLOB, NAMESPACE, NOON)


def test_another_key_is_said_to_be_that_and_authorities_are_mentioned():
    for option, more in (("", "office's$"), ("cert-authority", "authorities are not supported")):
        signers = parse_signers(f"office {option} {KEY}", "it")
        with pytest.raises(SignatureError, match=more):
            check_allowed(signers, "office", BLOB + b"x", NAMESPACE, NOON)


def test_keys_of_others_may_be_of_any_type():
    """A list that is shared may hold keys that this library does not know."""
    unknown = base64.b64encode(string(b"ssh-ed448") + bytes(3)).decode()
    assert len(parse_signers(f"a ssh-ed448 {unknown}\noffice {KEY}\r\n", "it")) == 2


def test_a_quote_inside_a_quoted_option_is_part_of_it():
    assert parse_signers(f'o namespaces="a\\"b" {KEY}', "it")[0].namespaces == 'a"b'


def test_times_are_in_the_zone_of_the_machine_unless_they_end_in_z(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        local, utc = read_time("20260601", "it"), read_time("20260601Z", "it")
        assert utc == datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
        assert utc - local == datetime.timedelta(hours=9)
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


@given(st.text("ab", max_size=6), st.text("ab?*", max_size=6))
def test_patterns_fit_by_their_definition(name, pattern):
    assert matches(name, pattern) == slow_match(name, pattern)
    assert not matches(name, f"{pattern},!{pattern}")


def test_a_pattern_of_many_stars_takes_no_time():
    assert not matches("a" * 2000, "*a" * 300 + "b")


PARTS = ("o", KEY, " ", '"', "\\", ",", "=", "!", "*", "#", "\n", "cert-authority", "namespaces")
PARTS += ("valid-after", '="20260601Z"', '="', "ssh-ed25519", "0", "\0", "ä")


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PARTS)).map("".join)))
def test_no_text_gives_another_error_than_ours(text):
    with contextlib.suppress(SignatureError):
        check_allowed(parse_signers(text, "it"), "o", BLOB, NAMESPACE, NOON)
