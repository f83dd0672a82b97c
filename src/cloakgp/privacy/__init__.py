"""The trusted core: column lengths, σ, and the noise.

Only this package touches private values.  It imports NumPy, scipy.special and OpenDP and nothing
of ``gp`` or ``design``: whoever checks the guarantee needs to read these files and their proofs
alone.
"""

from cloakgp.privacy.accounting import (
    Spend,
    Split,
    recommend_split,
    split_budget,
    total_delta,
    total_guarantee,
)
from cloakgp.privacy.calibration import gaussian_epsilon, gaussian_sigma, privacy_profile
from cloakgp.privacy.filter import filter_allowance, filter_spends, gaussian_equivalent
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError, LedgerTampered
from cloakgp.privacy.selection import Selection, choose
from cloakgp.privacy.sensitivity import Sketch, quantise, squared_sensitivity
from cloakgp.privacy.sketch import NoisySketch, release, release_counts, release_labels
from cloakgp.privacy.utility import Fold, select, select_labels, utility_sensitivity

__all__ = [
    "BudgetExceeded",
    "Fold",
    "Ledger",
    "LedgerError",
    "LedgerTampered",
    "NoisySketch",
    "Selection",
    "Sketch",
    "Spend",
    "Split",
    "choose",
    "filter_allowance",
    "filter_spends",
    "gaussian_epsilon",
    "gaussian_equivalent",
    "gaussian_sigma",
    "privacy_profile",
    "quantise",
    "recommend_split",
    "release",
    "release_counts",
    "release_labels",
    "select",
    "select_labels",
    "split_budget",
    "squared_sensitivity",
    "total_delta",
    "total_guarantee",
    "utility_sensitivity",
]
