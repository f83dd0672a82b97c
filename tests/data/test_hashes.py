"""Fingerprints of inputs: the same for any order and blocks, and others for other rows."""

import numpy as np
import pytest

from cloakgp.data.partition import (
    HASHED_AT_A_TIME,
    KEYS,
    fingerprint,
    hash_rows,
    mixed,
    sum_hashes,
)

X = np.random.default_rng(0).normal(size=(50, 3))


def test_order_and_blocks_do_not_matter():
    whole = fingerprint([sum_hashes(X)])
    parts = [sum_hashes(X[40:]), sum_hashes(X[::-1][10:])]
    assert fingerprint(parts) == whole
    assert len(whole) == 64


@pytest.mark.parametrize("where", [(0, 0), (49, 2)])
def test_the_last_digit_of_a_number_matters(where):
    other = X.copy()
    other[where] = np.nextafter(other[where], np.inf)
    assert fingerprint([sum_hashes(other)]) != fingerprint([sum_hashes(X)])


def test_a_row_twice_is_not_a_row_once_and_columns_have_their_places():
    whole = fingerprint([sum_hashes(X)])
    assert fingerprint([sum_hashes(np.vstack([X, X[:1]]))]) != whole
    assert fingerprint([sum_hashes(X[:, ::-1])]) != whole
    assert fingerprint([]) == "0" * 64


def test_zero_has_no_sign():
    key = np.uint64(7)
    assert hash_rows(np.array([[0.0]]), key) == hash_rows(np.array([[-0.0]]), key)


def test_half_of_the_bits_move():
    """4,096 pairs of neighbours: the mean share is within 6 standard deviations of a half."""
    some = np.arange(4096, dtype=np.uint64)
    moved = np.unpackbits((mixed(some) ^ mixed(some + np.uint64(1))).view(np.uint8)).mean()
    assert abs(moved - 0.5) < 6.0 * 0.5 / np.sqrt(64 * 4096)


def splitmix64(x):
    """The finaliser as it is printed, in Python's integers."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def test_hashes_are_those_of_the_textbook_column_by_column():
    for row, found in zip(X, hash_rows(X, np.uint64(KEYS[0])), strict=True):
        expected = KEYS[0]
        for bits in row.view(np.uint64).tolist():
            expected = splitmix64(expected ^ bits)
        assert int(found) == expected


def test_sums_of_hashes_are_the_same_however_many_are_summed_at_a_time():
    many = np.random.default_rng(1).normal(size=(2 * HASHED_AT_A_TIME + 3, 2))
    expected = [hash_rows(many, np.uint64(key)).sum(dtype=np.uint64) for key in KEYS]
    np.testing.assert_array_equal(sum_hashes(many), expected)
