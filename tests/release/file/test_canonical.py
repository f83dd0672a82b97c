"""JSON in one spelling, and nothing that another reader would take for something else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.canonical import MAX_DEPTH, canonical_json, parse_json

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | keys,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_what_is_spelled_is_read_again_and_spelled_the_same(value):
    text = canonical_json(value)
    assert parse_json(text, "it") == value
    assert canonical_json(parse_json(text, "it")) == text
    assert text.isascii()


def test_the_order_of_keys_does_not_matter():
    assert canonical_json({"b": 1, "a": [2, 3.5]}) == b'{"a":[2,3.5],"b":1}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":1,"a":2}', "has the key 'a' twice"),
        (b"[NaN]", "not finite"),
        (b"[1e999]", "not finite"),
        (b"\xff", "is not UTF-8 at byte 0"),
        (b"{", "is not valid JSON"),
        (b'["\\ud800"]', "half a surrogate pair"),
        (json.dumps([0] * 1).encode().replace(b"0", b"[" * MAX_DEPTH + b"]" * MAX_DEPTH), "deeply"),
    ],
    ids=range(7),
)
def test_what_readers_take_in_different_ways_is_refused(text, reason):
    with pytest.raises(ReleaseFileError, match=reason):
        parse_json(text, "manifest.json")


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"bytes", {(1, 2): 3}], ids=repr)
def test_what_json_cannot_hold_is_not_written(value):
    with pytest.raises(ReleaseFileError, match="cannot be written as JSON"):
        canonical_json(value)
