"""Signing a release: ssh-keygen does it, so agents and hardware keys work.

The private key is never opened here, and the signature is read again before it is written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from cloakgp.errors import SignatureError, printable
from cloakgp.release.signature.sshsig import NAMESPACE, read_signature

PROGRAM = "ssh-keygen"


def signature_of(content: bytes, key: str | os.PathLike[str]) -> bytes:
    """Return a signature of the content of a file, by the key that ssh-keygen finds at ``key``.

    A public key stands for its private one in an agent.  ssh-keygen asks for a passphrase or a
    touch on the terminal by itself.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise SignatureError(f"{PROGRAM} is not installed; it comes with OpenSSH")
    at = Path(key).expanduser()
    if not at.exists():
        raise SignatureError(f"there is no key {printable(key)}; `{PROGRAM} -t ed25519` makes one")
    # From standard input to standard output: ssh-keygen itself writes no file.
    command = [program, "-q", "-Y", "sign", "-f", os.fspath(at), "-n", NAMESPACE]
    done = subprocess.run(command, input=content, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SignatureError(
            f"{PROGRAM} did not sign with {printable(key)}: see what it says above; a key in an "
            "agent is named by its public file"
        )
    # A key of a type that no reader would accept is refused now.
    read_signature(done.stdout)
    return done.stdout
