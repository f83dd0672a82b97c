"""The facts of a release, and what follows from them before y is read.

Nothing here may see y or spend anything.
"""

from cloakgp.plan.facts import Facts
from cloakgp.plan.plan import Plan

__all__ = ["Facts", "Plan"]
