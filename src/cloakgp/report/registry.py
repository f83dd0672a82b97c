"""An entry for the public registry of deployments of differential privacy, as YAML to be edited.

What the release says of itself is filled in, and what only its custodian knows is marked.  The YAML
is written here, and not as JSON, because people edit it: paragraphs are to be read as paragraphs,
and optional values stand as comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloakgp.drawing.predictions import predictions_of
from cloakgp.errors import escape
from cloakgp.release.diagnostics import can_be_checked, check_fit
from cloakgp.release.meaning import best_guess_rate, percent, two_cases
from cloakgp.release.statement import statement
from cloakgp.report.html import sections, unmarked

if TYPE_CHECKING:
    from cloakgp.release.release import Release


#: Letters of the part of an address that names a release, at most.
MAX_SLUG_LETTERS = 60


@dataclass(frozen=True)
class Open:
    """A value that only somebody else knows, with what it is to be.

    It is written as a string that says so; without a placeholder, as a comment alone.
    """

    what: str
    listed: bool = False  # whether it is a list of strings
    commented: bool = False  # whether no placeholder would be allowed

    @property
    def marked(self) -> str:
        """The string that stands for it."""
        return f"TO BE FILLED IN: {self.what}"


def registry_entry(release: Release) -> dict[str, Any]:
    """Return the entry of a release; values of type ``Open`` are left to its custodian."""
    if not release.private:
        raise ValueError(
            "the release is NOT private, so it has no place in a registry of deployments; make a "
            "real one first"
        )
    if len(release.members) > 1:
        raise ValueError(
            "a combination of releases is no deployment of its own; describe each of its releases "
            "by itself, from its own file"
        )
    spec = release.spec
    words = {title: unmarked(part) for title, part in sections(statement(release)).items()}
    inputs, outputs = (
        ", ".join(escape(name) for name in names) for names in (spec.names, release.named_targets)
    )
    title, what = predictions_of(release).title, "values" if spec.rows is None else "rows"
    name = f"{escape(title)} by {inputs}"
    return {
        "url_slug": _slug(f"{title} by {' '.join(spec.names)}", release.release_id),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": name,
                "data_curators": Open("who publishes this", listed=True),
                "intended_use": Open("what this is meant to be used for"),
                "data_product_type": "Machine learning model",
                "data_product_region": Open("the region that the data describe"),
                "description": words["What was published"],
                "publication_date": release.created[:10],
                "data_product_sector": Open(
                    "Technology, Healthcare, Education, Government, Energy or Finance",
                    commented=True,
                ),
            },
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": (
                    f"Tables of any rows: of the inputs {inputs}, within a public box, and of "
                    f"{outputs}. {_limits(words['What is protected'])}"
                    if spec.rows is not None
                    else f"Tables with the same public inputs ({inputs}) in the same rows, and any "
                    f"private values of {outputs}. {_limits(words['What is protected'])}"
                ),
                "unprotected_quantities": words["What is not protected"],
            },
            "privacy_loss": {
                "privacy_unit": spec.privacy_unit.told(
                    "Person, taken to have one row"
                    if spec.groups is None and not (spec.rows and spec.rows.owned)
                    else "Person, with all of its rows"
                ),
                "privacy_unit_details": words["What is protected"],
                "privacy_parameters": {"epsilon": release.total_epsilon, "delta": release.delta},
                "privacy_parameters_details": words["What the figures mean"],
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": (
                    "The custodian holds the data and adds the noise; everybody else sees the "
                    "release alone."
                ),
                "actors": spec.privacy_unit.told(
                    f"The custodian sees the private {what} and is trusted to draw the noise once "
                    "and to forget it. Anybody may have the release, including attackers who know "
                    f"the {what} of all people but one."
                ),
                "release_type": "One release",
                "release_type_details": Open("whether these data are to be used again"),
                "data_source_type": "Static",
                "data_source_type_details": f"{spec.counted}."
                if spec.groups is None or spec.partition is not None
                else f"{len(spec.X):,} rows of {spec.counted}.",
                "access_type": "Non-interactive",
                "access_type_details": (
                    "Predictions are computed from the release, any number of times, without the "
                    "data."
                ),
            },
            "accounting": {
                "post_processing": words["What predictions assume"],
                "composition": _composition(release),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _tuning(release),
                "mechanisms": words["How it was made"],
                "justification": _justification(release),
            },
            "administrative": {
                "sources": Open("links to the release and to what was written about it"),
                "notes": words["How to check it"],
                "registry_authors": Open("who has filled in this entry", listed=True),
            },
        },
    }


def registry_yaml(release: Release) -> str:
    """Return the entry as a YAML file."""
    entry = registry_entry(release)
    head = (
        "# An entry for the public registry of differential privacy deployments.\n"
        f"# Only the custodian knows {count_open(entry)} values of it: look for TO BE FILLED IN.\n"
    )
    return head + as_yaml(entry)


def count_open(entry: dict[str, Any]) -> int:
    """Return how many values are left to the custodian."""
    return sum(
        count_open(value) if isinstance(value, dict) else isinstance(value, Open)
        for value in entry.values()
    )


def as_yaml(content: Mapping[str, Any], indent: int = 0) -> str:
    """Return a mapping as YAML."""
    lines: list[str] = []
    room = "  " * indent
    for key, value in content.items():
        if isinstance(value, Mapping):
            lines += [f"{room}{key}:", as_yaml(value, indent + 1).rstrip("\n")]
        elif isinstance(value, Open) and value.commented:
            lines.append(f"{room}# {key}: {value.marked}")
        elif isinstance(value, Open) and value.listed:
            lines += [f"{room}{key}:", f"{room}  - {_scalar(value.marked)}"]
        elif isinstance(value, Open):
            lines.append(f"{room}{key}: {_scalar(value.marked)}")
        elif isinstance(value, str) and "\n" in value:
            lines.append(f"{room}{key}: |")
            lines += [f"{room}  {line}".rstrip() for line in value.strip().split("\n")]
        else:
            lines.append(f"{room}{key}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _slug(name: str, release_id: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:MAX_SLUG_LETTERS].strip("-")
    return f"{words}-{release_id[:8]}" if words else release_id[:8]


def _limits(protected: str) -> str:
    """Return the sentence about what values can be: the last paragraph's last sentences."""
    start = max(protected.find("Values count"), protected.find("The possible labels"))
    return protected[start:] if start >= 0 else ""


