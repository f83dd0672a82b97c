"""The facts of a release, and what follows from them before y is read.

Nothing here may see y or spend anything.
"""

from cloakgp.plan.plan import Blueprint, Plan

__all__ = ["Blueprint", "Plan"]
