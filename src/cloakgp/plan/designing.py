"""From the facts of a release to its sketch: the design that is best for them, on a grid.

Public maths, whatever it costs in time.  Nothing here sees y or spends anything.
"""

from __future__ import annotations

import numpy as np

from cloakgp.design import Design, Prior, bayes, total, volume, worst
from cloakgp.design.groups import fit_groups
from cloakgp.plan.asked import asked_of, lossless
from cloakgp.plan.facts import Facts
from cloakgp.privacy import Sketch, quantise
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS

#: Singular values of T below this share of the largest drown in the rounding of its grid.
SMALLEST_ROW = 2.0**-14
#: Entries of a sketch of people at places, at most: a file of it stays small.
MOST_AT_PLACES = 30_000
#: So many people need a coarser grid, or their sums would leave 64 bits.
MANY_PEOPLE, COARSE_BITS = 10_000_000, 16
#: The weight of points beyond those that matter, where hyperparameters are learnt: a sketch of a
#: few points alone says little of how rough the function is, and errs more even there.
BEYOND = 0.1


def find_design(facts: Facts, near: Design | None = None) -> Design:
    """Choose T: public maths, whatever it costs in time; near that of another budget, soon."""
    if near is not None and facts.design != "bayes":  # the others do not depend on the budget
        return near
    points, weights = facts.points, facts.weights
    if facts.beyond is not None:
        more, shares = facts.beyond
        points = np.vstack([points, more])
        weights = np.concatenate([(1.0 - BEYOND) * weights, BEYOND * shares])
    if facts.target == "latents":
        points, weights = facts.X, np.full(len(facts.X), 1.0 / len(facts.X))
        if facts.counts is not None:
            weights = facts.counts / facts.counts.sum()
    asked = asked_of(facts.model, facts.width, points, facts.places)
    floor = float(weights @ asked.floor)
    if facts.noise_std == 0.0:
        return lossless(asked, floor)
    if facts.design == "bayes":
        prior = Prior(
            C=asked.C,
            diagonal=asked.diagonal,
            factor=asked.factor,
            sigma=facts.noise_std,
            weights=weights,
            floor=floor,
        )
        start = None if near is None else near.T
        return bayes(prior, rank=facts.rank, gap=facts.gap, near=start)
    if facts.design == "total":
        return total(asked.C, weights)
    return volume(asked.C) if facts.design == "volume" else worst(asked.C)


def sketch_of(facts: Facts, design: Design) -> Sketch:
    """Turn a design into a sketch that the core accepts: rows worth publishing, on a grid."""
    T = design.T
    if facts.groups is not None:
        together = facts.decode == "direct"
        T = fit_groups(T, facts.groups, together=together, joint=facts.joint)
    if facts.noise_std > 0.0 and len(T):
        # A rotation keeps every length, also those of owners' sums.
        each = np.ones(T.shape[1])
        if facts.places is not None:
            each = np.sqrt(facts.places.counts)
        turn, size, directions = np.linalg.svd(T * each, full_matrices=False)
        rounding = float(np.linalg.norm(each)) * 2.0**-SKETCH_BITS
        keep = size > max(SMALLEST_ROW * size[0], rounding)
        if facts.rank is not None:
            keep[facts.rank :] = False
        if facts.places is None:
            T = size[keep, None] * directions[keep]
        else:
            keep[MOST_AT_PLACES // T.shape[1] :] = False
            T = turn[:, keep].T @ T
    # Rounding in the rotation may leave a column longer than 1 by a few units of 1e-16.
    T = T / np.maximum(np.sqrt(np.einsum("ri,ri->i", T, T)), 1.0)
    coarse = facts.people > MANY_PEOPLE
    return quantise(T, COARSE_BITS if coarse else SKETCH_BITS)
