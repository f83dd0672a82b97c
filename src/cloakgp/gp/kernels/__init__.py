"""Kernels beyond scikit-learn's own, and kernels as JSON.

Lengthscales and weights may follow the density of X, because X is public; no y comes here.
"""

from cloakgp.gp.kernels.nonstationary import (
    Blend,
    Gibbs,
    KDELengthscale,
    KDELengthscaleNearby,
    Logistic,
)

__all__ = ["Blend", "Gibbs", "KDELengthscale", "KDELengthscaleNearby", "Logistic"]
