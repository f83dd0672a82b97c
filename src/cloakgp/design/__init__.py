"""Public maths of the sketch: which T to publish.

``bayes`` knows a prior; ``volume``, ``total`` and ``worst`` (``dual``) know the workload alone.
They bound the columns of T in the 2-norm, for Gaussian noise; ``cells`` knows a prior and bounds
them in the 1-norm, for Laplace noise.  Nothing here sees private values.  All but ``cells`` are
convex and return a certificate: the relative gap between their value and a proven bound.  A bad T
costs accuracy, never privacy.
"""

from cloakgp.design.bayes import Prior, bayes
from cloakgp.design.cells import cells
from cloakgp.design.dual.nuclear import total, worst
from cloakgp.design.dual.volume import volume
from cloakgp.design.result import Design

__all__ = ["Design", "Prior", "bayes", "cells", "total", "volume", "worst"]
