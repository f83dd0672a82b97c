"""What a plan says in words: what would be released, at what price, and what it assumes.

The figures are worked out by the plan; here they are only put into sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

from cloakgp.design import Design
from cloakgp.gp.places import gathered_at
from cloakgp.plan.bounds import BoundsPlan
from cloakgp.plan.facts import Facts

#: A plan warns if more than this share of what varies with the inputs is lost within places.
MUCH_LOST = 0.1


@dataclass(frozen=True)
class Figures:
    """The numbers of a summary: standard deviations at the workload, and shares."""

    total_epsilon: float
    published_values: int
    typical_noise: float
    largest_noise: float
    floor: float
    errors: tuple[float, ...]  # by kernel that the forecast looks at; none if the prior is fixed
    lost: tuple[float, float]  # within places, if the truth is smooth and if it is rough


def plan_words(facts: Facts, design: Design, figures: Figures, choice: BoundsPlan | None) -> str:
    """Say in a few lines what would be released and at what price."""
    guarantee = f"(epsilon={figures.total_epsilon:g}, delta={facts.budget.delta:g})-private"
    if facts.noise_std == 0.0:
        guarantee = "NOT PRIVATE: epsilon is infinite"
    lines = [
        f"Release of {figures.published_values} numbers about {facts.people:,} people, "
        f"{guarantee}.",
        f"Noise added to the predictions at {len(facts.points)} points: typically "
        f"{figures.typical_noise:.3g}, at most {figures.largest_noise:.3g} (standard deviations"
        f"{facts.outcome.measured}).",
        f"Without privacy the prediction itself would be uncertain by {figures.floor:.3g}.",
        f"Design '{facts.design}', decoded '{facts.decode}', calibration "
        f"'{facts.budget.calibration}'. "
        f"{design.status[0].upper()}{design.status[1:]}.",
    ]
    if choice is not None:
        lines[0] = lines[0][:-1] + ", the private choice of bounds included."
        lines.append(
            f"These figures are for the ends of the grid, {facts.lo[0]:g} and {facts.hi[0]:g}, at "
            f"epsilon={facts.budget.epsilon:.4g}; with bounds half as far apart the noise is about "
            "half as large."
        )
        lines.append(choice.summary())
    if facts.family is not None:
        # A family around a given kernel is in no order.
        smooth, rough = min(figures.errors), max(figures.errors)
        lines.append(
            "The kernel is learnt from what is published, at no cost. Expected error: "
            f"{smooth:.3g} if the truth is smooth, {rough:.3g} if it is rough; "
            "bands assume that it is like some member of the family of priors."
        )
    if facts.places is not None:
        gathered = gathered_at(facts.places, facts.encoding.model_names)
        lines.append(f"{gathered}. {_lost_words(facts, figures.lost)}")
    if facts.iterations > 1:
        lines.append(f"The budget is spent in {facts.iterations} steps; the figures are forecasts.")
    if facts.limit is not None:
        lines.append(
            f"At most {facts.limit.max_rows} rows of each person count: {len(facts.X)} rows "
            f"are used and {facts.limit.left_out} left out, chosen without their outputs."
        )
    if facts.groups is not None:
        lines.append(
            "The certificate is that of the sketch before it was scaled for people with "
            "several rows."
        )
    if facts.jitter:
        lines.append(
            f"The kernel matrix is nearly singular: {facts.jitter:.1e} was added to its diagonal."
        )
    if figures.published_values == 0:
        lines.append(
            "The predictions do not depend on anybody's output, so nothing would be published. "
            "The kernel's lengthscale is probably far too small, or the points are far from "
            "the people."
        )
    return "\n".join(lines)


def _lost_words(facts: Facts, lost: tuple[float, float]) -> str:
    """Say what gathering people at places loses."""
    low, high = lost
    if high == 0.0:
        return "Nothing is lost by that: everybody at a place has the same inputs."
    share = f"{_percent(high)} of what varies with the inputs"
    if facts.family is not None:
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
