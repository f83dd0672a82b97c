"""The account that a fit spends from: its ledger, and the name of the data set in it.

scikit-learn shows, clones and pickles parameters.  An address may hold a password, so it becomes a
``Ledger``, which hides it, before anything can be shown.
"""

from __future__ import annotations

from typing import Any

from cloakgp.privacy import Ledger
from cloakgp.privacy.ledger.address import is_address


class LedgerParameter:
    """The parameter ``ledger`` of an estimator: kept as it is given, unless it is an address."""

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self
        try:
            return vars(estimator)["ledger"]
        except KeyError:
            raise AttributeError("ledger") from None

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator)["ledger"] = Ledger(value) if is_address(value) else value


def open_account(ledger: Any, dataset: Any) -> tuple[Ledger, str] | None:
    """Return the ledger and the name of the data set in it, if there is to be an account."""
    if ledger is None and dataset is None:
        return None
    if ledger is None or not isinstance(dataset, str):
        raise ValueError(
            "ledger and dataset belong together: give the ledger file and the name of the data "
            f"set in it, got ledger={ledger!r}, dataset={dataset!r}"
        )
    return (ledger if isinstance(ledger, Ledger) else Ledger(ledger)), dataset
