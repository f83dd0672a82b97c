"""Public keys of SSH: the types that may sign a release, and how files and bytes spell them.

A key is refused here, with the reason, if it is too short or of a type that is not safe any more.
From the outside in: keys, the files that hold them, and SSH's wire format, in which signatures are
written, too.  Whatever the bytes are, reading them gives values or a ``SignatureError``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cloakgp.errors import SignatureError, printable

#: Bits of an RSA key: fewer can be broken, more take minutes to check.
RSA_BITS = (2048, 16384)
#: What hardware keys are made for, if SSH makes them.
SSH_APPLICATION = "ssh:"
#: Files of keys and signatures are small; a larger one is something else.
LARGEST_FILE_BYTES = 1 << 20
_CERTIFICATE = "-cert-v01@openssh.com"
#: The control characters of ASCII, except for the tab.
_CONTROL = re.compile(rb"[\0-\x08\n-\x1f\x7f]")


@dataclass(frozen=True)
class KeyKind:
    """What keys of one type are made of, and the algorithms that they sign with."""

    algorithms: tuple[str, ...]
    curve: str = ""  # named in keys of elliptic curves other than Edwards'
    point_bytes: int = 0  # of the public point, if there is one
    hardware: bool = False  # a security key, which adds flags and a counter


_HARDWARE_EDWARDS = "sk-ssh-ed25519@openssh.com"
_HARDWARE_NIST = "sk-ecdsa-sha2-nistp256@openssh.com"
KINDS = {
    "ssh-ed25519": KeyKind(("ssh-ed25519",), point_bytes=32),
    "ssh-rsa": KeyKind(("rsa-sha2-512", "rsa-sha2-256")),
    "ecdsa-sha2-nistp256": KeyKind(("ecdsa-sha2-nistp256",), "nistp256", 65),
    "ecdsa-sha2-nistp384": KeyKind(("ecdsa-sha2-nistp384",), "nistp384", 97),
    "ecdsa-sha2-nistp521": KeyKind(("ecdsa-sha2-nistp521",), "nistp521", 133),
    _HARDWARE_EDWARDS: KeyKind((_HARDWARE_EDWARDS,), point_bytes=32, hardware=True),
    _HARDWARE_NIST: KeyKind((_HARDWARE_NIST,), "nistp256", 65, hardware=True),
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
    def kind(self) -> KeyKind:
        """What keys of this type are made of."""
        return KINDS[self.type]

    @property
    def name(self) -> str:
        """The type and the fingerprint, as ``ssh-keygen -l`` prints it."""
        return f"{self.type} {fingerprint(self.blob)}"


def fingerprint(blob: bytes) -> str:
    """Return the fingerprint of a key, as SSH prints it: base64 without the padding."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"


def read_key(blob: bytes, what: str = "the key") -> PublicKey:
    """Return the public key that these bytes are, if it may sign."""
    reader = WireReader(blob, what)
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


def _kind(type: str, what: str) -> KeyKind:
    if type in KINDS:
        return KINDS[type]
    shown = quoted(type)
    if type.endswith(_CERTIFICATE):
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


# ------------------------------------------------------------------------------------ files of keys


def read_key_file(path: str | os.PathLike[str]) -> PublicKey:
    """Return the one public key of a file such as ``id_ed25519.pub``."""
    what = f"the key file {printable(path)}"
    content = small_file(path, what)
    if b"PRIVATE KEY" in content:
        raise SignatureError(f"{what} is a private key; give the public one, which ends in .pub")
    lines = [line.split() for _, line in numbered_lines(content, what)]
    if len(lines) != 1:
        raise SignatureError(
            f"{what} has {len(lines)} keys instead of one; for several, use a file of allowed "
            "signers"
        )
    if lines[0][0].startswith(b"----"):
        raise SignatureError(f"{what} is not in OpenSSH's form; `ssh-keygen -i` converts it")
    return read_key(read_line(lines[0], what), what)


def numbered_lines(content: bytes, what: str) -> Iterator[tuple[int, bytes]]:
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
    if WireReader(blob, f"the key of {what}").string() != words[0]:
        raise SignatureError(f"{what} says {quoted(words[0])}, but the key in it does not")
    return blob


def small_file(path: str | os.PathLike[str], what: str) -> bytes:
    """Return the content of a small regular file; one that is not there is said to be so."""
    file = Path(path)
    try:
        # A pipe or a device could block or never end.
        if not file.is_file():
            found = "is not a regular file" if file.exists() else "does not exist"
            raise SignatureError(f"{what} {found}")
        if file.stat().st_size > LARGEST_FILE_BYTES:
            raise SignatureError(f"{what} is too large to be one")
        return file.read_bytes()
    except OSError as error:
        raise SignatureError(f"{what} cannot be read ({error.strerror or error})") from None


# -------------------------------------------------------------------------------------- wire format


@dataclass
class WireReader:
    """Reads values from bytes that anybody may have written; ``what`` names them in errors."""

    data: bytes
    what: str
    at: int = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes, exactly so many."""
        if count > len(self.data) - self.at:
            raise SignatureError(f"{self.what} is cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        """Return a number of one byte."""
        return self.take(1)[0]

    def uint32(self) -> int:
        """Return a number of four bytes."""
        return int.from_bytes(self.take(4))

    def string(self) -> bytes:
        """Return a string: its length, then its bytes."""
        return self.take(self.uint32())

    def text(self) -> str:
        """Return a string of UTF-8."""
        try:
            text = self.string().decode()
        except UnicodeDecodeError:
            raise SignatureError(f"{self.what} holds a name that is not UTF-8") from None
        # In C a name ends there, so two programs would read two names.
        if "\0" in text:
            raise SignatureError(f"{self.what} holds a name with a zero byte")
        return text

    def natural(self) -> int:
        """Return a number that is not negative, in its shortest encoding."""
        digits = self.string()
        number = int.from_bytes(digits)
        # The first bit is the sign, so a zero byte is in front where that bit would be set.
        if digits != natural_bytes(number):
            raise SignatureError(f"{self.what} holds a number that is negative or badly encoded")
        return number

    def end(self) -> None:
        """Refuse anything that is left."""
        if self.at != len(self.data):
            raise SignatureError(f"{self.what} holds more than it should")


def natural_bytes(number: int) -> bytes:
    """Return the shortest encoding of a number that is not negative."""
    return b"" if number == 0 else number.to_bytes(number.bit_length() // 8 + 1)


def string(data: bytes) -> bytes:
    """Return bytes with their length in front."""
    return len(data).to_bytes(4) + data


def from_base64(text: bytes, what: str) -> bytes:
    """Return what base64 says, if it is written in the one way it has to be."""
    try:
        data = binascii.a2b_base64(text)
    except binascii.Error:
        raise SignatureError(f"{what} is not base64") from None
    # Python skips what it does not know, and even its strict mode allows a `=` too many.
    if base64.b64encode(data) != text:
        raise SignatureError(f"{what} is not base64")
    return data


def quoted(name: str | bytes) -> str:
    """Return a stranger's name as an error shows it: short, and harmless to a terminal."""
    text = name if isinstance(name, str) else name.decode(errors="backslashreplace")
    return f"'{printable(text[:80])}'"
