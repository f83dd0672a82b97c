"""``cloakgp verify``: check the guarantee of a release again, from its file and from the data."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from cloakgp.app.tables.columns import read_columns, reading_threads
from cloakgp.app.wording import explained
from cloakgp.cli.commands.sign import AllowedSigners, Identity, Key, Signature, check_signed
from cloakgp.cli.options import (
    AsJson,
    Decimal,
    Jobs,
    Saved,
    path_option,
    read_setting,
    setting_option,
)
from cloakgp.cli.reports import show_verification
from cloakgp.cli.terminal import print_json, screen, show_progress
from cloakgp.errors import CommandError
from cloakgp.release.release import Release
from cloakgp.release.verify import VerificationReport

EXAMPLES = (
    "Examples:\n\ncloakgp verify pub/release.cloakgp\n\n"
    "cloakgp verify pub/release.cloakgp --inputs people/\n\n"
    "cloakgp verify pub/release.cloakgp --key office.pub\n\n"
    "cloakgp verify pub/release.cloakgp --allowed-signers signers --identity office@example.org"
)


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
    it holds, 1 if it does not, if that cannot be told or if the signature is refused, and 2 if a
    file cannot be read.  Warnings that values are far too quiet for their noise are evidence and do
    not change it.
    """
    loaded = Release.load(release, check=False)
    if inputs is None or loaded.spec.rows is not None:  # of whole rows no table is opened
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
    signed = check_signed(loaded, release, key, allowed_signers, identity, signature)
    report = replace(report, signature=signed)
    if as_json:
        checks = [asdict(check) for check in report.checks]
        names = ("release_id", "epsilon", "delta", "total_epsilon")
        facts = {name: getattr(loaded, name) for name in names}
        places = loaded.spec.partition
        facts |= {"people": loaded.spec.people}
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
    encoding = release.spec.encoding
    stated = {} if encoding.plain else encoding.by_name
    with (
        show_progress("Comparing the release with the data"),
        explained(),
        reading_threads(jobs),
    ):
        table = read_columns(
            data, encoding.labels, exposure=exposure, decimal=decimal, stated=stated
        )
        return release.verify(table.inputs, table.exposure)
