"""Every setting, declared once: its name, how it is read, what the help says, who takes it.

The options of the commands, the keys of a settings file and the arguments of the estimators follow
from these declarations.  What is not given is left to the estimators, whose signatures hold the
defaults.  There is no setting that makes noise repeatable.
"""

# ruff: noqa: RUF009  -- ``setting`` declares a field, as ``field`` of dataclasses does

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from inspect import signature
from typing import Any, Literal

from cloakgp.cli.settings import readers
from cloakgp.cli.settings.readers import Reader, one_of, wrong
from cloakgp.cli.tables.numerals import as_number
from cloakgp.decode.decoder import Decode
from cloakgp.errors import CommandError, printable
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.counts import PrivateGPCountRegressor
from cloakgp.estimators.regression import PrivateGPRegressor
from cloakgp.estimators.search.search import PrivateGridSearch
from cloakgp.gp.kernels.grammar import Kernel
from cloakgp.gp.sparse import Approximation
from cloakgp.inputs.columns import Category, Column, Date, Number
from cloakgp.plan.facts import DesignName
from cloakgp.plan.outcomes import Task
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism
from cloakgp.privacy.mechanism.calibration import Calibration

Estimator = PrivateGPRegressor | PrivateGPClassifier | PrivateGPCountRegressor
ESTIMATORS: dict[Task, type[Estimator]] = {
    "regression": PrivateGPRegressor,
    "classification": PrivateGPClassifier,
    "counts": PrivateGPCountRegressor,
}

#: Panels of the help.
GUARANTEE, MODEL = "Guarantee", "Model"
#: Commands that take a setting.
EVERYWHERE, SPENDING, SELECTION = ("plan", "release", "select"), ("release", "select"), ("select",)

PLANNED = ("plan", "release")

Candidates = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Declaration:
    """What is said of a setting beside its name and type."""

    reader: Reader
    help: str
    panel: str | None = None
    commands: tuple[str, ...] = EVERYWHERE
    flag: str | None = None  # the option, if it is not called like the setting
    search: str | None = None  # the parameter of a private search
    repeated: bool = False  # whether the option may be given several times
    varied: bool = False  # whether a search can choose its value


def setting(reader: Reader, help: str, *, default: Any = None, **more: Any) -> Any:
    """Declare a setting; without a default of its own it is left to the estimator."""
    return field(default=default, metadata={"declaration": Declaration(reader, help, **more)})


def read_candidates(where: str, value: Any) -> Candidates:
    """Return settings with their values: "name=a|b" strings, or a table of a settings file."""
    if isinstance(value, dict):
        pairs = list(value.items())
    else:
        strings = value if isinstance(value, list) else [value]
        split = [str(string).partition("=")[::2] for string in strings]
        pairs = [(name.strip(), values.split("|")) for name, values in split]
    varied = [name for name, declared in DECLARED.items() if declared.varied]
    grid: dict[str, tuple[Any, ...]] = {}
    for name, values in pairs:
        if name not in varied or name in grid or not isinstance(values, list) or not values:
            raise wrong(where, name, f"one of {', '.join(varied)}, once, with its values")
        parts = [part.strip() if isinstance(part, str) else part for part in values]
        grid[name] = tuple(_candidate(where, name, part) for part in parts)
    return tuple(grid.items())


