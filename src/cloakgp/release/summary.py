"""What a plan says in words: what would be released, at what price, and what it assumes.

The figures are worked out by the plan; here they are only put into sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cloakgp.data.box import ProtectedRows
from cloakgp.data.partition import describe_partition
from cloakgp.design import Design
from cloakgp.errors import brief
from cloakgp.privacy import Spend
from cloakgp.release.bounds_plan import BoundsPlan
from cloakgp.release.meaning import in_other_units, relation
from cloakgp.release.mechanism import MechanismForecast, explain_choice
from cloakgp.release.spec import ChosenBounds, ReleaseSpec

#: What a plan says of rows without owners; command line and pages put their own words in place of
#: the last ones.
NAME_OWNERS = "name the owner of each row (groups=)."
#: A plan warns if more than this share of what varies with the inputs is lost within places.
MUCH_LOST = 0.1
#: Names of inputs that say who somebody is, and nothing that a curve could follow.
_IDENTIFIER = re.compile(
    r"(?:^|[_\s-])(?:id|ids|uuid|guid|ssn|e-?mail|phone|iban|nr|n[uú]mero)$|(?:nummer|kennung)$",
    re.I,
)
#: Of how many people delta may give away the outputs, on average, before a plan warns.
SMALL_SHARE = 0.1


@dataclass(frozen=True)
class Figures:
    """The numbers of a summary: standard deviations at the workload, and shares."""

    total_epsilon: float
    published_values: int
    typical_noise: float
    largest_noise: float
    floor: float
    errors: tuple[float, ...]  # by kernel that the forecast looks at; none if the prior is fixed
    error_bound: float  # what nine releases in ten keep
    lost: tuple[float, float]  # within places, if the truth is smooth and if it is rough


def plan_summary(
    spec: ReleaseSpec,
    design: Design,
    figures: Figures,
    choice: BoundsPlan | None,
    bounds: ChosenBounds | None = None,
    mechanisms: Sequence[MechanismForecast] = (),
    spends: Sequence[Spend] = (),
) -> str:
    """Say in a few lines what would be released and at what price.

    ``bounds`` is what the release will say of a private choice of bounds; ``choice`` is its plan,
    if it is still to be made; ``spends`` is what would be spent, if anything is private.
    """
    guarantee = f"(epsilon={figures.total_epsilon:g}, delta={spec.budget.delta:g})-private"
    if spec.mechanism == "laplace":
        guarantee = f"epsilon={figures.total_epsilon:g}, with no delta"
    if spec.noise_std == 0.0:
        guarantee = "NOT PRIVATE: epsilon is infinite"
    lines = [
        f"Release of {figures.published_values} numbers about {spec.counted}; {guarantee}.",
        f"Noise added to the predictions at {len(spec.points)} points: typically "
        f"{figures.typical_noise:.3g}, at most {figures.largest_noise:.3g} (standard deviations"
        f"{spec.outcome.measured}).",
        f"Apart from privacy the prediction is uncertain by {figures.floor:.3g}.",
        f"{spec.mechanism.capitalize()} noise, design '{spec.design}', decoded '{spec.decode}'"
        f"{_calibration(spec)}. {design.status[0].upper()}{design.status[1:]}.",
    ]
    if spends:
        lines.insert(1, f"The same guarantee in other units: {in_other_units(spends)}.")
    if why := explain_choice(spec, mechanisms):
        lines.append(why)
    if bounds is not None:
        lines[0] = lines[0][:-1] + ", the private choice of bounds included."
    if bounds is not None and choice is None:
        lines.append(
            f"The bounds were chosen before, at epsilon={bounds.epsilon:g}, for people with up to "
            f"{bounds.most_rows} row(s); the release alone is at epsilon={spec.budget.epsilon:g}."
        )
    if choice is not None:
        lines.append(
            f"These figures are for the ends of the grid, {spec.lo[0]:g} and {spec.hi[0]:g}, at "
            f"epsilon={spec.budget.epsilon:.4g}; with bounds half as far apart the noise is about "
            "half as large."
        )
        lines.append(choice.summary())
    if spec.family is not None:
        # A family around a given kernel is in no order.
        smooth, rough = min(figures.errors), max(figures.errors)
        lines.append(
            "The kernel is learnt from what is published, at no cost. If it were known, the error "
            f"would be {smooth:.3g} for a smooth truth and {rough:.3g} for a rough one; nine "
            f"releases in ten state at most {figures.error_bound:.3g}. "
            "Bands assume that the truth is like some member of the family of priors."
        )
    if spec.partition is not None:
        gathered = describe_partition(spec.partition, spec.encoding.model_names)
        lines.append(f"{gathered}. {_lost(spec, figures.lost)}")
    if spec.iterations > 1:
        lines.append(f"The budget is spent in {spec.iterations} steps; the figures are forecasts.")
    if spec.limit is not None:
        lines.append(
            f"At most {spec.limit.max_rows} rows of each person count: {len(spec.X)} rows "
            f"are used and {spec.limit.left_out} left out, chosen without their outputs."
        )
        if bounds is not None and bounds.may_have_read(spec.limit):
            lines.append("The choice of bounds before may have counted the rows left out, too.")
    exposed = spec.budget.delta * spec.people if spec.rows is None else 0.0
    if exposed > SMALL_SHARE and spec.noise_std > 0.0:
        lines.append(
            f"WARNING: delta = {spec.budget.delta:g} is not far below one over the {spec.people:,} "
            "people: it lets a mechanism give away each of them with that chance, "
            f"{exposed:.2g} of them on average. Give at most {SMALL_SHARE / spec.people:.0e}, or "
            "take Laplace noise, which needs no delta."
        )
    named = [name for name in spec.names if _IDENTIFIER.search(name)]
    if named and spec.rows is None:
        lines.append(
            f"WARNING: {brief(named[0])} looks like the name of an identifier. Inputs are "
            "published with the release, and a prediction by the number of a person means nothing; "
            "leave it out, or say that it is whose the rows are."
        )
    if spec.rows is not None:
        lines += _whole_rows(spec.rows)
    elif spec.groups is None:
        lines.append(several_rows(spec.people))
    else:
        what = "The certificate is that of the sketch before it was"
        if spec.design == "cells":
            what = "Cells were chosen before they were"
        lines.append(f"{what} scaled for people with several rows.")
    if jitter := spec.model.jitter:
        lines.append(
            f"The kernel matrix is nearly singular: {jitter:.1e} was added to its diagonal."
        )
    if figures.published_values == 0:
        lines.append(
            "The predictions do not depend on anybody's output, so nothing would be published. "
            "The kernel's lengthscale is probably far too small, or the points are far from "
            "the people."
        )
    return spec.privacy_unit.told("\n".join(lines), spec.encoding.model_names)


def _whole_rows(rows: ProtectedRows) -> list[str]:
    """Say what is protected of whole rows, and what the figures take for granted."""
    inputs = f"Inputs count within the box: {rows.box.describe()}."
    spread = f"The figures are for {rows.people:,} rows, spread evenly over the box."
    lines = [f"Whole rows are protected, inputs included, for {relation(rows)}.", inputs, spread]
    if rows.max_rows == 1:
        lines.append(
            "Each row is taken to be another person's. Somebody with several rows would be "
            f"protected less: if people own several, {NAME_OWNERS}"
        )
    return lines


def _calibration(spec: ReleaseSpec) -> str:
    if spec.mechanism == "laplace":
        return ""
    return f", calibration '{spec.budget.calibration}'"


def several_rows(rows: int) -> str:
    """Say what is taken for granted where nobody has named the owners of rows."""
    each = f"Each of the {rows:,} rows is" if rows > 1 else "The row is"
    return (
        f"{each} taken to be another person's. Somebody with several rows would be protected less: "
        f"if people own several, {NAME_OWNERS}"
    )


def _lost(spec: ReleaseSpec, lost: tuple[float, float]) -> str:
    """Say what gathering people at places loses."""
    low, high = lost
    if high == 0.0:
        return "Nothing is lost by that: everybody at a place has the same inputs."
    share = f"{_percent(high)} of what varies with the inputs"
    if spec.family is not None:
        share = (
            f"{_percent(low)} of what varies with the inputs if the truth is smooth, "
            f"{_percent(high)} if it is rough"
        )
    said = f"What differs within a place is not seen: {share}."
    if low <= MUCH_LOST:
        return said
    return (
        f"{said} WARNING: that is much, because there are many inputs. Fewer inputs lose less, "
        "and so do up to 4,000 people chosen at random, who are not gathered."
    )


def _percent(share: float) -> str:
    """Return a share in words."""
    return "less than 0.1 %" if share < 0.001 else f"{100.0 * share:.2g} %"
