"""``cloakgp predict`` and ``cloakgp verify``: what anybody can do with a release, for free."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from cloakgp.cli.outputs import marked_predictions
from cloakgp.cli.preflight import check_file
from cloakgp.cli.reports import show_verification
from cloakgp.cli.screen import print_json, screen, table, working
from cloakgp.cli.settings.options import (
    AsJson,
    Decimal,
    Force,
    Jobs,
    Saved,
    flag,
    path_option,
    read_setting,
    setting_option,
)
from cloakgp.cli.settings.readers import one_of
from cloakgp.cli.signatures import AllowedSigners, Identity, Key, Signature, found_signature
from cloakgp.cli.tables import read_columns, to_csv
from cloakgp.cli.tables.blocks import come_in_blocks, scan_columns
from cloakgp.cli.tables.points import read_points
from cloakgp.cli.wording import explained
from cloakgp.cli.workers import threads
from cloakgp.errors import CommandError, printable
from cloakgp.files import write_file
from cloakgp.release.bounds import Clip
from cloakgp.release.release import Release
from cloakgp.release.verify import VerificationReport

#: Whether predictions stay within the bounds.
CLIPS = one_of(Literal["bounds", "none"])
PREDICT_EXAMPLES = (
    "Examples:\n\n"
    "cloakgp predict pub/release.cloakgp --at age=0:90:10\n\n"
    'cloakgp predict map.cloakgp --at "age=0:90:10,weight=20:60:5" --out grid.csv\n\n'
    'cloakgp predict visits.cloakgp --at "region=north|south,visit=2024-05-01"\n\n'
    "cloakgp predict pub/release.cloakgp --at age=0:90:10 --clip none"
)
VERIFY_EXAMPLES = (
    "Examples:\n\ncloakgp verify pub/release.cloakgp\n\n"
    "cloakgp verify pub/release.cloakgp --inputs people/\n\n"
    "cloakgp verify pub/release.cloakgp --key office.pub\n\n"
    "cloakgp verify pub/release.cloakgp --allowed-signers signers --identity office@example.org"
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
    points = read_points(at, loaded.facts.encoding, sign)
    frame = marked_predictions(loaded, points, within)
    if out is not None:
        write_file(out, to_csv(frame))
    if as_json:
        facts = {"release_id": loaded.release_id, "private": loaded.private, "clip": within}
        print_json({**facts, "predictions": frame.to_dict("records")})
    elif out is None and sys.stdout.isatty():
        screen().print(table(frame))
    elif out is None:
        sys.stdout.write(to_csv(frame).decode())


def verify_command(
    release: Saved,
    inputs: Annotated[
        Path | None, path_option("Compare with everybody's inputs, in a file or folder", "DATA")
    ] = None,
    exposure: Annotated[
        str | None, setting_option("exposure", "Column of --inputs with the exposure of counts")
    ] = None,
    decimal: Decimal = None,
    jobs: Jobs = None,
    key: Key = None,
    allowed_signers: AllowedSigners = None,
    identity: Identity = None,
    signature: Signature = None,
    as_json: AsJson = False,
) -> None:
    """Check the guarantee of a release again, and with a key who signed it.

    The guarantee is checked from the file and, with --inputs, from the data.  The exit code is 0 if
    it holds, 1 if it does not or if the signature is refused, and 2 if a file cannot be read.
    Warnings that values are far too quiet for their noise are evidence and do not change it.
    """
    loaded = Release.load(release, check=False)
    if inputs is None:
        if exposure is not None:
            raise CommandError("--exposure is a column of the data; name them with --inputs")
        report = loaded.verify()
    else:
        report = _compared(
            loaded,
            inputs,
            read_setting("exposure", exposure),
            read_setting("decimal", decimal),
            read_setting("jobs", jobs),
        )
    signed = found_signature(loaded, release, key, allowed_signers, identity, signature)
    report = replace(report, signature=signed)
    if as_json:
        checks = [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in report.checks]
        names = ("release_id", "epsilon", "delta", "total_epsilon")
        facts = {name: getattr(loaded, name) for name in names}
        places = loaded.facts.places
        facts |= {"people": loaded.facts.people}
        facts |= {"places": None if places is None else len(places.counts)}
        facts |= {"private": loaded.private, "checks": checks, "scope": report.scope}
        facts |= {"holds": report.holds, "signature": asdict(signed)}
        facts |= {"warnings": report.warnings, "note": report.authorship}
        print_json({"ok": report.ok, **facts})
    else:
        show_verification(screen(), loaded, report)
    raise typer.Exit(0 if report.ok else 1)


def _compared(
    release: Release, data: Path, exposure: str | None, decimal: str, jobs: int | None
) -> VerificationReport:
    """Check a release and compare it with the public columns of the data."""
    encoding = release.facts.encoding
    names, stated = encoding.labels, {} if encoding.plain else encoding.by_name
    with working("Comparing the release with the data"), explained(), threads(jobs):
        if come_in_blocks(data):
            columns = scan_columns(data, names, exposure=exposure, stated=stated)
        else:
            columns = read_columns(data, names, exposure=exposure, decimal=decimal, stated=stated)
        return release.verify(columns.inputs, columns.exposure)
