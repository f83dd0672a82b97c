"""Hashes of the rows of public inputs: quick, the same for any order and any blocks of rows.

They recognise inputs and notice mistakes; nothing that must be safe from malice rests on them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Hashes = NDArray[np.uint64]

#: The keys of the four numbers of a fingerprint.
KEYS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)


def hash_rows(X: Array, key: np.uint64) -> Hashes:
    """Return a hash of each row of X (N, L); equal numbers have equal hashes."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # −0 becomes 0
    hashes = np.full(len(bits), key)
    for column in bits.T:
        hashes = mixed(hashes ^ column)
    return hashes


def mixed(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of x moves about half of the bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def print_of(X: Array) -> Hashes:
    """Return what rows add to a fingerprint: the sum of their hashes, under each of four keys."""
    return np.array(
        [hash_rows(X, np.uint64(key)).sum(dtype=np.uint64) for key in KEYS], dtype=np.uint64
    )


def fingerprint(prints: Iterable[Hashes]) -> str:
    """Return the fingerprint of rows that came in blocks, in any order: 64 letters."""
    total = np.zeros(len(KEYS), dtype=np.uint64)
    for one in prints:
        total += one
    return "".join(f"{int(number):016x}" for number in total)
