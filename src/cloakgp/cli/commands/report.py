"""``cloakgp report``: a release as one HTML page, and as an entry for the public registry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cloakgp.app.outputs import check_file
from cloakgp.app.wording import explained
from cloakgp.cli.commands.sign import AllowedSigners, Identity, Key, Signature, check_signed
from cloakgp.cli.options import Force, Saved, flag, path_option
from cloakgp.cli.terminal import say, screen, show_progress
from cloakgp.errors import CommandError, printable
from cloakgp.files import write_file
from cloakgp.release.release import Release
from cloakgp.report.page import report_page
from cloakgp.report.registry import registry_yaml

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp report pub/release.cloakgp --out report.html\n\n"
    "cloakgp report pub/release.cloakgp --out report.html --registry heights.yaml"
)


def report_command(
    release: Saved,
    out: Annotated[Path, path_option("Page to write", "FILE.html")],
    registry: Annotated[
        Path | None, path_option("Also describe it for the public registry", "FILE.yaml")
    ] = None,
    key: Key = None,
    allowed_signers: AllowedSigners = None,
    identity: Identity = None,
    signature: Signature = None,
    force: Force = False,
    not_private: Annotated[
        bool, flag("--not-private", "Write the page even if the release is not private")
    ] = False,
) -> None:
    """Write a release as one HTML page: picture, predictions, guarantee and the release itself.

    The page needs no network and sends nothing.  With a key it says who signed the release.  What
    the release does not know of the entry for the registry is marked in the file.
    """
    check_file("--out", out, (".html",), force)
    if registry is not None:
        check_file("--registry", registry, (".yaml", ".yml"), force)
    loaded = Release.load(release)
    if not (loaded.private or not_private):
        raise CommandError(
            f"{printable(release)} is NOT private; give --not-private to write its page anyway"
        )
    signed = check_signed(loaded, release, key, allowed_signers, identity, signature)
    if not signed.ok:
        raise CommandError(f"no page was written. {signed}")
    with show_progress() as step, explained():
        step("Drawing the page")
        entry = None if registry is None else registry_yaml(loaded)
        page = report_page(loaded, signed)
    write_file(out, page.encode(), "report")
    say(screen(), f"Wrote {out}: open it in a browser.")
    if registry is not None and entry is not None:
        write_file(registry, entry.encode(), "registry entry")
        say(screen(), f"Wrote {registry}: fill in what is marked there.")
