"""Kernels beyond scikit-learn's own, and kernels as JSON.

Lengthscales and weights may follow the density of X, because X is public; no y comes here.
"""

from cloakgp.gp.kernels.blend import Blend, Logistic
from cloakgp.gp.kernels.cells import Cells
from cloakgp.gp.kernels.gibbs import Gibbs
from cloakgp.gp.kernels.lengthscales import KDELengthscale, KDELengthscaleNearby

__all__ = ["Blend", "Cells", "Gibbs", "KDELengthscale", "KDELengthscaleNearby", "Logistic"]
