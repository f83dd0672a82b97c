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
FEW_PEOPLE, GROUPS, ROUGH_GAP = 4000, 256, 1e-3
#: Above this many people, sweeps come first: how many at most, how many without progress, the
#: shortest step, and Newton steps for each person's multiplier.
MANY_PEOPLE, SWEEPS, PATIENCE, SHORTEST_STEP, SECULAR_STEPS = 500, 300, 30, 1e-4, 40
#: Fewer sweeps, where T has more entries than this allows for.
SWEEP_WORK = 150_000_000
#: How often directions that T lacks may be added to it.
ESCAPES = 4
#: Steps that tighten the dual bound, at most.
POLISH = 25
STOPPED_BY_CALLBACK = 99
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
        diagonal = np.asarray(self.diagonal, dtype=np.float64)
        if diagonal.shape not in ((), (N,)):
            raise ValueError(f"diagonal must have shape ({N},), got {diagonal.shape}")
        diagonal = np.broadcast_to(diagonal, (N,))
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
    unit = float(size[0]) ** 2  # the solver works in units of the largest direction
    everybody = _Problem(
        (size / size[0])[:, None] * V,
        prior.diagonal,
        prior.factor,
        prior.sigma,
        prior.floor / unit,
    )
    if everybody.scale == 0.0:
        return empty_design(N, prior.floor)
    first, member, count = _alike(prior)
    problem = everybody.of(first, count)
    T, iterations, reason = _solve(problem, gap)
    found = everybody.certificate(T[:, member])
    value, bound = found.value, found.bound
    if rank is not None and rank < T.shape[0]:
        T, more, _ = _descend(problem, T[:rank], gap)
        value, reason = everybody.certificate(T[:, member]).value, "capped rank"
        iterations += more
    relative = max(0.0, (value - bound) / value) if value > 0 else float("inf")
    return Design(T[:, member], value * unit, relative, status_of(relative, iterations, reason))


@dataclass(frozen=True)
class _Certificate:
    """The value of a sketch, a bound on the value of any, and directions that it lacks."""

    value: float
    bound: float
    missing: Array  # (m, N): rows that would help if T had them

    def meets(self, gap: float) -> bool:
        return self.value - self.bound <= gap * self.value


@dataclass(frozen=True)
class _Problem:
    """Minimise floor + tr V cov(u|s) Vᵀ, VᵀV = CᵀC (V is p by N, p the rank)."""

    V: Array
    a: Array
    L: Array
    sigma: float
    floor: float

    def times_A(self, B: Array) -> Array:
        """Return B A for B (m, N)."""
        return B * self.a + (B @ self.L) @ self.L.T

    @property
    def scale(self) -> float:
        """Return the prior variance of the workload, the value of publishing nothing."""
        return float(np.sum(self.times_A(self.V) * self.V))

    def decode(self, T: Array) -> tuple[Array, Array, float]:
        """Return Q, R and f: E[V u | s] = … + Qᵀ s, R = V cov(u | s), f = tr V cov(u | s) Vᵀ."""
        # Q = (T A Tᵀ + σ² I)⁻¹ T A Vᵀ;  with E = V − QᵀT:  R = E A,  f = tr E A Eᵀ + σ² ‖Q‖².
        # This f is a sum of squares, and the least over all Q: rounding in Q hardly moves it.
        TA = self.times_A(T)
        gram = TA @ T.T
        gram.flat[:: gram.shape[0] + 1] += self.sigma**2
        Q = cho_solve(cho_factor(gram), TA @ self.V.T)
        E = self.V - Q.T @ T
        EL = E @ self.L
        R = E * self.a + EL @ self.L.T
        f = float(np.sum(E * E * self.a) + np.sum(EL * EL)) + self.sigma**2 * float(np.sum(Q * Q))
        return Q, R, f

    def certificate(self, T: Array) -> _Certificate:
        """Return the value of T and a lower bound on the value of any sketch.

        The value f is convex in Π, with gradient −D, D = RᵀR/σ².  So f(Π*) ≥ f(Π) + tr D Π −
        tr D Π*, and tr D Π* ≤ Σμ for every μ ≥ 0 with Diag(μ) ⪰ D.  The μ of the optimum is
        diag(D Π); it is multiplied by the largest eigenvalue of μ^(-1/2) D μ^(-1/2) to make it
        feasible, which is an eigenvalue of a p × p matrix.  Eigenvectors above 1 are directions
        that T lacks.
        """
        Q, R, f = self.decode(T)
        TD = Q @ R  # rows of T times D
        told = float(np.sum(TD * T))
        slack, missing = np.inf, np.zeros((0, T.shape[1]))
        for _ in range(POLISH):
            mu = np.sqrt(np.einsum("ri,ri->i", TD, TD))
            # People of no influence get a sliver of μ: rounding noise in R must not divide by 0.
            mu += 1e-12 * mu.sum() / len(mu) + 1e-300
            B = R / (np.sqrt(mu) * self.sigma)
            eigen, vectors = eigh(B @ B.T)
            looseness = max(1.0, float(eigen[-1])) * float(mu.sum()) - told
            if not looseness < slack * (1.0 - 1e-3):
                break
            if slack == np.inf:
                missing = vectors[:, eigen > 1.0 + 1e-9][:, ::-1].T @ R / mu
            slack = looseness
            # Every μ gives a bound; one step of the fixed point of the optimum tightens it.
            TD = ((TD / mu) @ R.T) @ R / self.sigma**2
        # f is a difference of numbers as large as the prior variance; own up to its rounding.
        value = self.floor + f
        return _Certificate(value, value - slack - 1e-15 * self.scale, missing)

    def of(self, people: People, count: NDArray[np.intp]) -> _Problem:
        """Return the problem in which each of ``people`` stands for ``count`` equal ones.

        Equal people have equal columns in the best sketch, so only their sum counts.
        """
        return replace(
            self, V=self.V[:, people], a=self.a[people] * count, L=self.L[people] * count[:, None]
        )

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


