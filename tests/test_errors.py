"""Messages can be shown to anybody, on any terminal."""

import pytest

from cloakgp import errors
from cloakgp.errors import MOST_NAMES, listed, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("age", "age"),
        ("größe 身長", "größe 身長"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("line\nbreak", "line\\nbreak"),
        ("right\u202eleft", "right\\u202eleft"),
        (7, "7"),
    ],
)
def test_what_could_control_a_terminal_is_spelled_out(text, shown):
    assert printable(text) == shown


def test_long_lists_are_cut_and_counted():
    names = [f"n{i}" for i in range(MOST_NAMES + 5)]
    assert listed(names[:2]) == "n0, n1"
    assert listed(names[:MOST_NAMES]).endswith(f"n{MOST_NAMES - 1}")
    assert listed(names).endswith(f"n{MOST_NAMES - 1} and 5 more")
    assert listed(["\x07"]) == "\\x07"


def test_errors_are_values_that_are_wrong_and_warnings_can_be_silenced():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in (kind for kind in kinds if issubclass(kind, Exception)):
        base = UserWarning if kind.__name__.endswith("Warning") else ValueError
        assert issubclass(kind, base)
        assert kind.__doc__
