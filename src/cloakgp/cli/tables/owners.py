"""Owners of rows: two spellings of one person are one person."""

from __future__ import annotations

import unicodedata
from decimal import Decimal, InvalidOperation

from cloakgp.cli.tables.numerals import plain_numeral


def owner_key(label: str, decimal: str = ".") -> str:
    """Return what two spellings of one owner have in common.

    "7", "07" and "7.0" are one owner, and so are "Zoë" and "zoe\u0308".  To take two people for one
    adds noise; to take one person for two would promise more than is kept.
    """
    usual = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    seen = "".join(c for c in usual if unicodedata.category(c) not in ("Cf", "Cc"))
    words = " ".join(seen.split())
    plain = plain_numeral(words, decimal)
    if plain is None:
        return words
    try:
        sign, digits, exponent = Decimal(plain).as_tuple()
    except InvalidOperation:  # an exponent of more digits than there are
        return words
    # Exactly: as floats, long numbers of different people would meet.
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    return f"{'-' * sign}{short}e{int(exponent) + len(text) - len(short)}" if short else "0"
