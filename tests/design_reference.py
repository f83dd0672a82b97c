"""Dense, slow, obvious versions of the four designs' objectives, and bounds built from T alone.

Every bound is weak duality spelled out: any multipliers λ ≥ 0 give a valid one, so a wrong guess
of λ can only make a test fail, never pass.  Nothing here imports the solvers.
"""

from __future__ import annotations

import os
from pathlib import Path

import cvxpy as cp
import numpy as np

# --- values of a sketch -------------------------------------------------------------------------


def decoder(C, T):
    """Return A = C T⁺ (P, r) and how far A T is from C, as a share of C's largest entry."""
    A = np.linalg.lstsq(T.T, C.T, rcond=1e-14)[0].T
    return A, np.abs(A @ T - C).max() / np.abs(C).max()


def volume_value(C, T):
    """log det of M = A Aᵀ on the range of C; infinite if C cannot be decoded from the sketch."""
    A, error = decoder(C, T)
    if error > 1e-6:
        return np.inf
    return float(2.0 * np.log(np.linalg.svd(A, compute_uv=False)).sum())


def total_value(C, T, weights=None):
    """Σ_j w_j M_jj; points of weight zero need not be decodable."""
    weights = np.ones(len(C)) if weights is None else np.asarray(weights)
    if not np.any(C[weights > 0]):
        return 0.0
    A, error = decoder(C[weights > 0], T)
    return float(weights[weights > 0] @ np.sum(A**2, axis=1)) if error <= 1e-6 else np.inf


def worst_value(C, T):
    """max_j M_jj."""
    A, error = decoder(C, T)
    return float(np.sum(A**2, axis=1).max()) if error <= 1e-6 else np.inf


def prior_covariance(prior):
    return np.diag(prior.diagonal) + prior.factor @ prior.factor.T


def posterior_covariance(prior, T):
    """cov(u | s), N by N."""
    A = prior_covariance(prior)
    gram = T @ A @ T.T + prior.sigma**2 * np.eye(len(T))
    return A - A @ T.T @ np.linalg.solve(gram, T @ A)


def bayes_value(prior, T):
    """The trace of the workload's posterior covariance, weighted, and the floor."""
    covariance = prior.C @ posterior_covariance(prior, T) @ prior.C.T
    return float(prior.floor + prior.weights @ np.diag(covariance))


# --- bounds from a sketch -----------------------------------------------------------------------

TIGHT = 1e-4  # squared lengths this near to the largest may carry a multiplier


def volume_bound(C, T, tight=TIGHT):
    """A lower bound on log det M over all feasible M, from T's longest columns.

    With c_i = A t_i and S = Σ λ_i t_i t_iᵀ: log det M ≥ log det A S Aᵀ + r log(r/Σλ), and S = I
    at the optimum.
    """
    r = len(T)
    t = _longest(T, tight)
    lam = nonnegative_solution(np.square(t.T @ t), np.sum(t**2, axis=0))
    S = (t * lam) @ t.T
    return volume_value(C, T) + float(np.linalg.slogdet(S)[1] + r * np.log(r / lam.sum()))


def total_bound(C, T, weights=None, tight=TIGHT):
    """A lower bound on Σ w_j M_jj: (tr (G^(1/2) S G^(1/2))^(1/2))²/Σλ, with G = Aᵀ W A.

    S = Σ λ_i t_i t_iᵀ = G at the optimum.
    """
    weights = np.ones(len(C)) if weights is None else np.asarray(weights)
    A = np.sqrt(weights[weights > 0])[:, None] * decoder(C[weights > 0], T)[0]
    t = _longest(T, tight)
    lam = nonnegative_solution(np.square(t.T @ t), np.sum((A @ t) ** 2, axis=0))
    return nuclear_norm(A @ (t * np.sqrt(lam))) ** 2 / lam.sum()


def worst_bound(C, T, tight=TIGHT):
    """A lower bound on max_j M_jj: the bound of ``total`` for the best weights of sum 1.

    Weights and λ solve Σ w_j a_j a_jᵀ = Σ λ_i t_i t_iᵀ, on the longest rows and columns.
    """
    A = decoder(C, T)[0]
    a, t = _longest(A.T, tight), _longest(T, tight)
    a_scale = np.sqrt(np.sum(a**2, axis=0).max())
    both = np.hstack([a / a_scale, t])
    sign = np.r_[np.ones(a.shape[1]), -np.ones(t.shape[1])]
    is_weight = sign > 0
    # Least squares of the stationarity equations and of Σw = 1.
    gram = np.square(both.T @ both) * np.outer(sign, sign) + np.outer(is_weight, is_weight)
    solution = nonnegative_solution(gram, is_weight.astype(float))
    w, lam = solution[is_weight], solution[~is_weight]
    size = nuclear_norm((np.sqrt(w)[:, None] * a.T) @ (t * np.sqrt(lam)))
    return size**2 / (lam.sum() * w.sum())


def bayes_dual(prior, E, mu):
    """The dual value of (E, μ), a lower bound on every sketch's value, in dense matrices.

    For every E (P, N): f(T) ≥ tr C A Cᵀ − tr (C − E) A (C − E)ᵀ − tr Π D with D = (EA)ᵀ(EA)/σ², and
    tr Π D ≤ Σμ if Diag(μ) ⪰ D.  Where that fails, μ is multiplied until it holds.
    """
    A = prior_covariance(prior)
    C = np.sqrt(prior.weights)[:, None] * prior.C
    R = E @ A / np.sqrt(mu)
    grown = max(1.0, np.linalg.eigvalsh(R @ R.T)[-1] / prior.sigma**2 * (1.0 + 1e-13))
    gain = 2.0 * np.sum((C @ A) * E) - np.sum((E @ A) * E)
    return float(prior.floor + gain - grown * mu.sum())


