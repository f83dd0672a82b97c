"""How good a sketch provably is: its value, and a bound that no sketch can beat.

The dual.  For every Y (p, q), every w_i (p,) and μ_i > 0, with b_i = a_i w_i + Y l_i,

    Σ b_i b_iᵀ/μ_i ⪯ σ² I   implies   f(T) ≥ 2⟨Y, V L⟩ − ‖Y‖² + Σ a_i (2 w_iᵀv_i − ‖w_i‖²) − Σ μ_i

for every sketch T.  Proof: let Q decode T, X = QᵀT and P = QᵀQ, so that ‖P^(-1/2) x_i‖ ≤ 1.  Then
f = Σ a_i ‖v_i − x_i‖² + ‖(V − X) L‖² + σ² tr P.  Use ‖M‖² ≥ 2⟨Y, M⟩ − ‖Y‖² for the second term,
the same with w_i for the first, and what is left of x_i is −2 x_iᵀb_i ≥ −2 (b_iᵀP b_i)^(1/2) ≥
−b_iᵀP b_i/μ_i − μ_i, whose sum is at least −σ² tr P − Σ μ_i.

A sketch suggests w = v − x, Y = (V − X) L and μ = (bᵀP b)^(1/2), which are optimal if it is.  They
are made feasible by a p × p matrix: (K Y, K w, μ) is another such point, with K b for b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakgp.design.bayes.people import Columns, People, longest_sum, squares
from cloakgp.design.bayes.ridge import solve_ridge
from cloakgp.design.bayes.tighten import Quadratic, guess, tighten
from cloakgp.design.result import Array

#: Better prices are looked for so often, at most, and as long as they help by this share.
POLISH, POLISH_HELPS = 25, 1e-3
#: A bound further from the value than this many times the gap asked for is not worth a better K.
WORTH = 1e3
#: The unit round-off of floating point.
UNIT = 2.0**-53
#: People of no influence get a sliver of the mean price: rounding must not divide by zero.
SLIVER = 1e-12


@dataclass(frozen=True)
class Certificate:
    """The value of a sketch, a bound on the value of any, and directions that it lacks."""

    value: float
    bound: float
    Omega: Array  # (p, p): Σ b bᵀ/(μ σ²), at most I and I where something is told, at the optimum

    @property
    def lacking(self) -> Array:
        """Directions of the workload (p, m) in which the sketch should tell more, worst first."""
        eigen, vectors = np.linalg.eigh(self.Omega)
        return vectors[:, eigen > 1.0 + 1e-9][:, ::-1]

    @property
    def gap(self) -> float:
        """The relative distance of the value from the bound."""
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else np.inf

    def meets(self, gap: float) -> bool:
        """Tell whether the value is within ``gap`` of the bound, relatively."""
        return self.value - self.bound <= gap * self.value


@dataclass(frozen=True)
class Decoder:
    """The best linear reconstruction of the workload from a sketch, and what it leaves in common.

    E[V u | s] = … + Qᵀ s, and Y = (V − QᵀT) L.
    """

    Q: Array  # (r, p)
    Y: Array  # (p, q)


def decode(people: People, columns: Columns) -> Decoder:
    """Find the decoder in one pass."""
    VL = people.totals.VL
    TL, TaT, TaV = np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))
    for block in people.blocks():
        T = columns(block)
        Ta = T * block.a
        TL, TaT, TaV = TL + T @ block.L, TaT + Ta @ T.T, TaV + Ta @ block.V.T
    # Q = (T A Tᵀ + σ² I)⁻¹ T A Vᵀ, with A = diag(a) + L Lᵀ.
    Q = solve_ridge(TaT + TL @ TL.T, TaV + TL @ VL.T, people.sigma**2)
    return Decoder(Q, VL - Q.T @ TL)


@dataclass(frozen=True)
class DualSums:
    """All that the bound needs of everybody: sums over w = v − Qᵀt, b = a w + Y l and μ."""

    wv: Array  # Σ a w vᵀ
    ww: Array  # Σ a w wᵀ
    wL: Array  # Σ w lᵀ
    bb: Array  # Σ b bᵀ/μ
    mu: float  # Σ μ
    blur: float  # Σ (a‖w‖ + ‖Y‖‖l‖)²/μ: how large the terms are that b is the sum of


def sum_dual(people: People, columns: Columns, decoder: Decoder, P: Array) -> DualSums:
    """Go through everybody with prices μ = (bᵀ P b)^(1/2)."""
    Q, Y = decoder.Q, decoder.Y
    p, q = Y.shape
    wv, ww, wL, bb = (np.zeros((p, width)) for width in (p, p, q, p))
    total = blur = 0.0
    sliver = SLIVER * people.sigma**2 * float(np.trace(P)) / people.count + 1e-300
    size = float(np.linalg.norm(Y))
    for block in people.blocks():
        W = block.V - Q.T @ columns(block)
        Wa = W * block.a
        B = Wa + Y @ block.L.T
        mu = np.sqrt(np.maximum(np.einsum("pi,pi->i", P @ B, B), 0.0)) + sliver
        wv += Wa @ block.V.T
        ww += Wa @ W.T
        wL += W @ block.L
        bb += (B / mu) @ B.T
        total += float(mu.sum())
        terms = np.sqrt(squares(Wa)) + size * np.sqrt(squares(block.L.T))
        blur += float(terms**2 @ (1.0 / mu))
    return DualSums(wv, ww, wL, bb, total, blur)


def certify(
    people: People, columns: Columns, *, gap: float = 0.0, prices: Array | None = None
) -> Certificate:
    """Return the value of a sketch and a lower bound on the value of any.

    ``prices`` is a matrix P that prices people, by default that of the sketch, improved.  The bound
    is tightened until it meets ``gap``.
    """
    decoder = decode(people, columns)
    own, sigma2 = float(np.sum(decoder.Q**2)), people.sigma**2
    root = decoder.Q.T
    P = root @ root.T if prices is None else prices
    best, value, Omega, dearest = -np.inf, np.inf, P, None
    for number in range(POLISH if prices is None else 1):
        sums = sum_dual(people, columns, decoder, P)
        dual = dual_of(people, decoder, sums)
        # f = tr W A Wᵀ + σ² ‖Q‖², the least over all Q: rounding in Q hardly moves it.
        f = float(np.trace(sums.ww)) + float(np.sum(sums.wL**2)) + sigma2 * own
        value = people.floor + f
        Omega = dual.Omega if number == 0 else Omega
        bound = people.floor + dual_bound(people, decoder, sums, dual, guess(dual), f)
        helped = value - bound < (value - best) * (1.0 - POLISH_HELPS)
        if bound > best:
            best, dearest = bound, (sums, dual, f)
        if value - best <= gap * value or not helped:
            break
        # At the best prices Ω P = P; one step of that fixed point, on a root of P: for large Ω
        # rounding in Ω P Ω would give negative prices.
        root = dual.Omega @ root
        P = root @ root.T
    if dearest is not None and gap * value < value - best <= (gap * WORTH or np.inf) * value:
        sums, dual, f = dearest
        K = tighten(dual, enough=f - 0.5 * gap * value + sums.mu)
        best = max(best, people.floor + dual_bound(people, decoder, sums, dual, K, f))
    return Certificate(value, best, Omega)


def dual_of(people: People, decoder: Decoder, sums: DualSums) -> Quadratic:
    """Return what the dual point is worth as a function of K."""
    Y = decoder.Y
    return Quadratic(
        S=sums.wv + Y @ people.totals.VL.T,
        G=symmetric(sums.ww) + Y @ Y.T,
        Omega=symmetric(sums.bb) / people.sigma**2,
    )


def dual_bound(
    people: People, decoder: Decoder, sums: DualSums, dual: Quadratic, K: Array, f: float
) -> float:
    """Return the bound of a dual point and K, less what rounding may have added to it.

    It is without the floor; f is the value of the sketch, without it, too.
    """
    totals, Y, Omega = people.totals, decoder.Y, dual.Omega
    p, q = Y.shape
    # A sum of n terms, in any order, is off by at most n UNIT Σ|terms|; blocks are added up last.
    n = longest_sum(people.count) + p + q + 8
    unit = 1.01 * n * UNIT
    # Ω is off by unit tr Ω, and b by (q + 4) UNIT (a|w| + |Y||l|).  Growing μ makes up for both.
    spread = float(np.trace(Omega))
    b_off = (q + 4.0) * UNIT * float(np.sqrt(sums.blur)) / people.sigma
    off = unit * spread + 2.0 * np.sqrt(spread) * b_off + b_off**2
    reach = float(np.linalg.norm(K, 2)) ** 2
    largest = float(np.linalg.eigvalsh(symmetric(K @ Omega @ K.T))[-1])
    grown = max(1.0, largest * (1.0 + unit) + reach * off)
    # The terms of 2 tr K S and tr K G Kᵀ, by the inequality of Cauchy and Schwarz.
    left, asked = float(np.trace(sums.ww)), float(np.trace(totals.own))
    size, shrink = float(np.linalg.norm(Y)), float(np.linalg.norm(K))
    terms = 2.0 * shrink * (np.sqrt(left * asked) + size * totals.sizes)
    terms += shrink**2 * (left + size**2) + grown * sums.mu
    # And V is a rotated workload: off by unit ‖v‖ each, which moves f by √f times as much.
    terms += np.sqrt(max(f, 0.0)) * (np.sqrt(asked) + totals.sizes)
    return dual.value(K) - grown * sums.mu - 2.0 * unit * terms


def symmetric(M: Array) -> Array:
    """Return the symmetric part of M."""
    return 0.5 * (M + M.T)
