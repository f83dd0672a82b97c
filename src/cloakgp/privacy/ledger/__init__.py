"""The ledger: what each named data set has spent, recorded before noise is drawn.

A ledger is a list of entries, append-only and chained by hashes (``history``).  Caps, inputs and
what was spent follow from that list (``book``, ``accounts``); no second copy can disagree with it.
A spend is checked and committed in one transaction of the store (``store``, ``sqlite``), or not at
all.  Outputs never come here, so nothing private is in the file.  Claim and proof:
``ledger.md``.
"""

from cloakgp.privacy.ledger.accounts import Balance, rounded_down
from cloakgp.privacy.ledger.errors import BudgetExceeded, LedgerError, LedgerTampered
from cloakgp.privacy.ledger.history import Entry
from cloakgp.privacy.ledger.ledger import Ledger, Receipt

__all__ = [
    "Balance",
    "BudgetExceeded",
    "Entry",
    "Ledger",
    "LedgerError",
    "LedgerTampered",
    "Receipt",
    "rounded_down",
]
