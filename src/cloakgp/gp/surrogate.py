"""What a design is told instead of an exact model of many people: a few of them stand for all.

A sketch is chosen for a mean of many kernels, ragged ones among them, whose matrix has no small
rank.  The people whom a pivoted Cholesky factorisation picks first explain most of it; what they
leave out is put on the diagonal, as FITC does.  Certificates are of the design for this prior.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from cloakgp.gp.matrices import Array, Kernel, evaluate, noise_of_means
from cloakgp.gp.sparse import SparseModel

#: Pivots are picked until they leave this share of the variance that inputs explain, or as little
#: as people at a row scatter, or so many.
LEFT_OUT, MOST_PIVOTS = 1e-2, 200


class Surrogate(SparseModel):
    """A sparse model that stands for an exact one where a sketch is designed."""

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        noise_variance: float | Array,
        counts: Array | None = None,
    ) -> None:
        K = evaluate(kernel, X)
        # How much f varies from person to person: a level that all share needs no pivots.
        varying = max(float(np.mean(np.diag(K)) - np.mean(K)), 1e-12 * float(np.max(K)))
        # Where many people are gathered, more can be told of: as much as their means scatter.
        scatter = float(np.mean(noise_of_means(noise_variance, counts)))
        _, pivots, rank, _ = dpstrf(K, tol=min(LEFT_OUT * varying, scatter), lower=1)
        inducing = X[pivots[: min(max(rank, 1), MOST_PIVOTS)] - 1]
        super().__init__(kernel, X, noise_variance, inducing, "fitc", counts)
