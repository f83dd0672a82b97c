"""The published facts of a release: what its file, its checks and its statement are made from.

Plain values and what follows from them at once.  ``Release`` adds predicting, saving and drawing to
these facts.
"""

from __future__ import annotations

import datetime
import math
import uuid
from dataclasses import dataclass, field
from typing import Any

from cloakgp._version import __version__
from cloakgp.plan.facts import Facts
from cloakgp.plan.parts import Chosen, ChosenBounds, Part
from cloakgp.privacy import NoisySketch, Sketch, Spend


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Published:
    """The noisy sketch and every public fact needed to use it and to check its guarantee."""

    facts: Facts
    sketch: Sketch
    noisy: NoisySketch
    gap: float
    status: str
    target_names: tuple[str, ...] | None = None
    release_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: str = field(default_factory=_now)
    version: str = __version__
    later: tuple[Part, ...] = ()  # of further iterations, which share the budget
    selection: Chosen | None = None  # how its settings were chosen, if privately
    bounds_choice: ChosenBounds | None = None  # how its bounds were chosen, if privately
    #: Hashes of the file that this was loaded from; a copy with other contents does not inherit it.
    digests: dict[str, bytes] | None = field(default=None, init=False, compare=False, repr=False)
    #: What follows from all this and takes a while, by name; neither copied nor saved.
    found: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything that was published, iteration by iteration."""
        return (Part(self.sketch, self.noisy), *self.later)

    @property
    def members(self) -> tuple[Published, ...]:
        """The releases that are decoded together: this one, or those that it combines."""
        return (self,)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What it cost each person in it, in the order in which it was spent."""
        # Parts of a budget have √k times the noise, and together tell as much as one without that.
        drawn = Spend.gaussian(self.noisy.sigma / math.sqrt(self.noisy.parts))
        return (*self.choices, drawn)

    @property
    def published_values(self) -> int:
        """How many numbers were published."""
        return sum(part.noisy.values.size for part in self.parts)

    @property
    def epsilon(self) -> float:
        """The ε that was spent."""
        return self.noisy.epsilon

    @property
    def delta(self) -> float:
        """The δ that was spent."""
        return self.noisy.delta

    @property
    def total_epsilon(self) -> float:
        """The ε that was spent at ``delta``, private choices of settings and bounds included."""
        if self.bounds_choice is not None:
            return self.bounds_choice.total_epsilon
        return self.epsilon if self.selection is None else self.selection.total_epsilon

    @property
    def choices(self) -> tuple[Spend, ...]:
        """What private choices before the release have spent, in order."""
        bounds = () if self.bounds_choice is None else self.bounds_choice.spends
        return bounds if self.selection is None else (*bounds, self.selection.spend)

    @property
    def chosen(self) -> str:
        """What was chosen privately, in words; empty if nothing was."""
        named = ("bounds", self.bounds_choice), ("settings", self.selection)
        return " and ".join(name for name, choice in named if choice is not None)

    @property
    def private(self) -> bool:
        """Whether this carries a guarantee: False for repeatable noise and for none."""
        return all(part.noisy.private and part.noisy.epsilon < math.inf for part in self.parts)

    @property
    def cases(self) -> tuple[tuple[Spend, ...], ...]:
        """What one person has paid, in each case that there may be."""
        return (self.spends,)

    @property
    def plain(self) -> bool:
        """Whether the one output was given as a plain column, and so are predictions."""
        return all(part.noisy.values.ndim == 1 for part in self.parts)

    @property
    def outputs(self) -> int:
        """Number of output columns."""
        return len(self.facts.lo)

    @property
    def named_targets(self) -> list[str]:
        """Names of the private columns, invented where there are none."""
        invented = self.facts.outcome.names(self.outputs)
        given = self.target_names or ()
        return [*given] if len(given) == len(invented) else invented
