"""``total``: the least noise added up over the workload.

Minimise Σ_j w_j M_jj subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.dual.generation import solve
from cloakgp.design.dual.nuclear import Weighted
from cloakgp.design.result import TARGET_GAP, Design, status_of
from cloakgp.design.threads import single_threaded
from cloakgp.design.workload import (
    check_weights,
    check_workload,
    empty_design,
    fit_columns,
    row_space,
)


@single_threaded
def total(C: ArrayLike, weights: ArrayLike | None = None, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch with the least total noise variance Σ_j w_j M_jj over the workload.

    Points of weight zero do not count and may not be decodable from the sketch.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    weights : array of shape (P,), default=None
        How much each point matters.  None: 1 for each.
    gap : float, default=1e-06
        How exact the design is to be.

    Returns
    -------
    design : Design
        ``value`` is the total noise variance for σ = 1.

    See Also
    --------
    worst : The least largest noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import total
    >>> C = np.random.default_rng(0).normal(size=(3, 20))
    >>> total(C).certified
    True
    """
    C = check_workload(C)
    weights = check_weights(weights, C.shape[0])
    weighted = np.sqrt(weights)[weights > 0, None] * C[weights > 0]
    _, size, V = row_space(weighted)
    if len(size) == 0:
        return empty_design(C.shape[1])
    # Only the row space matters: ‖W^(1/2) C T⁺‖_F = ‖diag(size) V T⁺‖_F.  Unit scale inside.
    program = Weighted((size / size[0])[:, None] * V, len(size))
    found = solve(program, V, gap, size)
    balanced = program.balance(found.people, found.theta)
    T = balanced.T(program.C)
    longest = float(np.einsum("ri,ri->i", T, T).max())
    return Design(
        fit_columns(T),
        longest * balanced.F * size[0] ** 2,
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )
