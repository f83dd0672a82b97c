"""ssh-keygen signs, with keys on disk and in agents; what goes wrong is said."""

import os
import shutil
import signal
import subprocess

import pytest
from signature_cases import CONTENT, digest, make_key, needs_ssh, public

from cloakgp.errors import SignatureError
from cloakgp.release.signature.algorithms import check_made_by
from cloakgp.release.signature.keys import read_key_file
from cloakgp.release.signature.sshsig import NAMESPACE, read_signature, sign


def check(content, key):
    found = read_signature(content)
    assert found.namespace == NAMESPACE
    check_made_by(read_key_file(public(key)), found, digest()(found.hash))


@needs_ssh
def test_a_signature_is_by_the_key_and_nothing_is_written(tmp_path):
    key = make_key(tmp_path / "key")
    check(sign(CONTENT, key), key)
    assert sorted(os.listdir(tmp_path)) == ["key", "key.pub"]


@needs_ssh
def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    key = make_key(tmp_path / "key")
    check(sign(CONTENT, "~/key"), key)


@needs_ssh
@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="needs ssh-agent")
def test_a_key_in_an_agent_signs_although_its_file_is_gone(tmp_path, monkeypatch):
    key = make_key(tmp_path / "key")
    said = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    words = dict(word.split("=", 1) for word in said.replace(";", " ").split() if "=" in word)
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", words["SSH_AUTH_SOCK"])
        subprocess.run(["ssh-add", "-q", key], check=True)
        key.unlink()
        check(sign(CONTENT, public(key)), key)
    finally:
        os.kill(int(words["SSH_AGENT_PID"]), signal.SIGTERM)


@needs_ssh
def test_a_key_that_cannot_sign_is_an_error(tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = make_key(tmp_path / "key")
    key.unlink()
    with pytest.raises(SignatureError, match="did not sign"):
        sign(CONTENT, public(key))
    with pytest.raises(SignatureError, match="there is no key"):
        sign(CONTENT, key)


@needs_ssh
def test_a_key_that_no_reader_would_accept_is_refused(tmp_path):
    key = make_key(tmp_path / "key", "-t", "rsa", "-b", "1024")
    with pytest.raises(SignatureError, match="1024 bits; it takes 2048"):
        sign(CONTENT, key)


def test_without_ssh_keygen_the_error_says_where_it_comes_from(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SignatureError, match="ssh-keygen is not installed; it comes with OpenSSH"):
        sign(CONTENT, tmp_path / "key")
