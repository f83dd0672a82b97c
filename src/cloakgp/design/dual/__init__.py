"""The convex program behind ``volume``, ``total`` and ``worst``, solved in its dual.

``program`` says what a program is, ``ellipsoid`` and ``nuclear`` hold the three there are,
``interior`` solves one for given people, and ``generation`` chooses the people, so that N may be
large.
"""

from cloakgp.design.dual.ellipsoid import Ellipsoid
from cloakgp.design.dual.generation import Solution, solve
from cloakgp.design.dual.nuclear import Adversary, Weighted

__all__ = ["Adversary", "Ellipsoid", "Solution", "Weighted", "solve"]
