"""``volume``: the smallest noise ellipsoid, the paper's objective.

Minimise log det M subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person: the centred minimum-volume
ellipsoid around the columns of the workload, dual to D-optimal design.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.dual.ellipsoid import Ellipsoid, whiten
from cloakgp.design.dual.generation import solve
from cloakgp.design.result import TARGET_GAP, Design, status_of
from cloakgp.design.threads import single_threaded
from cloakgp.design.workload import (
    check_workload,
    empty_design,
    fit_columns,
    merge_equal,
    row_space,
)


@single_threaded
def volume(C: ArrayLike, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch with the smallest noise ellipsoid over the workload: the paper's objective.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    gap : float, default=1e-06
        How exact the design is to be.

    Returns
    -------
    design : Design
        ``value`` is log det M on the range of C.

    See Also
    --------
    total : The least total noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import volume
    >>> C = np.random.default_rng(0).normal(size=(3, 20))
    >>> volume(C).certified
    True
    """
    C = check_workload(C)
    # Whitening makes the last digits of people who are equal differ by much more: solve for one.
    distinct, count, member = merge_equal(C)
    _, size, V = row_space(distinct * np.sqrt(count))
    if len(size) == 0:
        return empty_design(C.shape[1])
    V = V / np.sqrt(count)
    program = Ellipsoid(V)
    found = solve(program, V, gap, size)
    factor = program.factor(found.people, found.theta)
    T = whiten(factor, V)
    longest = float(np.einsum("ri,ri->i", T, T).max())
    # C = U diag(size) V = (U diag(size) L) T, so that M = longest · (U diag(size) L)(…)ᵀ.
    log_det = len(size) * np.log(longest) + 2.0 * np.sum(np.log(np.abs(np.diag(factor)) * size))
    return Design(
        fit_columns(T)[:, member],
        float(log_det),
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )
