"""Draw docs/architecture.svg, the way of X, y and s through the rooms and who imports whom, and
write the table of files in CONTRIBUTING.md.

    python -m tools.architecture

The arrows between rooms are the imports of the source, and the table is made of the first lines of
its docstrings, so neither can lie.  The way of the data is written down here, as in
docs/architecture.md.
"""

from __future__ import annotations

import ast
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "cloakgp"
PICTURE = ROOT / "docs" / "architecture.svg"
TABLE = ROOT / "CONTRIBUTING.md"
#: The table lies between these lines.
BEGIN, END = "<!-- files: python -m tools.architecture -->", "<!-- end of files -->"

#: The rooms as data pass through them, and what each does.
WAY = {
    "data": ("checks what", "it is given"),
    "gp": ("a prior: kernel,", "exact or sparse"),
    "design": ("chooses T, with", "a certificate"),
    "privacy": ("adds the noise:", "s = T u + σ z"),
    "release": ("decodes s: what", "was published"),
    "drawing": ("what pictures", "and pages show"),
    "report": ("a release as", "one HTML page"),
    "plot": ("pictures of", "plan and release"),
}
#: The rooms in the order of imports: each imports from those on its left.
ORDER = (
    "privacy",
    "data",
    "gp",
    "design",
    "release",
    "drawing",
    "report",
    "plot",
    "estimators",
    "app",
    "web",
    "cli",
)

INK, PAPER, PALE, GREY = "#1f2933", "#ffffff", "#f3f5f7", "#7b8794"
BLUE, RED, GREEN = "#1f6fb2", "#c0392b", "#2a8a4a"
#: Of the arrows that leave each room.
COLOURS = (GREY, "#b7791f", INK, BLUE, "#0b7285", "#5f3dc4")
COLOURS = (*COLOURS, GREEN, "#a61e4d", BLUE, "#495057", INK, "#b7791f")
WIDTH, HEIGHT = 1120, 590
BOX, GAP, TALL, LEFT = 116, 20, 62, 26
TOP, ROW = 150, 400


def arrows(source: Path = SOURCE) -> set[tuple[str, str, bool]]:
    """Return (room, imported room, whether only inside functions) for all imports of the source."""
    early: set[tuple[str, str]] = set()
    late: set[tuple[str, str]] = set()
    for room in ORDER:
        for path in sorted((source / room).rglob("*.py")):
            tree = ast.parse(path.read_text())
            outside = {id(node) for node in tree.body}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cloakgp."):
                    other = str(node.module).split(".")[1]
                    if other in ORDER and other != room:
                        (early if id(node) in outside else late).add((room, other))
    return {(*pair, False) for pair in early} | {(*pair, True) for pair in late - early}


def _text(x: float, y: float, words: str, size: int = 12, **style: str) -> str:
    look = {"fill": INK, "text-anchor": "middle", "font-size": str(size)} | {
        name.replace("_", "-"): value for name, value in style.items()
    }
    attributes = " ".join(f'{name}="{value}"' for name, value in look.items())
    return f'<text x="{x:g}" y="{y:g}" {attributes}>{escape(words)}</text>'


def _box(x: float, y: float, wide: float, tall: float, edge: str = GREY, fill: str = PAPER) -> str:
    heavy = 2 if edge == RED else 1
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}" rx="6" fill="{fill}" '
        f'stroke="{edge}" stroke-width="{heavy}"/>'
    )


def _line(points: list[tuple[float, float]], colour: str) -> str:
    where = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="2.5" '
        f'marker-end="url(#{colour[1:]})"/>'
    )


def _way() -> list[str]:
    """Draw the upper half: the way of X, y and s."""
    place = {room: LEFT + 6 + number * (BOX + GAP) for number, room in enumerate(WAY)}
    core, end = place["privacy"], place["plot"] + BOX
    parts = [
        _text(LEFT, 28, "The way of X, y and s", 17, text_anchor="start", font_weight="bold"),
        _box(LEFT - 16, 44, WIDTH - 20, 224, fill=PALE),
        _text(LEFT, 64, "cli, web, app, estimators", 13, text_anchor="start", font_weight="bold"),
        _text(
            LEFT + 180,
            64,
            "they hand X, y and s from room to room, and keep nothing of y",
            text_anchor="start",
        ),
    ]
    for room, words in WAY.items():
        x, trusted = place[room], room == "privacy"
        parts.append(_box(x, TOP, BOX, TALL, edge=RED if trusted else GREY))
        parts.append(_text(x + BOX / 2, TOP + 19, room, 14, font_weight="bold"))
        parts += [_text(x + BOX / 2, TOP + 36 + 14 * n, line, 11) for n, line in enumerate(words)]
    middle = TOP + TALL / 2
    rooms = list(WAY)
    for one, other in pairwise(rooms):
        colour = BLUE if rooms.index(other) <= rooms.index("privacy") else GREEN
        parts.append(_line([(place[one] + BOX, middle), (place[other] - 3, middle)], colour))
    parts += [
        _line([(place["data"] + BOX / 2, 96), (place["data"] + BOX / 2, TOP - 3)], BLUE),
        _text(place["data"] + BOX / 2, 90, "X, public", 13, fill=BLUE, font_weight="bold"),
        _line([(core + BOX / 2, 96), (core + BOX / 2, TOP - 3)], RED),
        _text(core + BOX / 2, 90, "y, private", 13, fill=RED, font_weight="bold"),
        _text(core - GAP - BOX / 2, TOP - 10, "T, (ε, δ)", 13, fill=BLUE, font_weight="bold"),
        _text(
            place["release"] + BOX / 2, TOP - 10, "s, public", 13, fill=GREEN, font_weight="bold"
        ),
        _line(
            [
                (place["gp"] + BOX / 2, TOP + TALL),
                (place["gp"] + BOX / 2, TOP + TALL + 22),
                (place["release"] + BOX / 2, TOP + TALL + 22),
                (place["release"] + BOX / 2, TOP + TALL + 3),
            ],
            BLUE,
        ),
        _text(
            (place["gp"] + place["release"] + BOX) / 2,
            TOP + TALL + 38,
            "the prior, which decoding needs again",
            fill=BLUE,
        ),
        _text(
            end,
            TOP + TALL + 38,
            "predictions, file, statement: for anybody, for ever",
            text_anchor="end",
            fill=GREEN,
        ),
    ]
    return parts


