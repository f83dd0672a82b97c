"""Slow, dense, obvious Gaussian process algebra that the library is tested against.

Everything is written as one joint Gaussian of (f at some points, y), with plain inverses, so that a
reader can check it against a textbook. Nothing here is imported from the library.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Joint:
    """The joint prior of f at P points and of the outputs y of N people."""

    yy: np.ndarray  # (N, N): cov(y)
    fy: np.ndarray  # (P, N): cov(f, y)
    ff: np.ndarray  # (P, P): cov(f)

    @property
    def C(self):
        """The non-private prediction is m + C (y − m)."""
        return self.fy @ np.linalg.inv(self.yy)

    @property
    def floor(self):
        """cov(f | y)."""
        return self.ff - self.C @ self.fy.T

    def draw(self, rng, mean, draws):
        """Draw (f, y) from the joint prior: arrays of shape (draws, P) and (draws, N)."""
        whole = np.block([[self.ff, self.fy], [self.fy.T, self.yy]])
        value, vector = np.linalg.eigh(whole)
        assert value.min() > -1e-9 * value.max(), "not a covariance matrix"
        z = rng.standard_normal((draws, len(whole)))
        both = mean + z @ (vector * np.sqrt(np.maximum(value, 0.0))).T
        return both[:, : len(self.ff)], both[:, len(self.ff) :]


def exact_joint(kernel, X, noise, points):
    """The exact Gaussian process."""
    return Joint(kernel(X) + noise * np.eye(len(X)), kernel(points, X), kernel(points))


def sparse_joint(kernel, X, noise, points, inducing, approximation):
    """FITC (true variances of people, Nyström covariances) or DTC (Nyström throughout)."""
    inverse = np.linalg.inv(kernel(inducing))
    q_yy = kernel(X, inducing) @ inverse @ kernel(inducing, X)
    q_fy = kernel(points, inducing) @ inverse @ kernel(inducing, X)
    lost = np.diag(np.diag(kernel(X)) - np.diag(q_yy)) if approximation == "fitc" else 0.0
    return Joint(q_yy + lost + noise * np.eye(len(X)), q_fy, kernel(points))


def paper_fitc_workload(kernel, X, noise, points, inducing):
    """C = k_*Mᵀ Q_MM⁻¹ K_MN (Λ + σ²I)⁻¹, Q_MM = K_MM + K_MN (Λ + σ²I)⁻¹ K_NM, as printed."""
    K_mn, K_mm = kernel(inducing, X), kernel(inducing)
    lost = np.diag(kernel(X)) - np.diag(K_mn.T @ np.linalg.inv(K_mm) @ K_mn)
    weight = np.linalg.inv(np.diag(lost) + noise * np.eye(len(X)))
    Q = K_mm + K_mn @ weight @ K_mn.T
    return kernel(points, inducing) @ np.linalg.inv(Q) @ K_mn @ weight


def bayes_posterior(joint, T, noise_std, lo, width, mean, s):
    """Mean and covariance of f given s = T (y − lo)/width + noise, from their joint Gaussian.

    ``lo`` and ``width`` are numbers, or one for each person.
    """
    A = T @ np.diag(np.broadcast_to(1.0 / np.asarray(width), T.shape[1:]))  # s = A (y − lo) + noise
    cov_ss = A @ joint.yy @ A.T + noise_std**2 * np.eye(len(T))
    cov_fs = joint.fy @ A.T
    mean_s = A @ np.broadcast_to(mean - np.asarray(lo), T.shape[1:])
    gain = cov_fs @ np.linalg.inv(cov_ss)
    return mean + gain @ (s - mean_s), joint.ff - gain @ cov_fs.T


def direct_estimate(joint, T, noise_std, lo, width, mean, s):
    """The estimate m + C diag(width) T⁺ (s − E s), and the covariance of its error f − estimate."""
    D = np.diag(np.broadcast_to(np.asarray(width, dtype=float), T.shape[1:]))
    G = joint.C @ D @ np.linalg.pinv(T)
    mean_s = T @ np.linalg.inv(D) @ np.broadcast_to(mean - np.asarray(lo), T.shape[1:])
    # f − estimate = (f − m) − A (y − m) − G·noise
    A = G @ T @ np.linalg.inv(D)
    error = joint.ff - A @ joint.fy.T - joint.fy @ A.T + A @ joint.yy @ A.T
    return mean + G @ (s - mean_s), error + noise_std**2 * G @ G.T


def largest_move(T, groups):
    """Largest ‖Σ a_i t_i‖ over |a_i| ≤ 1 within one group, by trying every vertex."""
    best = 0.0
    for owner in set(groups):
        columns = T[:, [i for i, g in enumerate(groups) if g == owner]]
        for signs in itertools.product((-1.0, 1.0), repeat=columns.shape[1]):
            best = max(best, float(np.linalg.norm(columns @ np.array(signs))))
    return best
