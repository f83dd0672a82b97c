"""The SSH signature format: making a ``.sig`` file, reading it, and the bytes that were signed.

It holds the public key, a namespace that says what the signature is for, and a signature of the
hash of the file.  The key inside only says which key to look for.  ``ssh-keygen -Y sign`` writes
it, so agents and hardware keys work: the private key is never opened here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cloakgp.errors import SignatureError, printable
from cloakgp.release.signature.keys import (
    PublicKey,
    WireReader,
    from_base64,
    quoted,
    read_key,
    string,
)

#: What signatures of releases are for; one made for something else is no signature of a release.
NAMESPACE = "cloakgp-release"
HASHES = ("sha512", "sha256")
PROGRAM = "ssh-keygen"
_MAGIC, _VERSION = b"SSHSIG", 1
_WHAT = "the signature"
_ARMOUR = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\s*"
)


@dataclass(frozen=True)
class SshSignature:
    """A signature as it was read: nothing of it has been checked yet."""

    key: PublicKey
    namespace: str
    hash: str
    algorithm: str
    signature: bytes
    flags: int = 0  # of hardware keys, and how often they have signed
    counter: int = 0

    def message(self, digest: bytes) -> bytes:
        """Return the bytes that were signed, for a file whose hash is ``digest``."""
        words = (self.namespace.encode(), b"", self.hash.encode(), digest)
        return _MAGIC + b"".join(string(word) for word in words)


def read_signature(content: bytes) -> SshSignature:
    """Return the signature that a ``.sig`` file holds."""
    if b"\r" in content:
        raise SignatureError(
            f"{_WHAT} has the line ends of Windows, which OpenSSH before 9.5 refuses; fetch it "
            "again as it was published, byte for byte"
        )
    armoured = _ARMOUR.fullmatch(content)
    if armoured is None:
        raise SignatureError(f"{_WHAT} is not one of SSH: it needs its BEGIN and END lines")
    reader = WireReader(from_base64(armoured[1].replace(b"\n", b""), _WHAT), _WHAT)
    if reader.take(len(_MAGIC)) != _MAGIC:
        raise SignatureError(f"{_WHAT} is not one of SSH")
    if (version := reader.uint32()) != _VERSION:
        raise SignatureError(f"{_WHAT} has version {version}, only {_VERSION} is known")
    key = read_key(reader.string(), "the key in the signature")
    namespace, reserved, hash = reader.text(), reader.string(), reader.text()
    # It is not signed, so it could hold anything; ssh-keygen leaves it empty.
    if reserved:
        raise SignatureError(f"{_WHAT} holds something in a field that has no meaning yet")
    if hash not in HASHES:
        raise SignatureError(f"{_WHAT} uses the hash {quoted(hash)}, not {HASHES}")
    inner = WireReader(reader.string(), _WHAT)
    reader.end()
    algorithm, signature, flags, counter = inner.text(), inner.string(), 0, 0
    if algorithm not in key.kind.algorithms:
        raise SignatureError(
            f"{_WHAT} uses {quoted(algorithm)}, but a key of type {key.type} must use "
            f"{' or '.join(key.kind.algorithms)}"
        )
    if key.kind.hardware:
        flags, counter = inner.byte(), inner.uint32()
    inner.end()
    return SshSignature(key, namespace, hash, algorithm, signature, flags, counter)


def sign(content: bytes, key: str | os.PathLike[str]) -> bytes:
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
