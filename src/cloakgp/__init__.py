"""Gaussian processes with differentially private training data.

Each person has public inputs and a private output, scaled to u in [0, 1].  The only thing computed
from the outputs that ever leaves the process is a *sketch*, s = T u + σ z: a few noisy sums, with
every column of T of length at most 1.  So σ depends on (ε, δ) alone, and everything else, from
choosing T to any number of predictions, is public maths that cannot hurt privacy.

The rooms, as a fit walks through them: ``estimators`` (``base`` has ``fit``) hands inputs to
``data`` and ``gp``, ``design`` chooses T, ``privacy/mechanism/release`` adds the noise, and
``release`` predicts from s, saves and verifies it.  Around them: ``drawing``, ``plot`` and
``report`` show it, and ``app`` is what the command line (``cli``) and the pages (``web``) share.
"""

from cloakgp._version import __version__

TYPE_CHECKING = (
    False  # type checkers take it for True; ``typing`` itself is not worth its time here
)
if TYPE_CHECKING:
    from typing import Any

    from cloakgp import columns, datasets, design, kernels, privacy
    from cloakgp.data.blocks.parquet import scan
    from cloakgp.errors import (
        ImplausibleNoiseWarning,
        NotPrivateWarning,
        RepeatedSpendWarning,
    )
    from cloakgp.estimators.bounds import private_bounds
    from cloakgp.estimators.classification import PrivateGPClassifier
    from cloakgp.estimators.counts import PrivateGPCountRegressor
    from cloakgp.estimators.regression import PrivateGPRegressor
    from cloakgp.estimators.search.search import PrivateGridSearch
    from cloakgp.privacy import Ledger
    from cloakgp.release import Release, VerificationReport
    from cloakgp.release.bounds_plan import BoundsGrid
    from cloakgp.release.plan import Plan

__all__ = [
    "BoundsGrid",
    "ImplausibleNoiseWarning",
    "Ledger",
    "NotPrivateWarning",
    "Plan",
    "PrivateGPClassifier",
    "PrivateGPCountRegressor",
    "PrivateGPRegressor",
    "PrivateGridSearch",
    "Release",
    "RepeatedSpendWarning",
    "VerificationReport",
    "__version__",
    "columns",
    "datasets",
    "design",
    "kernels",
    "privacy",
    "private_bounds",
    "scan",
]

#: Where the public names live.  They are imported when they are first used, so that the command
#: line starts, and can be interrupted, before the numerical libraries are loaded.
_HOMES = {
    "BoundsGrid": "release.bounds_plan",
    "ImplausibleNoiseWarning": "errors",
    "Ledger": "privacy",
    "NotPrivateWarning": "errors",
    "Plan": "release.plan",
    "PrivateGPClassifier": "estimators.classification",
    "PrivateGPCountRegressor": "estimators.counts",
    "PrivateGPRegressor": "estimators.regression",
    "PrivateGridSearch": "estimators.search",
    "Release": "release",
    "RepeatedSpendWarning": "errors",
    "VerificationReport": "release",
    "private_bounds": "estimators.bounds",
    "scan": "data.blocks.parquet",
}
_MODULES = ("columns", "datasets", "design", "kernels", "privacy")
#: Rooms that are there for those who know them, and that nobody is shown.
_ROOMS = ("gp", "release")


def __getattr__(name: str) -> "Any":
    if name in (*_MODULES, *_ROOMS):
        return _load(name)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_load(_HOMES[name]), name)
    globals()[name] = value
    return value


def _load(name: str) -> "Any":
    """Import a module of this package and all that it needs."""
    import gc
    from importlib import import_module

    # What is loaded stays: looking for garbage among it again and again takes a sixth of the time.
    looked_for = gc.isenabled()
    gc.disable()
    try:
        return import_module(f"{__name__}.{name}")
    finally:
        if looked_for:
            gc.enable()


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    return sorted({*dunders, *__all__})