@dataclass(frozen=True)
class Declared:
    """Everything that a plan or a release can be told; the names are those of the TOML file."""

    task: Task = setting(one_of(Task), "What the private column holds", default="regression")
    inputs: tuple[str, ...] = setting(readers.NAMES, "Public columns to predict from", default=())
    levels: Mapping[str, tuple[str, ...]] = setting(
        readers.LEVELS,
        "Levels of a category among the inputs; a name alone takes those in the file; repeatable",
        default=(),
        repeated=True,
    )
    dates: Mapping[str, str] = setting(
        readers.DATES,
        "An input of dates, and the public date that days are counted from; repeatable",
        default=(),
        repeated=True,
    )
    missing: Mapping[str, str] = setting(
        readers.STAND_INS,
        "What stands for missing values of an input, which is otherwise refused; repeatable",
        default=(),
        repeated=True,
    )
    output: tuple[str, ...] = setting(readers.NAMES, "Private columns", default=())
    exposure: str | None = setting(
        readers.NAME, "Public column: years watched, people at risk or the like"
    )
    at: str | None = setting(readers.PLACES, "Points where accuracy matters: a grid or a file")
    groups: str | None = setting(readers.NAME, "Column that names the owner of each row")
    max_rows: int | None = setting(
        readers.COUNT, "Rows of each owner that count, at most; others are left out, unread"
    )
    decimal: str = setting(readers.DECIMAL, "Decimal sign in a text table", default=".")
    jobs: int | None = setting(
        readers.COUNT, "Threads that read blocks of rows (default: one for each processor, up to 4)"
    )
    candidates: Candidates = setting(
        Reader("NAME=VALUE|VALUE", read_candidates),
        "Values of a setting to choose from; repeat for several settings",
        default=(),
        commands=SELECTION,
        flag="--try",
        search="param_grid",
        repeated=True,
    )
    selection_epsilon: float | None = setting(
        readers.NUMBER,
        "Budget of the choice itself",
        panel=GUARANTEE,
        commands=SELECTION,
        search="epsilon",
    )
    mechanism: Mechanism | None = setting(
        one_of(Mechanism), "How to choose", panel=GUARANTEE, commands=SELECTION, search="mechanism"
    )
    ledger: str | None = setting(
        readers.LEDGER,
        "Budget ledger to spend from",
        panel=GUARANTEE,
        commands=SPENDING,
        search="ledger",
    )
    dataset: str | None = setting(
        readers.NAME,
        "Name of the data set in the ledger",
        panel=GUARANTEE,
        commands=SPENDING,
        search="dataset",
    )
    bounds: tuple[Any, ...] = setting(
        readers.BOUNDS,
        "Public bounds of the private column, or 'private' to choose them; repeat for several "
        "columns",
        default=(),
        panel=GUARANTEE,
        repeated=True,
    )
    bounds_grid: tuple[float, ...] | None = setting(
        readers.GRID,
        "Public candidates for --bounds private",
        panel=GUARANTEE,
        commands=PLANNED,
    )
    bounds_quantiles: tuple[float, ...] | None = setting(
        readers.NUMBERS,
        "Shares of the values that should lie below each bound (default 0.01,0.99)",
        panel=GUARANTEE,
        commands=PLANNED,
    )
    bounds_epsilon: float | None = setting(
        readers.NUMBER,
        "What --bounds private gets of epsilon (default: a tenth, more if there are few people)",
        panel=GUARANTEE,
        commands=PLANNED,
    )
    classes: tuple[str, ...] = setting(
        readers.LABELS, "Every possible label", default=(), panel=GUARANTEE
    )
    cap: float | None = setting(
        readers.LIMIT, "Counts above the cap are clipped to it", panel=GUARANTEE
    )
    epsilon: float | None = setting(readers.NUMBER, "Privacy budget: epsilon", panel=GUARANTEE)
    delta: float | None = setting(readers.NUMBER, "Privacy budget: delta", panel=GUARANTEE)
    calibration: Calibration | None = setting(
        one_of(Calibration), "How epsilon sets the noise", panel=GUARANTEE
    )
    loss: Loss | None = setting(
        one_of(Loss), "Error to compare", panel=MODEL, commands=SELECTION, search="loss"
    )
    folds: int | None = setting(
        readers.COUNT, "Number of folds", panel=MODEL, commands=SELECTION, search="cv"
    )
    kernel: Kernel = setting(
        readers.KERNEL, "Such as 900*RBF(25) + 10*Matern(5)", panel=MODEL, varied=True
    )
    noise_variance: float | None = setting(
        readers.NUMBER, "Variance of outputs around the curve", panel=MODEL, varied=True
    )
    prior_mean: tuple[float, ...] | None = setting(
        readers.NUMBERS, "Prior mean of the curve", panel=MODEL, varied=True
    )
    learn: bool | str | None = setting(
        readers.LEARN,
        "Learn hyperparameters from what is published, at no cost: auto if no kernel is given",
        panel=MODEL,
    )
    inducing: int | None = setting(
        readers.COUNT, "Number of inducing inputs", panel=MODEL, varied=True
    )
    approximation: Approximation | None = setting(
        one_of(Approximation), "Sparse model", panel=MODEL, varied=True
    )
    design: DesignName | None = setting(
        one_of(DesignName), "Which numbers are published", panel=MODEL, varied=True
    )
    target: str | None = setting(
        one_of(Literal["auto", "points", "latents"]), "What the design optimises for", panel=MODEL
    )
    iterations: int | None = setting(readers.COUNT, "Steps that share the budget", panel=MODEL)
    decode: Decode | None = setting(one_of(Decode), "How predictions are made", panel=MODEL)
    rank: int | None = setting(
        readers.COUNT, "Publish at most this many numbers", panel=MODEL, varied=True
    )

    @property
    def columns(self) -> dict[str, Column]:
        """What inputs are, as far as it is stated: categories, dates, and what may be missing."""
        found: dict[str, Column] = {}
        levels, dates, missing = dict(self.levels), dict(self.dates), dict(self.missing)
        for name in dict.fromkeys([*levels, *dates, *missing]):
            fill = missing.get(name)
            try:
                if name in dates:
                    found[name] = Date(dates[name], missing=fill)
                elif levels.get(name):
                    found[name] = Category(levels[name], fill)
                elif name not in levels:
                    number = as_number(fill)
                    if number is None:
                        raise ValueError(
                            f"{fill!r} is no number; for a category give its levels too, with "
                            f"--levels {name}=…"
                        )
                    found[name] = Number(missing=number)
            except ValueError as error:
                raise CommandError(f"column {printable(name)!r}: {printable(error)}") from None
        return found

    @property
    def found_levels(self) -> tuple[str, ...]:
        """Categories whose levels are those that the table has."""
        return tuple(name for name, levels in dict(self.levels).items() if not levels)

    @property
    def labels(self) -> list[Any]:
        """The classes: as numbers if all of them are, else as strings."""
        numbers = [as_number(label) for label in self.classes]
        if any(number is None or math.isinf(number) for number in numbers):
            return list(self.classes)
        return [int(n) if n == int(n) else n for n in numbers if n is not None]

    @property
    def chooses_bounds(self) -> bool:
        """Whether bounds are to be chosen privately."""
        return self.bounds == (readers.PRIVATE,)

    @property
    def string_labels(self) -> tuple[str, ...]:
        """The classes, if the private column holds strings."""
        strings = self.task == "classification" and isinstance(self.labels[0], str)
        return self.classes if strings else ()


