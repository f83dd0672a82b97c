"""Signature files are read as ssh-keygen writes them, field by field, or refused."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from signature_cases import (
    TYPES,
    SecurityKey,
    armoured,
    blob_of,
    dearmoured,
    digest,
    message,
    needs_ssh,
    public,
    sign,
)

from cloakgp.errors import SignatureError
from cloakgp.release.signature.keys import read_key_file, string
from cloakgp.release.signature.sshsig import NAMESPACE, read_signature

KEY = string(b"ssh-ed25519") + string(bytes(32))
MADE = string(b"ssh-ed25519") + string(bytes(64))
HARDWARE = SecurityKey(flags=5, counter=4711)


@needs_ssh
@pytest.mark.parametrize("hash", ["sha512", "sha256"])
@pytest.mark.parametrize("type", TYPES)
def test_what_ssh_keygen_wrote_is_read(keys, type, hash):
    found = read_signature(sign(keys[type], b"some", "a place", "-O", f"hashalg={hash}"))
    assert found.key == read_key_file(public(keys[type]))
    assert (found.namespace, found.hash) == ("a place", hash)
    assert found.algorithm == ("rsa-sha2-512" if type == "ssh-rsa" else type)


def test_the_message_is_that_of_the_description():
    assert read_signature(armoured(blob_of(KEY, MADE))).message(digest()("sha512")) == message()


def test_flags_and_counter_of_hardware_keys_are_read():
    found = read_signature(HARDWARE.sign())
    assert (found.flags, found.counter) == (5, 4711)


GOOD = armoured(blob_of(KEY, MADE))


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.rstrip(),
        GOOD + b"\n \n",
        b"-----BEGIN SSH SIGNATURE-----\n%s\n-----END SSH SIGNATURE-----"
        % b"".join(GOOD.splitlines()[1:-1]),
    ],
)
def test_how_long_lines_are_does_not_matter(content):
    assert read_signature(content).namespace == NAMESPACE


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "BEGIN and END"),
        (b"x" + GOOD, "BEGIN and END"),
        (GOOD + b"more", "BEGIN and END"),
        (GOOD.replace(b"SSH", b"PGP"), "BEGIN and END"),
        (GOOD[:-9], "BEGIN and END"),
        (armoured(b""), "BEGIN and END"),
        (GOOD.replace(b"\n", b"\r\n"), "line ends of Windows, which OpenSSH before 9.5 refuses"),
        (GOOD.replace(b"-----\n", b"-----\r\n", 1), "line ends of Windows"),
        (GOOD.replace(b"AAAA", b"A*AA"), "BEGIN and END"),
        (GOOD.replace(b"AAAA", b"A\vAA", 1), "BEGIN and END"),
        (GOOD.replace(b"AAAA", b"A=AA", 1), "base64"),
        (GOOD.replace(b"\n-----END", b"=\n-----END"), "base64"),
        (armoured(b"SSHSIX" + blob_of(KEY, MADE)[6:]), "not one of SSH"),
        (armoured(blob_of(KEY, MADE, version=2)), "version 2"),
        (armoured(blob_of(KEY, MADE, version=0)), "version 0"),
        (armoured(blob_of(KEY, MADE, reserved=b"x")), "no meaning yet"),
        (armoured(blob_of(KEY, MADE, namespace=f"{NAMESPACE}\0x")), "a name with a zero byte"),
        (armoured(blob_of(KEY, MADE, hash="sha1")), "hash 'sha1'"),
        (armoured(blob_of(KEY, MADE, hash="md5\x1b")), r"hash 'md5\\x1b'"),
        (armoured(blob_of(KEY, MADE) + b"\0"), "more than it should"),
        (armoured(blob_of(KEY, MADE + b"\0")), "more than it should"),
        (armoured(blob_of(KEY, MADE)[:-1]), "cut short"),
        (armoured(blob_of(KEY, string(b"ssh-rsa") + string(bytes(64)))), "uses 'ssh-rsa'"),
        (armoured(blob_of(HARDWARE.blob, string(HARDWARE.type.encode()) * 2)), "cut short"),
        (armoured(blob_of(KEY + b"\0", MADE)), "the key in the signature holds more"),
    ],
)
def test_what_is_not_a_signature_is_refused_with_the_reason(content, reason):
    with pytest.raises(SignatureError, match=reason):
        read_signature(content)


@needs_ssh
def test_sha1_signatures_of_rsa_keys_are_refused(keys):
    blob = dearmoured(sign(keys["ssh-rsa"]))
    old = blob.replace(string(b"rsa-sha2-512"), string(b"ssh-rsa"))
    # The length of the whole signature is part of it.
    old = old.replace((20 + 256).to_bytes(4), (15 + 256).to_bytes(4))
    with pytest.raises(SignatureError, match="uses 'ssh-rsa', but a key of type ssh-rsa must use"):
        read_signature(armoured(old))


@given(st.binary(max_size=200))
@example(b"-----BEGIN SSH SIGNATURE-----\n\n-----END SSH SIGNATURE-----")
def test_no_content_gives_another_error_than_ours(noise):
    for content in (noise, armoured(noise), armoured(b"SSHSIG\0\0\0\1" + noise)):
        with pytest.raises(SignatureError):
            read_signature(content)


@given(st.data())
def test_no_changed_byte_gives_another_error_than_ours(data):
    for blob in (blob_of(KEY, MADE), dearmoured(HARDWARE.sign())):
        at = data.draw(st.integers(0, len(blob) - 1))
        other = bytes([data.draw(st.integers(0, 255))])
        changed = data.draw(
            st.sampled_from([blob[:at] + other + blob[at + 1 :], blob[:at], blob + other])
        )
        with contextlib.suppress(SignatureError):
            assert read_signature(armoured(changed))
