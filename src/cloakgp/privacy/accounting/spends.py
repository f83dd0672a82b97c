"""A spend: what one release or choice may have revealed.  Sees no data.  Proof: ``totals.md``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cloakgp.privacy.mechanism.budget import Budget
from cloakgp.privacy.mechanism.calibration import LARGEST_EPSILON
from cloakgp.privacy.mechanism.numbers import as_number
from cloakgp.privacy.mechanism.whole_rows import Neighbours, rows_sensitivity

Kind = Literal["gaussian", "bounded-range", "pure"]

#: A release with Laplace noise for adding or removing a person costs twice its ε.
LARGEST_SIZES = {"gaussian": 1e3, "pure": 2.0 * LARGEST_EPSILON}


# Proof: totals.md
@dataclass(frozen=True)
class Spend:
    """What one release may reveal: its kind, and 1/σ for a Gaussian (unit sensitivity), else ε.

    Parameters
    ----------
    kind : {"gaussian", "bounded-range", "pure"}
        "bounded-range" is the exponential mechanism, "pure" any ε-private mechanism.
    size : float
        1/σ of a Gaussian, ε of the others.

    See Also
    --------
    total_guarantee : What several spends amount to.

    Examples
    --------
    >>> from cloakgp.privacy import Spend
    >>> Spend.gaussian(4.0)
    Spend(kind='gaussian', size=0.25)
    """

    kind: Kind
    size: float

    def __post_init__(self) -> None:
        if self.kind not in ("gaussian", "bounded-range", "pure"):
            raise ValueError(
                f"kind must be 'gaussian', 'bounded-range' or 'pure', got {self.kind!r}"
            )
        object.__setattr__(self, "size", as_number("size", self.size))
        largest = LARGEST_SIZES.get(self.kind, LARGEST_EPSILON)
        if not 0 < self.size <= largest:
            raise ValueError(
                f"the size of a {self.kind} spend must lie above 0 and be at most {largest:g}, "
                f"got {self.size!r}"
            )

    @classmethod
    def of(cls, budget: Budget, neighbours: Neighbours = "replace") -> Spend:
        """Return the spend of everything that a budget is for, where one person is replaced.

        Parameters
        ----------
        budget : Budget
            With noise.
        neighbours : {"replace", "add-remove"}, default="replace"
            For which the noise was chosen.  If whole rows were protected for adding or removing one
            person, replacing one costs more.

        Returns
        -------
        spend : Spend
            Pure for Laplace noise.
        """
        if budget.mechanism == "laplace":
            return cls("pure", budget.epsilon).replacing(neighbours)
        return cls.gaussian(budget.sigma).replacing(neighbours)

    def replacing(self, neighbours: Neighbours) -> Spend:
        """Return what a spend for these neighbours is where one person is replaced.

        Parameters
        ----------
        neighbours : {"replace", "add-remove"}
            For which this is the spend.

        Returns
        -------
        spend : Spend
            √2 times the size for Gaussian noise, else 2 times, if it was for adding or removing.
        """
        norm = 2 if self.kind == "gaussian" else 1
        more = rows_sensitivity("replace", 1, norm) / rows_sensitivity(neighbours, 1, norm)
        return Spend(self.kind, more * self.size)

    @classmethod
    def gaussian(cls, sigma: float) -> Spend:
        """Return the spend of Gaussian noise.

        Parameters
        ----------
        sigma : float
            Its standard deviation per unit of sensitivity.

        Returns
        -------
        spend : Spend
            Of size 1/σ.
        """
        number = as_number("sigma", sigma)
        if not number > 0:
            raise ValueError(f"sigma must be a number > 0, got {sigma!r}")
        return cls("gaussian", 1.0 / number)
