"""What each person answers: the column of T that a small state gives to anybody who comes along.

The state is P = QᵀQ, how loudly each direction of the workload is heard, and Y, what the sketch
leaves of the people's common part.  With P = U diag(e) Uᵀ person i answers

    t = argmin { a ‖√e t‖² − 2 (√e t)ᵀ h : ‖t‖ ≤ 1 } = √e h/(a e + μ),   h = Uᵀ(a v + Y l),

where μ ≥ 0 is the root of ‖t‖ = 1, or 0 inside the ball.  Nobody needs to know about anybody else,
so a sketch of any number of people is this state and one pass over them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakgp.design.bayes.people import Block, squares
from cloakgp.design.result import Array

#: Newton steps for μ at most; 4 to 8 are usual, and nobody is done at a larger error of ‖t‖².
STEPS, ROOT_ERROR = 60, 1e-13
#: People who are done leave the iteration every so often, if enough of them are.
LEAVE_EVERY, MANY_DONE = 4, 0.3
TINY = 1e-300


@dataclass(frozen=True)
class State:
    """P = basis diag(sizes) basisᵀ, Y, and how much the answers are smoothed (``tau``, or 0)."""

    basis: Array  # (p, k), orthonormal columns
    sizes: Array  # (k,), positive
    Y: Array  # (p, q)
    tau: float = 0.0

    @property
    def P(self) -> Array:
        """Return P (p, p)."""
        return (self.basis * self.sizes) @ self.basis.T

    def pull(self, block: Block) -> Array:
        """Return h (k, n): what each person would like to say."""
        return (self.basis.T @ block.V) * block.a + (self.basis.T @ self.Y) @ block.L.T

    def columns(self, block: Block) -> Array:
        """Return the columns of T (k, n) for some people."""
        return answer(self.pull(block), self.sizes, block.a, self.tau)[0]


def answer(h: Array, e: Array, a: Array, tau: float = 0.0) -> tuple[Array, Array]:
    """Return t (k, n) and μ (n,) for h (k, n): the root of ‖t‖² + τ/μ = 1.

    Newton's method on (‖t‖² + τ/μ)^(-1/2), which is concave in μ: from below it is monotone, and
    one step from above leads below.
    """
    top, own = np.sqrt(e)[:, None] * h, e[:, None] * a
    # ‖top‖ ≤ (a max e + μ) ‖t‖ bounds the root from below.
    least = np.maximum(np.sqrt(squares(top)) - a * e.max(initial=0.0), tau)
    mu = least.copy()
    todo = np.arange(h.shape[1])
    t = np.empty_like(top)
    t_left, top_left, own_left, mu_left, least_left = top / (own + mu + TINY), top, own, mu, least
    for step in range(STEPS):
        length = squares(t_left) + (tau / mu_left if tau else 0.0)
        open_ = np.abs(length - 1.0) > ROOT_ERROR
        if not tau:
            open_ &= (length > 1.0) | (mu_left > 0.0)
        if not open_.any():
            break
        if step % LEAVE_EVERY == 0 and open_.mean() < 1.0 - MANY_DONE:
            done = ~open_
            mu[todo[done]], t[:, todo[done]] = mu_left[done], t_left[:, done]
            todo, length, mu_left, least_left = (
                x[open_] for x in (todo, length, mu_left, least_left)
            )
            t_left, top_left, own_left = t_left[:, open_], top_left[:, open_], own_left[:, open_]
        slope = np.einsum("ki,ki,ki->i", t_left, t_left, 1.0 / (own_left + mu_left + TINY))
        if tau:
            slope += 0.5 * tau / mu_left**2
        # With φ = length^(-1/2): μ ← μ + (1 − φ)/φ', φ' = slope/length^(3/2).
        move = (np.sqrt(length) - 1.0) * length / np.maximum(slope, TINY)
        mu_left = np.maximum(mu_left + move, least_left)
        t_left = top_left / (own_left + mu_left + TINY)
    mu[todo], t[:, todo] = mu_left, t_left
    if not tau:
        t /= np.sqrt(np.maximum(squares(t), 1.0))
    return t, mu
