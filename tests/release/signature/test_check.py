"""Who signed a release is said if the reader's own key says so; everything else is refused."""

import datetime
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from signature_cases import (
    TYPES,
    SecurityKey,
    armoured,
    dearmoured,
    digest,
    make_key,
    needs_ssh,
    public,
    sign,
)

from cloakgp import PrivateGPRegressor, Release
from cloakgp.errors import SignatureError
from cloakgp.release.signature.check import (
    NOT_CHECKED,
    SignatureCheck,
    check_signature,
    signature_beside,
    trusted,
    without_key,
)
from cloakgp.release.verify import NOT_AUTHORSHIP, SIGNED_WORD

OLD = Path(__file__).parents[2] / "saved" / "releases-0.1.0"


@pytest.fixture(scope="module")
def release():
    X = np.linspace(0.0, 70.0, 30)[:, None]
    return PrivateGPRegressor(bounds=(40, 200)).fit(X, 100.0 + X[:, 0]).release_


@pytest.fixture(scope="module")
def file(release, tmp_path_factory):
    """A release file that is signed by the office."""
    path = tmp_path_factory.mktemp("signed") / "release.cloakgp"
    release.save(path)
    return path


@pytest.fixture(scope="module")
def signature(file, office):
    path = signature_beside(file)
    path.write_bytes(sign(office, file.read_bytes()))
    return path


@pytest.fixture
def signers(office, tmp_path):
    path = tmp_path / "signers"
    path.write_text(f"*@example.org {public(office).read_text()}")
    return path


@needs_ssh
def test_a_release_says_who_signed_it_beside_what_it_guarantees(file, signature, office, signers):
    loaded = Release.load(file)
    by_key = loaded.verify(signature=signature, key=public(office))
    listed = {"allowed_signers": signers, "identity": "office@example.org"}
    by_list = loaded.verify(signature=signature, **listed)
    for report, name in ((by_key, f"the key in {public(office)}"), (by_list, "office@example.org")):
        assert report.ok
        assert report.holds
        assert report.signature.status == "signed"
        lines = str(report).splitlines()
        assert lines[-2].startswith(f"Signed by {name} (ssh-ed25519 SHA256:")
        assert lines[-1] == SIGNED_WORD


@needs_ssh
@pytest.mark.parametrize("type", TYPES)
def test_every_type_of_key_signs_a_release(keys, type, release, tmp_path):
    release.save(tmp_path / "r")
    (tmp_path / "s").write_bytes(sign(keys[type], (tmp_path / "r").read_bytes()))
    assert release.verify(signature=tmp_path / "s", key=public(keys[type])).signature.ok


@pytest.mark.parametrize(
    "type", ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"]
)
def test_a_hardware_key_signs_a_release(type, release, tmp_path):
    key = SecurityKey(type)
    release.save(tmp_path / "r")
    (tmp_path / "s").write_bytes(key.sign((tmp_path / "r").read_bytes()))
    (tmp_path / "k").write_text(key.line)
    assert release.verify(signature=tmp_path / "s", key=tmp_path / "k").signature.ok


def refused(release, signature, **trust):
    """Check that the guarantee holds, the signature does not count, and return the reason."""
    report = release.verify(signature=signature, **trust)
    assert report.holds
    assert not report.ok
    assert not report
    assert report.signature.status == "refused"
    lines = str(report).splitlines()
    assert lines[-2].startswith("NOT signed by ")
    assert lines[-1] == NOT_AUTHORSHIP
    return report.signature.detail


@needs_ssh
def test_another_release_is_refused(release, signature, office):
    """The same release with one byte of its identifier changed."""
    first = "0" if release.release_id[0] != "0" else "1"
    other = replace(release, release_id=first + release.release_id[1:])
    assert "changed after signing" in refused(other, signature, key=public(office))


@needs_ssh
def test_a_changed_byte_of_the_signature_is_refused(release, signature, office, tmp_path):
    blob = dearmoured(signature.read_bytes())
    last = blob[:-1] + bytes([blob[-1] ^ 1])
    (tmp_path / "s").write_bytes(armoured(last))
    assert "changed after signing" in refused(release, tmp_path / "s", key=public(office))


@needs_ssh
def test_a_signature_for_something_else_is_refused(release, file, office, tmp_path):
    (tmp_path / "s").write_bytes(sign(office, file.read_bytes(), "file"))
    assert "is for 'file', not for 'cloakgp-release'" in refused(
        release, tmp_path / "s", key=public(office)
    )


