"""``cloakgp sign``: a detached signature beside a release, made by ssh-keygen."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

from cloakgp.cli.preflight import check_file
from cloakgp.cli.screen import say, screen
from cloakgp.cli.settings.options import Force, Saved, flag, path_option
from cloakgp.cli.wording import explained
from cloakgp.errors import CommandError, printable
from cloakgp.files import write_file
from cloakgp.release.release import Release
from cloakgp.release.signature.check import ENDING, signature_beside
from cloakgp.release.signature.sign import signature_of
from cloakgp.release.signature.sshsig import read_signature

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp sign pub/release.cloakgp --key ~/.ssh/id_ed25519\n\n"
    "cloakgp verify pub/release.cloakgp --key office.pub"
)


def sign_command(
    release: Saved,
    key: Annotated[
        Path, path_option("Your private key, or the public one of a key in an agent", "FILE")
    ],
    force: Force = False,
    not_private: Annotated[
        bool, flag("--not-private", "Sign even if the release is not private")
    ] = False,
) -> None:
    """Sign a release with an SSH key, so that others can check who published it.

    ssh-keygen makes the signature, and asks for a passphrase or a touch; cloakgp never opens the
    key.  The signature is a file of its own, RELEASE.sig; the release stays as it is.
    """
    beside = signature_beside(release)
    check_file("the signature", beside, (ENDING,), force)
    loaded = Release.load(release)  # nobody should vouch for what does not hold
    if not (loaded.private or not_private):
        raise CommandError(
            f"{printable(release)} is NOT private; give --not-private to sign it anyway"
        )
    content = release.read_bytes()
    if hashlib.sha256(content).digest() != loaded.digest("sha256"):
        raise CommandError(f"{printable(release)} has changed since it was checked; sign it again")
    with explained():
        signature = signature_of(content, key)
    write_file(beside, signature, "signature")
    say(
        screen(),
        f"Wrote {beside}, by the key {read_signature(signature).key.name}. Publish it beside the "
        "release, and the public key somewhere else, where readers know it is yours.",
    )
