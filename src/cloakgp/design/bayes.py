"""``bayes``: the sketch that leaves the least posterior uncertainty at the workload.

A priori u has covariance A = diag(a) + L Lᵀ; s = T u + σ z is published.  Minimise the trace of
C cov(u | s) Cᵀ.  It is convex in Π = TᵀT ⪰ 0 with Π_ii ≤ 1, and the best Π has at most the rank of
C, so T is found directly by a quasi-Newton method, and the certificate comes from the dual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.optimize import minimize

from cloakgp.design.result import (
    TARGET_GAP,
    Array,
    Design,
    check_weights,
    check_workload,
    empty_design,
    row_space,
    single_threaded,
    status_of,
)
from cloakgp.design.total import total

#: Above this many distinct people, groups of similar people are solved first and give the start.
#: A start need not be certified to more than this.
FEW_PEOPLE, GROUPS, ROUGH_GAP = 1200, 256, 1e-3
#: Iterations of the quasi-Newton method: as many as this number of entries of T allows, within
#: limits.
WORK, FEWEST_ITERATIONS, MOST_ITERATIONS = 60_000_000, 20, 20_000
#: The certificate is computed every so often, and this share of the gap asked for is enough.
CHECK_EVERY, ENOUGH = 25, 0.1
#: Singular values of T below this share of the largest are candidates to drop, boldest first.
SMALL_ROWS = (1e-2, 1e-5)


People = NDArray[np.intp]


@dataclass(frozen=True)
class Prior:
    """What is believed in public before the release.

    ``C`` (P, N) is the workload: the non-private predictions as a linear map of u.  cov(u) =
    diag(``diagonal``) + ``factor`` ``factor``ᵀ.  ``sigma`` is the noise of the sketch.  ``floor``
    is the variance that remains without any privacy, summed over the weighted workload.
    """

    C: Array
    diagonal: Array  # (N,)
    factor: Array  # (N, q)
    sigma: float
    weights: Array | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        C = check_workload(self.C)
        N = C.shape[1]
        diagonal = np.broadcast_to(np.asarray(self.diagonal, dtype=np.float64), (N,))
        factor = np.asarray(self.factor, dtype=np.float64)
        if factor.ndim != 2 or factor.shape[0] != N:
            raise ValueError(f"factor must have shape ({N}, q), got {factor.shape}")
        if not (np.all(np.isfinite(diagonal)) and np.all(np.isfinite(factor))):
            raise ValueError("diagonal and factor must be finite")
        if np.any(diagonal < 0):
            raise ValueError("diagonal must not be negative: it holds variances")
        if not (self.sigma > 0 and np.isfinite(self.sigma)):
            raise ValueError(f"sigma must be a finite number > 0, got {self.sigma!r}")
        if not (self.floor >= 0 and np.isfinite(self.floor)):
            raise ValueError(f"floor must be a finite number >= 0, got {self.floor!r}")
        for name, value in (("C", C), ("diagonal", diagonal), ("factor", factor)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "weights", check_weights(self.weights, C.shape[0]))

    @classmethod
    def independent(cls, C: ArrayLike, variance: float, sigma: float) -> Prior:
        """Return a prior under which people's values are independent, all of one variance."""
        C = check_workload(C)
        return cls(C, np.full(C.shape[1], variance), np.zeros((C.shape[1], 0)), sigma)


@single_threaded
def bayes(prior: Prior, *, rank: int | None = None, gap: float = TARGET_GAP) -> Design:
    """Return the sketch after which the workload's posterior variance is least.

    ``value`` is that variance, summed over the weighted workload.  ``rank`` caps the number of
    published values; the certificate still compares with the best sketch of any rank.
    """
    if rank is not None and rank < 1:
        raise ValueError(f"rank must be at least 1, got {rank!r}")
    P, N = prior.C.shape
    _, size, V = row_space(np.sqrt(check_weights(prior.weights, P))[:, None] * prior.C)
    if len(size) == 0:
        return empty_design(N, prior.floor)
    everybody = _Problem(size[:, None] * V, prior.diagonal, prior.factor, prior.sigma, prior.floor)
    problem, member = everybody.merged()
    if problem.scale == 0.0:
        return empty_design(N, prior.floor)
    T, iterations = _solve(problem, gap)
    value, bound = problem.certificate(T)
    reason = "no more progress in floating point"
    if rank is not None and rank < T.shape[0]:
        T, more = _descend(problem, T[:rank], gap)
        value, iterations, reason = problem.certificate(T)[0], iterations + more, "capped rank"
    found = max(0.0, (value - bound) / value)
    return Design(T[:, member], value, found, status_of(found, iterations, reason))


