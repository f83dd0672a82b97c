"""Strings of strangers stay strings on a page."""

from cloakgp.errors import escape


def test_plain_names_stay_readable():
    assert escape("height (cm), 2024-05-01") == "height (cm), 2024-05-01"
    assert escape("height_cm") == "height_cm"  # Markdown takes no mark from within a word
    assert escape("_height_ cm__") == r"\_height\_ cm\_\_"


def test_nothing_becomes_a_tag_a_link_or_a_line():
    assert escape("<b>\n") == "&lt;b&gt; "
    assert escape("http://a.example") == r"http\://a.example"