def bayes_bound(prior, T, steps=50, enough=1e-6):
    """A lower bound on the posterior variance after any sketch, in dense matrices.

    E = C − (decoder) T and μ = diag(DΠ) are optimal if T is.  K E is better: K shrinks each
    direction to what the constraint on it allows, and lets those that the sketch tells of grow.  If
    that is not ``enough``, power iteration at fixed D improves μ, for people who hardly matter may
    be badly placed.
    """
    S = posterior_covariance(prior, T)
    C = np.sqrt(prior.weights)[:, None] * prior.C
    R = C @ S  # = E A
    A = prior_covariance(prior)
    E = C - R @ T.T @ T / prior.sigma**2
    D = R.T @ R / prior.sigma**2
    value = bayes_value(prior, T)
    best = -np.inf
    for _ in range(steps):
        mu = np.linalg.norm(T @ D, axis=0)
        mu = mu + 1e-13 * mu.sum() + 1e-300
        w, U = np.linalg.eigh((E @ A / mu) @ (E @ A).T / prior.sigma**2)
        rounding = 1e-9 * w[-1]  # directions that are known beforehand are left as they are
        for even in (0.0, 0.3, 0.7, 1.0):  # from which share on directions are evened out
            some = w > max(even, rounding)
            K = (U * np.where(some, np.where(some, w, 1.0) ** -0.5, 1.0)) @ U.T
            best = max(best, bayes_dual(prior, K @ E, mu))
        if value - best <= enough * value:
            break
        T = (T @ D) / mu
    return float(best)


def nonnegative_solution(gram, rhs):
    """Solve gram x ≈ rhs for x ≥ 0, by dropping what comes out negative until nothing does."""
    active = np.arange(len(rhs))
    ridge = 1e-13 * np.trace(gram) / len(rhs)
    while True:
        part = gram[np.ix_(active, active)] + ridge * np.eye(len(active))
        x = np.linalg.solve(part, rhs[active])
        if np.all(x >= 0):
            solution = np.zeros(len(rhs))
            solution[active] = x
            return solution
        active = active[x > 0]


def nuclear_norm(matrix):
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def _longest(columns, tight):
    size = np.sum(columns**2, axis=0)
    return columns[:, size >= size.max() * (1.0 - tight)]


# --- the same programs, as a general solver sees them -------------------------------------------


def solve_volume(C):
    """Minimise −log det X over X = M⁻¹ with c_iᵀ X c_i ≤ 1; C must have full row rank."""
    X = cp.Variable((len(C), len(C)), PSD=True)
    lengths = cp.sum(cp.multiply(C, X @ C), axis=0)
    return cp.Problem(cp.Minimize(-cp.log_det(X)), [lengths <= 1]).solve(solver=cp.CLARABEL)


def solve_total(C, weights):
    M, constraints = _noise_covariance(C)
    return cp.Problem(cp.Minimize(weights @ cp.diag(M)), constraints).solve(solver=cp.CLARABEL)


def solve_worst(C):
    M, constraints = _noise_covariance(C)
    return cp.Problem(cp.Minimize(cp.max(cp.diag(M))), constraints).solve(solver=cp.CLARABEL)


def _noise_covariance(C):
    """M and, by Schur complement, c_iᵀ M⁻¹ c_i ≤ 1."""
    M = cp.Variable((len(C), len(C)), symmetric=True)
    one = np.ones((1, 1))
    return M, [cp.bmat([[M, c[:, None]], [c[None, :], one]]) >> 0 for c in C.T]


def solve_bayes(prior):
    """Minimise floor + Σ w_j c_jᵀ(A⁻¹ + Π/σ²)⁻¹ c_j over Π ⪰ 0 with Π_ii ≤ 1."""
    N = prior.C.shape[1]
    Pi = cp.Variable((N, N), PSD=True)
    precision = np.linalg.inv(prior_covariance(prior)) + Pi / prior.sigma**2
    rows = np.sqrt(prior.weights)[:, None] * prior.C
    trace = sum(cp.matrix_frac(row, precision) for row in rows)
    problem = cp.Problem(cp.Minimize(trace), [cp.diag(Pi) <= 1])
    return prior.floor + problem.solve(solver=cp.CLARABEL)


# --- workloads ----------------------------------------------------------------------------------


def squared_exponential(x, z, lengthscale):
    return np.exp(-0.5 * ((x[:, None] - z[None, :]) / lengthscale) ** 2)


def women_ages():
    """The ages of the 287 women of the paper's heights data, from the folder CLOAKGP_DATA."""
    table = np.genfromtxt(
        Path(os.environ["CLOAKGP_DATA"]) / "Howell1.csv", delimiter=";", names=True
    )
    return table["age"][table["male"] == 0]


def paper_workload(ages, points):
    """C = K_*X (K + 0.3 I)⁻¹ at evenly spaced ages, and K; lengthscale 25, variance 1."""
    at = np.linspace(0.0, ages.max(), points)
    K = squared_exponential(ages, ages, 25.0)
    cross = squared_exponential(ages, at, 25.0)
    return np.linalg.solve(K + 0.3 * np.eye(len(ages)), cross).T, K


def square_root(K):
    """L with L Lᵀ = K, without the directions that are rounding noise."""
    size, vectors = np.linalg.eigh(K)
    keep = size > 1e-14 * size[-1]
    return vectors[:, keep] * np.sqrt(size[keep])


def smooth_family(people, points=10, lengthscale=0.15):
    """Kernel values of many people on a line at a few points: columns along a smooth curve."""
    x = np.random.default_rng(1).uniform(size=people)
    return squared_exponential(np.linspace(0.0, 1.0, points), x, lengthscale)
