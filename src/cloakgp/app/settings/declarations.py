"""Every setting, declared once: its name, how it is read, what the help says, who takes it.

The options of the commands, the keys of a settings file and the arguments of the estimators follow
from these declarations.  What is not given is left to the estimators, whose signatures hold the
defaults.  There is no setting that makes noise repeatable, and nothing here reads data.
"""

# ruff: noqa: RUF009  -- ``setting`` declares a field, as ``field`` of dataclasses does

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from inspect import signature
from typing import Any, Literal

from cloakgp.app.settings import readers
from cloakgp.app.settings.readers import ValueReader, one_of, wrong
from cloakgp.app.tables.numerals import as_number
from cloakgp.app.tables.owners import NO_OWNERS
from cloakgp.app.wording import as_typed, explained
from cloakgp.data.columns import Category, Column, Date, Number
from cloakgp.errors import CommandError, Message, ParameterError, brief, message_of, printable
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.counts import PrivateGPCountRegressor
from cloakgp.estimators.regression import PrivateGPRegressor
from cloakgp.estimators.search.search import PrivateGridSearch
from cloakgp.gp.kernels.grammar import Kernel
from cloakgp.gp.sparse import Approximation
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism as ChoiceMechanism
from cloakgp.privacy.choice.selection import check_choice
from cloakgp.privacy.mechanism.calibration import Calibration
from cloakgp.release.bounds_plan import BoundsGrid
from cloakgp.release.decoder import Decode
from cloakgp.release.outputs import Task
from cloakgp.release.privacy_unit import PERSON, PrivacyUnit

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
#: Settings of a private choice of bounds.
BOUNDS_CHOICE = ("bounds_grid", "bounds_quantiles", "bounds_epsilon")

DesignChoice = Literal["auto", "cells", "bayes", "total", "worst", "volume"]
Candidates = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Declaration:
    """What is said of a setting beside its name and type."""

    reader: ValueReader
    help: str
    panel: str | None = None
    commands: tuple[str, ...] = EVERYWHERE
    flag: str | None = None  # the option, if it is not called like the setting
    former: str | None = None  # what it was called up to version 0.2
    search: str | None = None  # the parameter of a private search
    repeated: bool = False  # whether the option may be given several times
    varied: bool = False  # whether a search can choose its value


