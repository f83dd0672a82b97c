"""``sign``, and what ``verify`` and ``report`` say of signatures, as at a terminal."""

import json
import re
import shutil
import subprocess

import pytest
from command_line import fails, people, run
from signature_cases import make_key, needs_ssh, public

from cloakgp import PrivateGPRegressor, Release
from cloakgp.release.signature.sshsig import NAMESPACE
from cloakgp.release.verify import NOT_AUTHORSHIP

pytestmark = [needs_ssh, pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")]


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("office") / "office")


@pytest.fixture
def release(saved, tmp_path):
    """A copy of a release, alone in its folder."""
    return shutil.copy(saved, tmp_path / "release.cloakgp")


@pytest.fixture
def signed(release, key):
    assert run("sign", release, "--key", key).exit_code == 0
    return release


def verify(*words):
    """Return the exit code of ``verify``, and its two lines: the guarantee and the signature."""
    done = run("verify", *words)
    lines = [line for line in done.stdout.splitlines() if re.match("The guarantee|.*[Ss]ign", line)]
    return done.exit_code, *(line for line in lines if not line.startswith(("A sign", "These")))


def test_a_signed_release_is_accepted_by_us_and_by_ssh_keygen(signed, key, tmp_path):
    done = run("verify", signed, "--key", public(key))
    assert done.exit_code == 0
    code, holds, by = verify(signed, "--key", public(key))
    assert (code, holds.split(":")[0]) == (0, "The guarantee holds")
    assert by.startswith(f"Signed by the key in {public(key)} (ssh-ed25519 SHA256:")
    assert NOT_AUTHORSHIP not in done.stdout
    signers = tmp_path / "signers"
    signers.write_text(f'office namespaces="{NAMESPACE}" {public(key).read_text()}')
    listed = ("--allowed-signers", signers, "--identity", "office")
    assert verify(signed, *listed)[2].startswith("Signed by office (")
    where = ["-f", signers, "-I", "office", "-n", NAMESPACE, "-s", f"{signed}.sig"]
    with open(signed, "rb") as content:
        subprocess.run(["ssh-keygen", "-Y", "verify", *where], stdin=content, check=True)


def test_without_a_key_verify_says_whether_there_is_a_signature_and_no_more(release, key):
    code, holds, by = verify(release)
    assert (code, by) == (0, "Not signed: there is no release.cloakgp.sig beside it.")
    run("sign", release, "--key", key)
    code, holds, by = verify(release)
    assert code == 0
    assert holds.startswith("The guarantee holds")
    assert by.startswith("Signature not checked: release.cloakgp.sig is there; give --key")


def test_a_refused_signature_ends_with_1_although_the_guarantee_holds(signed, saved, tmp_path):
    stranger = make_key(tmp_path / "stranger")
    code, holds, by = verify(signed, "--key", public(stranger))
    assert code == 1
    assert holds.startswith("The guarantee holds")
    assert by.startswith(
        f"NOT signed by the key in {public(stranger)}: the signature is of another"
    )


def test_a_changed_release_is_refused(signed, key):
    frame = people()
    model = PrivateGPRegressor(bounds=(40, 200)).fit(frame[["age"]], frame["height"])
    model.release_.save(signed)
    code, holds, by = verify(signed, "--key", public(key))
    assert code == 1
    assert holds.startswith("The guarantee holds")
    assert "changed after signing" in by


def test_a_key_but_no_signature_ends_with_1(release, key):
    code, _, by = verify(release, "--key", public(key))
    assert code == 1
    assert by.endswith("release.cloakgp.sig does not exist.")


def test_a_signature_may_lie_elsewhere(signed, key, tmp_path):
    elsewhere = tmp_path / "elsewhere.txt"
    shutil.move(f"{signed}.sig", elsewhere)
    assert verify(signed, "--key", public(key), "--signature", elsewhere)[0] == 0


def test_json_has_the_guarantee_and_the_signature_apart(signed, key, tmp_path):
    def told(*words):
        return json.loads(run("verify", signed, "--json", *words).stdout)

    good = told("--key", public(key))
    assert (good["ok"], good["holds"], good["signature"]["status"]) == (True, True, "signed")
    assert good["signature"]["key"].startswith("ssh-ed25519 SHA256:")
    none = told()
    assert (none["ok"], none["signature"]["status"]) == (True, "not checked")
    assert none["note"] == NOT_AUTHORSHIP
    bad = told("--key", public(make_key(tmp_path / "stranger")))
    assert (bad["ok"], bad["holds"], bad["signature"]["status"]) == (False, True, "refused")


def test_a_page_says_who_signed_or_that_nobody_looked(release, key, tmp_path):
    def page(*words):
        out = tmp_path / "page.html"
        assert run("report", release, "--out", out, "--force", *words).exit_code == 0
        return re.search('<p[^>]*id="signature">(.*?)</p>', out.read_text())[1]

    assert "Not signed: there is no release.cloakgp.sig" in page()
    run("sign", release, "--key", key)
    assert "Signature not checked: release.cloakgp.sig is there" in page()
    assert "Signed by the key in " in page("--key", public(key))


def test_no_page_is_written_if_the_signature_is_refused(signed, tmp_path):
    out = tmp_path / "page.html"
    stranger = public(make_key(tmp_path / "stranger"))
    fails(run("report", signed, "--out", out, "--key", stranger), "no page was written. NOT signed")
    assert not out.exists()


def test_statements_and_pages_of_a_new_release_claim_no_signature(saved, tmp_path):
    loaded = Release.load(saved)
    assert "Signature not checked" in loaded.statement()
    loaded.report(tmp_path / "page.html")
    assert "Signature not checked: no key was given" in (tmp_path / "page.html").read_text()


def test_signing_changes_nothing_and_overwrites_nothing(release, key):
    before = release.read_bytes()
    assert "SHA256:" in run("sign", release, "--key", key).stdout
    assert release.read_bytes() == before
    fails(run("sign", release, "--key", key), "exists", "--force")
    assert run("sign", release, "--key", key, "--force").exit_code == 0


def test_what_nobody_should_vouch_for_is_not_signed(tmp_path, key):
    frame = people()
    model = PrivateGPRegressor(bounds=(40, 200), random_state=0)
    trial = tmp_path / "trial.cloakgp"
    model.fit(frame[["age"]], frame["height"]).release_.save(trial)
    fails(run("sign", trial, "--key", key), "NOT private", "--not-private")
    assert not (tmp_path / "trial.cloakgp.sig").exists()
    assert run("sign", trial, "--key", key, "--not-private").exit_code == 0
    trial.write_bytes(b"garbage")
    fails(run("sign", trial, "--key", key, "--force"), "refused")


def test_a_key_that_is_not_there_is_one_paragraph(release, tmp_path):
    fails(run("sign", release, "--key", tmp_path / "none"), "there is no key", "ssh-keygen -t")
    fails(run("sign", release), "--key")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--signature", "s"), "--signature alone shows nothing; give --key"),
        (("--identity", "office"), "--identity needs --allowed-signers"),
        (("--allowed-signers", "list"), "--allowed-signers needs --identity"),
        (("--key", "k", "--identity", "office"), "not both"),
        (("--key", "none.pub"), "the key file none.pub does not exist"),
        (("--allowed-signers", "none", "--identity", "o"), "none does not exist"),
    ],
)
@pytest.mark.parametrize("command", [("verify",), ("report", "--out", "page.html")])
def test_what_was_forgotten_or_is_not_there_is_one_paragraph(
    saved, command, words, reason, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    fails(run(command[0], saved, *command[1:], *words), reason)
