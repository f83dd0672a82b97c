"""``cloakgp predict``: predictions from a release file, which anybody can make for free."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Literal

import typer

from cloakgp.app.outputs import check_file, far_outside, marked_predictions
from cloakgp.app.settings.readers import one_of
from cloakgp.app.tables.files import to_csv
from cloakgp.app.tables.points import read_points
from cloakgp.cli.options import (
    AsJson,
    Decimal,
    Force,
    Saved,
    flag,
    path_option,
    read_setting,
    setting_option,
)
from cloakgp.cli.terminal import print_json, rich_table, screen
from cloakgp.errors import CommandError, printable
from cloakgp.files import write_file
from cloakgp.release.posterior import Clip
from cloakgp.release.release import Release

#: Whether predictions stay within the bounds.
CLIPS = one_of(Literal["bounds", "none"])
EXAMPLES = (
    "Examples:\n\n"
    "cloakgp predict pub/release.cloakgp --at age=0:90:10\n\n"
    'cloakgp predict map.cloakgp --at "age=0:90:10,weight=20:60:5" --out grid.csv\n\n'
    'cloakgp predict visits.cloakgp --at "region=north|south,visit=2024-05-01"\n\n'
    "cloakgp predict pub/release.cloakgp --at age=0:90:10 --clip none"
)


def predict_command(
    release: Saved,
    at: Annotated[str, setting_option("at", "Where to predict: a grid or a file")],
    decimal: Decimal = None,
    clip: Annotated[
        str,
        typer.Option(
            help="Keep predictions within the bounds, or not (default: bounds)",
            metavar="bounds|none",
            show_default=False,
        ),
    ] = "bounds",
    out: Annotated[Path | None, path_option("Write a table", "FILE.csv")] = None,
    as_json: AsJson = False,
    force: Force = False,
    not_private: Annotated[
        bool, flag("--not-private", "Write a file even if the release is not private")
    ] = False,
) -> None:
    """Predict from a release, as often as you like: spends nothing.

    Prints a table on a terminal, and CSV into a pipe.  Predictions and intervals stay within the
    public bounds, as outputs do; --clip none shows the model as it is.  Predictions from a release
    that is not private are marked: a column of the table says so, and so does the JSON.
    """
    sign, wanted = read_setting("decimal", decimal), CLIPS.read("--clip", clip)
    within: Clip | None = "bounds" if wanted == "bounds" else None
    if out is not None:
        check_file("--out", out, (".csv",), force)
    loaded = Release.load(release)
    if not loaded.private:
        warnings.warn("this release is NOT private: it carries no guarantee", stacklevel=1)
    if out is not None and not (loaded.private or not_private):
        raise CommandError(
            f"{printable(release)} is NOT private, and a file of its predictions might be taken "
            "for private; give --not-private to write it anyway"
        )
    points = read_points(at, loaded.spec.encoding, sign)
    frame = marked_predictions(loaded, points, within)
    if words := far_outside(loaded, frame):
        warnings.warn(words, stacklevel=1)
    if out is not None:
        write_file(out, to_csv(frame))
    if as_json:
        facts = {"release_id": loaded.release_id, "private": loaded.private, "clip": within}
        print_json({**facts, "predictions": frame.to_dict("records")})
    elif out is None and sys.stdout.isatty():
        screen().print(rich_table(frame))
    elif out is None:
        sys.stdout.write(to_csv(frame).decode())
