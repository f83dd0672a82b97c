"""Decoder and sketch improved in turn: quick where people are many."""

from __future__ import annotations

import numpy as np

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.people import columns_of
from cloakgp.design.bayes.problem import Problem
from cloakgp.design.result import Array

#: Sweeps at most; fewer, where T has more entries than SWEEP_WORK allows for.
SWEEPS, FEWEST_SWEEPS, SWEEP_WORK = 300, 20, 150_000_000
#: Sweeps without progress at most, between two certificates, and the share of the gap asked for
#: that is enough.
PATIENCE, CHECK_EVERY, ENOUGH = 30, 5, 0.1
SHORTEST_STEP = 1e-4
#: Newton steps for each person's multiplier.
SECULAR_STEPS = 40


def sweep(problem: Problem, T: Array, gap: float) -> Array:
    """Improve decoder and sketch in turn: quick for many people, where L-BFGS is slow.

    With the decoder Q fixed, f is at most tr (V − QᵀT) A (V − QᵀT)ᵀ + σ²‖Q‖², and just that at the
    present T.  Only the factor L couples people in it: with that part linearised, each column is
    found alone.  A step towards these columns goes down, and keeps all lengths at most 1.
    """
    Q, R, f = problem.decode(T)
    step, best, least, patience = 1.0, T, np.inf, PATIENCE
    for number in range(int(np.clip(SWEEP_WORK // T.size, FEWEST_SWEEPS, SWEEPS))):
        if number % CHECK_EVERY == 0:
            found = certify(problem, columns_of(T), gap=ENOUGH * gap)
            looseness = found.value - found.bound
            patience = PATIENCE if looseness < 0.5 * least else patience - CHECK_EVERY
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
