"""The public facts of several releases together: everybody's inputs, and one prior for all.

Each row keeps the bounds of its own release.  There is no sketch to design: those of the releases
are decoded as one, each with the noise that was added to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from cloakgp.decode.decoder import Decoder, Newton
from cloakgp.gp.scaled import ScaledModel
from cloakgp.gp.shape import Shape
from cloakgp.gp.sparse import Approximation
from cloakgp.plan.facts import Array, Facts


@dataclass(frozen=True, kw_only=True)
class Pooled(Facts):
    """Facts that several releases share; ``lo`` and ``hi`` span the bounds of all of them."""

    row_lo: Array  # (N, D): the bounds of the release that a row belongs to
    row_hi: Array  # (N, D)
    together: int  # people, those who are in several releases counted in each

    @property
    def people(self) -> int:
        return self.together

    def decoder(self, T: Array, column: int = 0) -> Decoder:
        """Return the decoder of one output column for the sketches of all releases, T (r, N)."""
        decoder = super().decoder(T, column)
        if self.likelihood is not None:
            return decoder
        lo, width = self._span(column)
        return replace(decoder, lo=lo / decoder.unit, width=width / decoder.unit)

    def newton(self, decoder: Decoder, column: int = 0) -> Newton:
        assert self.likelihood is not None
        return Newton(decoder, self.likelihood, *self._span(column))

    @property
    def approximation(self) -> Literal["exact"] | Approximation:
        shape = self._shape
        if shape is None:
            return super().approximation
        return "exact" if shape.inducing is None else shape.approximation

    @property
    def inducing(self) -> Array | None:
        shape = self._shape
        return super().inducing if shape is None else shape.inducing

    @property
    def _shape(self) -> Shape | None:
        """A kernel of the family at the inputs, if there is a family: all share what they use."""
        return self.model.parts[0][0] if isinstance(self.model, ScaledModel) else None

    def _span(self, column: int) -> tuple[Array, Array]:
        """Return lo and hi − lo of each row."""
        lo = self.row_lo[:, column]
        return lo, self.row_hi[:, column] - lo
