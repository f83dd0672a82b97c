"""What is written as YAML is read again as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.report.registry import Open, as_yaml

yaml = pytest.importorskip("yaml", reason="no PyYAML: pip install 'cloakgp[test]'")


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True).map("k{}".format),
        st.one_of(
            st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(2**53), 2**53),
        ),
    )
)
def test_strings_and_numbers_are_read_as_they_were(content):
    shown = {
        key: "".join(c if c.isprintable() else " " for c in value)
        if isinstance(value, str)
        else value
        for key, value in content.items()
    }
    assert (yaml.safe_load(as_yaml({"all": content})) or {})["all"] == (shown or None)


def test_paragraphs_and_lists_inside_a_string_keep_their_lines():
    text = "One.\n\n- a: b\n- # c"
    assert yaml.safe_load(as_yaml({"x": {"y": text}}))["x"]["y"].strip() == text


def test_what_is_open_is_marked_and_can_be_found():
    written = as_yaml(
        {
            "a": Open("who"),
            "b": Open("who", listed=True),
            "c": Open("one of these", commented=True),
        }
    )
    assert yaml.safe_load(written) == {
        "a": "TO BE FILLED IN: who",
        "b": ["TO BE FILLED IN: who"],
    }
    assert "# c: TO BE FILLED IN: one of these" in written


@pytest.mark.parametrize("number", [1e-5, 1e-10, 2.5e-7, 1e22, 0.1, 3])
def test_small_numbers_are_numbers(number):
    assert yaml.safe_load(as_yaml({"x": number}))["x"] == number
