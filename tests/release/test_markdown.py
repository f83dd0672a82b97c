"""Strings of strangers stay strings on a page."""

from cloakgp.errors import escape


def test_plain_names_stay_readable():
    assert escape("height (cm), 2024-05-01") == "height (cm), 2024-05-01"
    assert escape("height_cm") == r"height\_cm"


def test_nothing_becomes_a_tag_a_link_or_a_line():
    assert escape("<b>\n") == "&lt;b&gt; "
    assert escape("http://a.example") == r"http\://a.example"
