"""Public keys of SSH: the types that may sign a release, and how their files are read.

A key is refused here, with the reason, if it is too short or of a type that is not safe any more.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cloakgp.errors import SignatureError, printable
from cloakgp.release.signature.wire import Reader, from_base64, quoted, to_base64

#: Bits of an RSA key: fewer can be broken, more take minutes to check.
RSA_BITS = (2048, 16384)
#: What hardware keys are made for, if SSH makes them.
SSH_APPLICATION = "ssh:"
#: Files of keys and signatures are small; a larger one is something else.
LARGEST_FILE = 1 << 20
CERTIFICATE = "-cert-v01@openssh.com"
#: The control characters of ASCII, except for the tab.
_CONTROL = re.compile(rb"[\0-\x08\n-\x1f\x7f]")


@dataclass(frozen=True)
class Kind:
    """What keys of one type are made of, and the algorithms that they sign with."""

    algorithms: tuple[str, ...]
    curve: str = ""  # named in keys of elliptic curves other than Edwards'
    point_bytes: int = 0  # of the public point, if there is one
    hardware: bool = False  # a security key, which adds flags and a counter


_HARDWARE_EDWARDS = "sk-ssh-ed25519@openssh.com"
_HARDWARE_NIST = "sk-ecdsa-sha2-nistp256@openssh.com"
KINDS = {
    "ssh-ed25519": Kind(("ssh-ed25519",), point_bytes=32),
    "ssh-rsa": Kind(("rsa-sha2-512", "rsa-sha2-256")),
    "ecdsa-sha2-nistp256": Kind(("ecdsa-sha2-nistp256",), "nistp256", 65),
    "ecdsa-sha2-nistp384": Kind(("ecdsa-sha2-nistp384",), "nistp384", 97),
    "ecdsa-sha2-nistp521": Kind(("ecdsa-sha2-nistp521",), "nistp521", 133),
    _HARDWARE_EDWARDS: Kind((_HARDWARE_EDWARDS,), point_bytes=32, hardware=True),
    _HARDWARE_NIST: Kind((_HARDWARE_NIST,), "nistp256", 65, hardware=True),
}


@dataclass(frozen=True)
class PublicKey:
    """A public key that may sign; equal keys have equal bytes."""

    type: str
    blob: bytes
    point: bytes = b""
    exponent: int = 0
    modulus: int = 0
    application: str = ""

    @property
    def kind(self) -> Kind:
        """What keys of this type are made of."""
        return KINDS[self.type]

    @property
    def name(self) -> str:
        """The type and the fingerprint, as ``ssh-keygen -l`` prints it."""
        return f"{self.type} {fingerprint(self.blob)}"


def fingerprint(blob: bytes) -> str:
    """Return the fingerprint of a key."""
    return f"SHA256:{to_base64(hashlib.sha256(blob).digest())}"


def read_key(blob: bytes, what: str = "the key") -> PublicKey:
    """Return the public key that these bytes are, if it may sign."""
    reader = Reader(blob, what)
    type = reader.text()
    kind = _kind(type, what)
    point, exponent, modulus, application = b"", 0, 0, ""
    if kind.curve and reader.text() != kind.curve:
        raise SignatureError(f"{what} names another curve than its type {type}")
    if kind.point_bytes:
        point = reader.string()
        # Only points that are not compressed have this length and begin with 4.
        if len(point) != kind.point_bytes or (kind.curve and point[0] != 4):
            raise SignatureError(f"{what} is no point of the curve of {type}")
    else:
        exponent, modulus = reader.natural(), reader.natural()
        _check_rsa(exponent, modulus, what)
    if kind.hardware:
        application = reader.text()
        if not application.startswith(SSH_APPLICATION):
            raise SignatureError(f"{what} is a hardware key for {quoted(application)}, not for SSH")
    reader.end()
    return PublicKey(type, blob, point, exponent, modulus, application)


def _kind(type: str, what: str) -> Kind:
    if type in KINDS:
        return KINDS[type]
    shown = quoted(type)
    if type.endswith(CERTIFICATE):
        raise SignatureError(
            f"{what} is a certificate ({shown}), which is not supported; use the key itself"
        )
    if type == "ssh-dss":
        raise SignatureError(f"{what} is of type ssh-dss, which is broken; use ssh-ed25519")
    raise SignatureError(f"{what} is of type {shown}; use one of {', '.join(KINDS)}")


def _check_rsa(exponent: int, modulus: int, what: str) -> None:
    least, most = RSA_BITS
    bits = modulus.bit_length()
    if not least <= bits <= most:
        raise SignatureError(f"{what} is an RSA key of {bits} bits; it takes {least} to {most}")
    # An even number in either place is no key at all; a long exponent only takes time.
    if not (exponent % 2 and modulus % 2 and 3 <= exponent < 1 << 64):
        raise SignatureError(f"{what} is no RSA key: its exponent or modulus is impossible")


def lines_of(content: bytes, what: str) -> Iterator[tuple[int, bytes]]:
    """Return the lines of a file of keys with their numbers, without blank ones and comments.

    They are bytes, as they are to OpenSSH: the only separators are the space and the tab.
    """
    for number, ended in enumerate(content.split(b"\n"), 1):
        line = ended.removesuffix(b"\r").strip(b" \t")
        if not line or line.startswith(b"#"):
            continue
        if _CONTROL.search(line):
            raise SignatureError(
                f"line {number} of {what} holds a control character; save it as plain text in UTF-8"
            )
        yield number, line


def read_line(words: list[bytes], what: str) -> bytes:
    """Return the bytes of a key as files spell it: type, base64, any comment."""
    if len(words) < 2:
        raise SignatureError(f"{what} is not a type and a key, such as `ssh-ed25519 AAAA...`")
    blob = from_base64(words[1], f"the key of {what}")
    if Reader(blob, f"the key of {what}").string() != words[0]:
        raise SignatureError(f"{what} says {quoted(words[0])}, but the key in it does not")
    return blob


def read_key_file(path: str | os.PathLike[str]) -> PublicKey:
    """Return the one public key of a file such as ``id_ed25519.pub``."""
    what = f"the key file {printable(path)}"
    content = small_file(path, what)
    if b"PRIVATE KEY" in content:
        raise SignatureError(f"{what} is a private key; give the public one, which ends in .pub")
    lines = [line.split() for _, line in lines_of(content, what)]
    if len(lines) != 1:
        raise SignatureError(
            f"{what} has {len(lines)} keys instead of one; for several, use a file of allowed "
            "signers"
        )
    if lines[0][0].startswith(b"----"):
        raise SignatureError(f"{what} is not in OpenSSH's form; `ssh-keygen -i` converts it")
    return read_key(read_line(lines[0], what), what)


def small_file(path: str | os.PathLike[str], what: str) -> bytes:
    """Return the content of a small regular file; one that is not there is said to be so."""
    file = Path(path)
    try:
        # A pipe or a device could block or never end.
        if not file.is_file():
            found = "is not a regular file" if file.exists() else "does not exist"
            raise SignatureError(f"{what} {found}")
        if file.stat().st_size > LARGEST_FILE:
            raise SignatureError(f"{what} is too large to be one")
        return file.read_bytes()
    except OSError as error:
        raise SignatureError(f"{what} cannot be read ({error.strerror or error})") from None
