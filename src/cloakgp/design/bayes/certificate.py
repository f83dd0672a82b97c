"""How good a sketch provably is: its value, and a bound that no sketch can beat.

The dual.  For every Y (p, q), every w_i (p,) and μ_i > 0, with b_i = a_i w_i + Y l_i,

    Σ b_i b_iᵀ/μ_i ⪯ σ² I   implies   f(T) ≥ 2⟨Y, V L⟩ − ‖Y‖² + Σ a_i (2 w_iᵀv_i − ‖w_i‖²) − Σ μ_i

for every sketch T.  Proof: let Q decode T, X = QᵀT and P = QᵀQ, so that ‖P^(-1/2) x_i‖ ≤ 1.  Then
f = Σ a_i ‖v_i − x_i‖² + ‖(V − X) L‖² + σ² tr P.  Use ‖M‖² ≥ 2⟨Y, M⟩ − ‖Y‖² for the second term,
the same with w_i for the first, and what is left of x_i is −2 x_iᵀb_i ≥ −2 (b_iᵀP b_i)^(1/2) ≥
−b_iᵀP b_i/μ_i − μ_i, whose sum is at least −σ² tr P − Σ μ_i.

A sketch suggests w = v − x, Y = (V − X) L and μ = (bᵀP b)^(1/2), which are optimal if it is.
Dual feasibility is restored by a p × p matrix: (K Y, K w, μ) is another such point, with K b for b,
feasible if K Ω Kᵀ ⪯ I for Ω = Σ b bᵀ/(μ σ²), and worth 2 tr K S − tr K G Kᵀ − Σ μ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakgp.design.bayes.blocks import Columns, Population, columns_of, longest_sum
from cloakgp.design.bayes.problem import UNIT_ROUNDOFF, solve_ridge
from cloakgp.design.result import Array
from cloakgp.design.workload import squared_norms

#: Better prices μ are looked for so often, and as long as each time closes this share of the gap.
PRICES_MAX_ITER, PRICES_RTOL = 25, 1e-3
#: People of no influence get this share of the mean price: rounding must not divide by zero.
PRICE_FLOOR_RTOL = 1e-12
#: Steps of projected gradients for K, how often their value is looked at, and the relative gain
#: in between below which they stop.
SCALING_MAX_ITER, SCALING_CHECK_EVERY, SCALING_RTOL = 120, 10, 1e-10
#: A bound further from the value than this many times the gap asked for is not worth a better K.
SCALING_MAX_GAP_RATIO = 1e3
#: Directions with less of Ω than this are treated as having as much: K need not grow past 2.
OMEGA_FLOOR = 0.25
#: Eigenvalues of Ω above 1 by more than this belong to directions that a sketch lacks.
OMEGA_EXCESS = 1e-9


def relative_gap(value: float, bound: float) -> float:
    """Return the relative distance of a value from a bound; of nothing, it is infinite."""
    return max(0.0, (value - bound) / value) if value > 0 else np.inf


@dataclass(frozen=True)
class Certificate:
    """The value of a sketch, a bound on the value of any, and Ω."""

    value: float
    bound: float
    Omega: Array  # (p, p): Σ b bᵀ/(μ σ²), at most I and I where something is told, at the optimum

    @property
    def gap(self) -> float:
        """The relative distance of the value from the bound."""
        return relative_gap(self.value, self.bound)

    @property
    def lacking(self) -> Array:
        """Directions of the workload (p, m) in which the sketch should tell more, worst first."""
        eigen, vectors = np.linalg.eigh(self.Omega)
        return vectors[:, eigen > 1.0 + OMEGA_EXCESS][:, ::-1]

    def meets(self, gap: float) -> bool:
        """Tell whether the value is within ``gap`` of the bound, relatively."""
        return self.value - self.bound <= gap * self.value


@dataclass(frozen=True)
class CertifiedSketch:
    """What a solver has found: a sketch, its value, a bound on the value of any, and the work."""

    T: Array  # (r, N)
    value: float
    bound: float
    steps: int

    @property
    def gap(self) -> float:
        """The relative distance of the value from the bound."""
        return relative_gap(self.value, self.bound)


def certify(
    people: Population,
    columns: Columns,
    *,
    gap: float = 0.0,
    prices: Array | None = None,
    tight: bool = True,
) -> Certificate:
    """Return the value of a sketch and a lower bound on the value of any.

    ``prices`` is a matrix P that prices people, by default that of the sketch, improved.  The bound
    is tightened until it meets ``gap``; what takes longest comes last, unless it is not to be
    ``tight``.
    """
    decoder = decode(people, columns)
    own, sigma2 = float(np.sum(decoder.Q**2)), people.sigma**2
    root = decoder.Q.T
    P = root @ root.T if prices is None else prices
    best, value, Omega, dearest = -np.inf, np.inf, P, None
    for number in range(PRICES_MAX_ITER if prices is None else 1):
        sums = sum_dual(people, columns, decoder, P)
        dual = quadratic_of_scaling(people, decoder, sums)
        # f = tr W A Wᵀ + σ² ‖Q‖², the least over all Q: rounding in Q hardly moves it.
        f = float(np.trace(sums.ww)) + float(np.sum(sums.wL**2)) + sigma2 * own
        value = people.floor + f
        Omega = dual.Omega if number == 0 else Omega
        bound = people.floor + dual_bound(people, decoder, sums, dual, spectral_scaling(dual), f)
        helped = value - bound < (value - best) * (1.0 - PRICES_RTOL)
        if bound > best:
            best, dearest = bound, (sums, dual, f)
        if value - best <= gap * value or not helped:
            break
        # At the best prices Ω P = P; one step of that fixed point, on a root of P: for large Ω
        # rounding in Ω P Ω would give negative prices.
        root = dual.Omega @ root
        P = root @ root.T
    worth = (gap * SCALING_MAX_GAP_RATIO or np.inf) * value
    if tight and dearest is not None and gap * value < value - best <= worth:
        sums, dual, f = dearest
        K = best_scaling(dual, enough=f - 0.5 * gap * value + sums.mu)
        best = max(best, people.floor + dual_bound(people, decoder, sums, dual, K, f))
    return Certificate(value, best, Omega)


def sketch_value(people: Population, T: Array) -> float:
    """Return the value of a sketch, without looking for a bound."""
    free = np.zeros((people.totals.VL.shape[0],) * 2)
    return certify(people, columns_of(T), gap=np.inf, prices=free).value


# --- the primal side: a sketch and its decoder ----------------------------------------------------


@dataclass(frozen=True)
class LinearEstimator:
    """The best linear reconstruction of the workload from a sketch, and what it leaves in common.

    E[V u | s] = … + Qᵀ s, and Y = (V − QᵀT) L.
    """

    Q: Array  # (r, p)
    Y: Array  # (p, q)


def decode(people: Population, columns: Columns) -> LinearEstimator:
    """Find the decoder in one pass."""
    VL = people.totals.VL
    TL, TaT, TaV = np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))
    for block in people.blocks():
        T = columns(block)
        Ta = T * block.a
        TL, TaT, TaV = TL + T @ block.L, TaT + Ta @ T.T, TaV + Ta @ block.V.T
    # Q = (T A Tᵀ + σ² I)⁻¹ T A Vᵀ, with A = diag(a) + L Lᵀ.
    Q = solve_ridge(TaT + TL @ TL.T, TaV + TL @ VL.T, people.sigma**2)
    return LinearEstimator(Q, VL - Q.T @ TL)


# --- the dual side: a point, and what it is worth -------------------------------------------------


@dataclass(frozen=True)
class DualSums:
    """All that the bound needs of everybody: sums over w = v − Qᵀt, b = a w + Y l and μ."""

    wv: Array  # Σ a w vᵀ
    ww: Array  # Σ a w wᵀ
    wL: Array  # Σ w lᵀ
    bb: Array  # Σ b bᵀ/μ
    mu: float  # Σ μ
    blur: float  # Σ (a‖w‖ + ‖Y‖‖l‖)²/μ: how large the terms are that b is the sum of


def sum_dual(people: Population, columns: Columns, decoder: LinearEstimator, P: Array) -> DualSums:
    """Go through everybody with prices μ = (bᵀ P b)^(1/2)."""
    Q, Y = decoder.Q, decoder.Y
    p, q = Y.shape
    wv, ww, wL, bb = (np.zeros((p, width)) for width in (p, p, q, p))
    total = blur = 0.0
    least = PRICE_FLOOR_RTOL * people.sigma**2 * float(np.trace(P)) / people.count + 1e-300
    size = float(np.linalg.norm(Y))
    for block in people.blocks():
        W = block.V - Q.T @ columns(block)
        Wa = W * block.a
        B = Wa + Y @ block.L.T
        mu = np.sqrt(np.maximum(np.einsum("pi,pi->i", P @ B, B), 0.0)) + least
        wv += Wa @ block.V.T
        ww += Wa @ W.T
        wL += W @ block.L
        bb += (B / mu) @ B.T
        total += float(mu.sum())
        terms = np.sqrt(squared_norms(Wa)) + size * np.sqrt(squared_norms(block.L.T))
        blur += float(terms**2 @ (1.0 / mu))
    return DualSums(wv, ww, wL, bb, total, blur)


@dataclass(frozen=True)
class ScalingQuadratic:
    """What a dual point is worth after K: 2 tr K S − tr K G Kᵀ, to be had for K Ω Kᵀ ⪯ I."""

    S: Array  # (p, p)
    G: Array  # (p, p), positive semidefinite
    Omega: Array  # (p, p), positive semidefinite

    def value(self, K: Array) -> float:
        """Return 2 tr K S − tr K G Kᵀ."""
        return float(2.0 * np.sum(K * self.S.T) - np.sum((K @ self.G) * K))


def quadratic_of_scaling(
    people: Population, decoder: LinearEstimator, sums: DualSums
) -> ScalingQuadratic:
    """Return what the dual point is worth as a function of K."""
    Y = decoder.Y
    return ScalingQuadratic(
        S=sums.wv + Y @ people.totals.VL.T,
        G=symmetric_part(sums.ww) + Y @ Y.T,
        Omega=symmetric_part(sums.bb) / people.sigma**2,
    )


def dual_bound(
    people: Population,
    decoder: LinearEstimator,
    sums: DualSums,
    dual: ScalingQuadratic,
    K: Array,
    f: float,
) -> float:
    """Return the bound of a dual point and K, less what rounding may have added to it.

    It is without the floor; f is the value of the sketch, without it, too.
    """
    totals, Y, Omega = people.totals, decoder.Y, dual.Omega
    p, q = Y.shape
    # A sum of n terms, in any order, is off by at most n u Σ|terms|, u the unit round-off; blocks
    # are added up last.
    n = longest_sum(people.count) + p + q + 8
    unit = 1.01 * n * UNIT_ROUNDOFF
    # Ω is off by unit tr Ω, and b by (q + 4) u (a|w| + |Y||l|).  Growing μ makes up for both.
    spread = float(np.trace(Omega))
    b_off = (q + 4.0) * UNIT_ROUNDOFF * float(np.sqrt(sums.blur)) / people.sigma
    off = unit * spread + 2.0 * np.sqrt(spread) * b_off + b_off**2
    reach = float(np.linalg.norm(K, 2)) ** 2
    largest = float(np.linalg.eigvalsh(symmetric_part(K @ Omega @ K.T))[-1])
    grown = max(1.0, largest * (1.0 + unit) + reach * off)
    # The terms of 2 tr K S and tr K G Kᵀ, by the inequality of Cauchy and Schwarz.
    left, asked = float(np.trace(sums.ww)), float(np.trace(totals.own))
    size, shrink = float(np.linalg.norm(Y)), float(np.linalg.norm(K))
    terms = 2.0 * shrink * (np.sqrt(left * asked) + size * totals.sizes)
    terms += shrink**2 * (left + size**2) + grown * sums.mu
    # And V is a rotated workload: off by unit ‖v‖ each, which moves f by √f times as much.
    terms += np.sqrt(max(f, 0.0)) * (np.sqrt(asked) + totals.sizes)
    return dual.value(K) - grown * sums.mu - 2.0 * unit * terms


# --- dual feasibility: the best K -----------------------------------------------------------------
#
# A dual point is nearly feasible where the sketch is nearly optimal: Ω ⪯ (1 + η) I.  To shrink all
# of it by the largest eigenvalue of Ω loses to first order, and that eigenvalue belongs to a
# direction that hardly counts.  A matrix shrinks each direction by what that direction needs, and
# may even grow the others: what is lost is of second order.


def spectral_scaling(dual: ScalingQuadratic) -> Array:
    """Return a K with K Ω Kᵀ ⪯ I that shrinks, or evens out, the eigenvalues of Ω."""
    w, R = np.linalg.eigh(dual.Omega)
    w = np.maximum(w, OMEGA_FLOOR)
    shrunk = (R * np.minimum(1.0, w**-0.5)) @ R.T
    # Directions that the sketch tells of may grow, too, where Ω is below 1.
    evened = (R * np.where(w > 2.0 * OMEGA_FLOOR, w**-0.5, 1.0)) @ R.T
    return max((shrunk, evened), key=dual.value)


def best_scaling(dual: ScalingQuadratic, enough: float = np.inf) -> Array:
    """Return the best K with K Ω Kᵀ ⪯ I, to rounding; stop where the value is ``enough``.

    Accelerated projected gradients (FISTA) in B = K Ω^(1/2), whose singular values must not
    exceed 1: maximise 2⟨B, Sᵀ Ω^(-1/2)⟩ − ⟨B, B Ω^(-1/2) G Ω^(-1/2)⟩.
    """
    best = spectral_scaling(dual)
    most = dual.value(best)
    w, R = np.linalg.eigh(dual.Omega)
    w = np.maximum(w, OMEGA_FLOOR)  # K Ω Kᵀ only grows by it
    root, inverse = (R * np.sqrt(w)) @ R.T, (R / np.sqrt(w)) @ R.T
    curvature = inverse @ dual.G @ inverse
    target = dual.S.T @ inverse
    lipschitz = float(np.linalg.eigvalsh(curvature)[-1])
    if most >= enough or lipschitz <= 0.0:
        return best
    B = before = best @ root
    momentum = 1.0
    for step in range(1, SCALING_MAX_ITER + 1):
        new = _into_spectral_ball(B + (target - B @ curvature) / lipschitz)
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        B = new + (momentum - 1.0) / after * (new - before)
        before, momentum = new, after
        if step % SCALING_CHECK_EVERY == 0:
            K = new @ inverse
            value = dual.value(K)
            gained = value - most
            if gained > 0.0:
                best, most = K, value
            if most >= enough or gained <= SCALING_RTOL * abs(most):
                break
    return best


def _into_spectral_ball(B: Array) -> Array:
    """Return the nearest matrix whose singular values do not exceed 1."""
    squared, V = np.linalg.eigh(B.T @ B)
    return B @ ((V / np.sqrt(np.maximum(squared, 1.0))) @ V.T)


def symmetric_part(M: Array) -> Array:
    """Return the symmetric part of M."""
    return 0.5 * (M + M.T)
