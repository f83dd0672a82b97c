"""What a design is asked for: the workload, and what is believed of u, person by person or place by
place.

A sketch is of sums of u.  Where people are gathered, those at a place have one column, so that the
sum of their u is all that a sketch can tell of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cloakgp.design import Design
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.places import Places

Array = NDArray[np.float64]

#: Without noise, the sketch that loses nothing is y itself, up to this many people.
MOST_IDENTITY = 4000


class Asked(NamedTuple):
    """cov(u) = diag(``diagonal``) + ``factor`` ``factor``ᵀ, for people or for sums at places."""

    C: Array  # (P, K): the predictions without privacy are C u, but for what is known beforehand
    diagonal: Array  # (K,)
    factor: Array  # (K, q)
    floor: Array  # (P,): the variance of f that remains without privacy


def asked_of(
    model: LinearModel, width: float | Array, points: Array, places: Places | None
) -> Asked:
    """Return what a design is asked for; outputs span ``width`` as u goes from 0 to 1."""
    if places is None:
        C = model.workload(points)
        return Asked(
            C * width,
            model.diagonal / np.square(width),
            model.factor / np.reshape(width, (-1, 1)),
            model.variance_without_privacy(points, C),
        )
    # From means at the nodes to sums at the places.
    scale = np.broadcast_to(places.node_counts / width, (len(model.X),))
    starts = np.arange(0, len(model.X), places.nodes_each)
    diagonal = np.add.reduceat(model.diagonal * scale**2, starts)
    factor = np.add.reduceat(model.factor * scale[:, None], starts, axis=0)
    cross = np.add.reduceat(model.cross(points) * scale, starts, axis=1)
    covariance = factor @ factor.T
    covariance.flat[:: len(covariance) + 1] += diagonal
    C = cho_solve(cho_factor(covariance), cross.T).T
    left = model.prior_variance(points) - np.einsum("pk,pk->p", C, cross)
    return Asked(C, diagonal, factor, np.maximum(left, 0.0))


def lossless(asked: Asked, floor: float) -> Design:
    """Return the sketch of a release without noise: everything that predictions depend on."""
    N = asked.C.shape[1]
    status = "no noise is added: this is not private"
    if N <= MOST_IDENTITY:
        return Design(np.eye(N), floor, 0.0, status)
    # Fᵀ D⁻¹ y is all that a sparse model uses of y.
    used = asked.factor / asked.diagonal[:, None]
    Q = np.linalg.qr(used)[0].T
    return Design(Q / np.sqrt(np.einsum("ri,ri->i", Q, Q).max()), floor, 0.0, status)
