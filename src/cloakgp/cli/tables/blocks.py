"""Large Parquet files and folders of them: columns in blocks, never whole in memory.

Nothing but footers is read here.  The private column is opened block by block, by the trusted core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cloakgp.cli.tables.reading import PARQUET_ENDINGS, Columns
from cloakgp.errors import CommandError, TableError, printable
from cloakgp.estimators.people import MOST_EXACT
from cloakgp.inputs.arrow import open_parquet
from cloakgp.inputs.blocks.scanning import narrowed, scan
from cloakgp.inputs.blocks.table import BlockColumn
from cloakgp.inputs.columns import Column


def come_in_blocks(path: Path, groups: str | None = None) -> bool:
    """Tell whether rows come in blocks: of a folder always, of a Parquet file if they are many.

    Owners of several rows (``groups``) are read into memory.
    """
    if path.is_dir():
        if groups is not None:
            raise CommandError(
                f"--groups cannot be combined with a folder: {printable(path)} is read in blocks, "
                "and the rows of one owner may be in several of them. Keep one row for each "
                "person, or put everything into one file, which is then read into memory"
            )
        return True
    if groups is not None or path.suffix.lower() not in PARQUET_ENDINGS or not path.is_file():
        return False
    return bool(open_parquet(path).metadata.num_rows > MOST_EXACT)


def scan_columns(
    path: Path,
    inputs: Sequence[str],
    outputs: Sequence[str] = (),
    exposure: str | None = None,
    *,
    strings: bool = False,
    stated: Mapping[str, Column] | None = None,
    found_levels: Sequence[str] = (),
) -> Columns:
    """Return columns of a Parquet file, or of a folder of them, in blocks.

    ``outputs`` are private; with ``strings`` they are labels, which are read as strings.
    ``stated`` says what inputs are.
    """
    if found_levels:
        name = printable(found_levels[0])
        raise CommandError(
            f"--levels {name} takes the levels from the table, and {printable(path)} is read in "
            f"blocks; name them: --levels {name}=north,south"
        )
    public = [*dict.fromkeys([*inputs, *([] if exposure is None else [exposure])])]
    private = outputs[0] if len(outputs) == 1 else list(outputs) or None
    try:
        table, column = scan(path, inputs=public, output=private, columns=stated)
    except TableError as error:
        raise CommandError(in_levels(str(error))) from None
    return Columns(
        inputs=narrowed(table, tuple(inputs)),
        exposure=None if exposure is None else narrowed(table, (exposure,)),
        outputs=_as_strings(column) if strings and column is not None else column,
    )


def in_levels(message: str) -> str:
    """Return a message about columns in the words of the command line."""
    return message.replace(
        "columns={'region': Category(['north', 'south'])}", "--levels region=north,south"
    )


def _as_strings(column: BlockColumn) -> BlockColumn:
    return replace(column, parts=tuple(replace(part, strings=True) for part in column.parts))  # type: ignore[type-var]
