"""Facts of plain numbers, as far as pictures look at them."""

from types import SimpleNamespace

from cloakgp.data.columns import Columns


def facts_at(X, **more):
    """Return facts whose inputs are X (N, L), each a number."""
    return SimpleNamespace(
        X=X,
        codes_of=lambda rows: rows,
        at_codes=lambda codes: codes,
        encoding=Columns.numbers(None, X.shape[1]),
        **{"rows": None, **more},
    )
