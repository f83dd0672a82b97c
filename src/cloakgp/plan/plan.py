"""What will be released, before y is read.

A ``Plan`` is what follows from the public facts: the sketch, its certificate, the noise at every
point, and what other budgets or designs would give.  Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.design import Design
from cloakgp.gp.within import share_within
from cloakgp.plan.bounds import BoundsPlan
from cloakgp.plan.designing import find_design, sketch_of
from cloakgp.plan.facts import DesignName, Facts
from cloakgp.plan.outlook import Member, cases_of, members_of
from cloakgp.plan.request import Request
from cloakgp.plan.words import Figures, plan_words
from cloakgp.privacy import Budget, Sketch, Spend
from cloakgp.privacy.mechanism.calibration import LARGEST_EPSILON, SMALLEST_EPSILON, Calibration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

#: Budgets that a plan compares.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
#: The gap of designs of other budgets that a picture compares, for up to so many columns.
NEARLY, MOST_NEAR = 1e-3, 20_000


@dataclass(frozen=True)
class Plan:
    """What a release would publish and how good it would be.  Nothing is spent yet.

    Made by ``plan`` of an estimator.  Given to ``fit`` of the same estimator with the same inputs,
    it is released as it is.

    Attributes
    ----------
    facts : Facts
        The public facts of the release: model, workload, bounds, budget and settings.
    design : Design
        The sketch that was found, with its certificate.
    sketch : Sketch
        The same on its grid, as the core will use it.
    request : Request or None
        What it was made for, if an estimator has made it.
    choice : BoundsPlan or None
        The private choice of bounds that comes first, from the same budget, if there is one.

    See Also
    --------
    PrivateGPRegressor.plan : Makes a plan; so do the other estimators.
    Release : What a fit publishes.

    Notes
    -----
    A plan follows from X and the settings alone.  It may be shown to anybody, and choosing
    settings by it costs no budget.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp import PrivateGPRegressor
    >>> X = np.linspace(0, 10, 200)[:, None]
    >>> plan = PrivateGPRegressor(bounds=(0, 1), epsilon=1.0).plan(X)
    >>> plan.epsilon, plan.delta
    (1.0, 1e-05)
    >>> bool(plan.gap <= 1e-6)  # the design is proven to be the best there is
    True
    >>> plan.noise_std.shape == (len(plan.points),)
    True
    """

    facts: Facts
    design: Design
    sketch: Sketch
    request: Request | None = None
    choice: BoundsPlan | None = None

    @classmethod
    def draw(cls, facts: Facts, request: Request | None = None) -> Plan:
        """Find the design and work out what follows.

        Parameters
        ----------
        facts : Facts
            The public facts of the release.
        request : Request, default=None
            What the plan is made for, so that ``fit`` knows it again.

        Returns
        -------
        plan : Plan
            The plan with the best sketch for these facts.
        """
        design = find_design(facts)
        return cls(facts, design, sketch_of(facts, design), request)

    @classmethod
    def outline(cls, facts: Facts) -> Plan:
        """Return a plan that publishes one sum of all outputs, whatever else would be better.

        Parameters
        ----------
        facts : Facts
            The public facts of the release.

        Returns
        -------
        plan : Plan
            A plan that was not designed, for those who need its facts alone.
        """
        design = Design(np.ones((1, facts.columns)), 0.0, 1.0, "not designed")
        return cls(facts, design, sketch_of(facts, design))

    def check_same(self, now: Request) -> None:
        """Refuse to stand for what is asked for now, unless it is the same in every digit.

        Parameters
        ----------
        now : Request
            What a fit is asked for.

        Raises
        ------
        ValueError
            If inputs or settings differ; the message names them.
        """
        if self.request is None:
            raise ValueError("plan was not made by an estimator; leave it out or plan again")
        self.request.check_same(now)

    @property
    def epsilon(self) -> float:
        """The budget ε that the release would spend."""
        return self.facts.budget.epsilon

    @property
    def total_epsilon(self) -> float:
        """The ε of everything that would be spent, a private choice of bounds included."""
        return self.epsilon if self.choice is None else self.choice.total_epsilon

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What would be spent, in order."""
        if self.choice is not None:
            return self.choice.spends
        return (Spend.gaussian(self.facts.budget.sigma),)

    @property
    def delta(self) -> float:
        """The budget δ that the release would spend."""
        return self.facts.budget.delta

    @property
    def points(self) -> Array:
        """The workload points (P, L) that the design cares about."""
        return self.facts.points

    @property
    def gap(self) -> float:
        """The certificate: how far the design may be from the best possible, relatively."""
        return self.design.gap

    @property
    def published_values(self) -> int:
        """How many numbers the release would publish."""
        facts = self.facts
        return self.sketch.matrix.shape[0] * len(facts.lo) * facts.iterations

    @property
    def noise_std(self) -> Array:
        """What privacy adds to the standard deviation at each point, (P,) or (P, D)."""
        return self.forecast(self.points)[0]

    @property
    def floor_std(self) -> Array:
        """The standard deviation at each point without any privacy, (P,) or (P, D)."""
        return self.forecast(self.points)[1]

    @property
    def total_std(self) -> Array:
        """The standard deviation of the prediction at each point, privacy included."""
        return np.hypot(self.noise_std, self.floor_std)

    @property
    def outlook(self) -> pd.DataFrame:
        """How large the error would be, typically, if the truth were smooth or rough.

        One row for each kernel that the forecast looks at, from the smoothest to the roughest, with
        its share in the forecast; of a fixed prior, one row.
        """
        rows: dict[str, dict[str, Any]] = {}
        for share, name, total, floor in self._cases(self.points)[0]:
            row = rows.setdefault(name, {"kernel": name, "share": 0.0, "noise": 0.0, "error": 0.0})
            row["share"] += share
            row["noise"] += share * float(self.facts.weights @ (total - floor))
            row["error"] += share * float(self.facts.weights @ total)
        table = pd.DataFrame(list(rows.values()))
        table["noise_std"] = np.sqrt(table.pop("noise") / table["share"])
        table["error_std"] = np.sqrt(table.pop("error") / table["share"])
        return table

    @property
    def forecast_rmse(self) -> float:
        """Expected root mean squared distance to the non-private model over the workload."""
        squared = self.noise_std**2
        if squared.ndim == 2:
            squared = squared.mean(axis=1)
        return float(np.sqrt(self.facts.weights @ squared))

    def compare_epsilons(self, epsilons: Sequence[float] = EPSILONS) -> pd.DataFrame:
        """Return what the same release would cost in accuracy at other budgets.

        Parameters
        ----------
        epsilons : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
            The budgets to compare.

        Returns
        -------
        table : DataFrame
            One row for each budget: typical and largest noise, published values, gap.

        Examples
        --------
        >>> import numpy as np
        >>> from cloakgp import PrivateGPRegressor
        >>> plan = PrivateGPRegressor(bounds=(0, 1)).plan(np.linspace(0, 10, 100)[:, None])
        >>> table = plan.compare_epsilons((0.5, 2.0))
        >>> bool(table["typical_noise_std"][0] > table["typical_noise_std"][1])
        True
        """
        return pd.DataFrame([self.at_epsilon(float(e))._row() for e in epsilons])

    def compare_designs(self) -> pd.DataFrame:
        """Return what the other designs would give at the same budget.

        Returns
        -------
        table : DataFrame
            One row for each design: typical and largest noise, published values, gap.
        """
        return pd.DataFrame([self._with(design=name)._row() for name in get_args(DesignName)])

    def required_epsilon(self, max_std: float) -> float:
        """Return the smallest ε at which privacy adds at most ``max_std`` at every point.

        Exact to one part in a thousand, on the safe side.  Spends nothing.

        Parameters
        ----------
        max_std : float
            The noise that is wanted at most, as a standard deviation in the units of the plan.

        Returns
        -------
        epsilon : float
            The budget to ask for.

        Raises
        ------
        ValueError
            If no budget is enough.
        """
        if not (isinstance(max_std, Real) and max_std > 0):
            raise ValueError(f"max_std must be a number > 0, got {max_std!r}")

        def good(epsilon: float) -> bool:
            return float(self.at_epsilon(epsilon).noise_std.max()) <= max_std

        low, high = SMALLEST_EPSILON, LARGEST_EPSILON
        if self.facts.budget.calibration == "hall":
            high = 1.0
        if not good(high):
            raise ValueError(
                f"even epsilon={high:g} leaves noise above max_std={max_std:g} at some point; "
                "allow more noise, use a smoother kernel or fewer inducing inputs, or find more "
                "people"
            )
        if good(low):
            return low
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if good(middle) else (middle, high)
        return high

    def linear_predictor(self, points: Array) -> tuple[Array, Array, Array]:
        """Return offset, G and τ: a release predicts offset + G y + τ z at ``points``.

        y are the training outputs within ``selection_bounds``, z is standard normal.  For classes y
        is −1 or 1, and the prediction is the log-odds after one Newton step.

        Parameters
        ----------
        points : array of shape (P, L)
            Rows of the model to predict at.

        Returns
        -------
        offset : array of shape (P,)
            The prediction if every output were 0.
        G : array of shape (P, N)
            How far each output moves each prediction.
        tau : array of shape (P,)
            The standard deviation of the noise in each prediction.
        """
        decoder = self.facts.first_decoder(self.sketch.rounded)
        lo, hi = self.facts.selection_bounds
        B, people = decoder.weights(points), decoder.T.shape[1]
        u0 = np.broadcast_to((decoder.prior_mean - decoder.lo) / decoder.width, (people,))
        # s = T u + noise, u = (y − lo)/(hi − lo)
        offset = decoder.unit * decoder.prior_mean - B @ (decoder.T @ (u0 + lo / (hi - lo)))
        noise = self.facts.noise_std * np.sqrt(np.einsum("pr,pr->p", B, B))
        return offset, B @ decoder.T / (hi - lo), noise

    def summary(self) -> str:
        """Say in a few lines what would be released and at what price.

        Returns
        -------
        text : str
            Plain text; ``print(plan)`` shows the same.
        """
        errors = () if self.facts.family is None else tuple(self.outlook["error_std"])
        figures = Figures(
            total_epsilon=self.total_epsilon,
            published_values=self.published_values,
            typical_noise=self.forecast_rmse,
            largest_noise=float(self.noise_std.max()),
            floor=float(self.floor_std.mean()),
            errors=errors,
            lost=self.lost_within_places,
        )
        return plan_words(self.facts, self.design, figures, self.choice)

    @cached_property
    def lost_within_places(self) -> tuple[float, float]:
        """The share of what varies with the inputs that gathering people at places hides.

        If the truth is like the smoothest kernel that the forecast looks at, and like the roughest.
        (0, 0) if nobody is gathered.
        """
        facts = self.facts
        if facts.places is None:
            return 0.0, 0.0
        kernels = [facts.kernel]
        if facts.family is not None:
            kernels = [facts.family.kernels[number] for number, _ in facts.family.outlook]
        shares = [share_within(kernel, facts.places) for kernel in kernels]
        return min(shares), max(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan's figures for machines.

        Returns
        -------
        figures : dict
            By name, as JSON can hold them.
        """
        facts = self.facts
        return {
            "epsilon": self.epsilon,
            "total_epsilon": self.total_epsilon,
            "delta": self.delta,
            "max_rows": None if facts.limit is None else facts.limit.max_rows,
            "rows_left_out": 0 if facts.limit is None else facts.limit.left_out,
            "bounds": None if self.choice is None else self.choice.to_dict(),
            "sigma": facts.budget.sigma,
            "calibration": facts.budget.calibration,
            "task": facts.task,
            "design": facts.design,
            "target": facts.target,
            "decode": facts.decode,
            "iterations": facts.iterations,
            "people": facts.people,
            "places": None if facts.places is None else len(facts.places.counts),
            "lost_within_places": list(self.lost_within_places),
            "published_values": self.published_values,
            "forecast_rmse": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "gap": self.design.gap,
            "status": self.design.status,
            "jitter": facts.jitter,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the noise at every workload point as a table.

        Returns
        -------
        table : DataFrame
            The inputs of each point, ``noise_std``, ``total_std`` and ``floor_std``; several
            outputs have a column each.
        """
        frame = self.facts.encoding.frame(self.facts.codes_of(self.points))
        columns = {
            "noise_std": self.noise_std,
            "total_std": self.total_std,
            "floor_std": self.floor_std,
        }
        for name, values in columns.items():
            for c, column in enumerate(values.reshape(len(frame), -1).T):
                frame[name if values.ndim == 1 else f"{name}_{c}"] = column
        return frame

    def plot(
        self,
        ax: Any = None,
        *,
        target_names: Sequence[str] | None = None,
        max_std: float | None = None,
        epsilons: Sequence[float] | None = None,
    ) -> Figure:
        """Draw the noise that privacy would add: over one input, two, or each of more, and by ε.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw, for one input and one output.  None: a new figure, with a panel of
            budgets.
        target_names : sequence of str, default=None
            Names of the outputs.
        max_std : float, default=None
            Marks the noise that is wanted at most, and the ε that it takes.
        epsilons : sequence of float, default=None
            The budgets to compare; an empty list leaves that panel out.  None: some around the
            plan's.

        Returns
        -------
        figure : matplotlib Figure
            The picture.
        """
        # Matplotlib takes a second to load, so only those who want a picture wait for it.
        from cloakgp.plot.draw import plot_plan

        return plot_plan(self, ax, target_names=target_names, max_std=max_std, epsilons=epsilons)

    def __str__(self) -> str:
        return self.summary()

    def _with(self, **changes: Any) -> Plan:
        if all(getattr(self.facts, name) == value for name, value in changes.items()):
            return self
        plan = Plan.draw(replace(self.facts, **changes))
        # The settings that a forecast looks at depend on neither budget nor design.
        plan.__dict__["_members"] = self._members
        return plan

    def at_epsilon(self, epsilon: float) -> Plan:
        """Return the plan of the same release at another budget, to look at: no fit takes it.

        Parameters
        ----------
        epsilon : float
            The other budget.

        Returns
        -------
        plan : Plan
            The best plan for it.
        """
        return self._with(budget=self._budget_at(epsilon))

    def near(self, epsilon: float) -> Plan:
        """Return nearly the plan of ``at_epsilon``, found from the design of this one: quickly.

        For pictures of several budgets.  A sketch of very many people stays as it is.

        Parameters
        ----------
        epsilon : float
            The other budget.

        Returns
        -------
        plan : Plan
            A plan for it, whose ``gap`` says how good it is.
        """
        facts = replace(self.facts, budget=self._budget_at(epsilon), gap=NEARLY)
        few = facts.columns <= MOST_NEAR
        design = find_design(facts, near=self.design) if few else self.design
        plan = Plan(facts, design, sketch_of(facts, design))
        plan.__dict__["_members"] = self._members
        return plan

    def _budget_at(self, epsilon: float) -> Budget:
        budget = self.facts.budget
        hall = budget.calibration == "hall" and epsilon <= 1.0  # it is not defined above
        calibration: Calibration = "hall" if hall else "analytic"
        return replace(budget, epsilon=epsilon, calibration=calibration)

    def _row(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "design": self.facts.design,
            "calibration": self.facts.budget.calibration,
            "typical_noise_std": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "published_values": self.published_values,
            "gap": self.gap,
        }

    def forecast(self, points: Array) -> tuple[Array, Array]:
        """Return what privacy adds to the standard deviation, and what is there without it.

        Means over the outlook, so that a case that is unlikely but bad does not drown the others.

        Parameters
        ----------
        points : array of shape (P, L)
            Rows of the model to look at.

        Returns
        -------
        noise_std : array of shape (P,) or (P, D)
            What privacy adds at each point.
        floor_std : array of shape (P,) or (P, D)
            What remains without privacy.
        """
        added, floors = [], []
        for cases in self._cases(points):
            stds = [(s, np.sqrt(total - floor), np.sqrt(floor)) for s, _, total, floor in cases]
            added.append(np.sum([share * std for share, std, _ in stds], axis=0))
            floors.append(np.sum([share * std for share, _, std in stds], axis=0))
        if len(added) == 1:
            return added[0], floors[0]
        return np.stack(added, axis=1), np.stack(floors, axis=1)

    @cached_property
    def _members(self) -> list[Member]:
        return members_of(self.facts)

    def _cases(self, points: Array) -> list[list[tuple[float, str, Array, Array]]]:
        """Shares, names, variances of f at the points and of what remains without privacy.

        One list for each output column; all classes share the sketch and have the same noise.
        """
        if points is self.points and "cases" in self.__dict__:
            known: list[list[tuple[float, str, Array, Array]]] = self.__dict__["cases"]
            return known
        facts, T = self.facts, self.sketch.rounded
        by_column = [
            cases_of(facts, self._members, T, column)
            for column in range(len(facts.outcome.names(len(facts.lo))))
        ]
        cases = [
            [(case.share, case.name, *case.variances(points)) for case in column]
            for column in by_column
        ]
        if points is self.points:
            self.__dict__["cases"] = cases
        return cases