def _alike(prior: Prior) -> tuple[People, People, NDArray[np.intp]]:
    """Find people who are equal to ten digits: the first of each kind, who is which, how many.

    The certificate is of the real people, so a merger that loses something shows in the gap.
    """
    parts = [prior.C, prior.factor.T, prior.diagonal[None]]
    keys = np.vstack([_unit_scale(row[None]) for part in parts for row in part]).T
    keys = np.ascontiguousarray(keys.round(10) + 0.0)
    rows = keys.view([("", keys.dtype)] * keys.shape[1]).ravel()
    _, first, member, count = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    return first, member, count


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


def _solve(problem: _Problem, gap: float) -> tuple[Array, int, str]:
    """Return T, the number of iterations, and why it is no better."""
    T = _start(problem)
    if problem.V.shape[1] > MANY_PEOPLE:
        T = _sweep(problem, T, gap)
    T, iterations, reason = _descend(problem, T, gap)
    found = problem.certificate(T)
    for _ in range(ESCAPES):
        room = problem.V.shape[0] - T.shape[0]
        if found.meets(gap) or room <= 0 or len(found.missing) == 0:
            break
        lacking = _unit_columns(found.missing[:room])
        T, more, reason = _descend(problem, np.vstack([T, 0.1 * lacking]), gap)
        iterations, found = iterations + more, problem.certificate(T)
    # Rotate T to its singular directions (Π stays) and keep the fewest rows that are as good.
    _, size, directions = np.linalg.svd(T, full_matrices=False)
    T = size[:, None] * directions
    for share in SMALL_ROWS:
        r = max(1, int(np.sum(size > share * size[0])))
        if r == len(size):
            break
        shorter, more, _ = _descend(problem, T[:r], gap)
        iterations += more
        new = problem.certificate(shorter)
        if new.meets(max((found.value - found.bound) / found.value, ENOUGH * gap)):
            return shorter, iterations, reason
    return T, iterations, reason


def _start(problem: _Problem) -> Array:
    N = problem.V.shape[1]
    if N > FEW_PEOPLE:
        coarse, member = problem.coarse(GROUPS)
        return _solve(coarse, ROUGH_GAP)[0][:, member]
    return _unit_columns(total(problem.V, gap=ROUGH_GAP).T)


