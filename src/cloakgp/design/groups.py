"""Make a sketch fit people who own several rows.

A person who owns rows g moves T u by at most max over |a_i| ≤ 1 of ‖Σ_{i in g} a_i t_i‖.  The core
checks that bound exactly on integers; here T is only scaled, in floating point, to pass the check.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.result import Array

#: The core's bounds: exact up to the first size, √Σ|t_iᵀt_j| up to the second, Σ‖t_i‖ above.
EXACT, GRAM = 12, 2000
#: Rounding T to its grid may lengthen a sum of columns by this much for each row of a group.
MARGIN = 2e-6


def fit_groups(
    T: Array, groups: ArrayLike, *, together: bool = False, joint: bool = False
) -> Array:
    """Scale T so that no owner in ``groups`` can move T u by more than 1.

    Each owner's columns are scaled by themselves, or, with ``together``, all by one number, which
    keeps the row space of T and so the unbiasedness of direct decoding.  With ``joint`` the rows of
    an owner may move in several columns at once, as labels of more than two classes do.
    """
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    owned = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    reach = np.ones(T.shape[1])
    for rows in (rows for rows in owned if len(rows) > 1):
        reach[rows] = _reach(T[:, rows], joint) * (1.0 + MARGIN * len(rows) * np.sqrt(T.shape[0]))
    if together:
        reach[:] = reach.max()
    return T / np.maximum(reach, 1.0)


def _reach(columns: Array, joint: bool) -> float:
    """Return max over |a_i| ≤ 1 of ‖Σ a_i t_i‖, or an upper bound for a large or joint group."""
    size = columns.shape[1]
    if size > GRAM:
        return float(np.linalg.norm(columns, axis=0).sum())
    gram = columns.T @ columns
    if size > EXACT or joint:
        return float(np.sqrt(np.abs(gram).sum()))
    # A convex function is largest at a vertex of the cube; a and −a give the same value.
    signs = 1.0 - 2.0 * ((np.arange(1 << (size - 1))[:, None] >> np.arange(size)) & 1)
    return float(np.sqrt(np.einsum("si,ij,sj->s", signs, gram, signs, optimize=True).max()))
