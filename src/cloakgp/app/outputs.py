"""The output files of commands: whether they can be written, what is in them, and writing them.

Planning may take minutes, and then somebody is asked to agree: what is certain to fail is refused
before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cloakgp.app.settings import Settings
from cloakgp.app.tables.files import to_csv
from cloakgp.drawing.views import describe_inputs
from cloakgp.errors import CommandError, Message, escape, listed, printable
from cloakgp.files import write_file
from cloakgp.privacy.ledger.address import is_address
from cloakgp.release.outputs import OUTCOMES
from cloakgp.release.plan import Plan
from cloakgp.release.posterior import Clip
from cloakgp.release.release import Release
from cloakgp.report.page import report_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RELEASE, PREDICTIONS, PLOT, STATEMENT, REPORT = OUTPUTS = (
    "release.cloakgp",
    "predictions.csv",
    "plot.png",
    "statement.md",
    "report.html",
)
#: What only the publisher knows, at the end of a statement.
PUBLISHER = (
    "\n## To be added by the publisher\n\n"
    "- Who publishes this, and whom to ask:\n"
    "- For what purpose, and which data set it is from:\n"
)
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
#: How far beyond everybody a prediction is worth a warning, as a share of the range.
BEYOND = 0.1
#: Points predicted at a time: each takes as many numbers as there are people.
CHUNK_POINTS = 2000


def check_outputs(settings: Settings) -> None:
    """Refuse names that the table of predictions cannot have."""
    if not settings.output:
        raise CommandError(
            Message("{output} is missing: name the private column, such as {output:height}")
        )
    names = OUTCOMES[settings.task].table_names(settings.output, settings.labels)
    if len({*names, *settings.inputs}) < len(names) + len(settings.inputs):
        raise CommandError(
            "predictions.csv would have two columns of one name: beside the inputs it has "
            f"{listed(names)}; rename a column"
        )


def check_folder(folder: Path, others: Iterable[Path | str | None], force: bool) -> None:
    """Refuse a folder that cannot take the outputs, or in which they would overwrite ``others``."""
    shown = printable(folder)
    if folder.exists() and not folder.is_dir():
        raise CommandError(Message("{out} {} is a file; name a folder", shown))
    there = [name for name in OUTPUTS if (folder / name).exists()]
    files = [Path(other) for other in others if other is not None and not is_address(other)]
    for name in there:
        if any(file.exists() and file.samefile(folder / name) for file in files):
            raise CommandError(
                f"{name} in {shown} would overwrite the data or another file that is read here; "
                "choose another folder"
            )
        if (folder / name).is_dir():
            raise CommandError(
                Message("{} in {} is a folder; choose another folder for {out}", name, shown)
            )
    if there and not force:
        raise CommandError(
            Message(
                "{} already has {}; choose another folder, or give {force}", shown, ", ".join(there)
            )
        )
    _check_writable(folder)


def check_file(option: str, path: Path, endings: tuple[str, ...], force: bool = True) -> None:
    """Refuse a file that cannot be written, or that exists and is not to be overwritten."""
    shown = f"{option} {printable(path)}"
    if path.suffix.lower() not in endings:
        raise CommandError(f"{shown} must end in {' or '.join(endings)}")
    if path.is_dir():
        raise CommandError(f"{shown} is a folder; name a file")
    if not path.parent.is_dir():
        raise CommandError(f"{shown}: there is no folder {printable(path.parent)}")
    if path.exists() and not force:
        raise CommandError(
            Message("{} exists; choose another name or give {force}", printable(path))
        )
    _check_writable(path.parent)


def write_derived(release: Release, folder: Path, account: str = "") -> None:
    """Write all files that are computed from a release, which has to be saved already.

    ``account`` is what the statement says of the ledger.
    """
    write_file(folder / PREDICTIONS, to_csv(predictions(release)))
    write_file(folder / PLOT, release_picture(release))
    told = f"\n## The account\n\n{escape(account)}\n" if account else ""
    write_file(folder / STATEMENT, (release.statement() + told + PUBLISHER).encode())
    write_file(folder / REPORT, report_page(release).encode())


def predictions(
    release: Release, points: pd.DataFrame | None = None, clip: Clip | None = "bounds"
) -> pd.DataFrame:
    """Return predictions with their uncertainty, by default at the workload and in the bounds."""
    spec = release.spec
    rows = spec.points if points is None else release.check_points(points)
    rows = spec.at_codes(spec.codes_of(rows))
    starts = range(0, len(rows), CHUNK_POINTS)
    pieces = [release.to_frame(rows[i : i + CHUNK_POINTS], clip=clip) for i in starts]
    return spec.encoding.readable(pd.concat(pieces, ignore_index=True))


def far_outside(release: Release, frame: pd.DataFrame) -> str:
    """Say how many points lie where nobody is, beyond the inputs of everybody; nothing if none."""
    spec = release.spec
    far = np.zeros(len(frame), dtype=bool)
    ranges = []
    codes = spec.encoding.codes(frame[spec.names])
    for at, each in enumerate(describe_inputs(spec)):
        if each.levels is None:
            spare = BEYOND * (each.hi - each.lo)
            outside = (codes[:, at] < each.lo - spare) | (codes[:, at] > each.hi + spare)
            if outside.any():
                ranges.append(f"{each.name} from {each.shown(each.lo)} to {each.shown(each.hi)}")
            far |= outside
    if not far.any():
        return ""
    where = (
        spec.privacy_unit.told("far from everybody")
        if spec.rows is None
        else "far outside of the box"
    )
    return (
        f"{int(far.sum())} of {len(frame)} points lie {where} ({', '.join(ranges)}): there the "
        "prediction is what the model expects, and not what it was told"
    )


def marked_predictions(release: Release, points: pd.DataFrame, clip: Clip | None) -> pd.DataFrame:
    """Return predictions as strangers may get them: marked, if they are not private."""
    try:
        frame = predictions(release, points, clip)
    except ValueError as error:  # all of this is public
        raise CommandError(str(error)) from None
    if release.private:
        return frame
    if "private" in frame:
        raise CommandError(
            "the release is NOT private, and the column that should say so is taken: an input or "
            "output is called 'private'; rename it"
        )
    return frame.assign(private=False)


def plan_picture(
    plan: Plan, names: tuple[str, ...], ending: str, max_std: float | None = None
) -> bytes:
    """Return the picture of a plan, as the contents of a file with this ending.

    ``max_std`` is the noise that is wanted at most.
    """
    from cloakgp.plot.draw import plot_plan

    return _picture_file(plot_plan(plan, target_names=names, max_std=max_std), ending)


def release_picture(release: Release) -> bytes:
    """Return the picture of a release, as the contents of a file."""
    from cloakgp.plot.draw import plot_release

    return _picture_file(plot_release(release), ".png")


def _picture_file(figure: Figure, ending: str) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format=ending.lstrip(".").lower(), dpi=150)
    return buffer.getvalue()


def _check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to."""
    parent = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not parent.is_dir():
        raise CommandError(f"{printable(parent)} is a file, so it cannot hold {printable(folder)}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise CommandError(f"the folder {printable(parent)} cannot be written to")
