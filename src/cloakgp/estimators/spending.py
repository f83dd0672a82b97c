"""Who keeps account of a spend: a ledger, or this process, and what an error says of the budget.

A ledger refuses what exceeds its cap.  Without one, nothing stops a loop, ``cross_val_score`` or
``GridSearchCV`` from spending on the same people again and again, so the second time is worth a
warning, and so are the fifth, the tenth and so on: rows of X are recognised by their hashes, where
X is public; whole rows by their box, whoever is in it.  Nothing here sees y, or a private X.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.partition import Hashes, hash_rows, mixed
from cloakgp.errors import ParameterError, RepeatedSpendWarning, brief, warn_user
from cloakgp.privacy import Ledger, LedgerError, Noise, Spend
from cloakgp.privacy.ledger.address import is_address
from cloakgp.release.bounds_plan import cached_total

Array = NDArray[np.float64]


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
        raise ParameterError(
            "{ledger} and {dataset} belong together: give the ledger file and the name of the data "
            "set in it, got {ledger:{}}, {dataset:{}}",
            brief(repr(ledger)),
            brief(repr(dataset)),
        )
    return (ledger if isinstance(ledger, Ledger) else Ledger(ledger)), dataset


@contextmanager
def spending(noise: Noise) -> Iterator[Noise]:
    """Watch the record of a spend: every error inside gets a note on what became of the budget.

    A fit inside another, whose spend was recorded there, leaves that to the other.
    """
    record = noise.commit
    recorded: bool | None = False  # None: while it is under way

    def commit() -> None:
        nonlocal recorded
        recorded = None
        record()  # type: ignore[misc]
        recorded = True

    try:
        yield noise if record is None else replace(noise, commit=commit)
    except LedgerError:  # says so itself
        raise
    except BaseException as error:
        if not _counted_already.get():
            error.add_note(_UNRECORDED if record is None else _FATES[recorded])
        raise


_UNRECORDED = "Nothing was published, and there is no ledger that would have recorded a spend."
_FATES = {
    False: "Nothing was published and nothing was spent.",
    True: "Nothing was published, but the budget was recorded in the ledger before, and is spent: "
    "another fit spends again.",
    None: "Nothing was published. Whether the budget was recorded is seen in the ledger's history.",
}


#: Of more rows than this, those with the smallest hashes stand for all.
MOST_HASHES = 1024
#: So many data sets are remembered, and so many overlapping parts of each.
MOST_DATASETS, MOST_PARTS = 64, 16
#: Rows belong to a data set if at least this share of them is in one part of it.
SAME = 0.5

_KEY = np.frombuffer(secrets.token_bytes(8), dtype=np.uint64)[0]
_lock = threading.Lock()


@dataclass
class _Dataset:
    """Rows that were released together or in overlapping parts, and what that has spent."""

    parts: list[Hashes] = field(default_factory=list)
    spends: list[Spend] = field(default_factory=list)
    fits: int = 0
    warned: int = 0  # at which number of fits

    def holds(self, rows: Hashes) -> bool:
        return any(_seen(rows, part) >= SAME for part in self.parts)


_known: deque[_Dataset] = deque(maxlen=MOST_DATASETS)
_counted_already: ContextVar[bool] = ContextVar("counted_already", default=False)


#: What fits have in common, in words.
SAME_INPUTS = "on these inputs, or most of them"
SAME_BOX = "of whole rows in this box"


def warn_if_repeated(
    X: Array, spends: Sequence[Spend], delta: float, of: str = SAME_INPUTS
) -> None:
    """Warn if most rows of X were released before: at the 2nd, 5th, 10th, 20th, 50th … fit.

    ``delta`` is what was asked for: without Gaussian noise none is needed.  ``of`` says what fits
    have in common.
    """
    if _counted_already.get():
        return
    with _lock:
        before = _find(row_hashes(X))
        if before is None or not _worth_saying(before.fits + 1, before.warned):
            return
        last, before.warned = before.warned, before.fits + 1
        together = [*before.spends, *spends]
        if all(spend.kind != "gaussian" for spend in together):
            delta = 0.0
        total = cached_total(tuple(together), delta)
    try:
        warn_user(
            f"this is fit number {before.warned} {of}, without a ledger. If the people are the "
            f"same, budgets add up: together epsilon = {total:.3g} at delta = {delta:g}. "
            "cross_val_score, GridSearchCV and every further fit spend again. "
            "PrivateGridSearch counts its choice, and a Ledger keeps track",
            RepeatedSpendWarning,
        )
    except RepeatedSpendWarning:  # taken for an error, which stops every further fit
        before.warned = last
        raise


def _worth_saying(fits: int, said: int) -> bool:
    """Tell whether so many fits are 2, 5, 10, 20, 50, … and that was not said before."""
    if fits < 2 or fits == said:
        return False
    power = 10 ** (len(str(fits)) - 1)
    return fits in (power, 2 * power, 5 * power)


def note_spend(X: Array, spends: Sequence[Spend]) -> None:
    """Remember that the outputs of these rows were released."""
    if _counted_already.get():
        return
    rows = row_hashes(X)
    with _lock:
        dataset = _find(rows)
        if dataset is None:
            dataset = _Dataset()
            _known.append(dataset)
        dataset.fits += 1
        dataset.spends.extend(spends)
        if not any(np.array_equal(rows, part) for part in dataset.parts):
            dataset.parts = [*dataset.parts, rows][-MOST_PARTS:]


@contextmanager
def counted_already() -> Iterator[None]:
    """Neither warn nor count inside: the spend was counted with another."""
    token = _counted_already.set(True)
    try:
        yield
    finally:
        _counted_already.reset(token)


def forget() -> None:
    """Forget all data sets, as a new process does."""
    with _lock:
        _known.clear()


def row_hashes(X: Array) -> Hashes:
    """Return hashes of the rows in order, of equal rows with how often they came before."""
    hashes = np.sort(hash_rows(X, _KEY))
    first = np.r_[True, hashes[1:] != hashes[:-1]]
    starts = np.flatnonzero(first)
    again = np.arange(len(hashes)) - starts[np.cumsum(first) - 1]
    return np.sort(mixed(hashes ^ mixed(again.astype(np.uint64))))[:MOST_HASHES]


def _find(rows: Hashes) -> _Dataset | None:
    return next((dataset for dataset in _known if dataset.holds(rows)), None)


def _seen(rows: Hashes, part: Hashes) -> float:
    """Return the share of rows that are in an earlier part, as far as both are kept."""
    kept = rows[rows <= min(_end(rows), _end(part))]
    return float(np.isin(kept, part).mean()) if len(kept) else 0.0


def _end(rows: Hashes) -> np.uint64:
    """Return up to which hash all rows are kept."""
    return rows[-1] if len(rows) == MOST_HASHES else np.uint64(2**64 - 1)
