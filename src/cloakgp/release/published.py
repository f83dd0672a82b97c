"""What was published, as data: the specification, the noisy parts, and what was chosen before.

``Release`` adds what can be done with it.  Beside it are the two questions that every prediction
answers: f is a Gaussian process and knows no bounds, so its mean and its band may leave them far
from people (``clip``); and an interval is of f, or of one more person (``of``).
"""

from __future__ import annotations

import datetime
import math
import uuid
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cloakgp._version import __version__
from cloakgp.privacy import NoisySketch, Sketch, Spend
from cloakgp.release.spec import Chosen, ChosenBounds, Part, ReleaseSpec
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]
Clip = Literal["bounds"]


def check_clip(clip: Clip | None) -> None:
    """Refuse what says neither that predictions are clipped nor that they are not."""
    if clip is not None and not (isinstance(clip, str) and clip == "bounds"):
        raise ValueError(
            f'clip must be "bounds" or None, for predictions as they are, got {clip!r}'
        )


def clipped(values: Array, lo: Array, hi: Array, clip: Clip | None) -> Array:
    """Return predictions (P,) or (P, D) as asked for: within their bounds (D,), or as they are."""
    check_clip(clip)
    return values if clip is None else np.clip(values, lo, hi)


Of = Literal["curve", "person"]


def check_interval(coverage: float, of: Of) -> float:
    """Return the probability that is left out at either end."""
    if of not in get_args(Of):
        raise ValueError(f"of must be one of {get_args(Of)}, got {of!r}")
    if not (isinstance(coverage, Real) and 0.0 < coverage < 1.0):
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}")
    return 0.5 - 0.5 * float(coverage)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@single_threaded
@dataclass(frozen=True)
class Published:
    """The noisy sketch and every public fact needed to use it and to check its guarantee."""

    spec: ReleaseSpec
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
    def facts(self) -> ReleaseSpec:
        """The former name of ``spec``."""
        return self.spec

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
        """What it cost each person in it, in the order in which it was spent.

        Counted as a ledger does: where one person is replaced, whatever ``neighbours`` are.
        """
        return (*self.choices, self._drawn.replacing(self.spec.neighbours))

    @property
    def _drawn(self) -> Spend:
        """What its noise is for: its own neighbours."""
        if self.noisy.mechanism == "laplace":
            return Spend("pure", self.noisy.epsilon)
        # Parts of a budget have √k times the noise, and together tell as much as one without that.
        return Spend.gaussian(self.noisy.sigma / math.sqrt(self.noisy.parts))

    @property
    def published_values(self) -> int:
        """How many numbers were published."""
        squares = [part.noisy.squares for part in self.parts if part.noisy.squares is not None]
        return sum(part.noisy.values.size for part in self.parts) + sum(map(len, squares))

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
        """What one person has paid, in each case that there may be, for the own neighbours."""
        return ((*self.choices, self._drawn),)

    @property
    def plain(self) -> bool:
        """Whether the one output was given as a plain column, and so are predictions."""
        if self.spec.rows is not None:  # these have a column for each share
            return self.outputs == 1
        return all(part.noisy.values.ndim == 1 for part in self.parts)

    @property
    def outputs(self) -> int:
        """Number of output columns."""
        return len(self.spec.lo)

    @property
    def named_targets(self) -> list[str]:
        """Names of the private columns, invented where there are none."""
        invented = self.spec.outcome.names(self.outputs)
        given = self.target_names or ()
        return [*given] if len(given) == len(invented) else invented
