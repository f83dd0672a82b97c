"""Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

import pandas as pd


def write_file(path: Path, data: bytes) -> None:
    """Write a file in one step: there is the old one or the new one, never half of it."""
    temporary = path.parent / f".cloakgp-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def to_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV, in digits that people can read."""
    text: str = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text.encode()
