"""YAML that people can edit: nested mappings, lists of strings, numbers, strings and comments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Open:
    """A value that only somebody else knows, with what it is to be.

    It is written as a string that says so; without a placeholder, as a comment alone.
    """

    what: str
    listed: bool = False  # whether it is a list of strings
    commented: bool = False  # whether no placeholder would be allowed

    @property
    def marked(self) -> str:
        """The string that stands for it."""
        return f"TO BE FILLED IN: {self.what}"


def as_yaml(content: Mapping[str, Any], indent: int = 0) -> str:
    """Return a mapping as YAML."""
    lines: list[str] = []
    room = "  " * indent
    for key, value in content.items():
        if isinstance(value, Mapping):
            lines += [f"{room}{key}:", as_yaml(value, indent + 1).rstrip("\n")]
        elif isinstance(value, Open) and value.commented:
            lines.append(f"{room}# {key}: {value.marked}")
        elif isinstance(value, Open) and value.listed:
            lines += [f"{room}{key}:", f"{room}  - {_scalar(value.marked)}"]
        elif isinstance(value, Open):
            lines.append(f"{room}{key}: {_scalar(value.marked)}")
        elif isinstance(value, str) and "\n" in value:
            lines.append(f"{room}{key}: |")
            lines += [f"{room}  {line}".rstrip() for line in value.strip().split("\n")]
        else:
            lines.append(f"{room}{key}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    """Return one value; JSON's strings are YAML's, except that YAML knows no pairs for one sign."""
    if isinstance(value, str):
        shown = "".join(c if c.isprintable() else " " for c in value)
        return json.dumps(shown, ensure_ascii=False)
    return _number(value)


def _number(value: float) -> str:
    """Return a number; YAML 1.1 takes 1e-05 for a string, but not 1.0e-05."""
    written = repr(value)
    if "e" in written and "." not in written:
        written = written.replace("e", ".0e")
    return written