@needs_ssh
def test_the_signature_of_another_key_is_refused(release, file, office, signers, tmp_path):
    stranger = make_key(tmp_path / "stranger")
    (tmp_path / "s").write_bytes(sign(stranger, file.read_bytes()))
    assert "another key" in refused(release, tmp_path / "s", key=public(office))
    listed = {"allowed_signers": signers, "identity": "office@example.org"}
    assert "is not one of office@example.org's" in refused(release, tmp_path / "s", **listed)


@needs_ssh
def test_an_entry_that_has_expired_or_names_somebody_else_is_refused(
    release, signature, office, tmp_path
):
    line = public(office).read_text()
    (tmp_path / "old").write_text(f'office valid-before="20200101Z" {line}')
    listed = {"allowed_signers": tmp_path / "old", "identity": "office"}
    assert "valid only until 2020-01-01" in refused(release, signature, **listed)
    listed["identity"] = "press"
    assert "press is not among the allowed signers" in refused(release, signature, **listed)
    then = datetime.datetime(2019, 7, 1, tzinfo=datetime.UTC)
    trust = trusted(None, tmp_path / "old", "office")
    assert check_signature(release.digest, signature, trust, then).status == "signed"


@needs_ssh
def test_a_signature_that_is_missing_or_no_signature_is_refused(release, office, tmp_path):
    assert "does not exist" in refused(release, tmp_path / "none.sig", key=public(office))
    (tmp_path / "s").write_bytes(b"trust me")
    assert "not one of SSH" in refused(release, tmp_path / "s", key=public(office))


@needs_ssh
def test_a_guarantee_that_does_not_hold_fails_although_the_signature_is_right(
    release, office, tmp_path
):
    weak = replace(release, noisy=replace(release.noisy, sigma=release.noisy.sigma / 2))
    weak.save(tmp_path / "r")
    (tmp_path / "s").write_bytes(sign(office, (tmp_path / "r").read_bytes()))
    report = weak.verify(signature=tmp_path / "s", key=public(office))
    assert report.signature.status == "signed"
    assert not report.holds
    assert not report.ok


def test_without_a_key_nothing_is_claimed(release):
    report = release.verify()
    assert report.ok
    assert report.signature is NOT_CHECKED
    assert "Signature not checked: no key was given" in str(report)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"signature": "s"}, "for you to say"),
        ({"key": "k"}, "does not exist"),
        ({"identity": "office"}, "identity needs allowed_signers"),
        ({"allowed_signers": "list"}, "allowed_signers needs identity"),
        ({"allowed_signers": "list", "identity": ""}, "allowed_signers needs identity"),
        ({"allowed_signers": "list", "identity": "o\0x"}, r"identity o\\x00x cannot be a name"),
        ({"allowed_signers": "list", "identity": "\ud800"}, r"identity \\ud800 cannot be a name"),
        ({"key": "k", "identity": "office"}, "give either key"),
        ({"key": "k", "allowed_signers": "list"}, "give either key"),
    ],
)
def test_what_the_reader_forgot_or_cannot_be_read_is_an_error(release, given, reason):
    with pytest.raises(SignatureError, match=reason):
        release.verify(**given)


@needs_ssh
def test_a_key_without_a_signature_is_an_error(release, office):
    with pytest.raises(SignatureError, match="signature is missing"):
        release.verify(key=public(office))


def test_what_lies_beside_a_release_is_mentioned_but_not_believed(tmp_path):
    file = tmp_path / "r.cloakgp"
    assert str(without_key(file, "check it")) == "Not signed: there is no r.cloakgp.sig beside it."
    signature_beside(file).touch()
    said = "Signature not checked: r.cloakgp.sig is there; check it."
    assert str(without_key(file, "check it")) == said


def test_sentences_name_the_status():
    assert str(SignatureCheck("signed", "so", "a", "k")) == "Signed by a (k): so."
    assert str(SignatureCheck("refused", "so", "a")) == "NOT signed by a: so."


@pytest.mark.parametrize("path", sorted(OLD.glob("*.cloakgp")), ids=lambda path: path.stem)
def test_what_is_signed_is_the_file_as_it_was_read_however_old(path):
    loaded = Release.load(path, check=False)
    for name in ("sha256", "sha512"):
        assert loaded.digest(name) == digest(path.read_bytes())(name)


def test_a_release_that_was_never_saved_has_the_hash_of_the_file_that_it_would_be(
    release, file, tmp_path
):
    assert release.digest("sha512") == digest(file.read_bytes())("sha512")
    with pytest.raises(ValueError, match="'md5'"):
        release.digest("md5")


def test_a_copy_with_other_contents_does_not_inherit_the_hash(file):
    loaded = Release.load(file)
    assert replace(loaded, status="other").digest() != loaded.digest()
    assert pickle.loads(pickle.dumps(loaded)).digest() == loaded.digest()
    assert replace(loaded) == loaded
