"""The settings of a release as a TOML file, to make another one like it with the command line.

They are taken from what the release says of itself.  What it cannot know, such as the name of a
column of owners, is left as a comment; nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakgp.data.box import ProtectedRows
from cloakgp.data.columns import Category, Columns, Date
from cloakgp.drawing.predictions import predictions_of
from cloakgp.gp.kernels.grammar import kernel_string
from cloakgp.release.diagnostics import has_default_family
from cloakgp.release.privacy_unit import PERSON
from cloakgp.release.spec import ReleaseSpec

if TYPE_CHECKING:
    from cloakgp.release.release import Release

_HEAD = (
    "# Another release like this one: cloakgp release people.csv --config release.toml --out out\n"
    "# It would spend epsilon and delta once more: costs add up.\n"
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def settings_toml(release: Release) -> str:
    """Return the settings; what a release does not know is left as a comment."""
    spec = release.spec
    settings: dict[str, Any] = {
        "task": spec.task,
        "inputs": spec.names,
        **(columns_told(spec.encoding) if spec.rows is None else {}),
        "output": release.named_targets,
        **_outputs(release),
        "epsilon": spec.budget.epsilon,
        "mechanism": spec.mechanism,
        **_gaussian(spec),
        **_prior(spec),
        "prior_mean": (spec.prior_mean + 0.0).tolist(),  # no −0
        "design": spec.design,
        "decode": spec.decode,
    }
    if spec.rows is not None:
        settings |= _whole_rows(spec.rows)
    if spec.groups is None and not (spec.rows and spec.rows.owned):
        settings["groups"] = "none"
    if spec.inducing is not None:
        settings |= {"inducing": len(spec.inducing), "approximation": spec.approximation}
    if spec.privacy_unit != PERSON:
        settings["unit"] = [*spec.privacy_unit]
    if spec.rank is not None:
        settings["rank"] = spec.rank
    if spec.iterations > 1:
        settings["iterations"] = spec.iterations
    lines = [f"{name} = {toml_value(value)}" for name, value in settings.items()]
    lines += [f"# {comment}" for comment in _unknown(spec)]
    if release.bounds_choice is not None:
        lines.append(
            "# Its bounds were chosen privately (--bounds private), at a cost of their own."
        )
    if release.selection is not None:
        lines.append(
            "# Its settings were chosen privately, by `cloakgp select`, at a cost of its own."
        )
    return _HEAD + "\n".join(lines) + "\n"


def _whole_rows(rows: ProtectedRows) -> dict[str, Any]:
    """Return what says that whole rows are protected, and where."""
    box: dict[str, Any] = {}
    for name, column, each in zip(
        rows.box.columns.labels, rows.box.inputs, rows.box.ranges, strict=True
    ):
        if each is None:
            box[name] = list(column.levels) if isinstance(column, Category) else "bool"
        else:
            dates = isinstance(column, Date)
            box[name] = [column.shown(end) for end in each] if dates else [*each]
    found = {"protect": "rows", "box": box, "neighbours": rows.neighbours, "people": rows.people}
    return found if rows.max_rows == 1 else found | {"max_contributions": rows.max_rows}


def _gaussian(spec: ReleaseSpec) -> dict[str, Any]:
    """Return what Laplace noise does without."""
    if spec.mechanism == "laplace":
        return {}
    return {"delta": spec.budget.delta, "calibration": spec.budget.calibration}


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


def _outputs(release: Release) -> dict[str, Any]:
    """Return the settings that only outputs of this kind have."""
    spec = release.spec
    if spec.task == "classification":
        return {"classes": predictions_of(release).classes}
    if spec.task == "counts":
        return {"cap": int(spec.hi[0])}
    return {"bounds": [[*pair] for pair in zip(spec.lo.tolist(), spec.hi.tolist(), strict=True)]}


def _prior(spec: ReleaseSpec) -> dict[str, Any]:
    """Return what says which prior it was, as far as one line can."""
    if spec.family is not None:
        return {"learn": "auto"} if has_default_family(spec) else {}
    if np.any(spec.unit != 1.0):  # the default of each output, in units of its own
        return {"learn": "no"}
    try:
        line = kernel_string(spec.kernel)
    except ValueError:
        return {}
    noise = {"noise_variance": spec.model.scatter} if spec.task == "regression" else {}
    return {"kernel": line, **noise, "learn": "no"}


def _unknown(spec: ReleaseSpec) -> list[str]:
    """Return what a release cannot tell of its own settings."""
    found = ['at = "…": the points that mattered, if they were named']
    if spec.rows is not None:
        found = []
    if spec.groups is not None:
        found.append('groups = "…": the column that names the owner of each row')
    if spec.limit is not None:
        found.append(f"max_contributions = {spec.limit.max_rows}: rows of each person, with groups")
    if spec.task == "counts" and spec.rows is None:
        found.append('exposure = "…": the public column of exposures, if there was one')
    if spec.family is not None and not has_default_family(spec):
        found.append(
            "kernel: learnt around a kernel or noise that was given; see the hyperparameters"
        )
    elif spec.family is None and "learn" not in _prior(spec):
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
