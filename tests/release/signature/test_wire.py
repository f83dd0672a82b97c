"""Bytes of strangers are values of SSH's wire format, or are refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.errors import SignatureError
from cloakgp.release.signature.keys import (
    WireReader,
    fingerprint,
    from_base64,
    natural_bytes,
    string,
)


@given(st.lists(st.binary(max_size=40)), st.integers(0, 2**200))
def test_what_is_written_is_read_again_to_the_last_byte(words, number):
    reader = WireReader(b"".join(map(string, words)) + string(natural_bytes(number)), "it")
    assert [reader.string() for _ in words] == words
    assert reader.natural() == number
    reader.end()


@given(st.binary(max_size=60), st.lists(st.sampled_from(["byte", "uint32", "string", "text"])))
def test_no_bytes_give_another_error_than_ours(data, steps):
    reader = WireReader(data, "it")
    with contextlib.suppress(SignatureError):
        for step in [*steps, "natural", "end"]:
            getattr(reader, step)()


def test_a_string_longer_than_what_is_there_is_cut_short():
    with pytest.raises(SignatureError, match="cut short"):
        WireReader(b"\0\0\0\5four", "it").string()
    with pytest.raises(SignatureError, match="more than it should"):
        WireReader(b"\0", "it").end()
    with pytest.raises(SignatureError, match="UTF-8"):
        WireReader(string(b"\xff"), "it").text()
    with pytest.raises(SignatureError, match="a name with a zero byte"):
        WireReader(string(b"ssh:\0x"), "it").text()


@pytest.mark.parametrize("digits", [b"\x80", b"\0", b"\0\x7f", b"\xff\xff"])
def test_numbers_that_are_negative_or_longer_than_they_need_be_are_refused(digits):
    with pytest.raises(SignatureError, match="negative or badly encoded"):
        WireReader(string(digits), "it").natural()


def test_the_encoding_of_numbers_is_that_of_the_standard():
    """The examples of RFC 4251."""
    assert natural_bytes(0) == b""
    assert natural_bytes(0x9A378F9B2E332A7) == bytes.fromhex("09a378f9b2e332a7")
    assert natural_bytes(0x80) == bytes.fromhex("0080")


@pytest.mark.parametrize(
    "text",
    [
        b"a",
        b"ab=",
        b"ab==c",
        b"a b=",
        "ä".encode(),
        b"YQ==YQ==",
        b"YQ===",
        b"YWJj=",
        b"YR==",
        b"YQ==\n",
    ],
)
def test_base64_that_is_not_quite_that_is_refused(text):
    with pytest.raises(SignatureError, match="it is not base64"):
        from_base64(text, "it")


def test_fingerprints_have_no_padding():
    assert fingerprint(b"a") == "SHA256:ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs"
