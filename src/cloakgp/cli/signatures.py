"""Options that say whose signature counts, and what is found with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakgp.cli.settings.options import path_option
from cloakgp.cli.wording import explained
from cloakgp.errors import CommandError
from cloakgp.release.release import Release
from cloakgp.release.signature.check import (
    SignatureCheck,
    check_signature,
    signature_beside,
    trusted,
    without_key,
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


def found_signature(
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
