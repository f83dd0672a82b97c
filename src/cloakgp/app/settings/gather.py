"""Settings gathered from flags and a TOML file, and refused if no plan can be made from them.

What is refused: settings that lack something, contradict each other, or have no effect.
"""

from __future__ import annotations

import math
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cloakgp.app.settings.declarations import (
    BOUNDS_CHOICE,
    DECLARED,
    FORMER,
    Settings,
    default_of,
    takers,
)
from cloakgp.errors import CommandError, Message, listed, printable
from cloakgp.estimators.whole_rows import INSTEAD


def gather_settings(flags: Mapping[str, Any], config: Path | None = None) -> Settings:
    """Combine flags, which win, with a TOML file, and check the whole."""
    given = {} if config is None else read_config(config)
    flags = _renamed(flags)
    if any(flags.get(name) is not None for name in BUDGETS):  # one of them is the whole budget
        given = {n: told for n, told in given.items() if n not in BUDGETS}
    given |= {n: (n, value) for n, value in flags.items() if value is not None}
    settings = Settings(**{n: DECLARED[n].reader.read(*told) for n, told in given.items()})
    if settings.whole_rows and not settings.inputs:
        settings = replace(settings, inputs=tuple(dict(settings.box)))
    check(settings)
    return settings


def read_config(path: Path) -> dict[str, tuple[str, Any]]:
    """Return what a TOML file says of each setting, and where; the values are not read yet."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CommandError(f"there is no settings file {printable(path)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{printable(path)} is not TOML: {printable(error)}") from None
    keys = {key: key.replace("-", "_") for key in content}
    unknown = [key for key, name in keys.items() if name not in DECLARED and name not in FORMER]
    if unknown:
        raise CommandError(
            f"{printable(path)} has the unknown key {listed(unknown)}; known are: "
            f"{listed(list(DECLARED))}"
        )
    return _renamed({name: (f"{key} in {path}", content[key]) for key, name in keys.items()})


def _renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given under the present names of settings, and say which are old."""
    found = {name: value for name, value in given.items() if name not in FORMER}
    for old in given.keys() & FORMER.keys():
        if given[old] is None:
            continue
        name = FORMER[old]
        if found.get(name) is not None:
            raise CommandError(Message("{!p} is the old name of {!p}; give one of them", old, name))
        warnings.warn(
            f"{old} is now called {name}; the old name goes in 0.4", FutureWarning, stacklevel=1
        )
        found[name] = given[old]
    return found


#: Ways to state a budget, of which one is given.
BUDGETS = ("epsilon", "rho", "mu")
#: What is about public inputs, or does not exist for whole rows, and what to do instead.
NOT_OF_ROWS = {
    "levels": "{box} says them, such as {box:region=north,south}; other labels count as “other”",
    "dates": "{box} says them, such as {box:visit=2020-01-01,2023-12-31}",
    "missing": "missing labels count as “other”, and rows without a number or date count nowhere",
    "exposure": INSTEAD["exposure"],
    "at": INSTEAD["at"],
    "candidates": "the prior is learnt from what is published, at no cost",
    "bounds_grid": "say in public what is possible, such as {bounds:0,200}: values beyond are "
    "clipped, and wide bounds cost noise in proportion",
    "jobs": "rows are summed in one pass",
}


def check_rows(settings: Settings) -> None:
    """Refuse what does not go with whole rows, and what is for them alone."""
    if not settings.whole_rows:
        for name in ("box", "neighbours", "people"):
            if getattr(settings, name) not in (None, (), {}):
                raise CommandError(Message("{!p} is for {protect:rows}; leave it out", name))
        return
    if not settings.box:
        raise CommandError(
            Message(
                "{box} is missing: whole rows are protected within a public box, such as "
                "{box:age=0,90}. Say what is possible, not what occurred: a box taken from the "
                "data leaks"
            )
        )
    for name, instead in NOT_OF_ROWS.items():
        if getattr(settings, name) not in (None, (), {}):
            instead = instead.removeprefix("leave it out: ")
            raise CommandError(
                Message(
                    "{!p} cannot be combined with {protect:rows}; leave it out: " + instead, name
                )
            )
    if {*settings.inputs} != {*settings.box}:
        raise CommandError(
            Message(
                "{inputs} are {}, and {box} is of {}; name the same, or leave {inputs} out",
                listed(settings.inputs),
                listed(list(settings.box)),
            )
        )


def check(settings: Settings) -> None:
    """Refuse settings that no plan can be made from."""
    check_rows(settings)
    if not settings.inputs:
        raise CommandError(
            Message(
                "{inputs} is missing: name the public columns to predict from, such as {inputs:age}"
            )
        )
    check_input_columns(settings)
    _check_task(settings)
    _check_bounds(settings)
    _check_counts(settings)
    _check_lengthscales(settings)
    stated = [name for name in BUDGETS if getattr(settings, name) is not None]
    if len(stated) > 1:
        raise CommandError(Message("give one of {epsilon}, {rho} and {mu}: each is the budget"))
    if settings.epsilon is not None and not math.isfinite(settings.epsilon):
        raise CommandError(
            Message(
                "{epsilon} must be finite: without noise nothing is private, and the command line "
                "makes only private releases"
            )
        )
    epsilon = default_of("epsilon") if settings.epsilon is None else settings.epsilon
    if settings.calibration == "hall" and epsilon > 1.0:
        raise CommandError(
            Message(
                "{calibration:hall} is proven for epsilon <= 1 only, got {epsilon:{:g}}; above "
                "about 8 its noise is not private at all. Use {calibration:analytic}",
                epsilon,
            )
        )
    if (settings.ledger is None) != (settings.dataset is None):
        raise CommandError(
            Message(
                "{ledger} and {dataset} belong together: name the ledger, and the data set in it "
                "(`cloakgp budget open` makes both)"
            )
        )
    if settings.max_contributions is not None and settings.owners is None:
        raise CommandError(
            Message(
                "{max_contributions} limits the rows of each owner; name the column of owners with "
                "{groups}"
            )
        )
    named = (settings.owners, settings.exposure)
    public = {*settings.inputs, *(name for name in named if name)}
    if both := [name for name in settings.output if name in public]:
        raise CommandError(
            Message(
                "{} is named as private and as public; {inputs}, {groups} and {exposure} are "
                "published as they are",
                listed(both),
            )
        )


