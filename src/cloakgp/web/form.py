"""The form of the planner: what it says becomes settings, and errors find their field again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from cloakgp.app.settings import Settings, gather_settings
from cloakgp.app.settings.declarations import DECLARED, as_setting, default_of, takers
from cloakgp.app.settings.gather import check_input_columns
from cloakgp.app.settings.readers import PRIVATE
from cloakgp.app.tables.numerals import as_number
from cloakgp.app.wording import TABLES
from cloakgp.data.box import MOST_INPUTS
from cloakgp.data.columns.values import moment_of
from cloakgp.errors import CommandError, Message, message_of
from cloakgp.privacy import Ledger
from cloakgp.privacy.ledger.address import is_address
from cloakgp.report.settings_toml import toml_value

#: Settings that have a field.  Others come from the settings file and the command line alone; so do
#: the ledger and files of points: a page names no file.
FIELDS = (
    *("task", "inputs", "levels", "dates", "missing", "output", "bounds", "classes", "cap"),
    *("exposure", "groups", "unit", "at"),
    *("epsilon", "delta", "rho", "mu", "kernel", "inducing", "design", "decimal"),
    *("protect", "box", "neighbours", "people", "max_contributions"),
)
#: Fields that show what counts if nothing is given.
DEFAULTED = ("task", "epsilon", "delta", "decimal", "design", "protect", "neighbours")
#: Fields of outputs alone, and of whole rows alone.
OF_OUTPUTS = ("levels", "dates", "missing", "exposure", "at", "inducing")
OF_ROWS = ("protect", "box", "neighbours", "people")
#: Fields that say something of one column after the other, such as region=north,south.
BY_COLUMN = ("levels", "dates", "missing")
#: Fields of a form, each column that is ticked for itself, at most.
MAX_FIELDS = 5000
_HEAD = (
    "# Settings for `cloakgp web`, `cloakgp plan` and `cloakgp release`, as --config FILE.toml\n"
)


class Problem(CommandError):
    """Something that the user of a page can fix, and the field where."""

    #: How HTTP calls it: a form that is not complete yet is no error of the page.
    status = 200

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class TooLarge(Problem):
    """A form that no page of ours sends."""

    status = 413


@dataclass(frozen=True)
class FormSubmission:
    """What a form asks for: the settings, and the words in which each was given."""

    settings: Settings
    given: Mapping[str, Any]

    def values(self, *without: str) -> tuple[tuple[str, str], ...]:
        """Return every setting that was given as TOML writes it, in all digits."""
        # A kernel is known by its words: as an object it prints few of its digits.
        words = ("kernel", "learn")
        values = {n: self.given[n] if n in words else getattr(self.settings, n) for n in self.given}
        if is_address(values.get("ledger")):
            values["ledger"] = Ledger(values["ledger"]).name  # without its password
        return tuple(
            (n, toml_value(values[n])) for n in DECLARED if n in values.keys() - {*without}
        )

    @property
    def toml(self) -> str:
        """The settings as a file that can be loaded again."""
        return _HEAD + "".join(f"{name} = {value}\n" for name, value in self.values())


def problem_of(error: ValueError) -> Problem:
    """Return an error in the words of a page, with its field."""
    if isinstance(error, Problem):
        return error
    message = message_of(error)
    if not isinstance(message, Message):
        return Problem(message)
    named = [as_setting(parameter, "")[0] for parameter in message.parameters]
    field = next((name for name in named if name in FIELDS), None)
    return Problem(message.told(as_words), field)


def as_words(parameter: str, value: str) -> str:
    """Return a parameter as a page calls it: "noise variance"."""
    name, values = as_setting(parameter, value)
    return " ".join([TABLES.get(name, " ".join(name.split("_"))), *values])


def read_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form; ticks of one name are joined by line breaks."""
    fields = body.count(b"&") + 1
    if fields > MAX_FIELDS:
        raise TooLarge(
            f"this form has {fields} fields, more than {MAX_FIELDS}; choose fewer inputs"
        )
    found = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: "\n".join(values).strip() for name, values in found.items()}


