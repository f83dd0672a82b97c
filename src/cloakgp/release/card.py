"""What a notebook shows of a plan, a release or a check: a short card of HTML, without script.

A card has no colours of its own but those of its edge, so that it is read on light and dark pages.
Everything in it is public, and every word is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cloakgp.errors import printable

#: The edge of a card: what is as it should be, and what is not.
GOOD, BAD = "#0072B2", "#D55E00"
#: Letters of a value, at most: what is longer stands in the text that unfolds.
LONGEST_VALUE = 400

_BOX = (
    "border-left:4px solid {edge};padding:.3em 0 .3em .9em;margin:.4em 0;max-width:52em;"
    "line-height:1.45"
)
_GRID = "display:grid;grid-template-columns:max-content 1fr;gap:.1em 1.2em;margin:.3em 0"
_TEXT = (
    "white-space:pre-wrap;margin:.4em 0;font-size:.92em;color:inherit;background:none;border:0;"
    "padding:0"
)

Facts = Sequence[tuple[str, str]]


def card(title: str, facts: Facts = (), text: str = "", *, good: bool = True) -> str:
    """Return a card: a title, facts with their names, and text that unfolds.

    Parameters
    ----------
    title : str
        What it is, in a few words.
    facts : sequence of pairs of str
        Names and values.
    text : str
        What else there is to say, line by line.
    good : bool
        Whether all is as it should be; else the edge and the title warn.
    """
    edge = GOOD if good else BAD
    colour = "" if good else f";color:{BAD}"
    rows = "".join(
        f'<div style="opacity:.75">{_shown(name)}</div><div>{_shown(value)}</div>'
        for name, value in facts
    )
    body = f'<div style="{_GRID}">{rows}</div>' if rows else ""
    if text:
        lines = "\n".join(printable(line) for line in text.splitlines())
        body += (
            '<details><summary style="cursor:pointer">in words</summary>'
            f'<pre style="{_TEXT}">{escape(lines)}</pre></details>'
        )
    head = f'<div style="font-weight:600{colour}">{_shown(title)}</div>'
    return f'<div style="{_BOX.format(edge=edge)}">{head}{body}</div>'


def _shown(words: str) -> str:
    text = printable(words)
    return escape(text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…")
