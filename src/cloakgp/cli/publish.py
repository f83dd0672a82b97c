"""Spending: from a plan that was agreed on to a folder with the release and all that follows.

Whatever can fail is rehearsed before the private column is opened.  The release is saved the moment
its noise is drawn, and everything else is made from what was saved, so nothing is lost later.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from cloakgp.cli.job import Job
from cloakgp.cli.outputs import OUTPUTS, RELEASE, write_rest
from cloakgp.cli.progress import Progress, WatchedLedger
from cloakgp.cli.rehearsal import rehearse
from cloakgp.errors import CommandError
from cloakgp.plan.plan import Plan
from cloakgp.plan.search import SearchPlan
from cloakgp.release.file.archive import read_archive
from cloakgp.release.release import Release


def publish(
    job: Job,
    plan: Plan | SearchPlan,
    folder: Path,
    progress: Progress,
    step: Callable[[str], object],
) -> Release:
    """Spend once, and write the release and everything that follows from it into a folder."""
    progress.spending = True
    progress.ledger = None if job.settings.ledger is None else WatchedLedger(job.settings.ledger)
    if isinstance(plan, Plan) and plan.published_values == 0:
        raise CommandError(
            "there is nothing to publish: the predictions would not depend on anybody's output. "
            "The kernel's lengthscale is probably far too small, or the points are far away"
        )
    with _new_folder(folder):
        step("Rehearsing all outputs")
        rehearse(job, plan, folder)
        step("Reading the private column and drawing the noise")
        progress.private = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other libraries may quote what they warn about
            release = job.draw(plan, progress.ledger)
        progress.private = False
        if not release.private:
            raise CommandError("this release would not be private, so it is not written")
        _save(release, folder / RELEASE, progress)
    step("Writing predictions, picture, statement and page")
    for name in OUTPUTS[1:]:  # those of an earlier release would not belong to this one
        (folder / name).unlink(missing_ok=True)
    write_rest(release, folder)
    return release


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
