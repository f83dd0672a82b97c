"""``worst``: the flattest noise.

Minimise max_j M_jj subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person.  The dual lets the weights of
``total`` be chosen by an adversary: a saddle point, and still one concave program in (λ, w).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.dual.generation import solve
from cloakgp.design.dual.nuclear import Adversary
from cloakgp.design.result import TARGET_GAP, Design, status_of
from cloakgp.design.threads import single_threaded
from cloakgp.design.workload import check_workload, empty_design, fit_columns, row_space


@single_threaded
def worst(C: ArrayLike, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch whose largest noise variance max_j M_jj over the workload is least.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    gap : float, default=1e-06
        How exact the design is to be.

    Returns
    -------
    design : Design
        ``value`` is the largest noise variance for σ = 1.

    See Also
    --------
    total : The least total noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import total, worst
    >>> C = np.random.default_rng(0).normal(size=(3, 20))
    >>> bool(worst(C).value <= total(C).value)  # no point has more noise than all together
    True
    """
    C = check_workload(C)
    C = C[np.any(C != 0, axis=1)]
    if C.shape[0] == 0:
        return empty_design(C.shape[1])
    U, size, V = row_space(C)
    unit = U @ ((size / size[0])[:, None] * V)
    program = Adversary(unit, len(size))
    found = solve(program, V, gap)
    balanced = program.balance(found.people, found.theta)
    T, A = balanced.T(unit), balanced.A()
    value = np.einsum("ri,ri->i", T, T).max() * np.einsum("ja,ja->j", A, A).max()
    return Design(
        fit_columns(T),
        float(value) * size[0] ** 2,
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )
