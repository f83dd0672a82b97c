"""What will be released, before y is read.

A ``Blueprint`` gathers the public facts of a release; ``Plan`` is what follows from them: the
sketch, its certificate, the noise at every point, and what other budgets or designs would give.
Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.decode import Decode, Decoder
from cloakgp.design import Design, Prior, bayes, total, volume, worst
from cloakgp.design.groups import fit_groups
from cloakgp.gp.linear import LinearModel
from cloakgp.privacy import Sketch, gaussian_sigma, quantise
from cloakgp.privacy.calibration import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Calibration,
)
from cloakgp.privacy.sensitivity import SKETCH_BITS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
DesignName = Literal["bayes", "total", "worst", "volume"]

#: Budgets that a plan compares.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
#: Singular values of T below this share of the largest drown in the rounding of its grid.
SMALLEST_ROW = 2.0**-14
#: Without noise, the sketch that loses nothing is y itself, up to this many people.
MOST_IDENTITY = 4000


@dataclass(frozen=True)
class Blueprint:
    """The public facts of a release."""

    model: LinearModel
    points: Array  # (P, L): the workload
    weights: Array  # (P,), sum 1
    lo: Array  # (D,)
    hi: Array  # (D,)
    prior_mean: Array  # (D,)
    unit: Array  # (D,): output c is unit[c] times what the model describes
    epsilon: float
    delta: float
    calibration: Calibration
    design: DesignName
    decode: Decode
    rank: int | None = None
    groups: NDArray[np.int64] | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("design", DesignName), ("decode", Decode)):
            value = getattr(self, name)
            if value not in get_args(allowed):
                raise ValueError(f"{name} must be one of {get_args(allowed)}, got {value!r}")
        if self.rank is not None and self.decode == "direct":
            raise ValueError(
                "rank cannot be combined with decode='direct', which needs the whole row space of "
                "the workload; use decode='bayes' or drop rank"
            )
        if self.rank is not None and not (isinstance(self.rank, Integral) and self.rank >= 1):
            raise ValueError(f"rank must be a whole number >= 1 or None, got {self.rank!r}")
        # Refuse a bad budget before any work is done; without noise, too.
        gaussian_sigma(
            1.0 if self.epsilon == math.inf else self.epsilon, self.delta, self.calibration
        )

    @property
    def sigma(self) -> float:
        """The noise for one unit of sensitivity; 0 for epsilon = inf."""
        if math.isinf(self.epsilon) and self.epsilon > 0:
            return 0.0
        return gaussian_sigma(self.epsilon, self.delta, self.calibration)

    @property
    def noise_std(self) -> float:
        """The noise in each published value."""
        return self.sigma * math.sqrt(len(self.lo))

    @property
    def people(self) -> int:
        """How many people there are: rows, or owners of rows."""
        return len(self.model.X) if self.groups is None else len(np.unique(self.groups))

    def decoder(self, T: Array, column: int = 0) -> Decoder:
        """Return the decoder of one output column for the rounded sketch T."""
        unit = self.unit[column]
        lo, hi, mean = (v[column] / unit for v in (self.lo, self.hi, self.prior_mean))
        return Decoder(
            model=self.model,
            T=T,
            noise_std=self.noise_std,
            lo=float(lo),
            width=float(hi - lo),
            prior_mean=float(mean),
            kind=self.decode,
            unit=float(unit),
        )

    def find_design(self) -> Design:
        """Choose T: public maths, whatever it costs in time."""
        C = self.model.workload(self.points)
        width = float(np.max((self.hi - self.lo) / self.unit))
        floor = float(self.weights @ self.model.variance_without_privacy(self.points, C))
        if self.noise_std == 0.0:
            return _lossless(self.model, floor)
        if self.design == "bayes":
            prior = Prior(
                C=width * C,
                diagonal=self.model.diagonal / width**2,
                factor=self.model.factor / width,
                sigma=self.noise_std,
                weights=self.weights,
                floor=floor,
            )
            return bayes(prior, rank=self.rank)
        if self.design == "total":
            return total(C, self.weights)
        return volume(C) if self.design == "volume" else worst(C)

    def sketch(self, design: Design) -> Sketch:
        """Turn a design into a sketch that the core accepts: rows worth publishing, on a grid."""
        T = design.T
        if self.groups is not None:
            T = fit_groups(T, self.groups, together=self.decode == "direct")
        if self.noise_std > 0.0 and len(T):
            # A rotation keeps every length, also those of owners' sums.
            _, size, directions = np.linalg.svd(T, full_matrices=False)
            rounding = math.sqrt(T.shape[1]) * 2.0**-SKETCH_BITS
            keep = size > max(SMALLEST_ROW * size[0], rounding)
            if self.rank is not None:
                keep[self.rank :] = False
            T = size[keep, None] * directions[keep]
        # Rounding in the rotation may leave a column longer than 1 by a few units of 1e-16.
        T = T / np.maximum(np.sqrt(np.einsum("ri,ri->i", T, T)), 1.0)
        return quantise(T)


def _lossless(model: LinearModel, floor: float) -> Design:
    """Return the sketch of a release without noise: everything that predictions depend on."""
    N = len(model.X)
    status = "no noise is added: this is not private"
    if N <= MOST_IDENTITY:
        return Design(np.eye(N), floor, 0.0, status)
    # Fᵀ D⁻¹ y is all that a sparse model uses of y.
    Q = np.linalg.qr(model.factor / model.diagonal[:, None])[0].T
    return Design(Q / np.sqrt(np.einsum("ri,ri->i", Q, Q).max()), floor, 0.0, status)


@dataclass(frozen=True)
class Plan:
    """What a release would publish and how good it would be.  Nothing is spent yet."""

    blueprint: Blueprint
    design: Design
    sketch: Sketch

    @classmethod
    def draw(cls, blueprint: Blueprint) -> Plan:
        """Find the design and work out what follows."""
        design = blueprint.find_design()
        return cls(blueprint, design, blueprint.sketch(design))

    @property
    def epsilon(self) -> float:
        """The budget ε that the release would spend."""
        return self.blueprint.epsilon

    @property
    def delta(self) -> float:
        """The budget δ that the release would spend."""
        return self.blueprint.delta

    @property
    def points(self) -> Array:
        """The workload points (P, L) that the design cares about."""
        return self.blueprint.points

    @property
    def gap(self) -> float:
        """The certificate: how far the design may be from the best possible, relatively."""
        return self.design.gap

    @property
    def published_values(self) -> int:
        """How many numbers the release would publish."""
        return self.sketch.matrix.shape[0] * len(self.blueprint.lo)

    @cached_property
    def noise_std(self) -> Array:
        """What privacy adds to the standard deviation at each point, (P,) or (P, D)."""
        return self._by_column(lambda decoder: np.sqrt(decoder.dp_variance(self.points)))

    @cached_property
    def floor_std(self) -> Array:
        """The standard deviation at each point without any privacy, (P,) or (P, D)."""
        return self._by_column(lambda decoder: decoder.uncertainty(self.points).latent)

    @property
    def total_std(self) -> Array:
        """The standard deviation of the prediction at each point, privacy included."""
        return np.hypot(self.noise_std, self.floor_std)

    @property
    def forecast_rmse(self) -> float:
        """Expected root mean squared distance to the non-private model over the workload."""
        squared = self.noise_std**2
        if squared.ndim == 2:
            squared = squared.mean(axis=1)
        return float(np.sqrt(self.blueprint.weights @ squared))

    def compare_epsilons(self, epsilons: tuple[float, ...] = EPSILONS) -> pd.DataFrame:
        """Return what the same release would cost in accuracy at other budgets."""
        return pd.DataFrame([self._with(epsilon=float(e))._row() for e in epsilons])

    def compare_designs(self) -> pd.DataFrame:
        """Return what the other designs would give at the same budget."""
        return pd.DataFrame([self._with(design=name)._row() for name in get_args(DesignName)])

    def required_epsilon(self, max_std: float) -> float:
        """Return the smallest ε at which privacy adds at most ``max_std`` at every point.

        Exact to one part in a thousand, on the safe side.  Spends nothing.
        """
        if not (isinstance(max_std, Real) and max_std > 0):
            raise ValueError(f"max_std must be a number > 0, got {max_std!r}")

        def good(epsilon: float) -> bool:
            return float(self._with(epsilon=epsilon).noise_std.max()) <= max_std

        low, high = SMALLEST_EPSILON, LARGEST_EPSILON
        if self.blueprint.calibration == "hall":
            high = 1.0
        if not good(high):
            raise ValueError(
                f"even epsilon={high:g} leaves noise above max_std={max_std:g} at some point; "
                "allow more noise, use a smoother kernel or fewer inducing inputs, or more people"
            )
        if good(low):
            return low
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if good(middle) else (middle, high)
        return high

    def summary(self) -> str:
        """Say in a few lines what would be released and at what price."""
        b = self.blueprint
        guarantee = f"(epsilon={b.epsilon:g}, delta={b.delta:g})-private"
        if b.noise_std == 0.0:
            guarantee = "NOT PRIVATE: epsilon is infinite"
        lines = [
            f"Release of {self.published_values} numbers about {b.people} people, {guarantee}.",
            f"Noise added to the predictions at {len(self.points)} points: typically "
            f"{self.forecast_rmse:.3g}, at most {self.noise_std.max():.3g} (standard deviations).",
            "Without privacy the prediction itself would be uncertain by "
            f"{self.floor_std.mean():.3g}.",
            f"Design '{b.design}', decoded '{b.decode}', calibration '{b.calibration}'. "
            f"{self.design.status[0].upper()}{self.design.status[1:]}.",
        ]
        if b.groups is not None:
            lines.append(
                "The certificate is of the sketch before it was scaled to fit people with several "
                "rows."
            )
        if b.model.jitter:
            lines.append(
                f"The kernel matrix is nearly singular: {b.model.jitter:.1e} was added to its "
                "diagonal."
            )
        if self.sketch.matrix.shape[0] == 0:
            lines.append(
                "The predictions do not depend on anybody's output: nothing would be published. "
                "The kernel's lengthscale is probably far too small, or the points far away."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan's figures for machines."""
        b = self.blueprint
        return {
            "epsilon": b.epsilon,
            "delta": b.delta,
            "sigma": b.sigma,
            "calibration": b.calibration,
            "design": b.design,
            "decode": b.decode,
            "people": b.people,
            "published_values": self.published_values,
            "forecast_rmse": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "gap": self.design.gap,
            "status": self.design.status,
            "jitter": b.model.jitter,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the noise at every workload point as a table."""
        names = self.blueprint.feature_names
        names = names or tuple(f"x{i}" for i in range(self.points.shape[1]))
        frame = pd.DataFrame(self.points, columns=list(names))
        columns = {
            "noise_std": self.noise_std,
            "total_std": self.total_std,
            "floor_std": self.floor_std,
        }
        for name, values in columns.items():
            for c, column in enumerate(values.reshape(len(frame), -1).T):
                frame[name if values.ndim == 1 else f"{name}_{c}"] = column
        return frame

    def plot(self, **kwargs: Any) -> Figure:
        """Draw the noise that privacy would add, for one or two input dimensions."""
        from cloakgp.plot import plot_plan

        return plot_plan(self, **kwargs)

    def __str__(self) -> str:
        return self.summary()

    def _with(self, **changes: Any) -> Plan:
        if all(getattr(self.blueprint, name) == value for name, value in changes.items()):
            return self
        if changes.get("epsilon", 0.0) > 1.0 and self.blueprint.calibration == "hall":
            changes["calibration"] = "analytic"  # hall is not defined there
        return Plan.draw(replace(self.blueprint, **changes))

    def _row(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "design": self.blueprint.design,
            "calibration": self.blueprint.calibration,
            "typical_noise_std": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "published_values": self.published_values,
            "gap": self.gap,
        }

    def _by_column(self, of: Any) -> Array:
        T = self.sketch.rounded
        columns = [of(self.blueprint.decoder(T, c)) for c in range(len(self.blueprint.lo))]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
