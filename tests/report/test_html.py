"""What strangers write is shown, not obeyed; what the statement says is said on the page."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import NASTY

from cloakgp.errors import escape
from cloakgp.report.html import Html, element, from_markdown, joined, sections, text


class Reader(HTMLParser):
    """Gathers the elements and the words of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words = [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data


@given(st.text())
def test_any_text_becomes_words_and_nothing_else(value):
    read = Reader(element("p", value))
    assert [tag for tag, _ in read.tags] == ["p"]
    assert read.words == "".join(c if c.isprintable() or c == "\n" else " " for c in value)


@given(st.text())
def test_any_text_stays_inside_its_attribute(value):
    (made,) = Reader(element("p", title=value)).tags
    assert list(made[1]) == ["title"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_names_in_the_markdown_of_a_statement_are_shown_as_they_are(name):
    read = Reader(from_markdown(f"Each person's **{escape(name)}** is protected."))
    shown = "".join(c if c.isprintable() else " " for c in name)
    assert {tag for tag, _ in read.tags} <= {"p", "strong"}
    assert read.words == f"Each person's {shown} is protected."


@pytest.mark.parametrize("name", NASTY)
def test_nasty_names_open_no_element(name):
    assert Reader(element("p", name)).tags == [("p", {})]


def test_html_of_ours_is_not_escaped_again():
    assert element("p", element("b", "<")) == "<p><b>&lt;</b></p>"
    assert joined([Html("<br>"), "<"], ", ") == "<br>, &lt;"
    assert text(element("br")) == "<br>"


def test_attributes_are_named_as_html_names_them():
    made = element("input", class_="a", stroke_width=2, hidden=True, id=None, checked=False)
    assert made == '<input class="a" stroke-width="2" hidden>'


def test_markdown_has_paragraphs_lists_bold_words_and_code():
    found = from_markdown("One\nline with `code`.\n\n- a\n- **b**")
    assert found == (
        "<p>One line with <code>code</code>.</p><ul><li>a</li><li><strong>b</strong></li></ul>"
    )


def test_a_mark_that_is_never_closed_ends_with_its_paragraph():
    assert from_markdown("**open") == "<p><strong>open</strong></p>"


def test_sections_are_found_by_their_headings():
    assert sections("# T\n\n## A\n\nx\n\ny\n\n## B\n\nz\n") == {"A": "x\n\ny", "B": "z"}
