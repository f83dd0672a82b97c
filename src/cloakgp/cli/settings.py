"""What the user asks for: settings, from flags and from a TOML file.

Flags come as strings and are read here, as strictly as the file.  There is no option that makes
noise repeatable.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from cloakgp.cli.numerals import as_number, read_whole_number
from cloakgp.decode.decoder import Decode
from cloakgp.errors import CommandError, listed, printable
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.counts import PrivateGPCountRegressor
from cloakgp.estimators.regression import PrivateGPRegressor
from cloakgp.estimators.search.search import PrivateGridSearch
from cloakgp.gp.kernels.grammar import Kernel, parse_kernel
from cloakgp.gp.sparse import Approximation
from cloakgp.plan.plan import DesignName, Task
from cloakgp.privacy.calibration import Calibration
from cloakgp.privacy.selection import Mechanism, check_choice
from cloakgp.privacy.utility import Loss

#: What a table of rates has beside the inputs.
COUNT_COLUMNS = ("_rate", "_rate_low95", "_rate_high95", "_log_std", "_log_noise_std")


@dataclass(frozen=True)
class Settings:
    """Everything that a plan or a release can be told; the names are those of the TOML file."""

    task: Task = "regression"
    inputs: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    cap: float | None = None
    exposure: str | None = None
    bounds: tuple[tuple[float, float], ...] = ()
    epsilon: float = 1.0
    delta: float = 1e-5
    kernel: Kernel = None
    noise_variance: float | None = None
    prior_mean: tuple[float, ...] = ()
    inducing: int | None = None
    approximation: str | None = None
    design: str = "bayes"
    target: str = "auto"
    iterations: int = 1
    decode: str = "bayes"
    calibration: str = "analytic"
    rank: int | None = None
    groups: str | None = None
    at: str | None = None
    decimal: str = "."
    ledger: str | None = None
    dataset: str | None = None
    candidates: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    selection_epsilon: float = 1.0
    mechanism: str = "exponential"
    loss: str = "absolute"
    folds: int = 5

    @classmethod
    def gather(cls, flags: Mapping[str, Any], config: Path | None = None) -> Settings:
        """Combine flags, which win, with a TOML file."""
        asked = {} if config is None else _read_config(config)
        asked |= {
            name: ("--try" if name == "candidates" else f"--{name.replace('_', '-')}", value)
            for name, value in flags.items()
            if value is not None
        }
        settings = cls(**{n: _READERS[n](where, value) for n, (where, value) in asked.items()})
        settings._check()
        return settings

    def estimator(self) -> PrivateGPRegressor | PrivateGPClassifier | PrivateGPCountRegressor:
        """Return the estimator that these settings describe; its noise is never repeatable."""
        mean: Any = list(self.prior_mean) if len(self.prior_mean) > 1 else None
        shared: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "prior_mean": self.prior_mean[0] if len(self.prior_mean) == 1 else mean,
            "inducing": self.inducing,
            "design": self.design,
            "decode": self.decode,
            "calibration": self.calibration,
            "rank": self.rank,
            "ledger": self.ledger,
            "dataset": self.dataset,
        }
        if self.approximation is not None:
            shared["approximation"] = self.approximation
        if self.task != "regression":
            shared |= {"iterations": self.iterations, "target": self.target}
        if self.task == "classification":
            return PrivateGPClassifier(self.kernel, classes=self.labels, **shared)
        if self.task == "counts":
            return PrivateGPCountRegressor(self.kernel, cap=self.cap, **shared)
        pairs = self.bounds * max(len(self.output), 1) if len(self.bounds) == 1 else self.bounds
        bounds: Any = pairs[0] if len(pairs) == 1 else list(pairs)
        noise = self.noise_variance
        return PrivateGPRegressor(self.kernel, bounds=bounds, noise_variance=noise, **shared)

    def search(self) -> PrivateGridSearch:
        """Return the private search that these settings describe."""
        if not self.candidates:
            raise CommandError(
                "--try is missing: name a setting and its values, such as --try "
                "'kernel=4000*RBF(10)|4000*RBF(40)'"
            )
        if self.task == "counts" or len(self.classes) > 2:
            raise CommandError(
                "a private search is for --task regression, and for --task classification with "
                "two classes"
            )
        try:
            check_choice(self.selection_epsilon, self.mechanism)
        except ValueError as error:
            message = str(error).replace("epsilon", "--selection-epsilon", 1)
            raise CommandError(message) from None
        return PrivateGridSearch(
            self.estimator().set_params(ledger=None, dataset=None),
            {name: list(values) for name, values in self.candidates},
            epsilon=self.selection_epsilon,
            cv=self.folds,
            loss=self.loss,  # type: ignore[arg-type]
            mechanism=self.mechanism,  # type: ignore[arg-type]
            ledger=self.ledger,
            dataset=self.dataset,
        )

    @property
    def labels(self) -> list[Any]:
        """The classes: as numbers if all of them are, else as strings."""
        numbers = [as_number(label) for label in self.classes]
        if any(number is None or math.isinf(number) for number in numbers):
            return list(self.classes)
        return [int(n) if n == int(n) else n for n in numbers if n is not None]

    @property
    def text_labels(self) -> tuple[str, ...]:
        """The classes, if the private column holds strings."""
        texts = self.task == "classification" and isinstance(self.labels[0], str)
        return self.classes if texts else ()

    def table_names(self) -> list[str]:
        """Return the columns that predictions have beside the inputs."""
        if self.task == "counts":
            return [f"{self.output[0]}{end}" for end in COUNT_COLUMNS]
        if self.task == "classification":
            logs = [""] if len(self.classes) == 2 else [f"_{label}" for label in self.labels]
            ends = ["", *(f"_p_{label}" for label in self.labels)]
            ends += [f"_log_odds{c}{end}" for c in logs for end in ("", "_std", "_noise_std")]
            return [f"{self.output[0]}{end}" for end in ends]
        return [n + end for n in self.output for end in ("", "_std", "_noise_std")]

    def _check(self) -> None:
        if not self.inputs:
            raise CommandError(
                "--inputs is missing: name the public columns to predict from, such as --inputs age"
            )
        self._check_task()
        if self.task == "regression" and not self.bounds:
            raise CommandError(
                "--bounds is missing: give public bounds of the private column, such as --bounds "
                "0,200. Say what is possible, not what occurred: bounds taken from the data leak"
            )
        for lo, hi in self.bounds:
            if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
                raise CommandError(f"--bounds must be finite with lo < hi, got {lo:g},{hi:g}")
        outputs = max(len(self.output), len(self.bounds), len(self.classes), 1)
        for name, given in (("--bounds", len(self.bounds)), ("--prior-mean", len(self.prior_mean))):
            wanted = len(self.classes) or len(self.output)
            if (given > 1 and wanted and given != wanted) or given > outputs:
                raise CommandError(
                    f"{name} has {given} entries for {outputs} private column(s); give one for "
                    "all, or one for each"
                )
        kernels = [self.kernel, *dict(self.candidates).get("kernel", ())]
        lists = [value for k in kernels if k is not None for value in k.get_params().values()]
        for scales in (value for value in lists if isinstance(value, np.ndarray)):
            if scales.size != len(self.inputs):
                raise CommandError(
                    f"the kernel has a list of {scales.size} lengthscales, but the inputs are "
                    f"{listed(self.inputs)}; give one for each, or one number for all"
                )
        if not math.isfinite(self.epsilon):
            raise CommandError(
                "--epsilon must be finite: without noise nothing is private, and the command line "
                "makes private releases only"
            )
        if (self.ledger is None) != (self.dataset is None):
            raise CommandError(
                "--ledger and --dataset belong together: name the ledger file, and the data set in "
                "it (`cloakgp budget open` makes both)"
            )
        public = {*self.inputs, *(name for name in (self.groups, self.exposure) if name)}
        if both := [name for name in self.output if name in public]:
            raise CommandError(
                f"{listed(both)} is named as private and as public; --inputs, --groups and "
                "--exposure are published as they are"
            )

    def _check_task(self) -> None:
        """Refuse what the task lacks, and what would have no effect on it."""
        if self.task == "classification" and len(self.classes) < 2:
            raise CommandError(
                "--classes is missing: name every label that is possible, such as --classes "
                "no,yes. Labels taken from the data leak"
            )
        if len(set(self.labels)) < len(self.classes):
            raise CommandError("--classes names a label twice")
        if self.task == "counts" and self.cap is None:
            raise CommandError(
                "--cap is missing: give the largest count that is to be told apart, such as --cap "
                "20. Say what is possible: a cap taken from the data leaks"
            )
        if self.task != "regression" and len(self.output) > 1:
            raise CommandError(f"--task {self.task} takes one private column; name one in --output")
        own = {
            "regression": ("bounds", "noise_variance"),
            "classification": ("classes", "iterations", "target"),
            "counts": ("cap", "exposure", "iterations", "target"),
        }
        defaults = type(self)()
        for name in {name for names in own.values() for name in names} - {*own[self.task]}:
            if getattr(self, name) != getattr(defaults, name) or name in dict(self.candidates):
                flag = f"--{name.replace('_', '-')}"
                raise CommandError(f"{flag} has no meaning for --task {self.task}; leave it out")


# --------------------------------------------------------------------------------------- settings


def _read_config(path: Path) -> dict[str, tuple[str, Any]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CommandError(f"there is no settings file {printable(path)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{printable(path)} is not TOML: {printable(error)}") from None
    asked = {key.replace("-", "_"): (f"{key} in {path}", v) for key, v in content.items()}
    unknown = [key for key in content if key.replace("-", "_") not in _READERS]
    if unknown:
        raise CommandError(
            f"{printable(path)} has the unknown key {listed(unknown)}; known are: "
            f"{listed(list(_READERS))}"
        )
    return asked


def _wrong(where: str, value: Any, wanted: str) -> CommandError:
    return CommandError(f"{printable(where)} must be {wanted}, got {printable(repr(value))}")


def _number(where: str, value: Any) -> float:
    number = as_number(value)
    if number is None:
        raise _wrong(where, value, "a number such as 0.5 or 1e-5, finite and in digits 0 to 9")
    return number


def _count(where: str, value: Any) -> int:
    count = read_whole_number(value.strip()) if isinstance(value, str) else value
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise _wrong(where, value, "a whole number of at least 1")
    return count


def _numbers(where: str, value: Any) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(_number(where, part) for part in (parts if isinstance(parts, list) else [parts]))


def _pairs(where: str, value: Any) -> tuple[tuple[float, float], ...]:
    """Return bounds: "lo,hi", [lo, hi], or a list of either."""
    if isinstance(value, list) and value and isinstance(value[0], list | str):
        return tuple(pair for one in value for pair in _pairs(where, one))
    if isinstance(value, list | str) and len(numbers := _numbers(where, value)) == 2:
        return ((numbers[0], numbers[1]),)
    raise _wrong(where, value, "a pair such as 40,200")


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(where, value, "a string that is not empty")
    return value.strip()


def _names(where: str, value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise _wrong(where, value, "column names, separated by commas")
    names = tuple(_text(where, part) for part in parts)
    if len(set(names)) < len(names):
        raise _wrong(where, value, "column names, each of them once")
    return names


def _parts(value: Any) -> list[Any]:
    parts = value.split(",") if isinstance(value, str) else value
    return parts if isinstance(parts, list) else [parts]


def _label(where: str, value: Any) -> str:
    """Return a label as a string; a settings file may have it as a number."""
    number = not isinstance(value, bool) and isinstance(value, int | float)
    return _text(where, str(value) if number else value)


#: What a search can vary.
_VARIED = ("kernel", "noise_variance", "prior_mean", "inducing", "approximation", "design", "rank")


def _candidates(where: str, value: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return settings with their values: "name=a|b" strings, or a table of a settings file."""
    if isinstance(value, dict):
        pairs = list(value.items())
    else:
        texts = value if isinstance(value, list) else [value]
        split = [str(text).partition("=")[::2] for text in texts]
        pairs = [(name.strip(), values.split("|")) for name, values in split]
    found: dict[str, tuple[Any, ...]] = {}
    for name, values in pairs:
        if name not in _VARIED or name in found or not isinstance(values, list) or not values:
            raise _wrong(where, name, f"one of {', '.join(_VARIED)}, once, with its values")
        read = _READERS[name]
        given = [part.strip() if isinstance(part, str) else part for part in values]
        found[name] = tuple(_single(where, name, read(where, part)) for part in given)
    return tuple(found.items())


