"""Errors about fields of a file: each names the field, its value, and what was expected."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.schema import Section, typed


class Inner(Section, frozen=True):
    """A section of a section."""

    share: Annotated[float, Meta(ge=0.0, le=1.0)] | Literal["inf"]
    word: Literal["one", "two"]
    bits: list[Annotated[int, Meta(ge=1)]] | None


class Outer(Section, frozen=True):
    """A whole manifest."""

    inner: Inner
    free: Any


GOOD = {"share": 0.5, "word": "one", "bits": [1, 2]}


def test_what_fits_comes_back_as_it_was():
    found = typed({"inner": GOOD, "free": {"a": [1, None]}}, Outer)
    assert found == Outer(Inner(0.5, "one", [1, 2]), {"a": [1, None]})
    assert type(typed({**GOOD, "share": 1}, Inner).share) is float


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("share", 2, "inner.share=2 is refused: expected a number <= 1.0"),
        ("share", float("nan"), "inner.share=nan is refused: expected a number >= 0.0"),
        ("share", 10**400, "inner.share=1000.*000 is refused: number out of range"),
        ("share", True, "inner.share=True is refused: expected a number or a string, got true or"),
        ("share", None, "inner.share=None is refused: expected a number or a string, got nothing"),
        ("share", "nan", "inner.share='nan' is refused"),
        ("word", "three", r"inner.word='three' is none of \('one', 'two'\)"),
        ("word", 1, r"inner.word=1 is none of \('one', 'two'\)"),
        ("bits", [1, 0], r"inner.bits\[1\]=0 is refused: expected a whole number >= 1"),
        ("bits", [1.0], r"inner.bits\[0\]=1.0 is refused: expected a whole number, got a number"),
        ("bits", "12", "inner.bits='12' is refused: expected a list or nothing, got a string"),
        ("bits", {}, "inner.bits={} is refused: expected a list or nothing, got a JSON object"),
        ("more", 1, "holds entries unknown to it: 'inner.more'"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(field, value, message):
    with pytest.raises(ReleaseFileError, match=message):
        typed({"inner": {**GOOD, field: value}, "free": None}, Outer)


@pytest.mark.parametrize("field", GOOD)
def test_a_missing_field_is_named(field):
    inner = {name: value for name, value in GOOD.items() if name != field}
    with pytest.raises(ReleaseFileError, match=f"lacks something: inner.{field}$"):
        typed({"inner": inner, "free": None}, Outer)


@pytest.mark.parametrize("value", [None, [], "x", 1, [GOOD]])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(ReleaseFileError, match="expected a JSON object"):
        typed(value, Inner, "arrays.a")
    with pytest.raises(ReleaseFileError, match=r"inner=.*expected a JSON object"):
        typed({"inner": value, "free": None}, Outer)


@given(st.text() | st.sampled_from(["x` - at `$.foo", "`", " - at `$.inner[0]`", "\x1b[31m"]))
def test_no_name_of_a_field_breaks_the_error_or_controls_a_terminal(name):
    for value in ({**GOOD, name: 1}, {name: 1}):
        if name in GOOD:
            continue
        with pytest.raises(ReleaseFileError) as caught:
            typed({"inner": value, "free": None}, Outer)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 300
    with pytest.raises(ReleaseFileError) as caught:
        typed({"inner": {**GOOD, "word": name}, "free": None}, Outer)
    assert str(caught.value).isprintable()
