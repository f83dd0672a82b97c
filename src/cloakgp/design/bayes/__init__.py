"""``bayes``: the sketch that leaves the least posterior uncertainty at the workload.

A priori u has covariance A = diag(a) + L Lᵀ; s = T u + σ z is published.  Minimise the trace of C
cov(u | s) Cᵀ.  It is convex in Π = TᵀT ⪰ 0 with Π_ii ≤ 1, and the best Π has at most the rank of C.

Read ``problem``, then ``certificate`` (how good any sketch is, from the dual), then ``solver``,
which chooses: ``lbfgs`` looks for T itself, ``newton`` for a small state from which everybody finds
their own column (``alternating``): the ``saddle`` point of a ``reduction``, by ``path`` following,
with ``minres`` where it is large.
"""

from cloakgp.design.bayes.problem import Prior
from cloakgp.design.bayes.solver import bayes, rough_bayes

__all__ = ["Prior", "bayes", "rough_bayes"]
