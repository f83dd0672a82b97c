"""The settings of a release as a TOML file, to make another one like it with the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cloakgp.gp.kernels.grammar import kernel_string
from cloakgp.inputs.columns import Category, Columns, Date
from cloakgp.plan.facts import Facts
from cloakgp.release.learnt import has_default_family
from cloakgp.release.report.readings import Reading

_HEAD = (
    "# Another release like this one: cloakgp release people.csv --config release.toml --out out\n"
    "# It would spend epsilon and delta once more: costs add up.\n"
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def settings_toml(reading: Reading) -> str:
    """Return the settings; what a release does not know is left as a comment."""
    release, facts = reading.release, reading.release.facts
    settings: dict[str, Any] = {
        "task": facts.task,
        "inputs": facts.names,
        **columns_told(facts.encoding),
        "output": release.named_targets,
        **reading.settings(),
        "epsilon": facts.budget.epsilon,
        "delta": facts.budget.delta,
        "calibration": facts.budget.calibration,
        **_prior(facts, reading),
        "prior_mean": (facts.prior_mean + 0.0).tolist(),  # no −0
        "design": facts.design,
        "decode": facts.decode,
    }
    if facts.inducing is not None:
        settings |= {"inducing": len(facts.inducing), "approximation": facts.approximation}
    if facts.rank is not None:
        settings["rank"] = facts.rank
    if facts.iterations > 1:
        settings["iterations"] = facts.iterations
    lines = [f"{name} = {toml_value(value)}" for name, value in settings.items()]
    lines += [f"# {comment}" for comment in _unknown(facts, reading)]
    if release.bounds_choice is not None:
        lines.append(
            "# Its bounds were chosen privately (--bounds private), at a cost of their own."
        )
    if release.selection is not None:
        lines.append(
            "# Its settings were chosen privately, by `cloakgp select`, at a cost of its own."
        )
    return _HEAD + "\n".join(lines) + "\n"


def columns_told(columns: Columns) -> dict[str, dict[str, Any]]:
    """Return what the settings say of inputs that are no plain numbers."""
    found: dict[str, dict[str, Any]] = {"levels": {}, "dates": {}, "missing": {}}
    for name, column in columns.by_name.items():
        if isinstance(column, Category):
            found["levels"][name] = list(column.levels)
        elif isinstance(column, Date):
            found["dates"][name] = column.origin
        if column.width > 1 and getattr(column, "missing", None) not in (None, True, False):
            found["missing"][name] = column.missing  # type: ignore[attr-defined]
    return {key: told for key, told in found.items() if told}


def _prior(facts: Facts, reading: Reading) -> dict[str, Any]:
    """Return what says which prior it was, as far as one line can."""
    if facts.family is not None:
        return {"learn": "auto"} if has_default_family(facts) else {}
    if np.any(facts.unit != 1.0):  # the default of each output, in units of its own
        return {"learn": "no"}
    try:
        line = kernel_string(facts.kernel)
    except ValueError:
        return {}
    return {"kernel": line, **reading.noise_settings(), "learn": "no"}


def _unknown(facts: Facts, reading: Reading) -> list[str]:
    """Return what a release cannot tell of its own settings."""
    found = ['at = "…": the points that mattered, if they were named']
    if facts.groups is not None:
        found.append('groups = "…": the column that names the owner of each row')
    if facts.limit is not None:
        found.append(f"max_rows = {facts.limit.max_rows}: rows of each person, with groups")
    found += reading.unknown_settings()
    if facts.family is not None and not has_default_family(facts):
        found.append(
            "kernel: learnt around a kernel or noise that was given; see the hyperparameters"
        )
    elif facts.family is None and "learn" not in _prior(facts, reading):
        found.append("kernel: one that takes more than a line; give it in Python")
    return found


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, str):
        return f'"{"".join(_character(c) for c in value)}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        pairs = (f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _character(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    return f"\\U{ord(c):08x}" if ord(c) < 32 or ord(c) == 127 else c
