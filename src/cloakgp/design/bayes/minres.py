"""MINRES: a symmetric system, definite or not, solved by products alone.

SciPy's compares lengths before and after preconditioning and stops too early where the two differ
much; here the residual is measured by the rough inverse throughout.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cloakgp.design.result import Array

Product = Callable[[Array], Array]


def minres(times: Product, rough: Product, b: Array, exact: float, most: int) -> Array:
    """Return x with A x ≈ b, by at most ``most`` products A v.

    ``rough`` is a positive definite inverse M of |A|, roughly; the residual r ends with
    √(rᵀM r) at most ``exact`` times that of b.
    """
    x, v_old, w, w_old = np.zeros_like(b), np.zeros_like(b), np.zeros_like(b), np.zeros_like(b)
    v, z = b, rough(b)
    gamma_old, gamma = 1.0, float(np.sqrt(v @ z))
    left, enough = gamma, exact * gamma
    c_old = c = 1.0
    s_old = s = 0.0
    for _ in range(most):
        if not abs(left) > enough:
            break
        # Lanczos: γ' v' = A z − δ v − γ v_old, with zᵀv = 1 …
        z = z / gamma
        Az = times(z)
        delta = float(Az @ z)
        v_old, v = v, Az - (delta / gamma) * v - (gamma / gamma_old) * v_old
        z_new = rough(v)
        gamma_new = float(np.sqrt(max(float(v @ z_new), 0.0)))
        # … and a rotation of the tridiagonal matrix to a triangular one.
        above = c * delta - c_old * s * gamma
        length = float(np.hypot(above, gamma_new))
        if length == 0.0:
            break
        w_old, w = w, (z - s_old * gamma * w_old - (s * delta + c_old * c * gamma) * w) / length
        c_old, c, s_old, s = c, above / length, s, gamma_new / length
        x = x + (c * left) * w
        left *= -s
        z, gamma_old, gamma = z_new, gamma, gamma_new
    return x
