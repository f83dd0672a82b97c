"""``cells``: sums over cells of people, for noise that is measured in the 1-norm.

Laplace noise of scale 1/ε hides a person whose column of T has a 1-norm of at most 1.  That favours
sketches in which a person speaks in one row, or is shared by a few neighbouring ones: partitions of
the inputs, with hard or with soft borders.  The objective is that of ``bayes``, and ``bayes`` with
the same σ bounds every such sketch from below, since the 2-norm is at most the 1-norm.

Read ``places`` (people become a few hundred places, and nothing is lost by that), ``ladder`` (first
partitions, by the inputs alone), ``search`` (what moving people to another cell gains), then
``solver``.
"""

from cloakgp.design.cells.solver import cells

__all__ = ["cells"]
