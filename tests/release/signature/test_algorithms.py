"""A signature is accepted if the key made it of exactly this file, and by no other way."""

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from signature_cases import CONTENT, TYPES, SecurityKey, digest, needs_ssh, sign, ssh_keygen

from cloakgp.errors import SignatureError
from cloakgp.release.signature.algorithms import check_made_by, need_cryptography
from cloakgp.release.signature.keys import KINDS, PublicKey, string
from cloakgp.release.signature.sshsig import NAMESPACE, SshSignature, read_signature

HARDWARE = [type for type, kind in KINDS.items() if kind.hardware]


def check(content, of=CONTENT):
    found = read_signature(content)
    check_made_by(found.key, found, digest(of)(found.hash))


@needs_ssh
@pytest.mark.parametrize("hash", ["sha512", "sha256"])
@pytest.mark.parametrize("type", TYPES)
def test_signatures_of_ssh_keygen_are_accepted_for_their_file_alone(keys, type, hash):
    content = sign(keys[type], CONTENT, NAMESPACE, "-O", f"hashalg={hash}")
    check(content)
    with pytest.raises(SignatureError, match="changed after signing"):
        check(content, CONTENT + b"\0")


@needs_ssh
@pytest.mark.parametrize("type", HARDWARE)
def test_the_hardware_key_of_these_tests_is_one_that_ssh_keygen_accepts(type, tmp_path):
    key = SecurityKey(type)
    (tmp_path / "signature").write_bytes(key.sign())
    (tmp_path / "signers").write_text(f"office {key.line}\n")
    where = ("-f", tmp_path / "signers", "-s", tmp_path / "signature")
    done = ssh_keygen("-Y", "verify", "-I", "office", "-n", NAMESPACE, *where, input=CONTENT)
    assert b"Good" in done.stdout


@pytest.mark.parametrize("type", HARDWARE)
def test_signatures_of_hardware_keys_are_accepted_for_their_file_alone(type):
    content = SecurityKey(type).sign()
    check(content)
    with pytest.raises(SignatureError, match="changed after signing"):
        check(content, b"another")


@pytest.mark.parametrize("type", HARDWARE)
def test_the_flags_the_counter_and_what_a_hardware_key_is_for_are_signed_too(type):
    found = read_signature(SecurityKey(type).sign())
    for other in (replace(found, flags=5), replace(found, counter=8)):
        with pytest.raises(SignatureError, match="changed after signing"):
            check_made_by(found.key, other, digest()("sha512"))
    with pytest.raises(SignatureError, match="changed after signing"):
        check_made_by(replace(found.key, application="ssh:x"), found, digest()("sha512"))


@pytest.mark.parametrize("type", HARDWARE)
@pytest.mark.parametrize("flags", [0, 4])
def test_a_hardware_key_that_nobody_touched_has_not_signed(type, flags):
    with pytest.raises(SignatureError, match="without being touched"):
        check(SecurityKey(type, flags=flags).sign())


@needs_ssh
@pytest.mark.parametrize("type", TYPES)
def test_another_key_another_namespace_and_another_hash_are_refused(keys, type, tmp_path):
    found = read_signature(sign(keys[type]))
    ssh_keygen("-q", *TYPES[type], "-N", "", "-f", tmp_path / "key")
    other = read_signature(sign(tmp_path / "key")).key
    digests = digest()
    for key, signature, hash in (
        (other, found, "sha512"),
        (found.key, replace(found, namespace="file"), "sha512"),
        (found.key, replace(found, hash="sha256"), "sha256"),
    ):
        with pytest.raises(SignatureError, match="changed after signing"):
            check_made_by(key, signature, digests(hash))


@needs_ssh
def test_an_rsa_signature_with_another_hash_or_length_is_refused(keys):
    found = read_signature(sign(keys["ssh-rsa"]))
    other = replace(found, algorithm="rsa-sha2-256")
    with pytest.raises(SignatureError, match="changed"):
        check_made_by(found.key, other, digest()("sha512"))
    padded = replace(found, signature=b"\0" + found.signature)
    with pytest.raises(SignatureError, match="changed"):
        check_made_by(found.key, padded, digest()("sha512"))


def test_a_signature_of_rsa_with_a_zero_in_front_is_accepted_without_it():
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    private = rsa.generate_private_key(65537, 2048)
    numbers = private.public_key().public_numbers()
    key = PublicKey("ssh-rsa", b"", exponent=numbers.e, modulus=numbers.n)
    # One in 256 begins with a zero, so 5,000 attempts fail less often than once in 10⁸ runs.
    for number in range(5000):
        content = str(number).encode()
        found = SshSignature(key, NAMESPACE, "sha512", "rsa-sha2-512", b"")
        message = found.message(digest(content)("sha512"))
        made = private.sign(message, padding.PKCS1v15(), hashes.SHA512())
        if made[0] == 0:
            break
    assert made[0] == 0
    check_made_by(key, replace(found, signature=made[1:]), digest(content)("sha512"))


def test_a_point_beside_its_curve_is_refused():
    key = PublicKey("ecdsa-sha2-nistp256", b"", b"\4" + bytes(64))
    made = string(b"\1") + string(b"\1")
    found = SshSignature(key, NAMESPACE, "sha512", "ecdsa-sha2-nistp256", made)
    with pytest.raises(SignatureError, match="cannot be used here"):
        check_made_by(key, found, bytes(64))


@settings(max_examples=50)
@given(st.sampled_from(HARDWARE), st.binary(max_size=100), st.binary(max_size=40))
def test_no_signature_gives_another_error_than_ours(type, made, more):
    found = read_signature(SecurityKey(type).sign())
    for signature in (made, string(made) + string(more)):
        with pytest.raises(SignatureError):
            check_made_by(found.key, replace(found, signature=signature), bytes(64))


def test_without_cryptography_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(SignatureError, match=r"pip install 'cloakgp\[sign\]'"):
        need_cryptography()
