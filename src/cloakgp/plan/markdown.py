"""Strings of strangers as Markdown and HTML show them: as they are."""

from __future__ import annotations

import re


def escape(text: object) -> str:
    """Return text that Markdown and HTML show as it is, on one line."""
    line = "".join(c if c.isprintable() else " " for c in str(text))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # The last two would become links by themselves.
    return re.sub(r"([\\`*_\[\]#|~$@]|:(?=//))", r"\\\1", line)
