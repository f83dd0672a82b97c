"""The wire format of SSH: numbers and strings one after another, read to the last byte.

Whatever the bytes are, reading them gives values or a ``SignatureError``.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from cloakgp.errors import SignatureError, printable


@dataclass
class Reader:
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


def to_base64(data: bytes) -> str:
    """Return bytes as base64, without the padding, as SSH prints fingerprints."""
    return base64.b64encode(data).decode().rstrip("=")


def quoted(name: str | bytes) -> str:
    """Return a stranger's name as an error shows it: short, and harmless to a terminal."""
    text = name if isinstance(name, str) else name.decode(errors="backslashreplace")
    return f"'{printable(text[:80])}'"
