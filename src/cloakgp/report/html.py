"""HTML from strings that may come from anybody: what is not known to be HTML is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

#: Elements that have no content.
_VOID = {"meta", "input", "br"}
#: Marks of Markdown inside a paragraph, as the statement uses them.
_MARKS = re.compile(r"\\(.)|(\*\*|`)", re.DOTALL)


class Html(str):
    """A string that is HTML already; all others are escaped when they enter an element."""

    def __html__(self) -> Html:
        """Tell templates that it needs no escaping."""
        return self


def text(value: object) -> Html:
    """Return a value as HTML shows it: escaped, and on one line."""
    if isinstance(value, Html):
        return value
    line = "".join(c if c.isprintable() or c == "\n" else " " for c in str(value))
    return Html(html.escape(line))


def joined(parts: Iterable[object], between: str = "") -> Html:
    """Return parts one after the other."""
    return Html(text(between).join(text(part) for part in parts))


def element(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element: ``class_`` is its class, ``stroke_width`` is ``stroke-width``.

    An attribute that is True has no value; one that is None or False is left out.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{text(value)}"')
    opened = f"<{' '.join(words)}>"
    return Html(opened if name in _VOID else f"{opened}{joined(children)}</{name}>")


def from_markdown(paragraphs: str) -> Html:
    """Return the Markdown of a statement as HTML: paragraphs, lists, bold words and code."""
    blocks = []
    for block in paragraphs.strip().split("\n\n"):
        lines = block.split("\n")
        if all(line.startswith("- ") for line in lines):
            blocks.append(element("ul", *(element("li", _inside(line[2:])) for line in lines)))
        else:
            blocks.append(element("p", _inside(" ".join(lines))))
    return joined(blocks)


def sections(markdown: str) -> dict[str, str]:
    """Return what stands below each heading of the second level."""
    found = re.split(r"^## (.+)$", markdown, flags=re.MULTILINE)
    return dict(zip(found[1::2], (part.strip() for part in found[2::2]), strict=True))


def unmarked(markdown: str) -> str:
    """Return Markdown of ours without bold words: it is read as it is, and may be shown as HTML."""
    return re.sub(r"(?<!\\)\*\*", "", markdown)


def _inside(line: str) -> Html:
    """Return one line of Markdown as HTML."""
    names = {"**": "strong", "`": "code"}
    out, opened, place = [], "", 0
    for mark in _MARKS.finditer(line):
        out.append(_literal(line[place : mark.start()]))
        place = mark.end()
        if mark[1] is not None:
            out.append(_literal(mark[1]))
        elif opened in ("", mark[2]):
            out.append(Html(f"</{names[mark[2]]}>" if opened else f"<{names[mark[2]]}>"))
            opened = "" if opened else mark[2]
        else:
            out.append(text(mark[2]))
    out.append(_literal(line[place:]))
    if opened:
        out.append(Html(f"</{names[opened]}>"))
    return joined(out)


def _literal(part: str) -> Html:
    """Return a part without marks; Markdown of ours has ``<`` of others as ``&lt;``."""
    return text(html.unescape(part))
