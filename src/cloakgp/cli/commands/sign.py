"""``cloakgp sign``: a detached signature beside a release, made by ssh-keygen.

``check_signed`` and its options are for the commands that say who signed a release.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from cloakgp.app.outputs import check_file
from cloakgp.app.wording import explained
from cloakgp.cli.options import Force, Saved, flag, path_option
from cloakgp.cli.terminal import say, screen
from cloakgp.errors import CommandError, printable
from cloakgp.files import write_file
from cloakgp.release.release import Release
from cloakgp.release.signature.check import (
    ENDING,
    SignatureCheck,
    check_signature,
    signature_beside,
    trusted,
    without_key,
)
from cloakgp.release.signature.sshsig import read_signature, sign

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp sign pub/release.cloakgp --key ~/.ssh/id_ed25519\n\n"
    "cloakgp verify pub/release.cloakgp --key office.pub"
)

Key = Annotated[Path | None, path_option("The publisher's public key", "FILE.pub")]
AllowedSigners = Annotated[
    Path | None, path_option("Who may sign with which key, as ssh-keygen reads it", "FILE")
]
Identity = Annotated[
    str | None,
    typer.Option(
        help="Who should have signed, by --allowed-signers", metavar="NAME", show_default=False
    ),
]
Signature = Annotated[
    Path | None, path_option("The signature (default: RELEASE.sig beside it)", "FILE.sig")
]
_ADVICE = "give --key, or --allowed-signers and --identity, to check it"


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
        signature = sign(content, key)
    write_file(beside, signature, "signature")
    say(
        screen(),
        f"Wrote {beside}, by the key {read_signature(signature).key.name}. Publish it beside the "
        "release, and the public key somewhere else, where readers know it is yours.",
    )


def check_signed(
    release: Release,
    path: Path,
    key: Path | None,
    allowed_signers: Path | None,
    identity: str | None,
    signature: Path | None,
) -> SignatureCheck:
    """Return what is known of the signature of a release file, by what was given to check it."""
    if not (key or allowed_signers or identity):
        if signature is not None:
            raise CommandError(f"--signature alone shows nothing; {_ADVICE}")
        return without_key(path, _ADVICE)
    if key and (allowed_signers or identity):
        raise CommandError("give --key, or --allowed-signers and --identity, not both")
    with explained():
        trust = trusted(key, allowed_signers, identity)
        return check_signature(release.digest, signature or signature_beside(path), trust)