@dataclass(frozen=True)
class _Problem:
    """Minimise floor + tr V cov(u|s) Vᵀ, VᵀV = CᵀC (V is p by N, p the rank)."""

    V: Array
    a: Array
    L: Array
    sigma: float
    floor: float

    @property
    def VA(self) -> Array:
        return self.V * self.a + (self.V @ self.L) @ self.L.T

    @property
    def scale(self) -> float:
        """Return the prior variance of the workload, the value of publishing nothing."""
        return float(np.sum(self.VA * self.V))

    def decode(self, T: Array, VA: Array) -> tuple[Array, Array]:
        """Return Q and R: E[V u | s] = const + Qᵀ s, and R = V cov(u | s)."""
        # Q = (T A Tᵀ + σ² I)⁻¹ T A Vᵀ,   R = V A − Qᵀ T A;  moreover Q = T Rᵀ/σ².
        TA = T * self.a + (T @ self.L) @ self.L.T
        gram = TA @ T.T
        gram.flat[:: gram.shape[0] + 1] += self.sigma**2
        Q = cho_solve(cho_factor(gram), T @ VA.T)
        return Q, VA - Q.T @ TA

    def certificate(self, T: Array, VA: Array | None = None) -> tuple[float, float]:
        """Return the value of T and a lower bound on the value of any sketch.

        The value f is convex in Π, with gradient −D, D = RᵀR/σ².  So f(Π*) ≥ f(Π) + tr D Π −
        tr D Π*, and tr D Π* ≤ Σμ for every μ ≥ 0 with Diag(μ) ⪰ D.  The μ of the optimum is
        diag(D Π); it is multiplied by the largest eigenvalue of μ^(-1/2) D μ^(-1/2) to make it
        feasible, which is an eigenvalue of a p × p matrix.
        """
        Q, R = self.decode(T, self.VA if VA is None else VA)
        value = self.floor + float(np.sum(R * self.V))
        TD = Q @ R  # rows of T times D
        mu = np.sqrt(np.einsum("ri,ri->i", TD, TD))
        # People of no influence get a sliver of μ, so that rounding noise in R cannot divide by 0.
        mu += 1e-12 * mu.sum() / len(mu)
        B = R / (np.sqrt(mu) * self.sigma)
        largest = max(1.0, float(eigh(B @ B.T, eigvals_only=True)[-1]))
        return value, value + float(np.sum(TD * T)) - largest * float(mu.sum())

    def merged(self) -> tuple[_Problem, People]:
        """Return the problem with identical people made one, and who went where.

        Equal people have equal columns in the best sketch, so only their sum counts.
        """
        keys = np.vstack([_unit_scale(self.V), _unit_scale(self.L.T), _unit_scale(self.a[None])]).T
        keys = np.ascontiguousarray(keys.round(9) + 0.0)
        rows = keys.view([("", keys.dtype)] * keys.shape[1]).ravel()
        _, first, member, count = np.unique(
            rows, return_index=True, return_inverse=True, return_counts=True
        )
        merged = replace(
            self, V=self.V[:, first], a=self.a[first] * count, L=self.L[first] * count[:, None]
        )
        return merged, member

    def coarse(self, groups: int) -> tuple[_Problem, People]:
        """Return a problem in which people of similar columns are one, and who went where."""
        member = _halve(np.vstack([_unit_scale(self.V), _unit_scale(self.L.T)]), groups)
        order = np.argsort(member, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(member[order]) > 0])
        count = np.diff(np.r_[starts, len(member)])
        coarse = replace(
            self,
            V=np.add.reduceat(self.V[:, order], starts, axis=1) / count,
            a=np.add.reduceat(self.a[order], starts),
            L=np.add.reduceat(self.L[order], starts, axis=0),
        )
        return coarse, member


def _unit_scale(features: Array) -> Array:
    return features / max(float(np.abs(features).max(initial=0.0)), 1e-300)


