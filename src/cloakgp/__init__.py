"""Gaussian processes whose training outputs are differentially private.

People have public inputs and one private output each.  The only thing ever computed from the
outputs that leaves the process is a *sketch*, s = T u + σ z: a few noisy sums u of outputs scaled
to [0, 1], with every column of T of length at most 1.  So σ depends on (ε, δ) alone, and all the
rest, from choosing T to any number of predictions, is public maths that cannot hurt privacy.
"""

from cloakgp import design, kernels, privacy
from cloakgp._version import __version__
from cloakgp.classification import PrivateGPClassifier
from cloakgp.counts import PrivateGPCountRegressor
from cloakgp.estimator import NotPrivateWarning
from cloakgp.plan import Plan
from cloakgp.privacy import Ledger
from cloakgp.regression import PrivateGPRegressor
from cloakgp.release import Release, VerificationReport
from cloakgp.search import PrivateGridSearch

__all__ = [
    "Ledger",
    "NotPrivateWarning",
    "Plan",
    "PrivateGPClassifier",
    "PrivateGPCountRegressor",
    "PrivateGPRegressor",
    "PrivateGridSearch",
    "Release",
    "VerificationReport",
    "__version__",
    "design",
    "kernels",
    "privacy",
]
