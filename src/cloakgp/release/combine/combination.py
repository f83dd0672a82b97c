"""Several releases that predict together: a release whose parts are those of its members.

It has no sketch and no noise of its own.  What it shares with its members is one specification
(``pooled``); what they cost together follows from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from cloakgp.privacy import NoisySketch, Sketch, Spend
from cloakgp.release.combine.contents import check_combined, combined_to_archive, count_member_sizes
from cloakgp.release.combine.pooled import Overlap, common_delta, joint_epsilon, joint_spends
from cloakgp.release.combine.statement import combined_statement
from cloakgp.release.combine.verify import verify_combination
from cloakgp.release.file.cost import Sizes
from cloakgp.release.latent import CountRelease, LabelRelease
from cloakgp.release.outputs import Counts, Labels, Numbers
from cloakgp.release.release import Release
from cloakgp.release.signature.check import SignatureCheck
from cloakgp.release.spec import Part
from cloakgp.release.verify import VerificationReport
from cloakgp.threads import single_threaded


@single_threaded
@dataclass(frozen=True, eq=False, repr=False)
class Combination(Release, of=Numbers, several=True):
    """Several releases that predict together: made by ``Release.combine``.

    Attributes
    ----------
    members : tuple of Release
        The releases, as they were published.
    overlap : "unknown" or "disjoint"
        Whether a person may be in several of them.
    """

    # It has no sketch and no noise of its own: those of its members count.
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

    def statement(self) -> str:
        return combined_statement(self)

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return combined_to_archive(self)

    def _models(self, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Sizes]:
        return count_member_sizes(check_combined(manifest, arrays), arrays)

    def __repr__(self) -> str:
        kind = "private" if self.private else "NOT PRIVATE"
        return (
            f"{type(self).__name__}({len(self.members)} releases, {self.spec.people} "
            f"{self.spec.privacy_unit.many}, "
            f"{self.published_values} values, epsilon={self.total_epsilon:g}, "
            f"delta={self.delta:g}, {kind})"
        )


class LabelCombination(Combination, LabelRelease, of=Labels, several=True):
    """Several releases of class labels that predict together."""


class CountCombination(Combination, CountRelease, of=Counts, several=True):
    """Several releases of counts that predict together."""
