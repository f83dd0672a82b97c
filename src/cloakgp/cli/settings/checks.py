"""What settings lack, and which of them contradict each other or have no effect."""

from __future__ import annotations

import math

import numpy as np

from cloakgp.cli.settings.declared import DECLARED, Declared, default_of, option_of, takers
from cloakgp.errors import CommandError, listed


def check(settings: Declared) -> None:
    """Refuse settings that no plan can be made from."""
    if not settings.inputs:
        raise CommandError(
            "--inputs is missing: name the public columns to predict from, such as --inputs age"
        )
    check_columns_told(settings)
    _check_task(settings)
    _check_bounds(settings)
    _check_counts(settings)
    _check_lengthscales(settings)
    if settings.epsilon is not None and not math.isfinite(settings.epsilon):
        raise CommandError(
            "--epsilon must be finite: without noise nothing is private, and the command line "
            "makes only private releases"
        )
    if (settings.ledger is None) != (settings.dataset is None):
        raise CommandError(
            "--ledger and --dataset belong together: name the ledger, and the data set in it "
            "(`cloakgp budget open` makes both)"
        )
    if settings.max_rows is not None and settings.groups is None:
        raise CommandError(
            "--max-rows limits the rows of each owner; name the column of owners with --groups"
        )
    named = (settings.groups, settings.exposure)
    public = {*settings.inputs, *(name for name in named if name)}
    if both := [name for name in settings.output if name in public]:
        raise CommandError(
            f"{listed(both)} is named as private and as public; --inputs, --groups and --exposure "
            "are published as they are"
        )


def check_columns_told(settings: Declared) -> None:
    """Refuse words about columns that are no inputs, or that contradict each other."""
    for name in ("levels", "dates", "missing"):
        told = dict(getattr(settings, name))
        if other := [column for column in told if column not in settings.inputs]:
            raise CommandError(
                f"{option_of(name)} speaks of {listed(other)}, which is not among --inputs"
            )
    if both := [column for column in dict(settings.levels) if column in dict(settings.dates)]:
        raise CommandError(f"{listed(both)} is named in --levels and in --dates; name it in one")
    if unsaid := [name for name in settings.found_levels if name in dict(settings.missing)]:
        raise CommandError(
            f"--missing {unsaid[0]} needs the levels of that column too: --levels {unsaid[0]}=…"
        )
    _ = settings.columns


def _check_task(settings: Declared) -> None:
    """Refuse what the task lacks, and what would have no effect on it."""
    if settings.task == "classification" and len(settings.classes) < 2:
        raise CommandError(
            "--classes is missing: name every possible label, such as --classes no,yes. Labels "
            "taken from the data leak"
        )
    if len(set(settings.labels)) < len(settings.classes):
        raise CommandError("--classes names a label twice")
    if settings.task == "counts" and settings.cap is None:
        raise CommandError(
            "--cap is missing: give a public limit above which counts are clipped, such as --cap "
            "20. Say what is possible: a cap taken from the data leaks"
        )
    if settings.task != "regression" and len(settings.output) > 1:
        raise CommandError(f"--task {settings.task} takes one private column; name one in --output")
    tried = dict(settings.candidates)
    for name in DECLARED:
        given = getattr(settings, name) not in (None, (), default_of(name)) or name in tried
        if given and takers(name) and settings.task not in takers(name):
            raise CommandError(
                f"{option_of(name)} has no meaning for --task {settings.task}; leave it out"
            )


def _check_bounds(settings: Declared) -> None:
    if settings.task == "regression" and not settings.bounds:
        raise CommandError(
            "--bounds is missing: give public bounds of the private column, such as --bounds "
            "0,200. Say what is possible, not what occurred: bounds taken from the data leak"
        )
    about = ("bounds_grid", "bounds_quantiles", "bounds_epsilon")
    if settings.chooses_bounds:
        _check_choice(settings)
        return
    if given := [name for name in about if getattr(settings, name) is not None]:
        raise CommandError(f"{option_of(given[0])} is for --bounds private; leave it out")
    for lo, hi in settings.bounds:
        if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
            raise CommandError(f"--bounds must be finite with lo < hi, got {lo:g},{hi:g}")


def _check_choice(settings: Declared) -> None:
    """Refuse a private choice of bounds that cannot be made."""
    if settings.bounds_grid is None:
        raise CommandError(
            "--bounds-grid is missing: name public candidates for --bounds private, such as "
            "--bounds-grid 0:300:31, or log:1:1e6:31 if not even the order of magnitude is known"
        )
    if len(settings.output) > 1:
        raise CommandError("--bounds private is for one private column; name one in --output")
    if settings.candidates:
        raise CommandError(
            "--bounds private cannot be combined with a private choice of settings; choose bounds "
            "first, with `cloakgp bounds`"
        )


def _check_counts(settings: Declared) -> None:
    """Refuse bounds or prior means that are neither one for all columns nor one for each."""
    outputs = max(len(settings.output), len(settings.bounds), len(settings.classes), 1)
    wanted = len(settings.classes) or len(settings.output)
    for name, entries in (("bounds", settings.bounds), ("prior_mean", settings.prior_mean or ())):
        given = len(entries)
        if (given > 1 and wanted and given != wanted) or given > outputs:
            raise CommandError(
                f"{option_of(name)} has {given} entries for {outputs} private column(s); give one "
                "for all, or one for each"
            )


def _check_lengthscales(settings: Declared) -> None:
    kernels = [settings.kernel, *dict(settings.candidates).get("kernel", ())]
    lists = [value for k in kernels if k is not None for value in k.get_params().values()]
    for scales in (value for value in lists if isinstance(value, np.ndarray)):
        if scales.size != len(settings.inputs):
            raise CommandError(
                f"the kernel has a list of {scales.size} lengthscales, but the inputs are "
                f"{listed(settings.inputs)}; give one for each, or one number for all"
            )
