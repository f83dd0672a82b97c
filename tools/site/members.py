"""What the page of a class lists: the public members that it has from this package.

What estimators inherit from scikit-learn (``get_params``, metadata routing) is documented there.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from types import FunctionType


def methods_of(name: str) -> list[str]:
    """Return the methods of the class with this full name: its own, then those of its bases."""
    return _members(name, (FunctionType, classmethod, staticmethod))


def properties_of(name: str) -> list[str]:
    """Return its properties."""
    return _members(name, (property,))


def _members(name: str, kinds: tuple[type, ...]) -> list[str]:
    module, _, attribute = name.rpartition(".")
    owner = getattr(import_module(module), attribute)
    names: dict[str, None] = {}
    for base in owner.__mro__:
        if base.__module__.partition(".")[0] == "cloakgp":
            names |= dict.fromkeys(key for key in vars(base) if not key.startswith("_"))
    return [key for key in names if _is_documented(inspect.getattr_static(owner, key), kinds)]


def _is_documented(member: object, kinds: tuple[type, ...]) -> bool:
    if not isinstance(member, kinds):
        # scikit-learn shows a method only where the estimator inside has it.
        return FunctionType in kinds and hasattr(member, "check") and hasattr(member, "fn")
    return True
