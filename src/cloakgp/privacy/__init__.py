"""The only package that touches private values; its claims and proofs are listed in README.md.

``mechanism`` is the trusted core that every release rests on; ``choice``, ``accounting`` and
``ledger`` are its neighbours, with proofs of their own.  All of it imports NumPy, scipy.special and
OpenDP and nothing of ``gp`` or ``design``: to check the guarantee, these are the only files to
read.
"""

from cloakgp.privacy.accounting.conversions import (
    epsilon_from_gdp,
    epsilon_from_zcdp,
    total_gdp,
    total_zcdp,
)
from cloakgp.privacy.accounting.filter import filter_allowance, filter_spends, gaussian_equivalent
from cloakgp.privacy.accounting.shares import Split, recommend_split, split_budget
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.accounting.totals import total_delta, total_guarantee
from cloakgp.privacy.choice.folds import Fold
from cloakgp.privacy.choice.selection import Choice, Selection, choose
from cloakgp.privacy.choice.utility import select, select_labels, utility_sensitivity
from cloakgp.privacy.deprecated import release_counts as release_counts
from cloakgp.privacy.deprecated import release_gathered as release_gathered
from cloakgp.privacy.deprecated import release_labels as release_labels
from cloakgp.privacy.ledger import BudgetExceeded, Ledger, LedgerError, LedgerTampered
from cloakgp.privacy.mechanism.bins import Batch, Bins
from cloakgp.privacy.mechanism.budget import Budget
from cloakgp.privacy.mechanism.calibration import gaussian_epsilon, gaussian_sigma, privacy_profile
from cloakgp.privacy.mechanism.grid import Flags, Grid, Interval, Levels
from cloakgp.privacy.mechanism.laplace import laplace_std
from cloakgp.privacy.mechanism.noise import Noise
from cloakgp.privacy.mechanism.outputs import Bounded, Counted, Labelled
from cloakgp.privacy.mechanism.release import NoisySketch, Query, Rows, release
from cloakgp.privacy.mechanism.sensitivity import (
    Sketch,
    absolute_sensitivity,
    quantise,
    squared_sensitivity,
)
from cloakgp.privacy.mechanism.whole_rows import WholeRows

__all__ = [
    "Batch",
    "Bins",
    "Bounded",
    "Budget",
    "BudgetExceeded",
    "Choice",
    "Counted",
    "Flags",
    "Fold",
    "Grid",
    "Interval",
    "Labelled",
    "Ledger",
    "LedgerError",
    "LedgerTampered",
    "Levels",
    "Noise",
    "NoisySketch",
    "Query",
    "Rows",
    "Selection",
    "Sketch",
    "Spend",
    "Split",
    "WholeRows",
    "absolute_sensitivity",
    "choose",
    "epsilon_from_gdp",
    "epsilon_from_zcdp",
    "filter_allowance",
    "filter_spends",
    "gaussian_epsilon",
    "gaussian_equivalent",
    "gaussian_sigma",
    "laplace_std",
    "privacy_profile",
    "quantise",
    "recommend_split",
    "release",
    "select",
    "select_labels",
    "split_budget",
    "squared_sensitivity",
    "total_delta",
    "total_gdp",
    "total_guarantee",
    "total_zcdp",
    "utility_sensitivity",
]
