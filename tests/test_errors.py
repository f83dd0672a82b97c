"""Messages can be shown to anybody, on any terminal."""

import copy
import csv
import io
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp import errors
from cloakgp.errors import (
    LONGEST_SHOWN,
    MOST_NAMES,
    Message,
    ParameterError,
    SignatureError,
    brief,
    inert,
    listed,
    message_of,
    printable,
)


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


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1+1", "'  =1+1"),
        ("\t=1", "'\t=1"),
        ("\tx", "'\tx"),
        ("\r=1", "'\n=1"),
        ("＝1", "'＝1"),
        ("'=1", "''=1"),
        ("-3.5", "-3.5"),
        ("+2e-5", "+2e-5"),
        ("-1+1", "'-1+1"),
        ("a=b", "a=b"),
        ("it's", "it's"),
        ("a\rb", "a\nb"),
        ("", ""),
    ],
)
def test_no_spreadsheet_takes_a_text_for_a_formula_and_numbers_stay_numbers(text, written):
    assert inert(text) == written


@given(st.lists(st.text("=+-@' \t\r\n\",a1＝"), min_size=2, max_size=2))
def test_whatever_a_text_is_its_cell_is_no_formula_and_no_other_text(texts):
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerow([inert(text) for text in texts])
    assert "\r" not in table.getvalue()
    [cells] = csv.reader(io.StringIO(table.getvalue(), newline=""))
    for cell in cells:
        first = cell.lstrip(" \t\n'")[:1]
        assert cell.startswith("'") or first not in set("=+-@＝") or float(cell) is not None
        assert cell[:1] not in ("\t", "\n")
    one, other = (text.replace("\r\n", "\n").replace("\r", "\n") for text in texts)
    assert (cells[0] == cells[1]) == (one == other)


def test_a_long_name_is_shown_by_its_beginning_and_its_length():
    assert brief("age") == "age"
    assert brief("x" * LONGEST_SHOWN) == "x" * LONGEST_SHOWN
    assert brief("x" * 5000) == "x" * LONGEST_SHOWN + "… (5000 characters)"
    assert brief("\x1b" + "x" * 5000).startswith("\\x1bx")
    assert len(listed(["y" * 10**6] * 40)) < MOST_NAMES * (LONGEST_SHOWN + 30)


def shout(name, value):
    return f"<{name}|{value}>"


TOLD = "{rank:{!r}} is odd; {!p} must be {:.1f}{python:, or f() may}, got {} and {{x}}; {rank:1}"


def test_an_error_reads_as_python_writes_parameters_and_others_name_them_in_their_way():
    error = ParameterError(TOLD, (2, "{epsilon}"), "delta", 0.25, "{delta} delta=1")
    told = (
        "rank=(2, '{epsilon}') is odd; delta must be 0.2, or f() may, got {delta} delta=1 and {x}"
    )
    assert str(error) == f"{told}; rank=1"
    assert error.parameter == "rank"
    message = message_of(error)
    assert message.parameters == ("rank", "delta", "rank")
    assert message.told(shout) == (
        "<rank|(2, '{epsilon}')> is odd; <delta|> must be 0.2, got {delta} delta=1 and {x}; "
        "<rank|1>"
    )
    assert message.renamed({"rank": "size"}).parameters == ("size", "delta", "size")


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
@pytest.mark.parametrize("kind", [ParameterError, SignatureError, ValueError])
def test_an_error_of_a_worker_still_knows_its_parameters(kind, again):
    error = kind(Message("{cap:20} is below {}", 3.5))
    found = again(error)
    assert isinstance(found, ValueError)
    assert type(found) is kind
    assert str(found) == str(error) == "cap=20 is below 3.5"
    assert message_of(found).told(shout) == "<cap|20> is below 3.5"


def test_a_message_within_a_message_keeps_its_parameters():
    inner = Message("say {learn:True}")
    assert Message("they differ; {}", inner).told(shout) == "they differ; say <learn|True>"
    assert message_of(ValueError("plain {x}")) == "plain {x}"
    assert message_of(ValueError()) == ""
