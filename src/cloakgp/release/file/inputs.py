"""How raw inputs become numbers, as a release file says it, and read back without trust."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cloakgp.errors import ReleaseFileError
from cloakgp.inputs.columns import Column, Columns
from cloakgp.inputs.columns.kinds import KINDS
from cloakgp.release.file.schema import InputOf, Manifest


def inputs_of(columns: Columns) -> list[InputOf]:
    """Return what a file says of each input: what is not as usual."""
    return [InputOf(kind=column.kind, **_unusual(column)) for column in columns.columns]  # type: ignore[arg-type]


def columns_of(manifest: Manifest) -> Columns | None:
    """Return the inputs of a release, or refuse what no input can be; None: plain numbers."""
    if manifest.inputs is None:
        return None
    names = None if manifest.feature_names is None else tuple(manifest.feature_names)
    if names is not None and len(names) != len(manifest.inputs):
        raise ReleaseFileError(
            f"feature_names are {len(names)} names for {len(manifest.inputs)} inputs"
        )
    columns = Columns(names, tuple(_column(each) for each in manifest.inputs))
    if columns.plain:
        raise ReleaseFileError("inputs say that all inputs are plain numbers, which goes unsaid")
    return columns


def _unusual(column: Any) -> dict[str, Any]:
    said = {each.name: getattr(column, each.name) for each in fields(column)}
    usual = {each.name: each.default for each in fields(column)}
    said = {name: value for name, value in said.items() if value != usual[name]}
    if column.kind == "date":  # what days are counted from is never left to a default
        said["origin"] = column.origin
    if "levels" in said:
        said["levels"] = list(said["levels"])
    return said


def _column(section: InputOf) -> Column:
    kind = KINDS[section.kind]
    said = {name: getattr(section, name) for name in section.__struct_fields__ if name != "kind"}
    said = {name: value for name, value in said.items() if value is not None}
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if extra := sorted(said.keys() - known):
        raise ReleaseFileError(f"an input of kind {section.kind} has no {extra[0]}")
    if "levels" in said:
        said["levels"] = tuple(said["levels"])
    try:
        return kind(**said)
    except (TypeError, ValueError) as error:
        raise ReleaseFileError(f"an input of kind {section.kind} is not sound: {error}") from None
