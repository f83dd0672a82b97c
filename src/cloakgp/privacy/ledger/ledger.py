"""``Ledger``: open a budget, spend from it, look at it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, overload

from numpy.typing import ArrayLike

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import accounts
from cloakgp.privacy.ledger.accounts import Account, Balance
from cloakgp.privacy.ledger.address import Address, is_address, server_address
from cloakgp.privacy.ledger.book import read_all, read_on, recall
from cloakgp.privacy.ledger.errors import LedgerError, LedgerTampered
from cloakgp.privacy.ledger.history import Entry, as_csv, as_jsonl
from cloakgp.privacy.ledger.inputs import digest
from cloakgp.privacy.ledger.moving import move
from cloakgp.privacy.ledger.names import checked_dataset, checked_name, resolved
from cloakgp.privacy.ledger.postgres import PostgresStore
from cloakgp.privacy.ledger.sqlite import SQLiteStore
from cloakgp.privacy.ledger.store import Store
from cloakgp.privacy.ledger.writing import Opening, Spending
from cloakgp.privacy.ledger.writing import create as make
from cloakgp.privacy.mechanism.numbers import as_number


@dataclass(frozen=True)
class Receipt:
    """Proof that a spend is recorded: only now may noise be drawn.

    Attributes
    ----------
    dataset : str
        The name of the data set.
    release_id : str
        By which the release is known.
    sequence : int
        The number of the entry.
    when : str
        When it was made, in UTC.
    hash : str
        That of the entry, which covers all before it.
    spent : float
        The ε of everything so far, this spend included, at the cap's δ.
    """

    dataset: str
    release_id: str
    sequence: int
    when: str
    hash: str
    spent: float


# Proof: ledger.md
class Ledger:
    """Keeps what named data sets have spent, and refuses to exceed their cap.

    A spend is recorded before noise is drawn: a crash may waste budget, never leak it.  Any number
    of processes may spend at once.

    Parameters
    ----------
    path : str or path
        A file, or an address such as ``sqlite:///budget.ledger``; links are followed.  The file
        must lie on a local disk.  A new one is readable only by its owner; the permissions of an
        existing one are left as they are.  An address such as
        ``postgresql://alice@server/budgets`` is a ledger for a team, in a schema of PostgreSQL
        (``pip install 'cloakgp[postgres]'``).  A password in it is used and never shown.

    Attributes
    ----------
    path : Path or None
        The file, if it is one.
    address : Address or None
        The server, if it is on one.

    See Also
    --------
    PrivateGPRegressor : Spends from a ledger; so do the other estimators and ``private_bounds``.

    Notes
    -----
    The cap holds for sizes that are chosen after looking at results and at what is left.

    The object holds nothing but the path or the address: it can be copied, pickled, shared by
    threads and taken through a fork.  Pickles have no password; ~/.pgpass and PGPASSWORD do.

    Examples
    --------
    >>> import os, tempfile
    >>> from cloakgp.privacy import Ledger, Spend
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(os.path.join(folder, "budget.ledger"))
    ...     _ = ledger.open("heights", epsilon=2.0, delta=1e-5, create=True)
    ...     _ = ledger.spend(
    ...         "heights", [Spend.gaussian(5.0)], what="by age", parameters={}, release_id="r1"
    ...     )
    ...     print(f"{ledger.spent('heights'):.3f} {ledger.remaining('heights'):.3f}")
    0.726 1.816
    """

    #: The file, if it is one.
    path: Path | None = None
    #: The server, if it is on one.
    address: Address | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if isinstance(path, str) and is_address(path):
            self.address = server_address(path)
        else:
            self.path = Path(resolved(path))

    @property
    def name(self) -> str:
        """The file, or the address without its password."""
        return str(self.path if self.address is None else self.address)

    def __repr__(self) -> str:
        return f"Ledger({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open between calls."""

    def open(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        inputs: ArrayLike | None = None,
        *,
        create: bool = False,
        allow_same_inputs: bool = False,
        allow_other_inputs: bool = False,
        who: str | None = None,
    ) -> Self:
        """Name a data set and cap what it may ever spend.

        Opening it again with the same cap is harmless.

        Parameters
        ----------
        dataset : str
            The name.  "é" is one name, composed or decomposed.
        epsilon : float
            The ε of the cap.  It cannot be changed later.
        delta : float
            The δ of the cap.  It cannot be changed later.  With 0, only releases without a δ of
            their own fit, Laplace for instance, as long as the sum of their ε does.
        inputs : array of shape (N, L), default=None
            The public table X, of which a keyed fingerprint is kept.  Subsets and supersets of the
            rows are not recognised.
        create : bool, default=False
            Make the file or the tables if there are none.  If the ledger exists this changes
            nothing, so a script may always pass it; but then a ledger that was lost goes unnoticed.
        allow_same_inputs : bool, default=False
            The same rows under another name are refused unless this says that they are other
            people.
        allow_other_inputs : bool, default=False
            Other rows under the same name are refused unless this says that they are the same
            people.
        who : str, default=None
            Who opens it.  None: CLOAKGP_WHO, or user and machine.

        Returns
        -------
        self : Ledger
            The ledger itself.

        Raises
        ------
        LedgerError
            If there is no ledger, it cannot be read, or the data set has another cap.
        """
        dataset = checked_dataset(dataset)
        cap = accounts.checked_cap(epsilon, delta)
        table = digest(inputs)
        store = self._store()
        if create:
            make(store, who)
        Opening(dataset, *cap, table, allow_same_inputs, allow_other_inputs, who).record(store)
        return self

    def spend(
        self,
        dataset: str,
        spends: Sequence[Spend],
        *,
        what: str,
        parameters: Mapping[str, Any],
        release_id: str,
        inputs: ArrayLike | None = None,
        stated: tuple[float, float] | None = None,
        who: str | None = None,
    ) -> Receipt:
        """Record a spend, or refuse it.  Draw noise only after this has returned.

        What the release will do must be fixed by now, except for the outputs, the noise, and how a
        later one of its ``spends`` follows from an earlier one.  Kind and size of all of them may
        depend on whatever was seen before.

        Parameters
        ----------
        dataset : str
            The name of the data set.
        spends : sequence of Spend
            What the release will reveal, in order.
        what : str
            What is released, in words.
        parameters : mapping
            Public facts that JSON can hold.
        release_id : str
            By which the release is known; it may occur once.
        inputs : array of shape (N, L), default=None
            They must be those of the data set; the first ones given are remembered.
        stated : (epsilon, delta), default=None
            What the release will claim.
        who : str, default=None
            Who spends.  None: CLOAKGP_WHO, or user and machine.

        Returns
        -------
        receipt : Receipt
            Proof that the spend is recorded.

        Raises
        ------
        BudgetExceeded
            If it does not fit under the cap.  Nothing was spent.
        LedgerError
            If the ledger cannot do it; ``recorded`` says what became of the spend.
        """
        facts = {
            "what": checked_name("what", what),
            "stated": None if stated is None else [as_number("stated", part) for part in stated],
            "parameters": dict(parameters),
        }
        spending = Spending(
            dataset=checked_dataset(dataset),
            spends=tuple(Spend(spend.kind, spend.size) for spend in spends),
            release_id=checked_name("release_id", release_id),
            table=digest(inputs),
            facts=facts,
            who=who,
        )
        if not spending.spends:
            raise LedgerError("spends is empty: there is nothing to record")
        entry, account = spending.record(self._store())
        return Receipt(
            dataset=spending.dataset,
            release_id=spending.release_id,
            sequence=entry.sequence,
            when=entry.facts["when"],
            hash=entry.hash,
            spent=accounts.spent(account),
        )

    def balances(self, dataset: str | None = None) -> list[Balance]:
        """Return the state of one data set, or of all.

        Parameters
        ----------
        dataset : str, default=None
            The name of the data set.  None: all.

        Returns
        -------
        balances : list of Balance
            Cap, spent, remaining and number of releases of each.
        """
        return [accounts.balance(name, each) for name, each in self._accounts(dataset).items()]

    @overload
    def spent(self, dataset: str) -> float: ...

    @overload
    def spent(self, dataset: None = None) -> dict[str, float]: ...

    def spent(self, dataset: str | None = None) -> float | dict[str, float]:
        """Return the ε spent so far, at the cap's δ.

        Parameters
        ----------
        dataset : str, default=None
            The name of the data set.  None: all.

        Returns
        -------
        spent : float or dict
            Of one data set, or of each by name.
        """
        spent = {name: accounts.spent(each) for name, each in self._accounts(dataset).items()}
        return spent if dataset is None else next(iter(spent.values()))

    @overload
    def remaining(self, dataset: str, kind: Literal["gaussian", "pure"] = ...) -> float: ...

    @overload
    def remaining(
        self, dataset: None = None, kind: Literal["gaussian", "pure"] = ...
    ) -> dict[str, float]: ...

    def remaining(
        self, dataset: str | None = None, kind: Literal["gaussian", "pure"] = "gaussian"
    ) -> float | dict[str, float]:
        """Return the ε that one further Gaussian release at the cap's δ may have, 0 if none.

        This is more than the cap less what was spent, because releases together cost less than the
        sum of their ε.  The next size may be chosen by it, and by all that was seen.

        Parameters
        ----------
        dataset : str, default=None
            The name of the data set.  None: all.
        kind : {"gaussian", "pure"}, default="gaussian"
            "pure" is for a release without a δ, Laplace for instance.

        Returns
        -------
        remaining : float or dict
            Of one data set, or of each by name.
        """
        of = self._accounts(dataset)
        left = {name: accounts.remaining(each, kind) for name, each in of.items()}
        return left if dataset is None else next(iter(left.values()))

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Return all entries, or those about one data set, in the order they were made.

        Parameters
        ----------
        dataset : str, default=None
            The name of the data set.  None: all.

        Returns
        -------
        entries : list of Entry
            Each with its public facts and a hash that covers all before it.
        """
        book, entries = read_all(self._store(), lambda entry: entry)
        if dataset is None:
            return entries
        dataset = checked_dataset(dataset)
        book.account(dataset)
        return [entry for entry in entries if entry.dataset == dataset]

    def export(self, form: Literal["jsonl", "csv"] = "jsonl") -> str:
        """Return the whole history as a string, for auditors: they can work out every hash.

        Parameters
        ----------
        form : {"jsonl", "csv"}, default="jsonl"
            One line of JSON, or of CSV, for each entry.

        Returns
        -------
        text : str
            The history.
        """
        if form not in ("jsonl", "csv"):
            raise LedgerError(f"form must be 'jsonl' or 'csv', got {form!r}")
        return (as_jsonl if form == "jsonl" else as_csv)(self.history())

    def verify(self, head: str | None = None) -> str:
        """Read and check the whole ledger, and return the hash of its last entry.

        Keep that hash elsewhere: given back as ``head``, it shows that nothing up to it was
        rewritten, which the ledger alone cannot show against somebody who rewrites all of it.

        Parameters
        ----------
        head : str, default=None
            The hash of an entry that must be there.

        Returns
        -------
        hash : str
            That of the last entry; of a ledger that was moved, the one with which it goes on in
            the new place.

        Raises
        ------
        LedgerTampered
            If the history is not the one that was written.
        """
        store = self._store()
        book, hashes = read_all(store, lambda entry: entry.hash)
        store.check()
        if head is not None and head not in hashes:
            raise LedgerTampered(
                f"the history of {store.name} does not hold the entry {head}: it was rewritten, or "
                "this is an older copy or another ledger. Do not spend on it."
            )
        return hashes[-2] if book.completed else book.hash

    def moved_to(self) -> str | None:
        """Return where this ledger goes on if it was moved and is closed, else None.

        Returns
        -------
        place : str or None
            A file or an address.
        """
        store = self._store()
        return read_on(store, recall(store)).moved or None

    def move_to(self, target: Ledger | str | os.PathLike[str], *, who: str | None = None) -> str:
        """Move this ledger to another place, file or server, and return the last hash there.

        The target gets every entry, with the same hashes, and one more that says where they came
        from; this one gets an entry that says where it went, and is closed: nothing can be spent on
        it any more, in whatever process.  If this breaks off, the same call goes on where it ended.

        Parameters
        ----------
        target : Ledger, str or path
            Where to; it must be empty.
        who : str, default=None
            Who moves it.  None: CLOAKGP_WHO, or user and machine.

        Returns
        -------
        hash : str
            That of the last entry there.
        """
        target = target if isinstance(target, Ledger) else Ledger(target)
        return move(self._store(), target._store(), who)

    def _store(self) -> Store:
        if self.address is not None:
            return PostgresStore(self.address)
        assert self.path is not None
        return SQLiteStore(self.path)

    def _accounts(self, dataset: str | None) -> dict[str, Account]:
        store = self._store()
        book = read_on(store, recall(store))
        if dataset is None:
            return dict(book.accounts)
        dataset = checked_dataset(dataset)
        return {dataset: book.account(dataset)}
