"""What a guarantee means: how much the best attacker learns, in figures and in words.

A plan, a release, its page and the command line say the same sentences; they are made here, once.
What is rounded is rounded up, so that "at most" holds for what is printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from scipy.special import ndtr

from cloakgp.privacy import Spend, total_gdp, total_zcdp
from cloakgp.privacy.accounting.profiles import total_mu

if TYPE_CHECKING:
    from cloakgp.data.box import ProtectedRows
    from cloakgp.privacy import Budget
    from cloakgp.release.release import Release


def best_guess(sigma: float) -> float:
    """Return how often the best attacker tells two values of one person apart, from 0.5 to 1.

    The two sketches are Gaussians at most 1 apart with noise σ in every direction, so the best test
    for equal prior chances (Neyman and Pearson) is right with probability Φ(1/(2σ)).
    """
    return 1.0 if sigma == 0.0 else float(ndtr(0.5 / sigma))


def guess_at(budget: Budget) -> float:
    """Return the same for what a budget buys."""
    if budget.mechanism == "laplace":
        return guess_within(budget.epsilon, 0.0)
    return best_guess(budget.sigma)


def guess_within(epsilon: float, delta: float) -> float:
    """Return the same for any (ε, δ) guarantee: at most (e^ε + δ)/(e^ε + 1)."""
    # Divided by e^ε, which overflows where e^−ε does not.
    small = math.exp(-epsilon)
    return (1.0 + delta * small) / (1.0 + small)


def best_guess_rate(release: Release) -> float:
    """Return how often the best attacker is right, from 0.5 to 1.

    Exact for Gaussian mechanisms alone: together they have noise σ with 1/σ² = Σ 1/σ_i².  With a
    private choice of settings or bounds among them the bound of any (ε, δ) guarantee holds for all
    together.
    """
    if not all(part.noisy.sigma > 0.0 for part in release.parts):
        return 1.0
    if any(spend.kind != "gaussian" for spends in release.cases for spend in spends):
        return guess_within(release.total_epsilon, release.delta)
    return max(best_guess(1.0 / total_mu(spends)) for spends in release.cases)


def percent(chance: float) -> str:
    """Return a chance in per cent, rounded up to a tenth: "at most" holds for what is printed."""
    return f"{min(math.ceil(1000.0 * chance - 1e-9) / 10.0, 100.0):g} %"


def odds_exceed(sigma: float, epsilon: float) -> float:
    """Return the chance that the release changes the odds by more than e^ε, up or down.

    The privacy loss is Gaussian with mean 1/(2σ²) and standard deviation 1/σ.  This chance is not
    δ, which is smaller: δ also counts how likely the same release is for the other value.
    """
    if sigma == 0.0:
        return 1.0
    return float(ndtr(0.5 / sigma - epsilon * sigma) + ndtr(-0.5 / sigma - epsilon * sigma))


def best_attacker(rows: ProtectedRows | None) -> str:
    """Say what the attacker knows whose guesses are bounded."""
    knows = f"somebody who knows everybody else's {'values' if rows is None else 'rows'}"
    if rows is not None and rows.neighbours == "add-remove":
        return f"{knows}, and to whom one person, with a row that is known, is as likely in as not"
    which = "ones" if rows is None else "rows"
    return f"{knows} and has narrowed one person down to two equally likely {which}"


def two_cases(neighbours: str | None) -> str:
    """Say between what the best attacker guesses; ``neighbours`` are those of whole rows."""
    if neighbours is None:
        return "two values of one person"
    if neighbours == "replace":
        return "two rows of one person"
    return "the data with and without one person"


def whose_rows(rows: ProtectedRows) -> str:
    """Say for whom whole rows are protected."""
    if not rows.owned:
        return "one person's row"
    counted = "one counts" if rows.max_rows == 1 else f"up to {rows.max_rows} count"
    return f"all rows of one person ({counted}, chosen at random)"


def relation(rows: ProtectedRows) -> str:
    """Say what the guarantee of whole rows compares."""
    if rows.neighbours == "replace":
        return f"replacing {whose_rows(rows)} by any other"
    return f"adding or removing {whose_rows(rows)}"


def protected_words(rows: ProtectedRows | None) -> str:
    """Say in a few words what is protected of each person, and for which neighbours."""
    if rows is None:
        return "outputs; inputs are public"
    return f"whole rows, inputs included, for {relation(rows)}"


def guarantee_words(epsilon: float, delta: float, private: bool = True) -> str:
    """Return a guarantee as people write it."""
    if not private or not epsilon < math.inf:
        return "NOT PRIVATE: no guarantee holds"
    if delta == 0.0:
        return f"ε = {epsilon:.4g}, with no δ"
    return f"ε = {epsilon:.4g}, δ = {delta:g}"


def epsilon_and_delta(epsilon: float, delta: float) -> str:
    """Name both figures of a guarantee; a pure one needs but one."""
    if delta == 0.0:
        return f"epsilon = {epsilon:g} and no delta (pure differential privacy)"
    return f"epsilon = {epsilon:g} and delta = {delta:g}"


def what_it_costs(epsilon: float, delta: float) -> str:
    """Name the figures of a guarantee that are not 0, within a sentence."""
    return f"epsilon = {epsilon:.6g}" + (f" and delta = {delta:g}" if delta > 0.0 else "")


def in_other_units(*cases: Sequence[Spend]) -> str:
    """Name the same guarantee as those count it who compose Gaussian or Rényi privacy.

    ``cases`` are spends that no person pays two of; the largest counts.
    """
    mu = round_up(max(map(total_gdp, cases)), 4)
    rho = round_up(max(map(total_zcdp, cases)), 4)
    return f"mu = {mu:g} (Gaussian DP), rho = {rho:g} (zCDP)"


def units_of(release: Release) -> str | None:
    """Name the same of a release, with what was spent on choices; None if no unit goes so far."""
    try:
        return in_other_units(*release.cases)
    except ValueError:  # a forged file may claim next to no noise
        return None


def same_in_other_units(release: Release) -> str:
    """Say the same of a release in a sentence."""
    included = f", the private choice of {release.chosen} included," if release.chosen else ""
    known = units_of(release)
    units = f"at most {known}" if known else "more than mu and rho are stated for"
    return f"For those who count by one number, all of it together{included} is {units}."


def figures(epsilon: float, delta: float, sigma: float | None) -> str:
    """Say in a list what a guarantee means; σ is that of Gaussian noise, if that is all there is.

    Without it only what follows from any (ε, δ) guarantee is said.
    """
    factor = f"{round_up(math.exp(epsilon), 3):g}"
    odds = ""
    if sigma is None:
        chance = guess_within(epsilon, delta)
    else:
        chance = best_guess(sigma)
        beyond = f"{min(round_up(odds_exceed(sigma, epsilon), 2), 1.0):g}"
        odds = (
            "- In odds: for an attacker who weighs two possible values of one person, the odds "
            f"between them change by a factor of at most {factor}, except with a chance of at most "
            f"{beyond} over the draw of the noise.\n"
        )
    guess = min(round_up(100.0 * chance, 3), 100.0)
    if delta > 0.0:
        plus = f", plus delta ({_one_in(delta)})"
    else:
        plus = ", without exception"
        odds = (
            "- In odds: for an attacker who weighs two possible values of one person, the odds "
            f"between them change by a factor of at most {factor}, whatever is published.\n"
        )
    return (
        "- Whatever somebody concludes from the release, the chance of that conclusion is at most "
        f"{factor} times (e to the power epsilon) what it would have been with another value for "
        f"one person{plus}.\n"
        f"{odds}"
        "- An attacker who has narrowed one person down to two equally likely values, and knows "
        f"everybody else's, guesses right at most {guess:g} % of the time; tossing a coin gives "
        "50 %. No attacker can do better, whatever the method and the computing power."
    )


def _one_in(chance: float) -> str:
    return f"1 in {1.0 / chance:,.0f}" if chance < 0.01 else f"{100.0 * chance:g} %"


def round_up(number: float, digits: int) -> float:
    """Round up to significant digits, so that "at most" holds for what is printed."""
    if math.isinf(number):
        return number
    return float(Context(digits, ROUND_CEILING).create_decimal(number))
