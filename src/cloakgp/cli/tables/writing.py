"""Tables as CSV."""

from __future__ import annotations

import pandas as pd


def to_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV, in digits that people can read."""
    text: str = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text.encode()
