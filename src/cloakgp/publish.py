"""Spending: from a plan that was agreed on to a folder with the release and all that follows.

Whatever can fail is rehearsed before the private column is opened.  The release is saved the moment
its noise is drawn, and everything else is made from what was saved, so nothing is lost later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cloakgp.archive import read_archive
from cloakgp.options import Settings
from cloakgp.outcomes import release_of
from cloakgp.parts import Part
from cloakgp.plan import Plan
from cloakgp.plot import plot_release
from cloakgp.privacy import BudgetExceeded, NoisySketch
from cloakgp.release import Release
from cloakgp.search import SearchPlan
from cloakgp.tables import (
    Columns,
    CommandError,
    listed,
    printable,
    read_columns,
    read_points,
    to_csv,
    write_file,
)

RELEASE, PREDICTIONS, PLOT, STATEMENT = OUTPUTS = (
    "release.cloakgp",
    "predictions.csv",
    "plot.png",
    "statement.md",
)
#: Points predicted at a time.
CHUNK = 2000


@dataclass
class Progress:
    """How far a command has come: decides what an error may say, and what it must."""

    debug: bool = False
    private: bool = False  # private values are in memory: no message of others is shown
    spending: bool = False
    released: Path | None = None
    ledger: str | None = None

    def fate(self) -> str:
        """Say what became of the budget."""
        if not self.spending:
            return ""
        if self.released is None and self.private and self.ledger is not None:
            return (
                "Nothing was published. If the spend had been recorded by then, it is wasted; "
                f"`cloakgp budget history {printable(self.ledger)}` shows that."
            )
        if self.released is None:
            return "Nothing was published, so no privacy budget was spent."
        return (
            "The privacy budget WAS spent, and the release is whole in "
            f"{printable(self.released)}. Do not make it again: `cloakgp predict` and, in Python, "
            "Release.load(...) give everything else from that file."
        )


@dataclass(frozen=True)
class Job:
    """What a plan was made from, and the plan: all of it public."""

    data: Path
    settings: Settings
    columns: Columns
    at: pd.DataFrame | None
    plan: Plan
    search: SearchPlan | None = None

    @classmethod
    def prepare(
        cls, data: Path, settings: Settings, *, to_release: bool = False, search: bool = False
    ) -> Job:
        """Read the public columns and plan.  The private column stays closed."""
        present = settings.output if to_release else ()
        columns = read_columns(
            data, settings.inputs, settings.groups, present=present, exposure=settings.exposure
        )
        at = None if settings.at is None else read_points(settings.at, settings.inputs)
        with _explained():
            extra = {"exposure": columns.exposure} if settings.task == "counts" else {}
            plan = settings.estimator().plan(columns.inputs, at=at, groups=columns.groups, **extra)
            found = None
            if search:
                found = settings.search().plan(columns.inputs, at=at, groups=columns.groups)
        return cls(data, settings, columns, at, plan, found)

    def draw(self) -> Release:
        """Open the private column and draw the noise."""
        settings = self.settings
        now = read_columns(
            self.data,
            settings.inputs,
            settings.groups,
            outputs=settings.output,
            exposure=settings.exposure,
            labels=settings.text_labels,
        )
        then = self.columns
        same = now.inputs.equals(then.inputs) and all(
            np.array_equal(np.asarray(ours), np.asarray(theirs))
            for ours, theirs in ((now.groups, then.groups), (now.exposure, then.exposure))
        )
        if now.outputs is None or not same:
            raise CommandError(f"{printable(self.data)} changed since the plan; start again")
        y = now.outputs if len(settings.output) > 1 else now.outputs[settings.output[0]]
        extra = {"exposure": now.exposure} if settings.task == "counts" else {}
        if self.search is not None:
            with _explained(ours_only=True):
                return (
                    settings.search()
                    .fit(now.inputs, y, at=self.at, groups=now.groups, plan=self.search)
                    .release_
                )
        with _explained(ours_only=True):
            model = settings.estimator().fit(now.inputs, y, at=self.at, groups=now.groups, **extra)
        return model.release_


def publish(job: Job, folder: Path, progress: Progress, step: Callable[[str], object]) -> Release:
    """Spend once, and write the release and everything that follows from it into a folder."""
    progress.spending, progress.ledger = True, job.settings.ledger
    if job.plan.published_values == 0:
        raise CommandError(
            "there is nothing to publish: the predictions would not depend on anybody's output. "
            "The kernel's lengthscale is probably far too small, or the points are far away"
        )
    folder.mkdir(parents=True, exist_ok=True)
    step("Rehearsing all outputs")
    _rehearse(job, folder)
    step("Reading the private column and drawing the noise")
    progress.private = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other libraries may quote what they warn about
            release = job.draw()
    except BudgetExceeded as error:
        progress.ledger = None  # it is certain that nothing was recorded there
        raise CommandError(str(error)) from None
    progress.private = False
    if not release.private:
        raise CommandError("this release would not be private, so it is not written")
    _save(release, folder / RELEASE, progress)
    step("Writing predictions, picture and statement")
    for name in OUTPUTS[1:]:  # those of an earlier release would not belong to this one
        (folder / name).unlink(missing_ok=True)
    _write_rest(release, folder)
    return release


def predictions(release: Release, points: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return predictions with their uncertainty, by default at the workload."""
    # In pieces, since each point takes as many numbers as there are people.
    rows = release.blueprint.points if points is None else release.check_points(points)
    pieces = [release.to_frame(rows[i : i + CHUNK]) for i in range(0, len(rows), CHUNK)]
    return pd.concat(pieces, ignore_index=True)