def given_settings(form: Mapping[str, str], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form says of each setting, beside what has no field."""
    given = {name: value for name, value in base.items() if name not in FIELDS}
    kind = form.get("task") or default_of("task")
    rows = form.get("protect") == "rows"
    for name in FIELDS:
        value: Any = form.get(name, "")
        if name in (OF_OUTPUTS if rows else OF_ROWS):
            continue
        if name == "box":
            value = _box(form, form.get("inputs", "").split("\n"))
        if name == "bounds":
            ends = form.get("low", ""), form.get("high", "")
            value = f"{ends[0]},{ends[1]}" if any(ends) else ""
        if takers(name) and kind not in takers(name):
            continue
        if name in ("inputs", "output") and value:
            value = value.split("\n")  # a name may hold a comma
        if name in BY_COLUMN and value:
            value = [part.strip() for line in value.split("\n") for part in line.split(";")]
            value = [part for part in value if part]
        if value:
            given[name] = value
    if "rho" in given or "mu" in given:  # in place of epsilon, whose field is never empty
        given.pop("epsilon", None)
    return given


def read_submission(form: Mapping[str, str], base: Mapping[str, Any]) -> FormSubmission:
    """Return the settings that a form describes, or the problem with them."""
    given = given_settings(form, base)
    at = given.get("at")
    if at is not None and at != base.get("at") and ("=" not in at or Path(at).exists()):
        raise Problem("points must be a grid, such as age=0:90:10", "at")
    for field, words in _missing(given):
        raise Problem(words, field)
    try:
        settings = gather_settings(given)
    except CommandError as error:
        raise problem_of(error) from None
    if not settings.output:
        raise Problem("choose the private column", "output")
    if settings.candidates:
        raise Problem("a private choice of settings is for `cloakgp select`")
    return FormSubmission(settings, given)


def _missing(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return what a form still lacks, with its field, in the words of the page."""
    needed = {"regression": "bounds", "classification": "classes", "counts": "cap"}
    asked = {
        "inputs": "tick the public inputs",
        "output": "choose the private column",
        "bounds": "say what is possible: the lowest and the highest value",
        "classes": "name every possible label, separated by commas",
        "cap": "say up to which count rows are told apart",
    }
    kind, rows = str(given.get("task") or default_of("task")), given.get("protect") == "rows"
    if rows:
        asked["inputs"] = f"tick one to {MOST_INPUTS} inputs: they are private, too"
    unsaid = [name for name in given.get("inputs", []) if name not in given.get("box", {})]
    for field in ("inputs", "output", needed.get(kind, "")):
        if field == "output" and rows and unsaid:
            yield "box", f"say in public where {unsaid[0]} may lie: what is possible, not what is"
        value = given.get(field)
        half = field == "bounds" and isinstance(value, str) and not all(value.split(","))
        if field and (not value or half):
            yield field, asked[field]


def _box(form: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    """Return where inputs may lie, as settings have it, of those of which it is said."""
    found: dict[str, Any] = {}
    for name in filter(None, names):
        kind, ends = (
            form.get(f"box-kind:{name}", "number"),
            [form.get(f"box-{end}:{name}", "") for end in ("low", "high")],
        )
        labels = [part.strip() for part in form.get(f"box-levels:{name}", "").split(",")]
        if kind == "bool":
            found[name] = "bool"
        elif kind == "levels" and any(labels):
            found[name] = [label for label in labels if label]
        elif kind in ("number", "date") and all(ends):
            read = [as_number(end) if kind == "number" else moment_of(end) for end in ends]
            if None in read:
                what = "numbers" if kind == "number" else "dates such as 2020-01-31"
                raise Problem(f"the ends of {name} must be {what}", "box")
            found[name] = read if kind == "number" else ends
    return found


def box_rows(given: Any) -> list[dict[str, str]]:
    """Return what the fields of a box show, input by input."""
    found = []
    for name, told in (DECLARED["box"].reader.read("box", given) if given else {}).items():
        row = {"name": name, "kind": "levels", "low": "", "high": "", "levels": ""}
        numbers = [isinstance(part, float) for part in told]
        if told == "bool":
            row["kind"] = "bool"
        elif all(numbers) or (len(told) == 2 and None not in map(moment_of, told)):
            row["kind"] = "number" if all(numbers) else "date"
            row["low"], row["high"] = (_shown(end) for end in told)
        else:
            row["levels"] = ",".join(map(str, told))
        found.append(row)
    return found


def shown_ledger(place: Any) -> str:
    """Return what a page calls a ledger: the name of its file, or its address, never a password."""
    ledger = Ledger(place) if place else None
    if ledger is None:
        return ""
    return ledger.name if ledger.path is None else ledger.path.name


def values_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what the fields of the form show for settings, the defaults where nothing is given."""
    shown: dict[str, str] = {}
    for name in FIELDS:
        value = given.get(name)
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
        elif name == "box":
            shown[name] = json.dumps(box_rows(value))
        elif name == "unit":
            shown[name] = ",".join(DECLARED[name].reader.read(name, value)) if value else ""
        elif name in BY_COLUMN:
            shown[name] = "; ".join(_by_column(name, value)) if value else ""
        elif isinstance(value, list):
            shown[name] = ",".join(str(item) for item in value)
        else:
            shown[name] = "" if value is None else _shown(value)
    if "\n" in shown["output"]:
        raise CommandError("the pages are for one private column; use `cloakgp release`")
    return shown


def input_settings(form: Mapping[str, str], base: Mapping[str, Any]) -> Settings:
    """Return what a form says of its inputs alone, whatever else it lacks."""
    given = given_settings(form, base)
    said = {n: DECLARED[n].reader.read(n, given[n]) for n in ("inputs", *BY_COLUMN) if n in given}
    settings = Settings(**said)
    check_input_columns(settings)
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
