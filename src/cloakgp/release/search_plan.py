"""What a private search would do, and how well it can be expected to choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, softmax
from sklearn.gaussian_process.kernels import Kernel

from cloakgp.data.table import Table
from cloakgp.gp.kernels.grammar import kernel_string
from cloakgp.privacy import Fold, Spend
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import FAILURE, Mechanism
from cloakgp.release.card import card
from cloakgp.release.privacy_unit import PrivacyUnit
from cloakgp.release.settings import EstimatorSettings
from cloakgp.release.spec import Chosen, ChosenBounds, ReleaseSpec
from cloakgp.release.summary import several_rows
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]
Params = dict[str, Any]

#: Gaps between losses for which a plan says how likely the better candidate is chosen.
GAPS = (0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Forecast:
    """Mean errors to be expected if one of the candidates is true, in the units of the loss.

    Attributes
    ----------
    search : float
        Of a release with the candidate that is chosen.
    alone : float
        Of a release with the estimator as it is and the whole budget.
    whole_epsilon : float
        The whole budget, at the δ of the release.
    """

    search: float
    alone: float
    whole_epsilon: float

    @property
    def search_pays(self) -> bool:
        """Whether the search is expected to err less than the estimator as it is."""
        return self.search < self.alone


@single_threaded
@dataclass(frozen=True)
class SearchPlan:
    """What a search would do and how well it can be expected to choose.  Nothing is spent yet.

    Made by ``PrivateGridSearch.plan``.

    Attributes
    ----------
    candidates : tuple of dict
        The settings to choose among.
    folds : tuple of tuples of Fold
        The linear predictor of every candidate in every fold.
    sensitivities : array
        How far one person can move the summed loss of each candidate.
    noise : array
        The typical noise of a release with each candidate, as a standard deviation.
    kept : array of bool
        Which candidates are not too sensitive.
    bounds : (lo, hi)
        The bounds of outputs and predictions.
    loss : {"absolute", "squared"}
        What is compared.
    mechanism : str
        How the choice is made.
    selection_epsilon : float
        What the choice spends; 0 if there is nothing to choose.
    release_epsilon : float
        What the release spends.
    delta : float
        The δ of the release, and of both together.
    spends : tuple of Spend
        What is spent, in order.
    total_epsilon : float
        The ε of choice and release together.
    refit : bool
        Whether a release follows and is counted.
    table : Table
        What it was made for: public facts alone.
    settings : EstimatorSettings
        Those of the search and its estimator.
    bounds_choice : ChosenBounds or None
        What the release will say of bounds that were chosen privately before, if they were.
    forecast : Forecast or None
        The errors to be expected with and without the search; None if there is nothing to choose.
    """

    candidates: tuple[Params, ...]
    folds: tuple[tuple[Fold, ...], ...]
    sensitivities: Array
    noise: Array
    kept: NDArray[np.bool_]
    bounds: tuple[float, float]
    loss: Loss
    mechanism: Mechanism
    selection_epsilon: float
    release_epsilon: float
    delta: float
    spends: tuple[Spend, ...]
    total_epsilon: float
    refit: bool
    table: Table
    settings: EstimatorSettings
    bounds_choice: ChosenBounds | None = None
    forecast: Forecast | None = None

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """What sentences call those who are protected."""
        return PrivacyUnit.of(self.settings.values["estimator__unit"])

    def check_same(self, table: Table, settings: EstimatorSettings) -> None:
        """Refuse to stand for what is asked for now, unless it is the same in every digit.

        Parameters
        ----------
        table : Table
            What a fit is given.
        settings : EstimatorSettings
            Those of the search and its estimator.

        Raises
        ------
        ValueError
            If inputs or settings differ; the message names them.
        """
        self.settings.check_maker(settings)
        self.table.check_same(table)
        self.settings.check_same(settings)

    @property
    def X(self) -> Array:
        """The public inputs (N, L)."""
        return self.table.model_rows

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """The owners of the rows, as numbers."""
        return self.table.owners

    @property
    def chosen(self) -> Chosen | None:
        """What a release will say about the choice; None if one candidate is left."""
        if self.selection_epsilon == 0.0:
            return None
        return Chosen(
            epsilon=self.selection_epsilon,
            mechanism=self.mechanism,
            loss=self.loss,
            candidates=int(self.kept.sum()),
            total_epsilon=self.total_epsilon,
        )

    @property
    def width(self) -> float:
        """The range of a prediction, and the largest error of one."""
        return self.bounds[1] - self.bounds[0]

    def chance(self, gap: float) -> float:
        """Return how likely the best candidate is chosen if all others are worse by ``gap``.

        Others that are worse by more only make it likelier.  The generalised mechanism prefers
        candidates of small sensitivity: there it is the chance of the candidate it likes least, and
        what is worse by more makes it likelier for certain only if all sensitivities are equal.

        Parameters
        ----------
        gap : float
            A difference of mean losses, in the units of the loss.

        Returns
        -------
        chance : float
            A probability.
        """
        if not gap >= 0.0:
            raise ValueError(f"gap must be a number >= 0, got {gap!r}")
        sensitivities = self.sensitivities[self.kept]
        n, total = len(sensitivities), gap * self.tested
        if n == 1:
            return 1.0
        if self.mechanism == "generalised":
            return _least_chance(sensitivities, total, self.selection_epsilon)
        p = math.exp(-self.selection_epsilon * total / (2.0 * float(sensitivities.max())))
        if self.mechanism == "exponential":
            return 1.0 / (1.0 + (n - 1) * p)
        if p in (0.0, 1.0):
            return 1.0 if p == 0.0 else 1.0 / n
        # The others come before it in a random number of places, and each is taken with p.
        return -math.expm1(n * math.log1p(-p)) / (n * p)

    @property
    def tested(self) -> int:
        """How many rows are tested, in all folds together."""
        return sum(len(np.asarray(fold.test)) for fold in self.folds[0])

    def to_frame(self) -> pd.DataFrame:
        """Return the public facts of every candidate as a table.

        Returns
        -------
        table : DataFrame
            The settings of each candidate, its sensitivity and noise, and whether it is kept.
        """
        frame = pd.DataFrame([{k: _shown(v) for k, v in c.items()} for c in self.candidates])
        frame["sensitivity"], frame["release_noise_std"] = self.sensitivities, self.noise
        frame["kept"] = self.kept
        return frame

    def chances(self, gaps: Sequence[float] | None = None) -> pd.DataFrame:
        """Return the chance of choosing the best candidate, by how much better it is.

        Parameters
        ----------
        gaps : sequence of float, default=None
            Differences of mean losses.  None: shares of the largest loss there is.

        Returns
        -------
        table : DataFrame
            Columns ``better_by`` and ``chance_of_best``.
        """
        top = self.width if self.loss == "absolute" else self.width**2
        given = [share * top for share in GAPS] if gaps is None else list(gaps)
        return pd.DataFrame(
            {"better_by": given, "chance_of_best": [self.chance(gap) for gap in given]}
        )

    def summary(self) -> str:
        """Say what the search would spend and how well it can be expected to choose.

        Returns
        -------
        text : str
            Plain text; ``print(plan)`` shows the same.
        """
        return self.privacy_unit.told(self._summary())

    def _summary(self) -> str:
        owned = "" if self.groups is not None else f"\n{several_rows(len(self.X))}"
        n = int(self.kept.sum())
        dropped = len(self.kept) - n
        left_out = f" ({dropped} too sensitive ones left out)" if dropped else ""
        if self.chosen is None:
            return (
                f"One candidate{left_out}: there is nothing to choose, so nothing is spent on a "
                f"choice.\n{self._cost()}{self._before()}{owned}"
            )
        lines = [
            f"Private choice of one of {n} candidates{left_out} at epsilon="
            f"{self.selection_epsilon:g} ({self.mechanism}, {self.loss} error), by the outputs of "
            f"{self.tested} rows.",
            f"{self._cost()}{self._before()}{owned}",
            "Chance of choosing the best candidate, if its mean error is lower than all others' by "
            "at least:",
        ]
        for gap, chance in self.chances().itertuples(index=False):
            lines.append(f"  {gap:.3g}: {100.0 * chance:.0f} %")
        lines.append(f"By blind chance it would be {100.0 / n:.0f} %.")
        if self.forecast is not None:
            lines.append(self._advice(self.forecast))
        return "\n".join(lines)

    def _advice(self, expected: Forecast) -> str:
        """Say whether the search is likely to be worth its budget."""
        compared = (
            f"expected {self.loss} error {expected.search:.3g}, against {expected.alone:.3g} for "
            f"the estimator as it is with the whole budget (epsilon={expected.whole_epsilon:.4g}), "
            "if one of the candidates is right"
        )
        if expected.search_pays:
            return f"The search is likely to pay: {compared}."
        return (
            f"The search is NOT likely to pay: {compared}. Leave it out and release with the whole "
            "budget, or give it fewer candidates or more budget."
        )

    def _cost(self) -> str:
        release = f"(epsilon={self.release_epsilon:g}, delta={self.delta:g})"
        if self.chosen is None:
            return (
                f"The release at {release} is all that is spent."
                if self.refit
                else "No release follows, so nothing is spent at all."
            )
        if not self.refit:
            return f"The noise is that of a release at {release}, which is not included here."
        return (
            f"With the release at {release} both together are (epsilon={self.total_epsilon:.4g}, "
            f"delta={self.delta:g})-private."
        )

    def _before(self) -> str:
        """Say what bounds have cost that were chosen before, if they were."""
        bounds, limit = self.bounds_choice, self.table.limit
        if bounds is None:
            return ""
        read = ""
        if limit is not None and bounds.may_have_read(limit):
            read = " It may have counted the rows that are left out, too."
        return (
            f"\nThe bounds were chosen privately before, at epsilon={bounds.epsilon:g}, for people "
            f"with up to {bounds.most_rows} row(s): with that, everything together is (epsilon="
            f"{bounds.total_epsilon:.4g}, delta={self.delta:g})-private.{read}"
        )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"SearchPlan({len(self.kept)} candidates, epsilon={self.total_epsilon:g}, "
            f"delta={self.delta:g})"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        first, *rest = self.summary().splitlines()
        return card("Plan of a search: nothing is spent yet", [("what", first)], "\n".join(rest))


def _least_chance(sensitivities: Array, gap: float, epsilon: float) -> float:
    """Return the chance of the best candidate, whichever it is, under the generalised mechanism."""
    n = len(sensitivities)
    pairs = sensitivities[:, None] + sensitivities
    shift = 2.0 * math.log(n / FAILURE) / epsilon * sensitivities
    least = 1.0
    for best in range(n):
        level = shift + np.where(np.arange(n) == best, 0.0, gap)
        score = np.max((level[:, None] - level) / pairs, axis=1)
        weight = np.exp(0.5 * epsilon * (score[best] - score))
        least = min(least, float(1.0 / weight.sum()))
    return least


def _shown(value: Any) -> Any:
    """Return a setting as a cell of a table; kernels in all their digits, where they can be."""
    if isinstance(value, Kernel):
        with suppress(ValueError):
            return kernel_string(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


#: Made-up data sets, in all, and candidates that are taken for true, at most.
DRAWS, MOST_TRUTHS = 60, 20
#: The noise of a release is averaged over so many equally likely values.
LEVELS = 15
_NOISE = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)


def draws_by_candidate(candidates: int) -> NDArray[np.int64]:
    """Return how many data sets are drawn from each prior: of many, some from first to last."""
    draws = np.zeros(candidates, dtype=np.int64)
    if candidates > 1:
        places = np.linspace(0, candidates - 1, min(candidates, MOST_TRUTHS))
        draws[places.round().astype(np.intp)] = math.ceil(DRAWS / len(places))
    return draws


def draw_outputs(spec: ReleaseSpec, count: int, rng: np.random.Generator) -> Array:
    """Draw made-up outputs of everybody from the prior, (count, N): one output column.

    Within the bounds; for two classes −1 and 1.
    """
    model, unit = spec.model, spec.unit[0]
    f = rng.standard_normal((count, model.factor.shape[1])) @ model.factor.T
    own = unit * np.sqrt(model.diagonal)
    bounds = spec.outcome.selection_bounds(spec.lo, spec.hi)
    return spec.outcome.draw(spec.prior_mean[0] + unit * f, own, bounds, rng)


def forecast(
    plan: SearchPlan, outputs: Array, alone: Sequence[Fold], whole_epsilon: float
) -> Forecast:
    """Average over made-up ``outputs`` (draws, N) how search and estimator would err.

    Permute-and-flip is taken for the exponential mechanism, which it is never worse than.
    """
    kept = [folds for folds, keep in zip(plan.folds, plan.kept, strict=True) if keep]
    sensitivities, epsilon = plan.sensitivities[plan.kept], plan.selection_epsilon
    losses = np.array([expected_losses(f, outputs, plan.bounds, plan.loss) for f in kept])
    if plan.mechanism == "generalised":
        shift = 2.0 * math.log(len(losses) / FAILURE) / epsilon * sensitivities
        level = plan.tested * losses + shift[:, None]  # (n, draws)
        pairs = sensitivities[:, None] + sensitivities
        score = np.max((level[:, None] - level[None]) / pairs[:, :, None], axis=1)
    else:
        score = plan.tested * losses / float(sensitivities.max())
    chances = softmax(-0.5 * epsilon * score, axis=0)
    return Forecast(
        search=float(np.mean(np.sum(chances * losses, axis=0))),
        alone=float(np.mean(expected_losses(alone, outputs, plan.bounds, plan.loss))),
        whole_epsilon=whole_epsilon,
    )


def expected_losses(
    folds: Sequence[Fold], outputs: Array, bounds: tuple[float, float], loss: Loss
) -> Array:
    """Return the mean loss over the tested rows for each draw, (draws,)."""
    total, tested = np.zeros(len(outputs)), 0
    for fold in folds:
        test, train = np.asarray(fold.test), np.asarray(fold.train)
        mean = np.asarray(fold.offset)[:, None] + np.asarray(fold.G) @ outputs[:, train].T
        mean, truth = np.clip(mean, *bounds), outputs[:, test].T
        for z in _NOISE:
            error = np.clip(mean + z * np.asarray(fold.tau)[:, None], *bounds) - truth
            errors = np.abs(error) if loss == "absolute" else np.square(error)
            total += errors.sum(axis=0) / LEVELS
        tested += len(test)
    return total / tested
