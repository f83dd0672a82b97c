"""The page of results, put together from what is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from experiments import glance, measured, store
from experiments.item import Item
from experiments.registry import EXPECTED, find

TITLE = """# Results

Every table and figure of the paper, made again by `make experiments`, and what people would use
instead: the error of each method, in pictures first.
"""
#: Pictures that the page begins with: the item, the picture, and what is seen.
OPENING = (
    ("figure-1", "heights", "The paper's first figure: heights by age, and ours beside it"),
    ("compare-regression", "errors", "Against what people would use instead, by budget"),
)
HEAD = """## How to read this page

*Paper* is what the paper prints or draws; *paper's setting* is our code run as the paper
describes it; *our best* is what cloakgp gives by default, or what the row says. Where ours is not
better, the sentence says so: it is made from the numbers of the run.

Noise is drawn from a seed, with the standard deviation of a real release, so that this page can be
made again. The releases of `cloakgp` itself draw theirs from OpenDP and cannot be repeated.
Errors are measured on rows that no method has seen, or against the function that the data were
drawn from.

*In 0.2.0* is what the version before gave, whose noise was Gaussian by default.
"""
#: Items whose section is a page of its own.
APART = ("compare-rows",)
#: What version 0.2.0 gave, by item.
BEFORE = json.loads((Path(__file__).parent / "printed" / "best-0.2.0.json").read_text())


def assemble(results: Path) -> Path:
    """Write the page of a folder of results and return its path."""
    items = find()
    names = [name for name, *_ in EXPECTED]
    names += [name for name in items if name not in names]
    titles = {name: (title, place) for name, title, place in EXPECTED}
    sections, overview = [], []
    for name in names:
        record = store.read(results / name)
        if record is None:
            title, place = titles.get(name) or (items[name].title, items[name].place)
            why = "has not been run yet" if name in items else "has not been written yet"
            overview.append(f"| {title} | {place}; missing: this item {why} |")
            sections.append(f"## {title}\n\n*{_capital(place)}.* **Missing**: this item {why}.\n")
            continue
        text = section(record, results / name, _since(items.get(name), record, results))
        where = f"#{_anchor(record['title'])}"
        if name in APART:
            where = f"{name}.md"
            (results / where).write_text(text[1:])  # one # less
        else:
            sections.append(text)
        link = f"[{record['title']}]({where})"
        overview.append(f"| {link} | {record['place']} |")
    table = "\n".join(["| item | in the paper |", "|---|---|", *overview])
    results.mkdir(parents=True, exist_ok=True)
    page = results / "README.md"
    pictures = [
        f"![{seen}]({item}/{picture}.png)\n"
        for item, picture, seen in OPENING
        if (results / item / f"{picture}.png").exists()
    ]
    aims = measured.table(results)
    aims.to_csv(results / "measured.csv", index=False)
    first = glance.make(results) is not None
    at_once = [f"In one page: [{glance.TITLE.lower()}]({glance.NAME}.md).\n"] if first else []
    missed = "\n".join(f"- {why}" for why in measured.MISSED)
    beside = f"## {measured.TITLE}\n\n{markdown(aims)}\n\n{missed}\n"
    page.write_text("\n".join([TITLE, *at_once, *pictures, beside, HEAD, table, "", *sections]))
    return page


def _since(item: Item | None, record: dict[str, Any], results: Path) -> str:
    """Say what has become of the code since an item ran; nothing if it is as it was."""
    if item is None or record["made_from"] == store.fingerprint(item):
        return ""
    if store.confirmed(item, results):
        return (
            "The code has changed since, without changing these numbers: a short run gives the "
            "same to five digits with the code of then and of now (`python -m experiments "
            "--confirm`)."
        )
    return "The code has changed since; run `make experiments` again."


def section(record: dict[str, Any], folder: Path, since: str = "") -> str:
    name = record["item"]
    lines = [
        f"## {record['title']}",
        "",
        f"*{_capital(record['place'])}.*",
        "",
        "| | |",
        "|---|---|",
    ]
    for label, key in (
        ("paper", "paper"),
        ("ours, paper's setting", "setting"),
        ("ours, our best", "best"),
        ("**to conclude**", "conclusion"),
    ):
        lines.append(f"| {label} | {record[key]} |")
        if key == "best" and BEFORE.get(name, record[key]) != record[key]:
            lines.append(f"| *in 0.2.0* | {BEFORE[name]} |")
    lines.append("")
    for figure in record["figures"]:
        lines += [f"![{record['title']}: {_words(figure)}]({name}/{figure}.png)", ""]
    for table in record["shown"]:
        lines += [markdown(pd.read_csv(folder / f"{table}.csv")), ""]
    lines += [f"- {note}" for note in record["notes"]]
    if record["notes"]:
        lines.append("")
    files = ", ".join(f"[{_words(t)}]({name}/{t}.csv)" for t in record["tables"])
    made = (
        f"commit {record['commit'] or 'unknown'} (the last version then: {record['version']}), "
        f"seed {record['made_from']['seed']}, {record['mode']} run of {record['seconds']:g} s, "
        f"{record['finished']}"
    )
    uses = record["made_from"].get("uses")
    lines.append(f"<sub>Numbers: {files}. Made with {made}{f'; {uses}' if uses else ''}.</sub>\n")
    if since:
        lines.append(f"<sub>{since}</sub>\n")
    return "\n".join(lines)


def markdown(table: pd.DataFrame) -> str:
    """Return a table as Markdown, numbers to three digits."""
    numeric = [pd.api.types.is_numeric_dtype(table[column]) for column in table]
    rows = [
        [str(column) for column in table],
        ["--:" if number else ":--" for number in numeric],
        *([_cell(value) for value in row] for row in table.itertuples(index=False)),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return ""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{int(value):,}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
