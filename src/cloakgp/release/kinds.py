"""Releases with more to them than others: those of labels and of counts, and several together.

What is predicted of each kind of outputs is in ``posterior``; here is what can be asked of one kind
alone.  A combination answers for its members, whatever their outputs are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy import NoisySketch, Sketch, Spend
from cloakgp.release.combine.contents import check_combined, combined_to_archive, count_member_sizes
from cloakgp.release.combine.pooled import Overlap, common_delta, joint_epsilon, joint_spends
from cloakgp.release.combine.statement import combined_statement
from cloakgp.release.combine.verify import verify_combination
from cloakgp.release.file.cost import Sizes
from cloakgp.release.outputs import Counts, Labels, Numbers, Rate
from cloakgp.release.posterior import LabelPredictor, Posterior
from cloakgp.release.release import Release
from cloakgp.release.signature.check import SignatureCheck
from cloakgp.release.spec import Part
from cloakgp.release.verify import VerificationReport
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]


@single_threaded
class LabelRelease(Release, of=Labels):
    """A published sketch of class labels: gives probabilities anywhere.

    ``fit`` of ``PrivateGPClassifier`` makes it.  It has all that a ``Release`` has.

    See Also
    --------
    Release : What it is made of, how it is saved, verified and reported.
    """

    @property
    def classes(self) -> NDArray[Any]:
        """The public classes."""
        return np.array(self.spec.classes)

    @overload
    def predict_proba(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict_proba(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def predict_proba(self, X: ArrayLike, return_std: bool = False) -> Any: ...

    def predict_proba(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the probability of each class at X.

        Integrated over the uncertainty of f, DP noise included: far from people, or with a lot of
        noise, probabilities approach those of the prior.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return how uncertain each probability is, the DP noise included.

        Returns
        -------
        probabilities : array of shape (P, K)
            One column for each class, in the order of ``classes``.
        std : array of shape (P, K)
            With ``return_std``: the standard deviation of each probability, of more than two
            classes each against the rest.
        """
        points, labels = self.check_points(X), LabelPredictor(Posterior(self))
        return labels.with_std(points) if return_std else labels.probabilities(points)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of the probability at X.

        ``latent`` has the mean of f itself, which is further out where f is uncertain.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        log_odds : array of shape (P,) or (P, K)
            Of the second class, if there are two; else of each class against the rest.
        """
        return LabelPredictor(Posterior(self)).log_odds(self.check_points(X))

    def probability_band(self, X: ArrayLike, half: float, dp_only: bool = False) -> Array:
        """Return the probabilities at so many standard deviations of f below and above its mean.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        half : float
            How many standard deviations.
        dp_only : bool, default=False
            Whether only what privacy adds counts.

        Returns
        -------
        band : array of shape (2, P, D)
            Lower and upper probabilities.
        """
        return LabelPredictor(Posterior(self)).band(self.check_points(X), half, dp_only)


@single_threaded
class CountRelease(Release, of=Counts):
    """A published sketch of counts: gives rates anywhere.

    ``fit`` of ``PrivateGPCountRegressor`` makes it.  It has all that a ``Release`` has.

    See Also
    --------
    Release : What it is made of, how it is saved, verified and reported.
    """

    @property
    def rate(self) -> Rate:
        """What predictions are of what is known of a rate: its "median", or its "mean"."""
        outcome = self.spec.outcome
        assert isinstance(outcome, Counts)
        return outcome.rate


@single_threaded
@dataclass(frozen=True, eq=False, repr=False)
class Combination(Release, of=Numbers, several=True):
    """Several releases that predict together: made by ``Release.combine``.

    It has no sketch and no noise of its own.  What it shares with its members is one specification
    (``combine.pooled``); what was published and what that cost follow from theirs.

    Attributes
    ----------
    members : tuple of Release
        The releases, as they were published.
    overlap : "unknown" or "disjoint"
        Whether a person may be in several of them.
    """

    # Those of its members count.
    sketch: Sketch = field(init=False)
    noisy: NoisySketch = field(init=False)
    gap: float = field(init=False)
    status: str = field(init=False)
    members: tuple[Release, ...] = ()
    overlap: Overlap = "unknown"

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for member in self.members for part in member.parts)

    @cached_property
    def epsilon(self) -> float:
        """The ε that holds for everybody at ``delta``, choices of settings and bounds included."""
        return joint_epsilon(self.members, self.overlap)

    @property
    def delta(self) -> float:
        return common_delta(self.members)

    @property
    def total_epsilon(self) -> float:
        return self.epsilon

    @property
    def spends(self) -> tuple[Spend, ...]:
        return joint_spends(self.members)

    @property
    def choices(self) -> tuple[Spend, ...]:
        return tuple(spend for member in self.members for spend in member.choices)

    @property
    def cases(self) -> tuple[tuple[Spend, ...], ...]:
        if self.overlap == "disjoint":
            return tuple(member.spends for member in self.members)
        return (self.spends,)

    def checked(
        self, signature: SignatureCheck, inputs: Any = None, exposure: Any = None
    ) -> VerificationReport:
        """Check every member again, and that they can be decoded together.

        ``inputs`` are those of one release: give them to ``members[i].verify`` instead.
        """
        if inputs is not None or exposure is not None:
            raise ValueError(
                "inputs belong to one release, and this combines several; compare them one by one: "
                "combination.members[0].verify(inputs)"
            )
        return verify_combination(self, signature)

    def _checked_hastily(self) -> VerificationReport:
        return verify_combination(self, hasty=True)

    def statement(self) -> str:
        return combined_statement(self)

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return combined_to_archive(self)

    def _models(self, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Sizes]:
        return count_member_sizes(check_combined(manifest, arrays), arrays)

    def __repr__(self) -> str:
        kind = "private" if self.private else "NOT PRIVATE"
        return (
            f"{type(self).__name__}({len(self.members)} releases, {self.spec.people} people, "
            f"{self.published_values} values, epsilon={self.total_epsilon:g}, "
            f"delta={self.delta:g}, {kind})"
        )


class LabelCombination(Combination, LabelRelease, of=Labels, several=True):
    """Several releases of class labels that predict together."""


class CountCombination(Combination, CountRelease, of=Counts, several=True):
    """Several releases of counts that predict together."""
