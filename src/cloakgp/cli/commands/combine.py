"""``cloakgp combine``: one file that predicts from several releases together, for free."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakgp.app.outputs import check_file
from cloakgp.app.wording import explained
from cloakgp.cli.options import AsJson, Force, flag, path_option, read_path
from cloakgp.cli.terminal import print_json, say, screen, show_progress
from cloakgp.errors import CommandError
from cloakgp.release.combine.statement import for_whom
from cloakgp.release.release import Release

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp combine north/release.cloakgp south/release.cloakgp --out both.cloakgp\n\n"
    "cloakgp combine 2024.cloakgp 2025.cloakgp 2026.cloakgp --out years.cloakgp"
)


def combine_command(
    releases: Annotated[
        list[Path],
        typer.Argument(help="Two or more release files", metavar="RELEASE...", parser=read_path),
    ],
    out: Annotated[Path, path_option("File to write", "FILE.cloakgp")],
    disjoint: Annotated[
        bool, flag("--disjoint", "State that nobody is in two of the releases")
    ] = False,
    learn: Annotated[
        bool, flag("--learn", "Decode with the default family of priors, whatever theirs were")
    ] = False,
    as_json: AsJson = False,
    force: Force = False,
    not_private: Annotated[
        bool, flag("--not-private", "Write the file even if the releases are not private")
    ] = False,
) -> None:
    """Combine releases about the same inputs and outputs: spends nothing.

    The file predicts from all of them together, and holds each of them, so that anybody can check
    them again.  A person may be in several of the releases unless you state --disjoint.
    """
    check_file("--out", out, (".cloakgp",), force)
    loaded = [Release.load(path) for path in releases]
    # All of this is public.
    with (
        explained(names={"learn": "learn_together"}),
        show_progress("Decoding all releases together"),
    ):
        combined = Release.combine(
            loaded, people="disjoint" if disjoint else "unknown", learn=learn
        )
        combined.latent(combined.spec.points[:1])  # what cannot predict is not written
    if not (combined.private or not_private):
        raise CommandError(
            "these releases are NOT private; give --not-private to write their combination anyway"
        )
    combined.save(out)
    facts = {
        "release_id": combined.release_id,
        "releases": [member.release_id for member in combined.members],
        "people": combined.spec.people,
        "published_values": combined.published_values,
        "epsilon": combined.total_epsilon,
        "delta": combined.delta,
        "disjoint": disjoint,
        "private": combined.private,
    }
    if as_json:
        print_json(facts)
        return
    say(
        screen(),
        f"Wrote {out}: {len(combined.members)} releases, {combined.published_values} noisy numbers "
        f"about {combined.spec.counted}.\nGuarantee: {for_whom(combined)}."
        "\nNothing private was read and nothing was spent.",
    )
