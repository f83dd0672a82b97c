"""Kernels beyond scikit-learn's own, under their public name.

`Gibbs` and `Blend` combine with every kernel of `sklearn.gaussian_process.kernels`.
"""

from cloakgp.gp.kernels.nonstationary import (
    Blend,
    Gibbs,
    KDELengthscale,
    KDELengthscaleNearby,
    Logistic,
)

__all__ = ["Blend", "Gibbs", "KDELengthscale", "KDELengthscaleNearby", "Logistic"]