def _imports(found: set[tuple[str, str, bool]]) -> list[str]:
    """Draw the lower half: an arc from each room to every room that it imports from."""
    step = (WIDTH - 2 * LEFT) / len(ORDER)
    centre = {room: LEFT + step * (number + 0.5) for number, room in enumerate(ORDER)}
    head = "Imports: every arrow leads to a room that its room imports from"
    parts = [_text(LEFT, ROW - 86, head, 17, text_anchor="start", font_weight="bold")]
    parts.append(
        _text(
            LEFT,
            ROW - 64,
            "Arrows lead to the left, so there is no circle. Dashed: for types alone, or loaded "
            "when a picture or a page is asked for.",
            text_anchor="start",
            fill=GREY,
        )
    )
    for room, x in centre.items():
        edge = RED if room == "privacy" else GREY
        parts.append(_box(x - step / 2 + 8, ROW - 44, step - 16, 34, edge=edge))
        parts.append(_text(x, ROW - 22, room, 14, font_weight="bold"))
    palette = dict(zip(ORDER, COLOURS, strict=True))
    # Arrows leave a room on its left half and enter on its right half, short ones inside long ones.
    into = {room: sorted((a for a in found if a[1] == room), key=_order) for room in ORDER}
    outof = {room: sorted((a for a in found if a[0] == room), key=_order) for room in ORDER}
    for arrow in sorted(found):
        room, other, late = arrow
        leave = centre[room] - 42 + 6.5 * outof[room].index(arrow)
        enter = centre[other] + 42 - 6.5 * into[other].index(arrow)
        if ORDER.index(other) > ORDER.index(room):  # a late import leads to the right
            leave, enter = centre[room] + 4, centre[other] - 4
        deep = ROW + 10 + 0.22 * abs(leave - enter)
        dashes = ' stroke-dasharray="5 4"' if late else ""
        parts.append(
            f'<path d="M {leave:g} {ROW - 10} C {leave:g} {deep:g} {enter:g} {deep:g} '
            f'{enter:g} {ROW - 7}" fill="none" stroke="{palette[room]}" stroke-width="1.4" '
            f'marker-end="url(#imports)"{dashes}>'
            f"<title>{room} → {other}{' (late)' if late else ''}</title></path>"
        )
    return parts


def _order(arrow: tuple[str, str, bool]) -> tuple[int, tuple[str, str, bool]]:
    return abs(ORDER.index(arrow[0]) - ORDER.index(arrow[1])), arrow


def picture(found: set[tuple[str, str, bool]]) -> str:
    """Return the picture as SVG."""
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="{size}" '
        f'markerHeight="{size}" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="{colour}"/>'
        "</marker>"
        for name, colour, size in (
            *((colour[1:], colour, 5) for colour in (BLUE, RED, GREEN)),
            ("imports", INK, 6),
        )
    )
    parts = [*_way(), *_imports(found)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif">\n'
        "<title>The rooms of cloakgp</title>\n"
        f"<defs>{markers}</defs>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def table(source: Path = SOURCE) -> str:
    """Return the table of files: what each is for, by the first line of its docstring."""
    rows = ["| file | what it is for |", "|---|---|"]
    for path in sorted(source.rglob("*.py"), key=lambda p: (p.parent.parts, p.name)):
        words = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0]
        words = " ".join(words.split()).replace("``", "`").replace("|", "\\|")
        name = path.relative_to(source).as_posix()
        if path.name == "__init__.py":
            folder = path.parent.relative_to(source).as_posix()
            name = "`cloakgp`" if folder == "." else f"**`{folder}/`**"
        else:
            name = f"`{name}`"
        rows.append(f"| {name} | {words} |")
    return "\n".join(rows)


def with_table(page: str, made: str) -> str:
    """Return a page with the table in its place."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{made}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PICTURE.write_text(picture(arrows()))
    TABLE.write_text(with_table(TABLE.read_text(), table()))
