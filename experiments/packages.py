"""Packages that an experiment can do without."""

from __future__ import annotations

import importlib
from collections.abc import Iterator


def why_not(package: str) -> str | None:
    """Return why a package cannot be used, or None."""
    try:
        importlib.import_module(package)
    except ImportError as error:
        return str(error)
    return None


def missing(*packages: str) -> Iterator[str]:
    """Yield a sentence for each package whose data had to be left out."""
    for package in packages:
        why = why_not(package)
        if why is not None:
            yield f"Data of {package} were left out: {why}."
