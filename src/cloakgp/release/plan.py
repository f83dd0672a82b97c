"""What will be released, before y is read.

A ``Plan`` is what follows from the public facts: the sketch, its certificate, the noise at every
point, and what other budgets or designs would give.  Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.table import Table
from cloakgp.design import Design
from cloakgp.errors import ParameterError, public_names
from cloakgp.privacy import Budget, Sketch, Spend
from cloakgp.privacy.choice.bounds import pair_spends
from cloakgp.privacy.mechanism.calibration import LARGEST_EPSILON, SMALLEST_EPSILON, Calibration
from cloakgp.release.bounds_plan import BoundsPlan
from cloakgp.release.card import card
from cloakgp.release.decode import linear_decoder
from cloakgp.release.forecast import SketchForecast, share_within
from cloakgp.release.meaning import guarantee_words, in_other_units, protected_words
from cloakgp.release.mechanism import MechanismForecast, choose_mechanism
from cloakgp.release.settings import EstimatorSettings
from cloakgp.release.sketch import choose_design, make_sketch
from cloakgp.release.spec import ChosenBounds, DesignName, ReleaseSpec
from cloakgp.release.summary import Figures, plan_summary
from cloakgp.threads import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

#: Budgets that a plan compares.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
#: The gap of designs of other budgets that a picture compares, for up to so many columns.
COMPARED_GAP, MAX_COMPARED_COLUMNS = 1e-3, 20_000


@single_threaded
@dataclass(frozen=True)
class Plan:
    """What a release would publish and how good it would be.  Nothing is spent yet.

    Made by ``plan`` of an estimator.  Given to ``fit`` of the same estimator with the same inputs,
    it is released as it is.

    Attributes
    ----------
    spec : ReleaseSpec
        The public facts of the release: model, workload, bounds, budget and settings.
    design : Design
        The sketch that was found, with its certificate.
    sketch : Sketch
        The same on its grid, as the core will use it.
    table : Table or None
        What it was made for, if an estimator has made it: public facts alone.
    settings : EstimatorSettings or None
        Those of the estimator.
    choice : BoundsPlan or None
        The private choice of bounds that comes first, from the same budget, if there is one.
    bounds_choice : ChosenBounds or None
        What the release will say of a private choice of its bounds, this one or an earlier one.
    mechanisms : tuple of MechanismForecast
        The forecasts that the mechanism was chosen by, if it was not given.

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
    >>> plan.epsilon, plan.delta, plan.spec.mechanism  # Laplace noise needs no delta
    (1.0, 0.0, 'laplace')
    >>> plan.noise_std.shape == (len(plan.points),)
    True
    """

    spec: ReleaseSpec
    design: Design
    sketch: Sketch
    table: Table | None = None
    settings: EstimatorSettings | None = None
    choice: BoundsPlan | None = None
    bounds_choice: ChosenBounds | None = None
    mechanisms: tuple[MechanismForecast, ...] = ()
    #: What forecasts work out once, by name; a copy with other contents does not inherit it.
    found: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def draw_best(cls, specs: Sequence[ReleaseSpec]) -> Plan:
        """Find the mechanism with the better forecast, and work out what follows.

        Parameters
        ----------
        specs : sequence of ReleaseSpec
            The public facts of the release, for each mechanism.

        Returns
        -------
        plan : Plan
            The plan with the best sketch for it.
        """
        spec, design, forecasts = choose_mechanism(specs)
        return cls(spec, design, make_sketch(spec, design), mechanisms=forecasts)

    @classmethod
    def draw(cls, spec: ReleaseSpec) -> Plan:
        """Find the design and work out what follows.

        Parameters
        ----------
        spec : ReleaseSpec
            The public facts of the release.

        Returns
        -------
        plan : Plan
            The plan with the best sketch for it.
        """
        design = choose_design(spec)
        return cls(spec, design, make_sketch(spec, design))

    @classmethod
    def outline(cls, spec: ReleaseSpec) -> Plan:
        """Return a plan that publishes one sum of all outputs, whatever else would be better.

        Parameters
        ----------
        spec : ReleaseSpec
            The public facts of the release.

        Returns
        -------
        plan : Plan
            A plan that was not designed, for those who need its facts alone.
        """
        design = Design(np.ones((1, spec.columns)), 0.0, 1.0, "not designed")
        return cls(spec, design, make_sketch(spec, design))

    def check_same(self, table: Table, settings: EstimatorSettings) -> None:
        """Refuse to stand for what is asked for now, unless it is the same in every digit.

        Parameters
        ----------
        table : Table
            What a fit is given.
        settings : EstimatorSettings
            Those of the estimator.

        Raises
        ------
        ValueError
            If inputs or settings differ; the message names them.
        """
        if self.table is None or self.settings is None:
            raise ValueError("plan was not made by an estimator; leave it out or plan again")
        self.settings.check_maker(settings)
        self.table.check_same(table)
        self.settings.check_same(settings)

    @property
    def facts(self) -> ReleaseSpec:
        """The former name of ``spec``."""
        return self.spec

    @property
    def epsilon(self) -> float:
        """The budget ε that the release would spend."""
        return self.spec.budget.epsilon

    @property
    def total_epsilon(self) -> float:
        """The ε that the release will state: a private choice of bounds is included."""
        return self.epsilon if self.bounds_choice is None else self.bounds_choice.total_epsilon

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What would be spent, in order; not what was spent on bounds before.

        Counted as a ledger does: where one person is replaced, whatever ``neighbours`` are.
        """
        choices = () if self.choice is None else pair_spends(self.choice.each)
        return (*choices, Spend.of(self.spec.budget, self.spec.neighbours))

    def _every_spend(self) -> tuple[Spend, ...]:
        """Return what the guarantee is of, with what was spent on bounds; nothing of a trial.

        Of whole rows it is about their own ``neighbours``.
        """
        if self.spec.noise_std == 0.0:
            return ()
        if self.spec.rows is not None:
            return (Spend.of(self.spec.budget),)
        before = self.choice is None and self.bounds_choice is not None
        return (*(self.bounds_choice.spends if before else ()), *self.spends)  # type: ignore[union-attr]

    @property
    def delta(self) -> float:
        """The budget δ that the release would spend."""
        return self.spec.budget.delta

    @property
    def points(self) -> Array:
        """The workload points (P, L) that the design cares about."""
        return self.spec.points

    @property
    def gap(self) -> float:
        """The certificate: how far the design may be from the best possible, relatively."""
        return self.design.gap

    @property
    def published_values(self) -> int:
        """How many numbers the release would publish."""
        return self.spec.published_values(self.sketch.matrix.shape[0])

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
        for share, name, total, floor in self._forecast.cases(self.points)[0]:
            row = rows.setdefault(name, {"kernel": name, "share": 0.0, "noise": 0.0, "error": 0.0})
            row["share"] += share
            row["noise"] += share * float(self.spec.weights @ (total - floor))
            row["error"] += share * float(self.spec.weights @ total)
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
        return float(np.sqrt(self.spec.weights @ squared))

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
        plans = [
            self if name == self.spec.design else self._other(replace(self.spec, design=name))
            for name in get_args(DesignName)
            if name == self.spec.design
            or (self.spec.mechanism == "gaussian" and self.spec.rows is None)
        ]
        return pd.DataFrame([plan._row() for plan in plans])

    def required_epsilon(self, max_std: float) -> float:
        """Return the smallest ε at which the curve is as accurate as wanted at every point.

        Nine releases in ten then state at most ``max_std``, what would be uncertain without privacy
        included.  Exact to one part in a hundred, on the safe side.  Spends nothing.

        Parameters
        ----------
        max_std : float
            The error that is accepted, as a standard deviation in the units of the plan.

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
            raise ParameterError("{max_std} must be a number > 0, got {!r}", max_std)

        def good(epsilon: float) -> bool:
            return float(self.at_epsilon(epsilon).largest_bounds.max()) <= max_std

        low, high = SMALLEST_EPSILON, LARGEST_EPSILON
        if self.spec.budget.calibration == "hall":
            high = 1.0
        if not good(high):
            raise ParameterError(
                "even {epsilon:{:g}} leaves an error above {max_std:{:g}} at some point; accept "
                "more, ask for fewer points ({at}), use a smoother kernel, or find more people",
                high,
                max_std,
            )
        if good(low):
            return low
        while high / low > 1.01:
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
        decoder = linear_decoder(self.spec, self.sketch.rounded)
        lo, hi = self.spec.outcome.selection_bounds(self.spec.lo, self.spec.hi)
        B, people = decoder.weights(points), decoder.T.shape[1]
        u0 = np.broadcast_to((decoder.prior_mean - decoder.lo) / decoder.width, (people,))
        # s = T u + noise, u = (y − lo)/(hi − lo)
        offset = decoder.unit * decoder.prior_mean - B @ (decoder.T @ (u0 + lo / (hi - lo)))
        noise = self.spec.noise_std * np.sqrt(np.einsum("pr,pr->p", B, B))
        return offset, B @ decoder.T / (hi - lo), noise

    def summary(self) -> str:
        """Say in a few lines what would be released and at what price.

        Returns
        -------
        text : str
            Plain text; ``print(plan)`` shows the same.
        """
        errors = () if self.spec.family is None else tuple(self.outlook["error_std"])
        figures = Figures(
            total_epsilon=self.total_epsilon,
            published_values=self.published_values,
            typical_noise=self.forecast_rmse,
            largest_noise=float(self.noise_std.max()),
            floor=float(self.floor_std.mean()),
            errors=errors,
            error_bound=float(self.error_bounds.max()),
            lost=self.lost_within_places,
        )
        return plan_summary(
            self.spec,
            self.design,
            figures,
            self.choice,
            self.bounds_choice,
            self.mechanisms,
            self._every_spend(),
        )

    @cached_property
    def lost_within_places(self) -> tuple[float, float]:
        """The share of what varies with the inputs that gathering people at places hides.

        If the truth is like the smoothest kernel that the forecast looks at, and like the roughest.
        (0, 0) if nobody is gathered.
        """
        spec = self.spec
        if spec.partition is None:
            return 0.0, 0.0
        kernels = [spec.kernel]
        if spec.family is not None:
            kernels = [spec.family.kernels[number] for number, _ in spec.family.outlook]
        shares = [share_within(kernel, spec.partition) for kernel in kernels]
        return min(shares), max(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan's figures for machines.

        Returns
        -------
        figures : dict
            By name, as JSON can hold them.
        """
        spec = self.spec
        return {
            "epsilon": self.epsilon,
            "total_epsilon": self.total_epsilon,
            "delta": self.delta,
            "max_rows": None if spec.limit is None else spec.limit.max_rows,
            "rows_left_out": 0 if spec.limit is None else spec.limit.left_out,
            "bounds": None if self.choice is None else self.choice.to_dict(),
            "mechanism": spec.mechanism,
            "mechanisms": {one.mechanism: one.error_std for one in self.mechanisms},
            "sigma": spec.budget.sigma,
            "calibration": spec.budget.calibration,
            "task": spec.task,
            "design": spec.design,
            "target": spec.target,
            "decode": spec.decode,
            "iterations": spec.iterations,
            "people": spec.people,
            "places": None if spec.partition is None else len(spec.partition.counts),
            "lost_within_places": list(self.lost_within_places),
            "published_values": self.published_values,
            "forecast_rmse": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "error_bound": float(self.error_bounds.max()),
            "largest_bound": float(self.largest_bounds.max()),
            "gap": self.design.gap,
            "status": self.design.status,
            "jitter": spec.model.jitter,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the noise at every workload point as a table.

        Returns
        -------
        table : DataFrame
            The inputs of each point, ``noise_std``, ``total_std`` and ``floor_std``; several
            outputs have a column each.
        """
        frame = self.spec.encoding.frame(self.spec.codes_of(self.points))
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
        ax : Axes or array of Axes, default=None
            Where to draw: a panel, or several in their order.  None: a new figure, with a panel
            of budgets.
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

    def __repr__(self) -> str:
        return (
            f"Plan({self.spec.counted}, {self.published_values} values, "
            f"epsilon={self.total_epsilon:g}, delta={self.delta:g})"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        spec, private = self.spec, self.spec.noise_std > 0.0
        measured = spec.outcome.measured.removeprefix(", ")
        what = f"standard deviations{' ' + measured if measured else ''}"
        facts = [
            ("about", spec.counted),
            ("guarantee", guarantee_words(self.total_epsilon, self.delta, private)),
            ("protects", protected_words(spec.rows)),
            *([("the same as", in_other_units(self._every_spend()))] if private else []),
            (
                "publishes",
                f"{self.published_values} numbers, with {spec.mechanism.capitalize()} noise",
            ),
            (
                "privacy adds",
                f"typically {self.forecast_rmse:.3g}, at most {self.noise_std.max():.3g} ({what})",
            ),
            ("without privacy", f"uncertain by {self.floor_std.mean():.3g} anyway"),
            ("all in all", f"nine releases in ten state at most {self.error_bounds.max():.3g}"),
        ]
        return card("Plan: nothing is spent yet", facts, self.summary(), good=private)

    def __dir__(self) -> list[str]:
        """Return the names that are for users."""
        return public_names(set(super().__dir__()) - {"found"})

    def __str__(self) -> str:
        return self.summary()

    def _other(self, spec: ReleaseSpec, design: Design | None = None) -> Plan:
        """Return the plan of the same release with another budget or design."""
        design = choose_design(spec) if design is None else design
        plan = Plan(spec, design, make_sketch(spec, design))
        plan.found["forecast"] = self._forecast.of_other(spec, plan.sketch.rounded)
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
        budget = self._budget_at(epsilon)
        if budget == self.spec.budget:
            return self
        return self._other(replace(self.spec, budget=budget))

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
        spec = replace(self.spec, budget=self._budget_at(epsilon), gap=COMPARED_GAP)
        few = spec.columns <= MAX_COMPARED_COLUMNS
        design = choose_design(spec, near=self.design) if few else self.design
        return self._other(spec, design)

    def _budget_at(self, epsilon: float) -> Budget:
        budget = self.spec.budget
        hall = budget.calibration == "hall" and epsilon <= 1.0  # it is not defined above
        calibration: Calibration = "hall" if hall else "analytic"
        return replace(budget, epsilon=epsilon, calibration=calibration)

    def _row(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "design": self.spec.design,
            "calibration": self.spec.budget.calibration,
            "typical_noise_std": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "published_values": self.published_values,
            "gap": self.gap,
        }

    def forecast(self, points: Array) -> tuple[Array, Array]:
        """Return what privacy adds to the standard deviation, and the rest of it.

        Means over what releases may state, so that a case that is unlikely but bad does not drown
        the others.  What privacy adds is the part ``dp`` of a release's ``uncertainty``; the rest
        is what few people leave open and, of a learnt prior, what s leaves open about it.

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
        return self._forecast.noise_and_floor(points)

    @property
    def error_bounds(self) -> Array:
        """What nine releases in ten keep: the root mean squared error of each output, (D,).

        The error of the curve over the workload, as the release will state it: what privacy adds,
        what would be there without it, and what is not known about the hyperparameters.
        """
        return self._forecast.error_bounds()

    @property
    def largest_bounds(self) -> Array:
        """The same for the standard deviation at the worst point of the workload, (D,)."""
        return self._forecast.largest_bounds()

    @property
    def _forecast(self) -> SketchForecast:
        """What releases may state, worked out once."""
        if "forecast" not in self.found:
            self.found["forecast"] = SketchForecast(self.spec, self.sketch.rounded)
        known: SketchForecast = self.found["forecast"]
        return known
