"""Sentences from numbers."""

from __future__ import annotations

from collections.abc import Iterable

#: Closer than this share is called the same.
SAME = 0.03


def compare(ours: float, theirs: float, what: str) -> str:
    """Return how ours relates to theirs, where less is better."""
    if abs(ours - theirs) <= SAME * abs(theirs):
        return f"about the same as {what}"
    if ours < theirs:
        return f"{_times(theirs / ours)} less than {what}"
    return f"**not better**: {_times(ours / theirs)} more than {what}"


def _times(ratio: float) -> str:
    if ratio < 1.5:
        return f"{100 * (ratio - 1):.0f} %" if ratio < 1.1 else f"{ratio:.2f} times"
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def listed(words: Iterable[str]) -> str:
    words = list(words)
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1] if words else ""


def spread(values: Iterable[float], unit: str = "") -> str:
    """Return mean ± standard deviation."""
    values = list(values)
    mean = sum(values) / len(values)
    sd = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    return f"{mean:.1f} ± {sd:.1f}{unit}"
