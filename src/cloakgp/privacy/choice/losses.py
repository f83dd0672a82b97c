"""The loss of one prediction, and how far one person can move it, in closed form.

A prediction p + τz, z ~ N(0, 1), is clamped into [0, 1] and compared with u in [0, 1].  Claims and
proofs: ``utility.md``.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.special import ndtr

from cloakgp.privacy.mechanism.outputs import Floats

Loss = Literal["absolute", "squared"]

#: Bound on the floating-point error of one person's loss, given their prediction (measured).
EVALUATION_ERROR = 2.0**-36


# Proof: utility.md
def own_move(tau: Floats, loss: Loss) -> Floats:
    """Bound the move of a person's loss when their own output is replaced."""
    least = _least_mean(tau)
    return 1.0 - 2.0 * least if loss == "absolute" else (1.0 - least) ** 2


# Proof: utility.md
def any_move(tau: Floats, loss: Loss) -> Floats:
    """Bound the move of a person's loss whatever happens."""
    least = _least_mean(tau)
    return 1.0 - 2.0 * least if loss == "absolute" else 1.0 - least


# Proof: utility.md
def prediction_move(h: Floats, tau: Floats, loss: Loss) -> Floats:
    """Bound the move of a person's loss when the mean of their prediction moves by ``h``.

    Absolute: a = E clamp(½ + h/2 + τz) − E clamp(½ − h/2 + τz).  Squared: 2a − a², and 2am, where
    m = E[1 + τz | 0 < 1 + τz < 1].
    """
    h = np.minimum(h, 1.0)
    safe = np.maximum(tau, 1e-300)
    inside = 2.0 * ndtr(0.5 / safe) - 1.0  # the largest slope of a
    centred = 2.0 * _clamped_mean(0.5 + 0.5 * h, tau) - 1.0
    a: Floats = np.minimum(np.minimum(centred + EVALUATION_ERROR, h * inside), 1.0)
    if loss == "absolute":
        return a
    m = 1.0 - tau * (_density(np.zeros(1)) - _density(1.0 / safe)) / (0.5 - ndtr(-1.0 / safe))
    squared: Floats = a * np.minimum(2.0 - a, 2.0 * m)
    return squared


# Proof: utility.md
def _least_mean(tau: Floats) -> Floats:
    """E clamp(τz), the smallest mean that a clamped prediction can have; a little below it."""
    return np.maximum(_clamped_mean(np.zeros_like(tau), tau) - EVALUATION_ERROR, 0.0)


# Proof: utility.md
def _clamped_mean(p: Floats, tau: Floats) -> Floats:
    """E clamp(p + τz) into [0, 1]: J(p) − J(p − 1)."""
    return _J(p, tau) - _J(p - 1.0, tau)


# Proof: utility.md
def _J(x: Floats, tau: Floats) -> Floats:
    """E max(x + τz, 0)."""
    safe = np.maximum(tau, 1e-300)
    with np.errstate(over="ignore", under="ignore"):
        mean: Floats = x * ndtr(x / safe) + tau * _density(x / safe)
    return mean


# Proof: utility.md
def _K(x: Floats, tau: Floats) -> Floats:
    """E max(x + τz, 0)²."""
    safe = np.maximum(tau, 1e-300)
    with np.errstate(over="ignore", under="ignore"):
        square: Floats = (x * x + tau * tau) * ndtr(x / safe) + x * tau * _density(x / safe)
    return square


# Proof: utility.md
def _density(x: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * np.minimum(np.abs(x), 1e3) ** 2) / math.sqrt(2.0 * math.pi)
    return density


# Proof: utility.md
def row_losses(p: Floats, u: Floats, tau: Floats, loss: Loss) -> Floats:
    """E|clamp(p + τz) − u| or E(clamp(p + τz) − u)², for p, u and the clamp in [0, 1]."""
    if loss == "absolute":
        above = _J(p - u, tau) - _J(p - 1.0, tau)
        below = _J(u - p, tau) - _J(-p, tau)
    else:
        above = _K(p - u, tau) - _K(p - 1.0, tau) - 2.0 * (1.0 - u) * _J(p - 1.0, tau)
        below = _K(u - p, tau) - _K(-p, tau) - 2.0 * u * _J(-p, tau)
    return np.clip(above + below, 0.0, 1.0)
