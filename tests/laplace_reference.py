"""Slow, dense, obvious Laplace approximations that the library is tested against.

Nothing here is imported from the library.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
from scipy.special import erf
from scipy.stats import poisson

#: scikit-learn's five error functions for the logistic (Williams and Barber 1998).
LAMBDAS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
COEFS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])


def newton_step(K, f0, t, mean, slope, prior_mean=0.0):
    """f = m + K (K + W⁻¹)⁻¹ (ỹ − m),  ỹ = f₀ + W⁻¹ (t − mean(f₀)), with plain inverses."""
    W = slope(f0)
    pseudo = f0 + (t - mean(f0)) / W
    return prior_mean + K @ np.linalg.inv(K + np.diag(1.0 / W)) @ (pseudo - prior_mean)


def expected_logistic(mean, variance, power=1):
    """E[1/(1 + e^−f)^power], f ~ N(mean, variance), by adaptive quadrature in 30 digits."""
    with mp.workdps(30):
        m, s = mp.mpf(mean), mp.sqrt(mp.mpf(variance))
        if s == 0:
            return float((1 + mp.exp(-m)) ** -power)
        # The logistic climbs around f = 0: give the quadrature pieces on its scale.
        breaks = [(k - m) / s for k in (-60, -20, -5, 0, 5, 20, 60)]
        ends = sorted({mp.mpf(-12), mp.mpf(12), *(min(max(b, -12), 12) for b in breaks)})
        return float(mp.quad(lambda z: mp.npdf(z) * (1 + mp.exp(-(m + s * z))) ** -power, ends))


def logistic_by_error_functions(mean, variance):
    """What scikit-learn takes for E[1/(1 + e^−f)]."""
    alpha = 1.0 / (2.0 * variance)
    gamma = LAMBDAS[:, None] * mean
    integrals = (
        np.sqrt(np.pi / alpha)
        * erf(gamma * np.sqrt(alpha / (alpha + LAMBDAS[:, None] ** 2)))
        / (2.0 * np.sqrt(variance * 2.0 * np.pi))
    )
    return (COEFS[:, None] * integrals).sum(axis=0) + 0.5 * COEFS.sum()


def capped_poisson(rate, cap):
    """Mean, slope along log rate, and variance of min(t, cap) for a Poisson t, by summing."""
    t = np.arange(int(rate + 40.0 * np.sqrt(rate) + 60.0))
    p, g = poisson.pmf(t, rate), np.minimum(t, cap)
    mean = p @ g
    # d p(t)/d log rate = p(t) (t − rate)
    return mean, p @ (g * (t - rate)), p @ (g - mean) ** 2