def check_input_columns(settings: Settings) -> None:
    """Refuse words about columns that are no inputs, or that contradict each other."""
    for name in ("levels", "dates", "missing"):
        told = dict(getattr(settings, name))
        if other := [column for column in told if column not in settings.inputs]:
            raise CommandError(
                Message("{!p} speaks of {}, which is not among {inputs}", name, listed(other))
            )
    if both := [column for column in dict(settings.levels) if column in dict(settings.dates)]:
        raise CommandError(
            Message("{} is named in {levels} and in {dates}; name it in one", listed(both))
        )
    if unsaid := [name for name in settings.found_levels if name in dict(settings.missing)]:
        raise CommandError(
            Message(
                "{missing:{}} needs the levels of that column too: {levels:{}=…}",
                unsaid[0],
                unsaid[0],
            )
        )
    _ = settings.columns


def _check_task(settings: Settings) -> None:
    """Refuse what the task lacks, and what would have no effect on it."""
    if settings.task == "classification" and len(settings.classes) < 2:
        raise CommandError(
            Message(
                "{classes} is missing: name every possible label, such as {classes:no,yes}. "
                "Labels taken from the data leak"
            )
        )
    if len(set(settings.labels)) < len(settings.classes):
        raise CommandError(Message("{classes} names a label twice"))
    if settings.task == "counts" and settings.cap is None:
        raise CommandError(
            Message(
                "{cap} is missing: give a public limit above which counts are clipped, such as "
                "{cap:20}. Say what is possible: a cap taken from the data leaks"
            )
        )
    if settings.task != "regression" and len(settings.output) > 1:
        raise CommandError(
            Message("{task:{}} takes one private column; name one in {output}", settings.task)
        )
    tried = dict(settings.candidates)
    for name in DECLARED:
        given = getattr(settings, name) not in (None, (), default_of(name)) or name in tried
        if given and takers(name) and settings.task not in takers(name):
            raise CommandError(
                Message("{!p} has no meaning for {task:{}}; leave it out", name, settings.task)
            )


def _check_bounds(settings: Settings) -> None:
    if settings.task == "regression" and not settings.bounds:
        raise CommandError(
            Message(
                "{bounds} is missing: give public bounds of the private column, such as "
                "{bounds:0,200}. Say what is possible, not what occurred: bounds taken from the "
                "data leak"
            )
        )
    if settings.chooses_bounds:
        _check_choice(settings)
        return
    if given := [name for name in BOUNDS_CHOICE if getattr(settings, name) is not None]:
        raise CommandError(Message("{!p} is for {bounds:private}; leave it out", given[0]))
    for lo, hi in settings.bounds:
        if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
            raise CommandError(
                Message("{bounds} must be finite with lo < hi, got {:g},{:g}", lo, hi)
            )


def _check_choice(settings: Settings) -> None:
    """Refuse a private choice of bounds that cannot be made."""
    if settings.bounds_grid is None:
        raise CommandError(
            Message(
                "{bounds_grid} is missing: name public candidates for {bounds:private}, such as "
                "{bounds_grid:0:300:31}, or log:1:1e6:31 if not even the order of magnitude is "
                "known"
            )
        )
    if len(settings.output) > 1:
        raise CommandError(
            Message("{bounds:private} is for one private column; name one in {output}")
        )
    if settings.candidates:
        raise CommandError(
            Message(
                "{bounds:private} cannot be combined with a private choice of settings; choose "
                "bounds first, with `cloakgp bounds`"
            )
        )


def _check_counts(settings: Settings) -> None:
    """Refuse bounds or prior means that are neither one for all columns nor one for each."""
    outputs = max(len(settings.output), len(settings.bounds), len(settings.classes), 1)
    wanted = len(settings.classes) or len(settings.output)
    for name, entries in (("bounds", settings.bounds), ("prior_mean", settings.prior_mean or ())):
        given = len(entries)
        if (given > 1 and wanted and given != wanted) or given > outputs:
            raise CommandError(
                Message(
                    "{!p} has {} entries for {} private column(s); give one for all, or one for "
                    "each",
                    *(name, given, outputs),
                )
            )


def _check_lengthscales(settings: Settings) -> None:
    kernels = [settings.kernel, *dict(settings.candidates).get("kernel", ())]
    lists = [value for k in kernels if k is not None for value in k.get_params().values()]
    for scales in (value for value in lists if isinstance(value, np.ndarray)):
        if scales.size != len(settings.inputs):
            raise CommandError(
                f"the kernel has a list of {scales.size} lengthscales, but the inputs are "
                f"{listed(settings.inputs)}; give one for each, or one number for all"
            )
