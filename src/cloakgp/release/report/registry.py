"""A release described as the public registry of differential privacy deployments asks for it.

The fields are those of the registry's schema, whose strings are Markdown.  What the release knows
is filled in; what only its custodian knows is marked as open.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cloakgp.plan.markdown import escape
from cloakgp.release.learnt import can_be_checked, check_fit
from cloakgp.release.report.attacker import guess_of, percent
from cloakgp.release.report.readings import reading_of
from cloakgp.release.report.words import sections
from cloakgp.release.report.yaml import Open, as_yaml
from cloakgp.release.statement import statement

if TYPE_CHECKING:
    from cloakgp.release.release import Release

#: How long the part of an address that names a release may be.
LONGEST_SLUG = 60


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
    facts = release.facts
    words = sections(statement(release))
    inputs, outputs = (
        ", ".join(escape(name) for name in names) for names in (facts.names, release.named_targets)
    )
    title = reading_of(release).title
    name = f"{escape(title)} by {inputs}"
    return {
        "url_slug": _slug(f"{title} by {' '.join(facts.names)}", release.release_id),
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
                    f"Tables with the same public inputs ({inputs}) in the same rows, and any "
                    f"private values of {outputs}. {_limits(words['What is protected'])}"
                ),
                "unprotected_quantities": words["What is not protected"],
            },
            "privacy_loss": {
                "privacy_unit": "Person"
                if facts.groups is None
                else "Person, with all of its rows",
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
                "actors": (
                    "The custodian sees the private values and is trusted to draw the noise once "
                    "and to forget it. Anybody may have the release, including attackers who know "
                    "the values of all people but one."
                ),
                "release_type": "One release",
                "release_type_details": Open("whether these data are to be used again"),
                "data_source_type": "Static",
                "data_source_type_details": f"{len(facts.X):,} rows of {facts.people:,} people.",
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


def _slug(name: str, release_id: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_SLUG].strip("-")
    return f"{words}-{release_id[:8]}" if words else release_id[:8]


def _limits(protected: str) -> str:
    """Return the sentence about what values can be: the last paragraph's last sentences."""
    start = max(protected.find("Values count"), protected.find("The possible labels"))
    return protected[start:] if start >= 0 else ""


def _composition(release: Release) -> str:
    if not release.choices:
        steps = release.noisy.parts
        if steps == 1:
            return "One Gaussian mechanism; nothing to compose."
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
        f"{said[0].upper()}{said[1:]} and one Gaussian mechanism, composed by their privacy "
        f"profiles; the parameters are those of {together} together."
    )


def _tuning(release: Release) -> str:
    said = "Bounds, labels and caps are public and were set beforehand; values are clipped to them."
    if release.bounds_choice is not None:
        said = (
            f"Bounds were chosen privately among {len(release.bounds_choice.grid)} public "
            "candidates, which the parameters include; values are clipped to them."
        )
    if release.facts.family is not None:
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
    said = (
        f"The noise is the least that the guarantee allows ({release.noisy.calibration} "
        f"calibration): σ = {release.noisy.sigma:.6g} for each unit of sensitivity. The best "
        "attacker tells two values of one person apart at most "
        f"{percent(guess_of(release))} of the time. Sensitivity and noise can be worked out again "
        "from the file by anybody."
    )
    return f"{said} {check_fit(release).sentence}" if can_be_checked(release) else said
