"""Error against epsilon: what other budgets would give, with the accuracy that is wanted marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from cloakgp.drawing.colours import BLUE, GREY, INK, VERMILION
from cloakgp.plot.canvas import Array, Axes, axis_label
from cloakgp.plot.curves import draw_wanted
from cloakgp.release.plan import Plan

#: Budgets beside that of the plan: so many, between these, or further out if the plan is.
COUNT, LOWEST, HIGHEST = 7, 0.1, 10.0
#: How far beyond the budget of the plan they go at least, as a factor.
AROUND = 4.0


@dataclass(frozen=True)
class Budgets:
    """Errors over the workload at several budgets, from the smallest, one column for each output.

    ``noise`` and ``floor`` are typical, as root mean squares; ``largest`` is the error at the worst
    point that nine releases in ten keep.
    """

    epsilon: Array  # (E,)
    noise: Array  # (E, D)
    largest: Array  # (E, D)
    floor: Array  # (E, D)

    @classmethod
    def of(cls, plan: Plan, epsilons: Sequence[float]) -> Budgets:
        """Work out the errors; each budget starts from the design of its neighbour."""
        found = {plan.epsilon: plan}
        above = sorted(e for e in epsilons if e > plan.epsilon)
        below = sorted((e for e in epsilons if e < plan.epsilon), reverse=True)
        for side in (above, below):
            last = plan
            for epsilon in side:
                last = found[epsilon] = last.near(epsilon)
        ordered = [found[epsilon] for epsilon in sorted(found)]
        noise, floor = (
            np.array([getattr(p, name).reshape(len(plan.points), -1) for p in ordered])
            for name in ("noise_std", "floor_std")
        )  # (E, P, D)
        weights = plan.spec.weights
        typical = [np.sqrt(np.einsum("p,epd->ed", weights, part**2)) for part in (noise, floor)]
        largest = np.array([p.largest_bounds for p in ordered])
        return cls(np.array(sorted(found)), typical[0], largest, typical[1])

    def required(self, column: int, max_std: float) -> float | None:
        """Return about the smallest ε whose error stays below ``max_std`` at every point.

        None if no budget here gives that; between budgets, errors are taken to be a power of ε.
        """
        error = np.log(np.maximum(self.largest[:, column], 1e-300))
        good = np.flatnonzero(error <= math.log(max_std))
        if not len(good):
            return None
        last = int(good[0])
        if last == 0:
            return float(self.epsilon[0])
        share = (math.log(max_std) - error[last - 1]) / (error[last] - error[last - 1])
        low, high = np.log(self.epsilon[last - 1 : last + 1])
        return float(np.exp(low + share * (high - low)))


def budgets_of(plan: Plan) -> Sequence[float]:
    """Return the budgets to compare with that of a plan."""
    lowest = min(LOWEST, plan.epsilon / AROUND)
    highest = max(HIGHEST, plan.epsilon * AROUND)
    if plan.spec.budget.calibration == "hall":  # which is not defined above
        lowest, highest = min(lowest, 0.01), 1.0
    return [float(f"{epsilon:.3g}") for epsilon in np.geomspace(lowest, highest, COUNT)]


def draw_budgets(
    ax: Axes, budgets: Budgets, column: int, plan: Plan, name: str, max_std: float | None
) -> None:
    """Draw error against ε, the ε of the plan, and what is wanted with the ε that it takes."""
    epsilon = budgets.epsilon
    noise, floor = budgets.noise[:, column], budgets.floor[:, column]
    largest = budgets.largest[:, column]
    label = "worst point, in nine of ten releases"
    ax.plot(epsilon, largest, color=INK, lw=1.1, ls=(0, (3, 1.5)), label=label)
    ax.plot(epsilon, noise, color=VERMILION, lw=2.0, label="added by privacy")
    ax.plot(epsilon, floor, color=BLUE, lw=2.0, ls=(0, (5, 2)), label="without privacy")
    together = np.hypot(noise, floor)
    ax.plot(epsilon, together, color=INK, lw=1.1, ls=(0, (1, 1.5)), label="together")
    here = int(np.argmin(np.abs(epsilon - plan.epsilon)))
    ax.plot(epsilon[here], noise[here], "o", color=VERMILION, ms=7, mec="white", label="this plan")
    ax.set(xscale="log", yscale="log")
    title = "At all points that matter, by epsilon"
    if max_std is not None:
        draw_wanted(ax, max_std)
        needed = budgets.required(column, max_std)
        if needed is None:
            title = f"No epsilon up to {epsilon[-1]:.3g} gives that at every point"
        elif needed <= epsilon[0]:
            title = f"epsilon below {epsilon[0]:.3g} gives that at every point"
        else:
            mark = {"marker": "D", "ms": 7, "mfc": "white", "mec": INK, "mew": 1.5, "ls": ""}
            ax.plot([needed], [max_std], label="epsilon that this takes", **mark)
            ax.axvline(needed, color=GREY, lw=0.8, ls=(0, (1, 2)))
            title = f"At every point, that takes epsilon of about {needed:.2g}"
    shown = [v for v in (*noise, *floor, *largest, max_std or 0.0) if v > 0.0] or [1.0]
    ax.set_ylim(0.8 * max(min(shown), 1e-3 * max(shown)), 1.3 * max(shown))
    ax.set_title(title, fontsize=10, loc="left")
    ax.set(xlabel="epsilon", ylabel=axis_label(f"{name}: standard deviation"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
        axis.set_minor_formatter(NullFormatter())