DECLARED: dict[str, Declaration] = {
    each.name: each.metadata["declaration"] for each in fields(Declared)
}


def option_of(name: str) -> str:
    """Return the option of a setting."""
    return DECLARED[name].flag or f"--{name.replace('_', '-')}"


def help_of(name: str) -> str:
    """Return what the help says of a setting, with its default if that is a number or a sign."""
    default = default_of(name)
    if isinstance(default, int | float):
        number = f"{default:g}".replace("e-0", "e-")
        return f"{DECLARED[name].help} (default {number})"
    return f"{DECLARED[name].help}{' (default: a point)' if default == '.' else ''}"


@cache
def takers(name: str) -> tuple[Task, ...]:
    """Return the tasks whose estimator takes a setting, to be made or to be fitted."""
    return tuple(
        task
        for task, kind in ESTIMATORS.items()
        if name in signature(kind).parameters or name in signature(kind.fit).parameters
    )


@cache
def default_of(name: str) -> Any:
    """Return what counts if a setting is not given: its own default, or that of its estimator."""
    of_search = DECLARED[name].search
    if of_search is not None:
        return signature(PrivateGridSearch).parameters[of_search].default
    kinds = [signature(ESTIMATORS[task]).parameters for task in takers(name)]
    defaults = [kind[name].default for kind in kinds if name in kind]
    return defaults[0] if defaults else getattr(Declared(), name)


def _candidate(where: str, name: str, value: Any) -> Any:
    """Return a value as an estimator takes it: a search has one output column."""
    read = DECLARED[name].reader.read(where, value)
    if name != "prior_mean":
        return read
    if len(read) != 1:
        raise wrong(where, read, "one number for each prior_mean to choose from")
    return read[0]
