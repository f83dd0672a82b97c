"""The form of the planner: what it says becomes settings, and errors find their field again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from cloakgp.cli.settings import Settings
from cloakgp.cli.settings.checks import check_columns_told
from cloakgp.cli.settings.declared import DECLARED, Declared, default_of, takers
from cloakgp.cli.settings.readers import PRIVATE
from cloakgp.errors import CommandError
from cloakgp.privacy import Ledger
from cloakgp.privacy.ledger.address import is_address
from cloakgp.release.report.again import toml_value

#: Settings that have a field.  Others come from the settings file and the command line alone; so do
#: the ledger and files of points: a page names no file.
FIELDS = (
    *("task", "inputs", "levels", "dates", "missing", "output", "bounds", "classes", "cap"),
    *("exposure", "groups", "at"),
    *("epsilon", "delta", "kernel", "inducing", "design", "decimal"),
)
#: Fields that show what counts if nothing is told.
DEFAULTED = ("task", "epsilon", "delta", "decimal", "design")
#: Fields that say something of one column after the other, such as region=north,south.
BY_COLUMN = ("levels", "dates", "missing")
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_HEAD = (
    "# Settings for `cloakgp web`, `cloakgp plan` and `cloakgp release`, as --config FILE.toml\n"
)


class Problem(CommandError):
    """Something that the user of a page can fix, and the field where."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Asked:
    """What a form asks for: the settings, and the words in which each was told."""

    settings: Settings
    told: Mapping[str, Any]

    def values(self, *without: str) -> tuple[tuple[str, str], ...]:
        """Return every setting that was told as TOML writes it, in all digits."""
        # A kernel is known by its words: as an object it prints few of its digits.
        words = ("kernel", "learn")
        values = {n: self.told[n] if n in words else getattr(self.settings, n) for n in self.told}
        if is_address(values.get("ledger")):
            values["ledger"] = Ledger(values["ledger"]).name  # without its password
        return tuple(
            (n, toml_value(values[n])) for n in DECLARED if n in values.keys() - {*without}
        )

    @property
    def toml(self) -> str:
        """The settings as a file that can be loaded again."""
        return _HEAD + "".join(f"{name} = {value}\n" for name, value in self.values())


def problem_of(error: CommandError) -> Problem:
    """Return an error of the command line in the words of a page, with its field."""
    if isinstance(error, Problem):
        return error
    text = str(error)
    named = [name.replace("-", "_") for name in _OPTION.findall(text)]
    named += ["kernel"] if text.startswith("kernel,") else []  # it says at which place
    field = next((name for name in named if name in FIELDS), None)
    return Problem(_OPTION.sub(lambda found: found[1].replace("-", " "), text), field)


def read_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form; ticks of one name are joined by line breaks."""
    found = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=5000)
    return {name: "\n".join(values).strip() for name, values in found.items()}


def told_by(form: Mapping[str, str], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form says of each setting, beside what has no field."""
    told = {name: value for name, value in base.items() if name not in FIELDS}
    kind = form.get("task") or default_of("task")
    for name in FIELDS:
        value: Any = form.get(name, "")
        if name == "bounds":
            ends = form.get("low", ""), form.get("high", "")
            value = f"{ends[0]},{ends[1]}" if any(ends) else ""
        if takers(name) and kind not in takers(name):
            continue
        if name in ("inputs", "output") and value:
            value = value.split("\n")  # a name may hold a comma
        if name in BY_COLUMN and value:
            value = [part.strip() for part in re.split("[;\n]", value) if part.strip()]
        if value:
            told[name] = value
    return told


def asked_by(form: Mapping[str, str], base: Mapping[str, Any]) -> Asked:
    """Return the settings that a form describes, or the problem with them."""
    told = told_by(form, base)
    at = told.get("at")
    if at is not None and at != base.get("at") and ("=" not in at or Path(at).exists()):
        raise Problem("points must be a grid, such as age=0:90:10", "at")
    try:
        settings = Settings.gather(told)
    except CommandError as error:
        raise problem_of(error) from None
    if not settings.output:
        raise Problem("choose the private column", "output")
    if settings.candidates:
        raise Problem("a private choice of settings is for `cloakgp select`")
    return Asked(settings, told)


def shown_ledger(place: Any) -> str:
    """Return what a page calls a ledger: the name of its file, or its address, never a password."""
    ledger = Ledger(place) if place else None
    if ledger is None:
        return ""
    return ledger.name if ledger.path is None else ledger.path.name


def values_of(told: Mapping[str, Any]) -> dict[str, str]:
    """Return what the fields of the form show for settings, the defaults where nothing is told."""
    shown: dict[str, str] = {}
    for name in FIELDS:
        value = told.get(name)
        if value is None and name in DEFAULTED:
            value = default_of(name)
        if name in ("inputs", "output"):
            names = DECLARED[name].reader.read(name, value) if value else ()
            shown[name] = "\n".join(names)
        elif name == "bounds":
            pairs = DECLARED[name].reader.read(name, value) if value else ()
            if PRIVATE in pairs:
                raise CommandError(
                    "the pages take bounds as numbers; `cloakgp release --bounds private` chooses "
                    "them privately"
                )
            if len(pairs) > 1:
                raise CommandError("the pages are for one private column; use `cloakgp release`")
            shown["low"], shown["high"] = map(short, pairs[0]) if pairs else ("", "")
        elif name in BY_COLUMN:
            shown[name] = "; ".join(_by_column(name, value)) if value else ""
        elif isinstance(value, list):
            shown[name] = ",".join(str(item) for item in value)
        else:
            shown[name] = "" if value is None else _shown(value)
    if "\n" in shown["output"]:
        raise CommandError("the pages are for one private column; use `cloakgp release`")
    return shown


def columns_told(form: Mapping[str, str], base: Mapping[str, Any]) -> Declared:
    """Return what a form says of its inputs alone, whatever else it lacks."""
    told = told_by(form, base)
    said = {n: DECLARED[n].reader.read(n, told[n]) for n in ("inputs", *BY_COLUMN) if n in told}
    settings = Declared(**said)
    check_columns_told(settings)
    return settings


def _by_column(name: str, value: Any) -> list[str]:
    """Return what is said of columns as it is typed."""
    read = DECLARED[name].reader.read(name, value)
    return [
        f"{c}={','.join(v) if isinstance(v, tuple) else v}".rstrip("=") for c, v in read.items()
    ]


def short(number: float) -> str:
    """Return a number as people type it: 1e-5."""
    return f"{number:.15g}".replace("e-0", "e-")


def _shown(value: Any) -> str:
    """Return a value of a settings file as it is typed."""
    return short(value) if isinstance(value, int | float) else str(value)