def picture(figure: Figure, ending: str) -> bytes:
    """Return a figure as the contents of a file with this ending."""
    buffer = BytesIO()
    figure.savefig(buffer, format=ending.lstrip(".").lower(), dpi=150)
    return buffer.getvalue()


def check_outputs(settings: Settings) -> None:
    """Refuse names that the table of predictions cannot have."""
    if not settings.output:
        raise CommandError("--output is missing: name the private column, such as --output height")
    names = settings.table_names()
    if len({*names, *settings.inputs}) < len(names) + len(settings.inputs):
        raise CommandError(
            "predictions.csv would have two columns of one name: beside the inputs it has "
            f"{listed(names)}; rename a column"
        )


def check_folder(folder: Path, data: Path, force: bool) -> None:
    """Refuse a folder that cannot take the outputs, before anybody is asked anything."""
    shown = printable(folder)
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--out {shown} is a file; name a folder")
    there = [name for name in OUTPUTS if (folder / name).exists()]
    if any(data.exists() and data.samefile(folder / name) for name in there):
        raise CommandError(f"an output in {shown} would overwrite the data; choose another folder")
    if there and not force:
        raise CommandError(
            f"{shown} already has {', '.join(there)}; choose another folder, or give --force"
        )
    parent = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        raise CommandError(f"the folder {printable(parent)} cannot be written to")


def _rehearse(job: Job, folder: Path) -> None:
    """Write every output once, with zeros for the private part: whatever fails, fails unspent."""
    plan, b = job.plan, job.plan.blueprint
    rows, columns = len(plan.sketch.matrix), len(b.lo)
    zeros = NoisySketch(
        values=np.zeros((rows,) if columns == 1 else (rows, columns), dtype=np.int64),
        bits=plan.sketch.bits + 16,
        sigma=b.sigma,
        sensitivity=b.sensitivity,
        epsilon=b.epsilon,
        delta=b.delta,
        calibration=b.calibration,
        private=False,
        parts=b.iterations,
    )
    dry = release_of(
        blueprint=b,
        sketch=plan.sketch,
        noisy=zeros,
        gap=plan.gap,
        status=plan.design.status,
        target_names=job.settings.output,
        later=tuple(Part(plan.sketch, zeros) for _ in range(1, b.iterations)),
        selection=None if job.search is None else job.search.chosen,
    )
    with tempfile.TemporaryDirectory(prefix=".cloakgp-rehearsal-", dir=folder) as scratch:
        with _explained():
            dry.save(Path(scratch) / RELEASE)
        _write_rest(dry, Path(scratch))
    replace(dry, noisy=replace(zeros, private=True), later=()).statement()


def _save(release: Release, path: Path, progress: Progress) -> None:
    """Save the release and note that the budget is spent, whatever happens in between."""
    with _uninterrupted():
        try:
            release.save(path)
        except BaseException:
            # An error after the last step, such as one of the disk, does not undo it.
            with contextlib.suppress(OSError, ValueError, KeyError):
                if read_archive(path)[0]["release_id"] == release.release_id:
                    progress.released = path
            raise
        progress.released = path


def _write_rest(release: Release, folder: Path) -> None:
    write_file(folder / PREDICTIONS, to_csv(predictions(release)))
    if release.blueprint.model.X.shape[1] <= 2:
        write_file(folder / PLOT, picture(plot_release(release), ".png"))
    write_file(folder / STATEMENT, release.statement().encode())


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for a moment, so that it is known whether the release was written."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # signals go elsewhere, or are ignored anyway
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _explained(ours_only: bool = False) -> Iterator[None]:
    """Pass faults of the model or the budget on as what they are: the user's to mend.

    With ``ours_only``, messages of other libraries are not passed on: they may quote a value.
    """
    try:
        yield
    except BudgetExceeded:
        raise
    except ValueError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        ours = str(frames[-1].f_globals.get("__name__")).startswith("cloakgp.")
        if ours_only and not ours:
            raise
        raise CommandError(str(error)) from None
