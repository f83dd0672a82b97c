"""From a plan that was agreed to, to the files of its release: rehearse, spend once, write.

The rehearsal writes every output once with zeros for the private part, into a folder that is
removed again: whatever fails, fails unspent.  Nothing in that folder depends on a private value.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from cloakgp.app.job import Job
from cloakgp.app.outputs import OUTPUTS, RELEASE, write_derived
from cloakgp.app.spending import RunState, WatchedLedger, what_is_left
from cloakgp.app.wording import explained
from cloakgp.errors import CommandError
from cloakgp.privacy import NoisySketch
from cloakgp.release.file.archive import read_archive
from cloakgp.release.plan import Plan
from cloakgp.release.release import Release
from cloakgp.release.search_plan import SearchPlan
from cloakgp.release.spec import Part

#: What the folder of a rehearsal is called, before some random letters.
SCRATCH_PREFIX = ".cloakgp-rehearsal-"


def publish(
    job: Job,
    plan: Plan | SearchPlan,
    folder: Path,
    state: RunState,
    step: Callable[[str], object],
) -> Release:
    """Spend once, and write the release and everything that follows from it into a folder.

    ``step`` is told what is being done.
    """
    state.spending = True
    state.ledger = None if job.settings.ledger is None else WatchedLedger(job.settings.ledger)
    if isinstance(plan, Plan) and plan.published_values == 0:
        raise CommandError(
            "there is nothing to publish: the predictions would not depend on anybody's output. "
            "The kernel's lengthscale is probably far too small, or the points are far away"
        )
    with _new_folder(folder):
        step("Rehearsing all outputs")
        rehearse(job, plan, folder)
        what = "table" if job.settings.whole_rows else "private column"
        step(f"Reading the {what} and drawing the noise")
        state.private = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other libraries may quote what they warn about
            release = job.release(plan, state.ledger)
        state.private = False
        if not release.private:
            raise CommandError("this release would not be private, so it is not written")
        _save(release, folder / RELEASE, state)
    step("Writing predictions, picture, statement and page")
    for name in OUTPUTS[1:]:  # those of an earlier release would not belong to this one
        (folder / name).unlink(missing_ok=True)
    write_derived(release, folder, what_is_left(job.settings))
    return release


def rehearse(job: Job, plan: Plan | SearchPlan, folder: Path) -> None:
    """Write every output of a plan into a folder that is removed again."""
    if isinstance(plan, SearchPlan):
        dry = replace(_zero_release(job.outline(), job.settings.output), selection=plan.chosen)
    else:
        dry = _zero_release(plan, job.settings.output)
    with _scratch(folder) as scratch:
        with explained():
            dry.save(scratch / RELEASE)
        write_derived(dry, scratch)
    _statement_if_private(dry)


def draft_statement(plan: Plan, names: tuple[str, ...]) -> str:
    """Return the statement that would be published, of which no figure depends on the noise."""
    return _statement_if_private(_zero_release(plan, names))


def _zero_release(plan: Plan, names: tuple[str, ...]) -> Release:
    """Return the release of a plan with zeros for what would be published."""
    spec = plan.spec
    rows, columns = len(plan.sketch.matrix), len(spec.lo)
    shape: tuple[int, ...] = (rows,) if columns == 1 else (rows, columns)
    if spec.rows is not None:
        shape = (rows, spec.share_columns)
    zeros = NoisySketch(
        values=np.zeros(shape, dtype=np.int64),
        bits=plan.sketch.bits + (16 if spec.whole_steps is None else 0),
        sigma=spec.budget.part_sigma,
        sensitivity=spec.sensitivity,
        epsilon=spec.budget.epsilon,
        delta=spec.budget.delta,
        calibration=spec.budget.calibration,
        private=False,
        parts=spec.iterations,
        mechanism=spec.mechanism,
        whole=spec.whole_steps or 1,
        squares=np.zeros(columns, dtype=np.int64) if spec.squares and rows else None,
    )
    return Release.of(
        spec=spec,
        sketch=plan.sketch,
        noisy=zeros,
        gap=plan.gap,
        status=plan.design.status,
        target_names=names,
        bounds_choice=None if plan.choice is None else plan.choice.chosen(plan.total_epsilon),
        later=tuple(Part(plan.sketch, zeros) for _ in range(1, spec.iterations)),
    )


def _statement_if_private(dry: Release) -> str:
    return replace(dry, noisy=replace(dry.noisy, private=True), later=()).statement()


def _save(release: Release, path: Path, state: RunState) -> None:
    """Save the release and note that the budget is spent, whatever happens in between."""
    with _uninterrupted():
        try:
            release.save(path)
        except BaseException:
            # An error after the last step, such as one of the disk, does not undo it.
            with contextlib.suppress(OSError, ValueError, KeyError):
                if read_archive(path)[0]["release_id"] == release.release_id:
                    state.released = path
            raise
        state.released = path


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
def _scratch(folder: Path) -> Iterator[Path]:
    """Make a folder for a while, and remove those of processes that were killed."""
    for left in folder.glob(f"{SCRATCH_PREFIX}*"):
        with contextlib.suppress(OSError), _held(left):
            shutil.rmtree(left)
    with contextlib.ExitStack() as stack:
        made = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=folder))
        )
        with contextlib.suppress(OSError):  # nobody can hold it here, so nobody removes it
            stack.enter_context(_held(made))
        yield made


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder, or refuse if others do; the system lets go of it if a process is killed."""
    handle = os.open(folder, os.O_RDONLY)  # Windows refuses
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