def _single(where: str, name: str, value: Any) -> Any:
    """Return a value as an estimator takes it: a search has one output column."""
    if name != "prior_mean":
        return value
    if len(value) != 1:
        raise _wrong(where, value, "one number for each prior_mean to choose from")
    return value[0]


def _choice(of: Any) -> Callable[[str, Any], str]:
    def read(where: str, value: Any) -> str:
        if value not in get_args(of):
            raise _wrong(where, value, f"one of {', '.join(get_args(of))}")
        return str(value)

    return read


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "task": _choice(Task),
    "inputs": _names,
    "output": _names,
    "classes": lambda where, value: tuple(_label(where, v) for v in _parts(value)),
    "cap": _number,
    "exposure": _text,
    "bounds": _pairs,
    "epsilon": _number,
    "delta": _number,
    "kernel": lambda where, value: parse_kernel(_text(where, value)),
    "noise_variance": _number,
    "prior_mean": _numbers,
    "inducing": _count,
    "approximation": _choice(Approximation),
    "design": _choice(DesignName),
    "target": _choice(Literal["auto", "points", "latents"]),
    "iterations": _count,
    "decode": _choice(Decode),
    "calibration": _choice(Calibration),
    "rank": _count,
    "groups": _text,
    "at": _text,
    "decimal": _choice(Literal[".", ","]),
    "ledger": lambda where, value: _text(where, str(value)),
    "dataset": _text,
    "candidates": lambda where, value: _candidates(where, value),
    "selection_epsilon": _number,
    "mechanism": _choice(Mechanism),
    "loss": _choice(Loss),
    "folds": _count,
}
if set(_READERS) != {field.name for field in fields(Settings)}:
    raise AssertionError("every setting needs a reader")
