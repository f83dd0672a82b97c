"""Public keys are read as ssh-keygen writes them; those that are weak or unknown are refused."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signature_cases import TYPES, SecurityKey, make_key, needs_ssh, public, ssh_keygen

from cloakgp.errors import SignatureError
from cloakgp.release.signature.keys import (
    KINDS,
    LARGEST_FILE_BYTES,
    fingerprint,
    natural_bytes,
    read_key,
    read_key_file,
    small_file,
    string,
)

EDWARDS = string(b"ssh-ed25519") + string(bytes(32))


def blob(*fields):
    return b"".join(string(f if isinstance(f, bytes) else f.encode()) for f in fields)


def rsa(modulus, exponent=65537):
    return blob("ssh-rsa", natural_bytes(exponent), natural_bytes(modulus))


@needs_ssh
@pytest.mark.parametrize("type", TYPES)
def test_a_key_of_ssh_keygen_has_the_fingerprint_that_it_prints(keys, type):
    key = read_key_file(public(keys[type]))
    assert key.type == type
    printed = ssh_keygen("-l", "-f", public(keys[type])).stdout.decode()
    assert fingerprint(key.blob) in printed.split()
    assert key.name == f"{type} {fingerprint(key.blob)}"


@pytest.mark.parametrize("type", [name for name in KINDS if name.startswith("sk-")])
def test_hardware_keys_are_read_with_what_they_are_for(type):
    key = read_key(SecurityKey(type, "ssh:office").blob)
    assert (key.type, key.application, key.kind.hardware) == (type, "ssh:office", True)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (blob("ssh-dss", b"", b"", b"", b""), "ssh-dss, which is broken"),
        (blob("ssh-ed448", bytes(57)), "type 'ssh-ed448'; use one of ssh-ed25519"),
        (blob("ssh-\x1b[31m"), r"type 'ssh-\\x1b"),
        (blob("ssh-ed25519-cert-v01@openssh.com"), "certificate"),
        (blob("ssh-ed25519", bytes(31)), "no point"),
        (blob("ssh-ed25519", bytes(33)), "no point"),
        (EDWARDS + b"\0", "more than it should"),
        (EDWARDS[:-1], "cut short"),
        (blob("ecdsa-sha2-nistp256", "nistp384", b"\4" + bytes(96)), "another curve"),
        (blob("ecdsa-sha2-nistp256", "nistp256", b"\2" + bytes(32)), "no point"),
        (blob("ecdsa-sha2-nistp256", "nistp256", b"\2" + bytes(64)), "no point"),
        (rsa((1 << 2047) - 1), "2047 bits"),
        (rsa((1 << 1023) + 1), "1024 bits"),
        (rsa((1 << 16384) + 1), "16385 bits"),
        (rsa(1 << 2047), "impossible"),
        (rsa((1 << 2047) + 1, 1), "impossible"),
        (rsa((1 << 2047) + 1, 4), "impossible"),
        (rsa((1 << 2047) + 1, (1 << 64) + 1), "impossible"),
        (SecurityKey(application="https://bank.example").blob, "not for SSH"),
        (SecurityKey(application="ssh:\0x").blob, "a name with a zero byte"),
        (SecurityKey(application="ssh:\0").blob, "a name with a zero byte"),
    ],
)
def test_keys_that_may_not_sign_are_refused_with_the_reason(key, reason):
    with pytest.raises(SignatureError, match=reason):
        read_key(key)


def test_the_shortest_rsa_key_and_the_longest_are_read():
    for bits in (2048, 16384):
        assert read_key(rsa((1 << (bits - 1)) + 1)).modulus.bit_length() == bits


@given(st.binary(max_size=100), st.sampled_from([*KINDS, "ssh-dss", ""]))
def test_no_bytes_of_a_key_give_another_error_than_ours(rest, type):
    for content in (rest, string(type.encode()) + rest):
        with contextlib.suppress(SignatureError):
            read_key(content)


LINE = f"ssh-ed25519 {base64.b64encode(EDWARDS).decode()}"


@pytest.mark.parametrize("text", [LINE, f"\n# ours\n{LINE} Büro, main key\r\n\r\n"])
def test_a_file_holds_one_key_and_any_comments(tmp_path, text):
    file = tmp_path / "office.pub"
    file.write_text(text)
    assert read_key_file(file).blob == EDWARDS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "0 keys instead of one"),
        (f"{LINE}\n{LINE}\n", "2 keys instead of one; for several, use a file of allowed signers"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "private key; give the public one"),
        ("-----BEGIN PUBLIC KEY-----", "ssh-keygen -i"),
        ("ssh-ed25519", "not a type and a key"),
        ("ssh-ed25519 ###", "not base64"),
        (LINE.replace("ssh-ed25519", "ssh-rsa"), "says 'ssh-rsa'"),
        (f"{LINE}=", "not base64"),
        (LINE.replace(" ", "\u00a0"), "not a type and a key"),
        (LINE.replace(" ", "\v"), "control character"),
        (LINE.replace(" ", "\f"), "control character"),
        (f"{LINE}\0", "control character"),
    ],
)
def test_a_file_that_is_not_one_public_key_is_refused(tmp_path, text, reason):
    file = tmp_path / "office.pub"
    file.write_text(text)
    with pytest.raises(SignatureError, match=reason) as refused:
        read_key_file(file)
    assert str(file) in str(refused.value)


def test_files_that_are_not_there_not_plain_text_or_too_large_are_named(tmp_path):
    cases = {"none": "does not exist", ".": "not a regular file", "big": "too large"}
    (tmp_path / "big").write_bytes(bytes(LARGEST_FILE_BYTES + 1))
    for name, reason in cases.items():
        with pytest.raises(SignatureError, match=reason):
            small_file(tmp_path / name, "it")
    (tmp_path / "wide").write_text(LINE, "utf-16")
    with pytest.raises(SignatureError, match="control character; save it as plain text in UTF-8"):
        read_key_file(tmp_path / "wide")


@needs_ssh
def test_the_private_key_itself_is_refused(tmp_path):
    with pytest.raises(SignatureError, match="is a private key"):
        read_key_file(make_key(tmp_path / "key"))