def _sweep(problem: _Problem, T: Array, gap: float) -> Array:
    """Improve decoder and sketch in turn: quick for many people, where L-BFGS is slow.

    With the decoder Q fixed, f is at most tr (V − QᵀT) A (V − QᵀT)ᵀ + σ²‖Q‖², and just that at the
    present T.  Only the factor L couples people in it: with that part linearised, each column is
    found alone.  A step towards these columns goes down, and keeps all lengths at most 1.
    """
    Q, R, f = problem.decode(T)
    step, best, least, patience = 1.0, T, np.inf, PATIENCE
    for sweep in range(int(np.clip(SWEEP_WORK // T.size, 20, SWEEPS))):
        if sweep % 5 == 0:
            found = problem.certificate(T)
            looseness = found.value - found.bound
            patience = PATIENCE if looseness < 0.5 * least else patience - 5
            if looseness < least:
                best, least = T, looseness
            if found.meets(ENOUGH * gap) or patience <= 0:
                break
        coupled = (problem.V - Q.T @ T) @ problem.L
        pull = Q @ (problem.V * problem.a + coupled @ problem.L.T)
        change = _best_columns(Q, pull, problem.a) - T
        slope = -2.0 * float(np.sum((Q @ R) * change))
        step = min(1.0, 2.0 * step)
        while step > SHORTEST_STEP:
            new_Q, new_R, new_f = problem.decode(T + step * change)
            if new_f <= f + 0.1 * step * slope + 1e-15 * abs(f):
                break
            step *= 0.5
        else:
            break
        T, Q, R, f = T + step * change, new_Q, new_R, new_f
    return best


def _best_columns(Q: Array, pull: Array, a: Array) -> Array:
    """Return for each person the t with ‖t‖ ≤ 1 that minimises a ‖Qᵀt‖² − 2 tᵀ pull."""
    eigen, basis = np.linalg.eigh(Q @ Q.T)
    h = basis.T @ pull
    curvature = np.maximum(eigen, 1e-14 * eigen[-1])[:, None] * a
    # t = h/(curvature + μ), with μ ≥ 0 the root of ‖t‖ = 1 (Newton on 1/‖t‖), or 0 inside the ball.
    mu = np.zeros(h.shape[1])
    t = h / (curvature + mu)
    for _ in range(SECULAR_STEPS):
        squared = np.einsum("ri,ri->i", t, t)
        outside = squared > 1.0 + 1e-12
        if not outside.any():
            break
        slope = np.einsum("ri,ri->i", t, t / (curvature + mu))
        mu += np.where(outside, (np.sqrt(squared) - 1.0) * squared / np.maximum(slope, 1e-300), 0.0)
        t = h / (curvature + mu)
    length = np.sqrt(np.einsum("ri,ri->i", t, t))
    return basis @ (t / np.maximum(length, 1.0))


def _unit_columns(T: Array) -> Array:
    length = np.sqrt(np.einsum("ri,ri->i", T, T))
    return np.divide(T, length, out=np.zeros_like(T), where=length > 1e-9 * length.max(initial=0.0))


def _descend(problem: _Problem, T: Array, gap: float) -> tuple[Array, int, str]:
    """Run L-BFGS on Z (r + 1, N), T = the first r rows of Z with its columns made unit vectors.

    The last row is slack: it lets a column of T be shorter than 1, smoothly.
    """
    r, N = T.shape
    if problem.certificate(T).meets(ENOUGH * gap):
        return T, 0, "certified from the start"
    scale = problem.decode(T)[2] or 1.0

    def objective(z: Array) -> tuple[float, Array]:
        Z = z.reshape(r + 1, N)
        length = np.sqrt(np.einsum("ri,ri->i", Z, Z))
        unit = Z / length
        Q, R, f = problem.decode(unit[:r])
        gradient = np.zeros_like(Z)
        gradient[:r] = -2.0 * (Q @ R)
        gradient -= unit * np.einsum("ri,ri->i", gradient, unit)
        return f / scale, (gradient / (length * scale)).ravel()

    steps = 0

    def stop_when_certified(z: Array) -> None:
        nonlocal steps
        steps += 1
        if steps % CHECK_EVERY == 0:
            unit = _unit_columns(z.reshape(r + 1, N))[:r]
            if problem.certificate(unit).meets(ENOUGH * gap):
                raise StopIteration

    slack = np.sqrt(np.maximum(1.0 - np.einsum("ri,ri->i", T, T), 0.01))
    Z = np.vstack([T, slack])
    most = int(np.clip(WORK // T.size, FEWEST_ITERATIONS, MOST_ITERATIONS))
    options = {"maxfun": 2 * most, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    iterations, before = 0, np.inf
    while iterations < most:
        # Columns of Z drift in length, which spoils the curvature that L-BFGS has learnt: when it
        # stops, make them unit vectors and start it again, until that gains nothing.
        Z = _unit_columns(Z)
        found = minimize(
            objective,
            Z.ravel(),
            jac=True,
            method="L-BFGS-B",
            options=options | {"maxiter": most - iterations},
            callback=stop_when_certified,
        )
        Z = found.x.reshape(r + 1, N)
        iterations += max(1, int(found.nit))
        if found.status == STOPPED_BY_CALLBACK or not found.fun < before * (1.0 - 1e-13):
            return _unit_columns(Z)[:r], iterations, "no more progress in floating point"
        before = found.fun
    return _unit_columns(Z)[:r], iterations, "too many iterations"
