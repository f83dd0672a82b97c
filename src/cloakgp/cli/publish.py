"""Spending: from a plan that was agreed on to a folder with the release and all that follows.

Whatever can fail is rehearsed before the private column is opened.  The release is saved the moment
its noise is drawn, and everything else is made from what was saved, so nothing is lost later.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cloakgp.cli.points import read_points
from cloakgp.cli.settings import Settings
from cloakgp.cli.tables import Columns, read_columns, to_csv, write_file
from cloakgp.cli.wording import in_options
from cloakgp.errors import CommandError, printable
from cloakgp.estimators.search.search import SearchPlan
from cloakgp.plan.parts import Part
from cloakgp.plan.plan import Plan
from cloakgp.plot.draw import plot_release
from cloakgp.privacy import Ledger, NoisySketch
from cloakgp.privacy.ledger import LedgerError, Receipt
from cloakgp.release.file.archive import read_archive
from cloakgp.release.release import Release

RELEASE, PREDICTIONS, PLOT, STATEMENT = OUTPUTS = (
    "release.cloakgp",
    "predictions.csv",
    "plot.png",
    "statement.md",
)
#: Points predicted at a time.
CHUNK = 2000


class WatchedLedger(Ledger):
    """A ledger that can tell afterwards whether the spend of this command is in it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.release_id: str | None = None

    def spend(self, *args: Any, release_id: str, **options: Any) -> Receipt:
        """Record a spend, and remember under which name."""
        self.release_id = release_id
        return super().spend(*args, release_id=release_id, **options)

    def has_spend(self) -> bool | None:
        """Look whether the spend was recorded; None if the ledger cannot be read."""
        if self.release_id is None:
            return False
        try:
            return any(entry.facts.get("release_id") == self.release_id for entry in self.history())
        except (LedgerError, OSError):
            return None


@dataclass
class Progress:
    """How far a command has come: decides what an error may say, and what it must."""

    debug: bool = False
    private: bool = False  # private values are in memory: no message of others is shown
    spending: bool = False
    released: Path | None = None
    ledger: WatchedLedger | None = None

    def fate(self) -> str:
        """Say what became of the budget, as far as it is known."""
        if not self.spending:
            return ""
        if self.released is not None:
            return (
                "The privacy budget WAS spent, and the release is whole in "
                f"{printable(self.released)}. Do not make it again: `cloakgp predict` and, in "
                "Python, Release.load(...) give everything else from that file."
            )
        recorded = False if self.ledger is None else self.ledger.has_spend()
        if recorded is False:
            return "Nothing was published, so no privacy budget was spent."
        assert self.ledger is not None
        history = f"`cloakgp budget history {printable(self.ledger.path)}`"
        if recorded:
            return (
                "The privacy budget WAS spent, but nothing was published, so it is wasted; "
                f"{history} shows the spend."
            )
        return (
            "Nothing was published. The ledger cannot be read now; when it can, "
            f"{history} shows whether the spend was recorded."
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
            data,
            settings.inputs,
            settings.groups,
            present=present,
            exposure=settings.exposure,
            decimal=settings.decimal,
            mentioned=settings.output,
        )
        at = None
        if settings.at is not None:
            at = read_points(settings.at, settings.inputs, settings.decimal)
        with explained():
            extra = {"exposure": columns.exposure} if settings.task == "counts" else {}
            plan = settings.estimator().plan(columns.inputs, at=at, groups=columns.groups, **extra)
            found = None
            if search:
                found = settings.search().plan(columns.inputs, at=at, groups=columns.groups)
        return cls(data, settings, columns, at, plan, found)

    def draw(self, ledger: WatchedLedger | None = None) -> Release:
        """Open the private column and draw the noise; the spend is put on the ledger before."""
        settings = self.settings
        now = read_columns(
            self.data,
            settings.inputs,
            settings.groups,
            outputs=settings.output,
            exposure=settings.exposure,
            labels=settings.text_labels,
            decimal=settings.decimal,
        )
        then = self.columns
        same = now.inputs.equals(then.inputs) and all(
            np.array_equal(np.asarray(ours), np.asarray(theirs))
            for ours, theirs in ((now.groups, then.groups), (now.exposure, then.exposure))
        )
        if now.outputs is None or not same:
            raise CommandError(f"{printable(self.data)} changed since the plan; start again")
        y = now.outputs if len(settings.output) > 1 else now.outputs[settings.output[0]]
        extra: dict[str, Any] = {"exposure": now.exposure} if settings.task == "counts" else {}
        model: Any = settings.estimator()
        if self.search is not None:
            model, extra = settings.search(), {"plan": self.search}
        with explained(ours_only=True):
            model.set_params(ledger=ledger)
            model.fit(now.inputs, y, at=self.at, groups=now.groups, **extra)
        release: Release = model.release_
        return release


def publish(job: Job, folder: Path, progress: Progress, step: Callable[[str], object]) -> Release:
    """Spend once, and write the release and everything that follows from it into a folder."""
    progress.spending = True
    progress.ledger = None if job.settings.ledger is None else WatchedLedger(job.settings.ledger)
    if job.plan.published_values == 0:
        raise CommandError(
            "there is nothing to publish: the predictions would not depend on anybody's output. "
            "The kernel's lengthscale is probably far too small, or the points are far away"
        )
    with _new_folder(folder):
        step("Rehearsing all outputs")
        _rehearse(job, folder)
        step("Reading the private column and drawing the noise")
        progress.private = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other libraries may quote what they warn about
            release = job.draw(progress.ledger)
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


def marked_predictions(release: Release, points: pd.DataFrame) -> pd.DataFrame:
    """Return predictions as strangers may get them: marked, if they are not private."""
    try:
        frame = predictions(release, points)
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


def picture(figure: Figure, ending: str) -> bytes:
    """Return a figure as the contents of a file with this ending."""
    buffer = BytesIO()
    figure.savefig(buffer, format=ending.lstrip(".").lower(), dpi=150)
    return buffer.getvalue()


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
    dry = Release.of(
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
        with explained():
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
def _new_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and remove it again after an error if nothing came to lie in it."""
    whole = folder.absolute()
    made = [path for path in (whole, *whole.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for path in made:
                path.rmdir()
        raise


@contextlib.contextmanager
def explained(ours_only: bool = False) -> Iterator[None]:
    """Pass errors of the model or the budget on as what they are: the user's to fix.

    With ``ours_only``, messages of other libraries are not passed on: they may quote a value.
    """
    try:
        yield
    except CommandError:
        raise
    except ValueError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        ours = str(frames[-1].f_globals.get("__name__")).startswith("cloakgp.")
        if ours_only and not ours:
            raise
        raise CommandError(in_options(str(error))) from None
