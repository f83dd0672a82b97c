"""Kernels beyond scikit-learn's own, under their public name.

`Gibbs`, `Blend` and `Cells` combine with every kernel of `sklearn.gaussian_process.kernels`.
"""

from cloakgp.gp.kernels.blend import Blend, Logistic
from cloakgp.gp.kernels.cells import Cells
from cloakgp.gp.kernels.gibbs import Gibbs
from cloakgp.gp.kernels.lengthscales import KDELengthscale, KDELengthscaleNearby

__all__ = ["Blend", "Cells", "Gibbs", "KDELengthscale", "KDELengthscaleNearby", "Logistic"]