def _halve(features: Array, groups: int) -> People:
    """Split people into about ``groups`` groups, each time at the median of the widest feature."""
    cells = [np.arange(features.shape[1])]
    while len(cells) < groups:
        split = []
        for cell in cells:
            if len(cell) == 1:
                split.append(cell)
                continue
            widest = int(np.argmax(np.ptp(features[:, cell], axis=1)))
            order = cell[np.argsort(features[widest, cell], kind="stable")]
            split += [order[: len(cell) // 2], order[len(cell) // 2 :]]
        if len(split) == len(cells):
            break
        cells = split
    member = np.empty(features.shape[1], dtype=np.intp)
    for number, cell in enumerate(cells):
        member[cell] = number
    return member


def _solve(problem: _Problem, gap: float) -> tuple[Array, int]:
    """Return T and the number of iterations."""
    T, iterations = _descend(problem, _start(problem), gap)
    # Rotate T to its singular directions (Π stays) and keep the fewest rows that are as good.
    _, size, directions = np.linalg.svd(T, full_matrices=False)
    T = size[:, None] * directions
    value, bound = problem.certificate(T)
    for share in SMALL_ROWS:
        r = max(1, int(np.sum(size > share * size[0])))
        if r == len(size):
            break
        shorter, more = _descend(problem, T[:r], gap)
        iterations += more
        new_value, new_bound = problem.certificate(shorter)
        if new_value - new_bound <= max(value - bound, 0.1 * gap * new_value):
            return shorter, iterations
    return T, iterations


def _start(problem: _Problem) -> Array:
    N = problem.V.shape[1]
    if N > FEW_PEOPLE:
        coarse, member = problem.coarse(GROUPS)
        return _solve(coarse, ROUGH_GAP)[0][:, member]
    T = total(problem.V, gap=ROUGH_GAP).T
    return _unit_columns(T)


def _unit_columns(T: Array) -> Array:
    length = np.sqrt(np.einsum("ri,ri->i", T, T))
    return np.divide(T, length, out=np.zeros_like(T), where=length > 1e-9 * length.max())


def _descend(problem: _Problem, T: Array, gap: float) -> tuple[Array, int]:
    """Run L-BFGS on Z (r + 1, N), T = the first r rows of Z with its columns made unit vectors.

    The last row is slack: it lets a column of T be shorter than 1, smoothly.
    """
    r, N = T.shape
    VA, scale = problem.VA, problem.scale

    def objective(z: Array) -> tuple[float, Array]:
        Z = z.reshape(r + 1, N)
        length = np.sqrt(np.einsum("ri,ri->i", Z, Z))
        unit = Z / length
        Q, R = problem.decode(unit[:r], VA)
        gradient = np.zeros_like(Z)
        gradient[:r] = -2.0 * (Q @ R)
        gradient -= unit * np.einsum("ri,ri->i", gradient, unit)
        return float(np.sum(R * problem.V)) / scale, (gradient / (length * scale)).ravel()

    steps = 0

    def stop_when_certified(z: Array) -> None:
        nonlocal steps
        steps += 1
        if steps % CHECK_EVERY == 0:
            value, bound = problem.certificate(_unit_columns(z.reshape(r + 1, N))[:r], VA)
            if value - bound <= ENOUGH * gap * value:
                raise StopIteration

    slack = np.sqrt(np.maximum(1.0 - np.einsum("ri,ri->i", T, T), 0.01))
    Z = np.vstack([T, slack])
    most = int(np.clip(WORK // T.size, FEWEST_ITERATIONS, MOST_ITERATIONS))
    options = {"maxfun": 2 * most, "maxcor": 20, "ftol": 0.0, "gtol": 1e-12}
    iterations, before = 0, np.inf
    while iterations < most:
        # Columns of Z drift in length, which spoils the curvature that L-BFGS has learnt: when it
        # stops, make them unit vectors and start it again, until that gains nothing.
        Z = _unit_columns(Z)
        options["maxiter"] = most - iterations
        found = minimize(
            objective,
            Z.ravel(),
            jac=True,
            method="L-BFGS-B",
            options=options,
            callback=stop_when_certified,
        )
        Z = found.x.reshape(r + 1, N)
        iterations += max(1, int(found.nit))
        if found.status == 99 or not found.fun < before * (1.0 - 1e-13):
            break
        before = found.fun
    return _unit_columns(Z)[:r], iterations
