"""The part of the problem in which a saddle point is looked for.

Most directions of the workload are not worth telling anything about: P is zero there, and Y is what
it is without a sketch.  So P and Y are sought in a subspace, which grows where the certificate says
that something is missing: where Ω > 1, and where Ω turns what is told out of the subspace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakgp.design.bayes.answer import State
from cloakgp.design.bayes.cells import Cells
from cloakgp.design.bayes.certificate import decode
from cloakgp.design.bayes.people import People, columns_of
from cloakgp.design.bayes.saddle import Place, Saddle, unknowns
from cloakgp.design.result import Array

#: Directions of L that are weaker than this, per variance of one's own, couple nobody.
WEAK_COUPLING = 1e-3
#: Directions of the workload that together vary by less than this share of what remains are not
#: tried; without a floor, this share of the prior variance is taken for what remains.
NOT_TRIED, REMAINS = 1e-8, 1e-6
#: A direction of P below this share of the largest tells nothing.
SILENT = 1e-6
#: The subspace grows by this share, or at least by so many directions, that matter at all.
GROWTH, LEAST_GROWTH, MATTERS = 1.0, 6, 1e-5


@dataclass(frozen=True)
class Frame:
    """A subspace of the workload, and the directions of L that couple people."""

    basis: Array  # (p, k), orthonormal columns
    coupling: Array  # (q, m), orthonormal columns

    @property
    def unknowns(self) -> int:
        """How many numbers a Newton step solves for."""
        return unknowns(self.basis.shape[1], self.coupling.shape[1])

    def saddle(self, people: People, cells: Cells) -> Saddle:
        """Return the saddle point of the cells, without a tilt."""
        k, m = self.basis.shape[1], self.coupling.shape[1]
        VL = self.basis.T @ people.totals.VL @ self.coupling
        seen = cells.seen_from(self.basis)
        return Saddle(seen, VL, people.sigma, np.zeros((k, k)), np.zeros((k, m)))

    def place(self, state: State, rest: float) -> Place:
        """Return a state as the frame sees it, with at least ``rest``/k in each direction."""
        k = self.basis.shape[1]
        P = self.basis.T @ state.P @ self.basis + rest / k * np.eye(k)
        e, U = np.linalg.eigh(P)
        return Place(np.maximum(e, 0.5 * rest / k), U, self.basis.T @ state.Y @ self.coupling)

    def state(self, place: Place, Y: Array, tau: float) -> State:
        """Return the state at a place; ``Y`` (p, q) is what it is outside of the frame."""
        change = place.Y - self.basis.T @ Y @ self.coupling
        Y = Y + self.basis @ change @ self.coupling.T
        return State(self.basis @ place.U, place.e, Y, tau)


def strong_coupling(people: People) -> Array:
    """Return the directions of L (q, m) that couple people."""
    strength, turn = np.linalg.eigh(people.totals.shared)
    return turn[:, strength > WEAK_COUPLING * people.totals.variance / people.count]


def whole_frame(people: People, coupling: Array) -> Frame:
    """Return the frame of all directions of the workload worth trying."""
    totals = people.totals
    size, R = np.linalg.eigh(totals.covariance)
    left = np.cumsum(np.maximum(size, 0.0))[::-1]  # what is left out after so many, largest first
    k = max(1, int(np.sum(left > NOT_TRIED * max(people.floor, REMAINS * totals.scale))))
    return Frame(R[:, ::-1][:, :k], coupling)


def state_of(people: People, T: Array) -> State:
    """Return a state that a sketch suggests."""
    decoder = decode(people, columns_of(T))
    e, U = np.linalg.eigh(decoder.Q.T @ decoder.Q)
    told = e > SILENT * e[-1]
    return State(U[:, told], e[told], decoder.Y)


def larger_frame(frame: Frame, state: State, Omega: Array) -> Frame | None:
    """Return the directions of which something is told or should be, or None if that is all."""
    told = state.sizes > 10.0 * SILENT * state.sizes.max()
    B = state.basis[:, told]
    p, k = B.shape
    outside = np.eye(p) - B @ B.T
    # At the optimum Ω P = P: what Ω makes of P shows where P wants to turn …
    turned = outside @ Omega @ (B * np.sqrt(state.sizes[told] / state.sizes.max()))
    # … and eigenvalues of Ω above 1 show where it wants to grow.
    eigen, R = np.linalg.eigh(outside @ Omega @ outside)
    grown = R[:, eigen > 1.0] * (eigen[eigen > 1.0] - 1.0)
    U, size, _ = np.linalg.svd(np.hstack([turned, grown]), full_matrices=False)
    more = min(int(np.sum(size > MATTERS)), max(LEAST_GROWTH, int(GROWTH * k)), p - k)
    if more <= 0:
        return None
    return Frame(np.linalg.qr(np.hstack([B, U[:, :more]]))[0], frame.coupling)
