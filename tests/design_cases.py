"""Priors on which the parts of ``bayes`` are tried."""

import numpy as np
from design_reference import squared_exponential

from cloakgp.design import Prior
from cloakgp.design.bayes.saddle import Clusters, Saddle

SIGMA = 0.8


def random_prior(seed, q=2, points=3, count=9, sigma=SIGMA):
    rng = np.random.default_rng(seed)
    C, a = rng.normal(size=(points, count)), rng.uniform(0.2, 1.0, size=count)
    return Prior(C, a, rng.normal(size=(count, q)), sigma, floor=0.1)


def sparse_prior(people, lengthscale=0.2, inducing=12, sigma=3.7, seed=0):
    """A sparse model on a line: columns K_*m Q⁻¹ K_mn/noise, as those of a real plan."""
    x = np.random.default_rng(seed).beta(1.0, 2.0, size=people)
    z = np.linspace(0.0, 1.0, inducing)
    e, U = np.linalg.eigh(squared_exponential(z, z, lengthscale))
    root = U[:, e > 1e-10] / np.sqrt(e[e > 1e-10])
    L = squared_exponential(x, z, lengthscale) @ root
    a = np.maximum(1.0 - np.sum(L**2, axis=1), 0.0) + 0.1
    at = squared_exponential(np.linspace(0.0, 1.0, 15), z, lengthscale) @ root
    C = at @ np.linalg.solve(np.eye(L.shape[1]) + (L.T / a) @ L, L.T / a)
    floor = float(np.sum(at * (at @ np.linalg.inv(np.eye(L.shape[1]) + (L.T / a) @ L))))
    return Prior(C, a, L, sigma, floor=floor)


def places_prior(places, people, inducing=40, points=24, sigma=3.7, seed=0):
    """A rough surface over places at which many people live: those of one place are one here."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(size=(places, 2)), rng.uniform(size=(inducing, 2))
    count = np.ceil(people * rng.dirichlet(np.full(places, 0.5)))

    def rough(a, b):
        return np.exp(-np.linalg.norm(a[:, None] - b[None], axis=2) / 0.5)

    root = np.linalg.inv(np.linalg.cholesky(rough(z, z)))
    L, at = rough(x, z) @ root.T, rough(rng.uniform(size=(points, 2)), z) @ root.T
    a = np.maximum(1.0 - np.sum(L**2, axis=1), 0.0) + 0.1
    posterior = np.linalg.inv(np.eye(inducing) + (L.T * (count / a)) @ L)
    floor = float(np.sum((at @ posterior) * at))
    return Prior(at @ posterior @ (L.T / a), a * count, L * count[:, None], sigma, floor=floor)


def some_saddle(seed=0, k=3, q=2, n=8):
    rng = np.random.default_rng(seed)
    V, a = rng.normal(size=(k, n)), rng.uniform(0.2, 1.0, size=n)
    L, w = rng.normal(size=(n, q)), rng.integers(1, 5, size=n).astype(float)
    tilt = rng.normal(size=(k, k))
    cells = Clusters(V * a, a, L, w, V)
    saddle = Saddle(cells, (V * w) @ L, SIGMA, 0.1 * (tilt + tilt.T), 0.1 * rng.normal(size=(k, q)))
    root = rng.normal(size=(k, k))
    return saddle, root @ root.T + 0.1 * np.eye(k), rng.normal(size=(k, q)), rng
