"""The private search: candidates planned in public, one chosen by the trusted core, then released.

No score of a candidate may be computed here: losses are made of y, and stay in the core.
"""

from cloakgp.estimators.search.search import PrivateGridSearch

__all__ = ["PrivateGridSearch"]