def setting(reader: ValueReader, help: str, *, default: Any = None, **more: Any) -> Any:
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
class Settings:
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
    groups: str | None = setting(
        readers.OWNERS,
        "Column that names the owner of each row; 'none' says that every row is another person's",
    )
    max_contributions: int | None = setting(
        readers.COUNT,
        "Rows of each owner that count, at most; others are left out, unread",
        panel=GUARANTEE,
        former="max_rows",
    )
    decimal: str = setting(readers.DECIMAL, "Decimal sign in a text table", default=".")
    jobs: int | None = setting(
        readers.COUNT, "Threads that read blocks of rows (default: one for each processor, up to 4)"
    )
    candidates: Candidates = setting(
        ValueReader("NAME=VALUE|VALUE", read_candidates),
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
    choice: ChoiceMechanism | None = setting(
        one_of(ChoiceMechanism),
        "How to choose",
        panel=GUARANTEE,
        commands=SELECTION,
        search="mechanism",
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
    protect: str | None = setting(
        one_of(Literal["outputs", "rows"]),
        "What is protected of each person: the private column, or the whole row, inputs included",
        panel=GUARANTEE,
    )
    box: Mapping[str, Any] = setting(
        readers.BOX,
        "For --protect rows: public range or levels of an input, or bool; repeatable",
        default=(),
        panel=GUARANTEE,
        repeated=True,
    )
    neighbours: str | None = setting(
        one_of(Literal["replace", "add-remove"]),
        "For --protect rows: whether a person is replaced, or is there or not",
        panel=GUARANTEE,
    )
    people: int | None = setting(
        readers.COUNT,
        "For --protect rows: how many rows to plan for, a public number or guess",
        panel=GUARANTEE,
    )
    classes: tuple[str, ...] = setting(
        readers.LABELS, "Every possible label", default=(), panel=GUARANTEE
    )
    cap: float | None = setting(
        readers.LIMIT, "Counts above the cap are clipped to it", panel=GUARANTEE
    )
    unit: tuple[str, ...] = setting(
        readers.NAMES,
        "What to call those who are protected, and its plural if it is irregular (default: person)",
        default=(),
        panel=GUARANTEE,
    )
    epsilon: float | None = setting(readers.NUMBER, "Privacy budget: epsilon", panel=GUARANTEE)
    delta: float | None = setting(
        readers.NUMBER, "Privacy budget: delta of Gaussian noise", panel=GUARANTEE
    )
    rho: float | None = setting(
        readers.NUMBER, "Privacy budget as rho of zCDP, in place of epsilon", panel=GUARANTEE
    )
    mu: float | None = setting(
        readers.NUMBER, "Privacy budget as mu of Gaussian DP, in place of epsilon", panel=GUARANTEE
    )
    mechanism: str | None = setting(
        one_of(Literal["auto", "laplace", "gaussian"], " (how to choose is --choice)"),
        "Which noise: auto takes the one with the better forecast",
        panel=GUARANTEE,
    )
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
    design: DesignChoice | None = setting(
        one_of(DesignChoice), "Which numbers are published", panel=MODEL, varied=True
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
                        raise ParameterError(
                            "{} is no number; for a category give its levels too, with "
                            "{levels:{}=…}",
                            *(brief(repr(fill)), brief(name)),
                        )
                    found[name] = Number(missing=number)
            except ValueError as error:
                ours = isinstance(error, ParameterError)
                words = message_of(error) if ours else printable(error)
                raise CommandError(Message("column {!r}: {}", brief(name), words)) from None
        return found

    @property
    def owners(self) -> str | None:
        """The column of owners; None if there is none, whether that was said or not."""
        return None if self.groups == NO_OWNERS else self.groups

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """What sentences call those who are protected."""
        return PrivacyUnit.of(self.unit) if self.unit else PERSON

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
    def whole_rows(self) -> bool:
        """Whether inputs are private, too."""
        return self.protect == "rows"

    @property
    def chooses_bounds(self) -> bool:
        """Whether bounds are to be chosen privately."""
        return self.bounds == (readers.PRIVATE,)

    @property
    def string_labels(self) -> tuple[str, ...]:
        """The classes, if the private column holds strings."""
        strings = self.task == "classification" and isinstance(self.labels[0], str)
        return self.classes if strings else ()

    def estimator(self) -> Estimator:
        """Return the estimator that these settings describe; its noise is never repeatable."""
        kind = ESTIMATORS[self.task]
        given = {n: value for n, value in vars(self).items() if value not in (None, ())}
        pairs = self.bounds * max(len(self.output), 1) if len(self.bounds) == 1 else self.bounds
        forms = {"bounds": _one_or_list(pairs), "prior_mean": _one_or_list(self.prior_mean or ())}
        forms |= {"classes": self.labels}
        if self.chooses_bounds:
            forms["bounds"] = self.grid()
        taken = given.keys() & signature(kind).parameters.keys()
        return kind(columns=self.columns or None, **{n: forms.get(n, given[n]) for n in taken})

    def grid(self) -> BoundsGrid:
        """Return the candidates for bounds that these settings describe."""
        quantiles = self.bounds_quantiles or (0.01, 0.99)
        given = {name.removeprefix("bounds_"): name for name in BOUNDS_CHOICE}
        with explained(names=given):
            return BoundsGrid(self.bounds_grid or (), quantiles, self.bounds_epsilon)  # type: ignore[arg-type]

    def search(self) -> PrivateGridSearch:
        """Return the private search that these settings describe."""
        if not self.candidates:
            raise CommandError(
                Message(
                    "{candidates} is missing: name a setting and its values, such as {candidates} "
                    "'kernel=4000*RBF(10)|4000*RBF(40)'"
                )
            )
        if self.task == "counts" or len(self.classes) > 2:
            raise CommandError(
                Message(
                    "a private search is for {task:regression}, and for {task:classification} "
                    "with two classes"
                )
            )
        own = {d.search: getattr(self, n) for n, d in DECLARED.items() if d.search is not None}
        own = {name: value for name, value in own.items() if value is not None}
        own["param_grid"] = {name: list(values) for name, values in self.candidates}
        inner = self.estimator().set_params(ledger=None, dataset=None)
        search = PrivateGridSearch(inner, **own)
        with explained(names={"epsilon": "selection_epsilon"}):
            check_choice(search.epsilon, search.mechanism)
        return search


DECLARED: dict[str, Declaration] = {
    each.name: each.metadata["declaration"] for each in fields(Settings)
}


#: Settings by their former names, which are taken with a warning.
FORMER = {each.former: name for name, each in DECLARED.items() if each.former is not None}
_OF_SEARCHES = {each.search: name for name, each in DECLARED.items() if each.search is not None}


def as_setting(parameter: str, value: str) -> tuple[str, list[str]]:
    """Return what settings call a parameter, and the values beside it as people type them."""
    if parameter == "columns":  # what it is given in Python cannot be typed
        return "levels", ["region=north,south"] if value else []
    name = parameter if parameter in DECLARED else _OF_SEARCHES.get(parameter, parameter)
    return name, as_typed(value) if value else []


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
    return defaults[0] if defaults else getattr(Settings(), name)


def _candidate(where: str, name: str, value: Any) -> Any:
    """Return a value as an estimator takes it: a search has one output column."""
    read = DECLARED[name].reader.read(where, value)
    if name != "prior_mean":
        return read
    if len(read) != 1:
        raise wrong(where, read, "one number for each prior_mean to choose from")
    return read[0]


def _one_or_list(values: tuple[Any, ...]) -> Any:
    """Return a single value as it is: it holds for all output columns."""
    return values[0] if len(values) == 1 else list(values)
