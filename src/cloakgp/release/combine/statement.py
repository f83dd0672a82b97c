"""The guarantee of several releases together in plain words, for people who are not experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloakgp.errors import escape
from cloakgp.privacy.accounting.profiles import total_mu
from cloakgp.release.combine.pooled import DIGITS, joint_epsilon
from cloakgp.release.meaning import figures, round_up, same_in_other_units
from cloakgp.release.statement import (
    IN_GENERAL,
    NOT_PRIVATE,
    WARNING,
    among,
    assumptions,
    limits_of,
    marked,
    rows_counted,
    rows_left_out,
)

if TYPE_CHECKING:
    from cloakgp.release.kinds import Combination
    from cloakgp.release.release import Release

#: People who are in several releases, and what that means for bands.
OVERLAP = (
    "How far a person is from the curve is taken to be independent from release to release. Where "
    "the same people are in several of them it is not, and bands are somewhat too narrow."
)


def combined_statement(combination: Combination) -> str:
    """Return one page of Markdown: what is combined, what is protected, and how well."""
    private = combination.private
    sections = [
        "# Privacy statement" if private else f"# {NOT_PRIVATE}\n\n{WARNING}",
        _published(combination),
        *([_protected(combination)] if private else []),
        _not_protected(combination),
        *([_meaning(combination)] if private else []),
        f"{assumptions(combination)} {OVERLAP}",
        _made(combination),
        _checking(combination),
    ]
    spec = combination.spec
    return spec.privacy_unit.told("\n\n".join(sections) + "\n", spec.names)


def for_whom(combination: Release) -> str:
    """Say on one line what is guaranteed to whom."""
    return combination.spec.privacy_unit.told(_for_whom(combination))


def _for_whom(combination: Release) -> str:
    if not combination.private:
        return "none: these are trials"
    total = f"epsilon={shown(combination.total_epsilon)}, delta={combination.delta:g}"
    if len(combination.cases) > 1:
        return f"{total} for everybody, if nobody is in two of the releases, as is said"
    return f"{total} for people who may be in all of them; for those in one alone, what it says"


def shown(epsilon: float) -> str:
    """Return ε to four digits, rounded up; one that has no more is shown as it is."""
    near = float(f"{epsilon:.{DIGITS}g}")
    return f"{near if near >= epsilon else round_up(epsilon, DIGITS):g}"


def _published(combination: Combination) -> str:
    members, outputs = combination.members, combination.named_targets
    lines = [f"- {_line(number, member)}" for number, member in enumerate(members, start=1)]
    return (
        "## What was published\n\n"
        f"{len(members)} releases, {combination.published_values} numbers in all, worked out from "
        f"the private {marked(outputs)} of {combination.spec.counted} (those who are in several "
        "are counted in each). They are read together: every curve, map and prediction is "
        "computed from these numbers and from public facts alone, so it can be repeated any number "
        "of times at no further cost to anybody's privacy.\n\n" + "\n".join(lines)
    )


def _line(number: int, member: Release) -> str:
    guarantee = "not private"
    if member.private:
        guarantee = f"epsilon = {shown(member.total_epsilon)}, delta = {member.delta:g}"
        if member.chosen:
            guarantee += f", the private choice of its {member.chosen} included"
    return (
        f"Release {number}, {escape(member.release_id)}, made {escape(member.created[:10])}: "
        f"{member.published_values} numbers about {member.spec.counted}; {guarantee}."
        f"{_chosen_bounds(member)}"
    )


def _chosen_bounds(member: Release) -> str:
    """Say how the bounds of one release were chosen, if they were not set beforehand."""
    chosen = member.bounds_choice
    if chosen is None:
        return ""
    if not member.private:
        return f" Its bounds were chosen {among(chosen)} for a trial, which is not private either."
    return (
        f" Its bounds were chosen privately {among(chosen)}, which cost epsilon = "
        f"{shown(chosen.epsilon)} by itself{rows_counted(member)}."
    )


def _protected(combination: Combination) -> str:
    outputs = combination.named_targets
    in_all = "" if combination.overlap == "disjoint" else ", in all of the releases together"
    limits = [limits_of(m, "above") for m in combination.members]
    if len(set(limits)) == 1:
        said = limits[0]
    else:
        said = " ".join(f"Release {number}: {each}" for number, each in enumerate(limits, start=1))
    rows = ""
    if any(member.spec.groups is not None for member in combination.members):
        rows = " Rows that a release says belong to one person are protected together."
    if any(member.spec.groups is None for member in combination.members):
        rows += (
            " Where a release names no owners of rows, each row is taken to be another person's, "
            "and somebody with several rows is protected less."
        )
    return (
        "## What is protected\n\n"
        f"Each person's {marked(outputs)}{in_all}. Compare the releases with those in which a "
        "single person's values were replaced by any others: the two can hardly be told apart, "
        f"even by somebody who knows the values of everybody else. {said}{rows}"
    )


def _not_protected(combination: Combination) -> str:
    spec = combination.spec
    lines = [
        f"- The inputs ({marked(spec.names)}): they are public, and the releases tell them, or "
        "how many people are near which place.",
        "- Who is in which release, and how many people there are.",
        *(f"- {sentence}" for sentence in spec.outcome.also_public),
    ]
    if any(member.spec.groups is not None for member in combination.members):
        lines.append("- Which rows belong to the same person.")
    for number, member in enumerate(combination.members, start=1):
        if member.spec.limit is not None:
            lines.append(f"- {rows_left_out(member, f' of release {number}')}")
    lines.append(IN_GENERAL)
    if combination.private:
        lines.append("- Further releases about the same people: their costs add up.")
    return "\n".join(["## What is not protected", "", *lines])


def _meaning(combination: Combination) -> str:
    members = combination.members
    composed = shown(joint_epsilon(members, "unknown"))
    total = f"epsilon = {shown(combination.epsilon)} and delta = {combination.delta:g}"
    if combination.overlap == "disjoint":
        said = (
            "Whoever combined the releases says that nobody is in two of them. For a person who is "
            f"in all of them after all, epsilon = {composed} would hold. If nobody is, everything "
            f"together is differentially private with {total}, the largest of the releases:"
        )
    else:
        said = (
            "Whoever is in one of the releases alone is protected as that release says: see the "
            "list of them. A person may be in several, and pays for each. Everything together is "
            f"differentially private with {total}, for a person who is in all of them:"
        )
    sigma = None
    if all(spend.kind == "gaussian" for spends in combination.cases for spend in spends):
        sigma = 1.0 / max(total_mu(spends) for spends in combination.cases)
    listed = figures(combination.epsilon, combination.delta, sigma)
    return f"## What the figures mean\n\n{said}\n\n{listed}\n\n{same_in_other_units(combination)}"


def _made(combination: Combination) -> str:
    stds = ", ".join(f"{member.noisy.noise_std:.4g}" for member in combination.members)
    return (
        "## How it was made\n\n"
        "From the published releases alone: no private value was read and no noise was drawn for "
        "it. Their numbers are sums that are linear in the outputs plus noise, with a "
        f"standard deviation of {stds} (release by release), so that reading all of them together "
        "is exact. One prior is shared by all."
    )


def _checking(combination: Combination) -> str:
    return (
        "## How to check it\n\n"
        "Run `cloakgp verify` on the file. It works out again, for each release in it, how far one "
        "person can move the numbers and how much noise that takes. The releases are in the file "
        "as their publishers made them: `Release.load(file).members[0].save(path)` writes the "
        "first one's own file again, byte for byte. It cannot see whether noise was really drawn "
        "afresh and thrown away, who made the files, nor who is in several releases.\n\n"
        f"Combination {escape(combination.release_id)}, made {escape(combination.created)} with "
        f"cloakgp {escape(combination.version)}."
    )
