"""Inputs: the same rows under another name, and other rows under this one, are noticed."""

import contextlib
import hashlib
import hmac
import math
import sqlite3

import numpy as np
import pytest
from ledger_helpers import CAP, X, releases, spend

from cloakgp.privacy.ledger import Ledger, LedgerError
from cloakgp.privacy.ledger.inputs import digest, fingerprint


def test_the_same_inputs_under_another_name_are_noticed_in_any_order_of_rows(ledger):
    ledger.open("first", *CAP, inputs=X)
    with pytest.raises(LedgerError, match="'first' has exactly these inputs"):
        ledger.open("second", *CAP, inputs=X[[2, 0, 1]])
    assert "second" not in ledger.spent()
    ledger.open("second", *CAP, inputs=X[::-1], allow_same_inputs=True)
    assert ledger.history("second")[0].facts["same_inputs_as"] == ["first"]
    spend(ledger, "s1", dataset="second", inputs=X)
    ledger.open("second", *CAP, inputs=X)
    assert len(ledger.history("second")) == 2


def test_the_first_inputs_that_are_spent_on_are_remembered(ledger):
    spend(ledger, "r1", inputs=X)
    spend(ledger, "r2", inputs=X[[1, 2, 0]])
    with pytest.raises(LedgerError, match=r"that 'people' has had so far\. Is this the right name"):
        spend(ledger, "r3", inputs=X + 1)
    ledger.open("others", *CAP)
    with pytest.raises(LedgerError, match="'people' has exactly these inputs"):
        spend(ledger, "r4", dataset="others", inputs=X)
    assert releases(ledger) == ["r1", "r2"]
    assert releases(ledger, "others") == []


def test_a_name_with_the_inputs_of_another_data_set_is_told_whose_they_are(ledger):
    ledger.open("first", *CAP, inputs=X)
    ledger.open("second", *CAP, inputs=X + 1)
    with pytest.raises(LedgerError, match="they are those of 'first'"):
        spend(ledger, dataset="second", inputs=X)


def test_the_same_people_may_have_further_inputs_if_that_is_said(ledger):
    ledger.open("first", *CAP, inputs=X)
    with pytest.raises(LedgerError, match="allow_other_inputs"):
        ledger.open("first", *CAP, inputs=X[:, :1])
    ledger.open("first", *CAP, inputs=X[:, :1], allow_other_inputs=True)
    for number, inputs in enumerate((X, X[:, 0])):
        spend(ledger, f"f{number}", dataset="first", inputs=inputs)
    assert ledger.balances("first")[0].releases == 2


def test_the_fingerprint_tells_tables_apart_and_needs_the_key(path):
    def mark(rows, key=b"key"):
        return fingerprint(key, digest(rows))

    assert mark([[0.0, 1.0]]) == mark([[-0.0, 1.0]]) == mark(np.array([[0, 1]]))
    tables = [[[0.0, 1.0]], [[1.0, 0.0]], [[0.0], [1.0]], [[0.0, 1.0]] * 2, [[0.0, 1.0 + 1e-15]]]
    assert len({mark(table) for table in tables}) == len(tables)
    assert mark(X) != mark(X, b"other")


def test_the_key_is_in_no_export_and_differs_between_ledgers(tmp_path):
    books = [Ledger(tmp_path / name) for name in "ab"]
    keys = []
    for ledger in books:
        ledger.open("people", *CAP, inputs=X, create=True)
        with contextlib.closing(sqlite3.connect(ledger.path)) as raw:
            keys += raw.execute("SELECT key FROM secret").fetchone()
        assert keys[-1].hex() not in ledger.export()
    assert keys[0] != keys[1]
    assert len({ledger.history()[-1].facts["inputs"] for ledger in books}) == 2


def test_a_digest_is_that_of_the_shape_and_the_sorted_rows():
    rows = np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 3.0]])
    text = b"3,2\n" + np.array([[0.0, 3.0], [1.0, 1.0], [1.0, 2.0]], dtype="<f8").tobytes()
    assert digest(rows) == hashlib.sha256(text).digest()
    assert digest([1, 0]) == digest([[0.0], [1.0]]) == digest(np.array([[1], [0]], dtype=">i4"))
    assert digest(None) is None


@pytest.mark.parametrize(
    "wrong",
    ["abc", [["a"]], [[math.nan]], [[math.inf]], np.zeros((0, 2)), np.zeros((2, 2, 2)), 3],
)
def test_what_is_no_table_of_finite_numbers_has_no_digest(wrong):
    with pytest.raises(LedgerError, match="table of finite numbers"):
        digest(wrong)


def test_a_fingerprint_is_keyed():
    table = digest(X)
    assert fingerprint(b"key", table) == hmac.new(b"key", table, "sha256").hexdigest()
    assert fingerprint(b"key", None) is None
