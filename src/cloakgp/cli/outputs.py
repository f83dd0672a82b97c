"""The files of a release: predictions, picture, statement and page, beside the release itself."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from cloakgp.cli.tables import to_csv
from cloakgp.errors import CommandError
from cloakgp.files import write_file
from cloakgp.plan.plan import Plan
from cloakgp.release.bounds import Clip
from cloakgp.release.release import Release
from cloakgp.release.report.page import report_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RELEASE, PREDICTIONS, PLOT, STATEMENT, REPORT = OUTPUTS = (
    "release.cloakgp",
    "predictions.csv",
    "plot.png",
    "statement.md",
    "report.html",
)
#: Points predicted at a time.
CHUNK = 2000


def predictions(
    release: Release, points: pd.DataFrame | None = None, clip: Clip | None = "bounds"
) -> pd.DataFrame:
    """Return predictions with their uncertainty, by default at the workload and in the bounds."""
    # In pieces, since each point takes as many numbers as there are people.
    facts = release.facts
    rows = facts.points if points is None else release.check_points(points)
    rows = facts.at_codes(facts.codes_of(rows))
    pieces = [release.to_frame(rows[i : i + CHUNK], clip=clip) for i in range(0, len(rows), CHUNK)]
    return facts.encoding.readable(pd.concat(pieces, ignore_index=True))


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


def picture_of_plan(
    plan: Plan, names: tuple[str, ...], ending: str, max_std: float | None = None
) -> bytes:
    """Return the picture of a plan, as the contents of a file with this ending.

    ``max_std`` is the noise that is wanted at most.
    """
    from cloakgp.plot.draw import plot_plan

    return _contents(plot_plan(plan, target_names=names, max_std=max_std), ending)


def picture_of_release(release: Release) -> bytes:
    """Return the picture of a release, as the contents of a file."""
    from cloakgp.plot.draw import plot_release

    return _contents(plot_release(release), ".png")


def _contents(figure: Figure, ending: str) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format=ending.lstrip(".").lower(), dpi=150)
    return buffer.getvalue()


def write_rest(release: Release, folder: Path) -> None:
    """Write everything that follows from a release, which has to be saved already."""
    write_file(folder / PREDICTIONS, to_csv(predictions(release)))
    write_file(folder / PLOT, picture_of_release(release))
    write_file(folder / STATEMENT, release.statement().encode())
    write_file(folder / REPORT, report_page(release).encode())