def _composition(release: Release) -> str:
    name = release.noisy.mechanism.capitalize()
    how = "whose ε add up" if name == "Laplace" else "composed by their privacy profiles"
    if not release.choices:
        steps = release.noisy.parts
        if steps == 1:
            return f"One {name} mechanism; nothing to compose."
        if name == "Laplace":
            return f"{steps} Laplace mechanisms, whose ε add up."
        return f"{steps} Gaussian mechanisms, whose precisions 1/σ² add up exactly."
    made = []
    if release.bounds_choice is not None:
        made.append(
            f"a private choice of bounds (epsilon = {release.bounds_choice.epsilon:g}, two "
            "exponential mechanisms)"
        )
    if release.selection is not None:
        made.append(
            f"a private choice of settings (epsilon = {release.selection.epsilon:g}, "
            f"{release.selection.mechanism})"
        )
    said = ", ".join(made)
    together = "both" if len(made) == 1 else "all"
    return (
        f"{said[0].upper()}{said[1:]} and one {name} mechanism, {how}; the parameters are "
        f"those of {together} together."
    )


def _tuning(release: Release) -> str:
    said = "Bounds, labels and caps are public and were set beforehand; values are clipped to them."
    if release.spec.rows is not None:
        said = f"The box of the inputs is public, too, and was set beforehand. {said}"
    if release.bounds_choice is not None:
        said = (
            f"Bounds were chosen privately among {len(release.bounds_choice.grid)} public "
            "candidates, which the parameters include; values are clipped to them."
        )
    if release.spec.family is not None:
        said += (
            " Hyperparameters are learnt from what was published, after the noise was added, so "
            "they cost no privacy."
        )
    elif release.selection is None:
        said += " Hyperparameters were fixed beforehand."
    else:
        said += " Hyperparameters were chosen privately, which the parameters include."
    return said


def _justification(release: Release) -> str:
    rows = release.spec.rows
    between = two_cases(None if rows is None else rows.neighbours)
    said = (
        f"The noise is the least that the guarantee allows ({_noise_name(release)}): "
        f"σ = {release.noisy.sigma:.6g} for each unit of sensitivity. The best "
        f"attacker tells {release.spec.privacy_unit.told(between)} apart at most "
        f"{percent(best_guess_rate(release))} of the time. Sensitivity and noise can be worked out "
        "again from the file by anybody."
    )
    return f"{said} {check_fit(release).sentence}" if can_be_checked(release) else said


def _noise_name(release: Release) -> str:
    if release.noisy.mechanism == "laplace":
        return "the discrete Laplace mechanism"
    return f"{release.noisy.calibration} calibration"


def _scalar(value: Any) -> str:
    """Return one value; JSON's strings are YAML's, except that YAML knows no pairs for one sign."""
    if isinstance(value, str):
        shown = "".join(c if c.isprintable() else " " for c in value)
        return json.dumps(shown, ensure_ascii=False)
    return _number(value)


def _number(value: float) -> str:
    """Return a number; YAML 1.1 takes 1e-05 for a string, but not 1.0e-05."""
    written = repr(value)
    if "e" in written and "." not in written:
        written = written.replace("e", ".0e")
    return written
