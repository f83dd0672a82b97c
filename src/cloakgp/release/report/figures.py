"""The pictures of a release, by how many inputs it has: a curve, maps, or a panel for each."""

from __future__ import annotations

import numpy as np

from cloakgp.release.report import colours, curves, maps
from cloakgp.release.report.places import (
    CURVE,
    PANEL,
    Input,
    along,
    inputs_of,
    medians,
    nearness,
    panels_of,
    people_of,
    plane,
)
from cloakgp.release.report.readings import Reading, Series
from cloakgp.release.report.spans import heights, sure_span, value_span
from cloakgp.release.report.svg import shortened
from cloakgp.release.report.words import Html, element, joined


def figures(reading: Reading, inputs: list[Input], ask: Html) -> Html:
    """Return all pictures of a release; ``ask`` is put where its answers are seen."""
    if len(inputs) == 1:
        return joined(_curves(reading, inputs, ask))
    if len(inputs) == 2:
        first, *others = _maps(reading, inputs)
        return joined([first, ask, *others])
    return joined([ask, *_panels(reading, inputs)])


def shown_inputs(reading: Reading, inputs: list[Input]) -> list[int]:
    """Return the inputs that a reader of the page can set."""
    return panels_of(reading.values, inputs) if len(inputs) > 2 else list(range(len(inputs)))


def _stamp(reading: Reading) -> dict[str, str]:
    """Return what is written across every picture of a release without a guarantee."""
    return {} if reading.release.private else {"stamp": "NOT PRIVATE"}


def _curves(reading: Reading, inputs: list[Input], ask: Html) -> list[Html]:
    people, (only,) = people_of(reading.release.facts), inputs
    points = along(inputs, 0, CURVE)
    x, series = points[:, 0], reading.at(points, noise=True)
    found: list[Html] = []
    for group in reading.groups:
        some, bounds = [series[c] for c in group], reading.bounds(group[0])
        name, y = reading.name_of(group), heights(some, bounds)
        marks = {"data_varies": "0", "data_series": " ".join(map(str, group)), **_stamp(reading)}
        drawn = [
            curves.curve(
                size,
                x,
                some,
                only,
                name,
                bounds,
                y,
                people[:, 0],
                marked=reading.clipped,
                class_=kind,
                **marks,
            )
            for size, kind in ((curves.WIDE, "wide"), (curves.NARROW, "narrow"))
        ]
        parts = [*drawn, _legend(reading, some)]
        if not found:
            parts.append(ask)
        if len(some) == 1:
            parts += [
                element("h3", "How sure"),
                element("div", curves.strip(curves.WIDE, x, some[0], only, name), class_="wide"),
                element(
                    "div", curves.strip(curves.NARROW, x, some[0], only, name), class_="narrow"
                ),
                element(
                    "figcaption",
                    "How far the 95 % band reaches to either side"
                    + ("." if some[0].noise is None else ", and how much of that privacy costs."),
                ),
            ]
        table = element("div", curves.table(x, some, only, bounds), class_="scroll")
        parts.append(element("details", element("summary", "The same in numbers"), table))
        found.append(element("figure", *parts))
    return found


def _maps(reading: Reading, inputs: list[Input]) -> list[Html]:
    facts = reading.release.facts
    x, y, points = plane(inputs)
    series, visible = reading.at(points), nearness(facts, inputs, points)
    marks = {"data_varies": "0 1", "data_series": "0", **_stamp(reading)}
    found = []
    for group in reading.groups:
        some = [series[c] for c in group]
        name = reading.name_of(group)
        if len(some) > 1:
            values = np.array([one.value for one in some])
            title = f"Most probable {shortened(reading.title)}"
            first = maps.draw_classes(values, visible, inputs, title, reading.names, facts, **marks)
            sure, unit = values.max(axis=0), "probability of that class"
            shades, limits = colours.SURE_TO_UNSURE[::-1], (1.0 / len(some), 1.0)
        else:
            one, title = some[0], name
            first = maps.draw_map(
                (x, y),
                one.value,
                visible,
                inputs,
                title,
                colours.LOW_TO_HIGH if reading.classes is None else colours.ONE_TO_OTHER,
                value_span(reading, one, group[0], visible),
                facts,
                **marks,
            )
            sure, unit = one.reach, "± of the 95 % band"
            shades = colours.SURE_TO_UNSURE
            limits = sure_span(sure, visible, reading.bounds(group[0]))
        second = maps.draw_map(
            (x, y), sure, visible, inputs, f"How sure: {unit}", shades, limits, facts, **marks
        )
        both = [
            element("div", element("h3", title), first),
            element("div", element("h3", f"How sure: {unit}"), second),
        ]
        words = [
            "Dots are the public inputs. Colours fade where nobody is near: there the map shows "
            "what the model expects, not what it was told."
        ]
        if len(some) == 1 and all(each.levels is None for each in inputs):
            words.append("Lines join places of equal value.")
        parts = [element("div", *both, class_="pair")]
        if len(some) > 1:
            parts.append(_legend(reading, some))
        parts.append(element("figcaption", " ".join(words)))
        found.append(element("figure", *parts))
    return found


def _panels(reading: Reading, inputs: list[Input]) -> list[Html]:
    people = people_of(reading.release.facts)
    chosen = panels_of(reading.values, inputs)
    read = [reading.at(along(inputs, column, PANEL)) for column in chosen]
    found = []
    for group in reading.groups:
        bounds, name = reading.bounds(group[0]), reading.name_of(group)
        y = heights([series[c] for series in read for c in group], bounds)
        panels = []
        for column, series in zip(chosen, read, strict=True):
            x = along(inputs, column, PANEL)[:, column]
            some = [series[c] for c in group]
            marks = {"data_varies": str(column), "data_series": " ".join(map(str, group))}
            marks |= _stamp(reading)
            panels.append(
                curves.curve(
                    curves.PANEL,
                    x,
                    some,
                    inputs[column],
                    name,
                    bounds,
                    y,
                    people[:, column],
                    marked=reading.clipped,
                    data_redraw=True,
                    **marks,
                )
            )
        words = (
            "Each panel varies one input while the others stay where they are: at their median, or "
            "the most frequent level, among the public inputs, or where you have put them."
        )
        if len(chosen) < len(inputs):
            words += (
                f" Shown are the {len(chosen)} of {len(inputs)} inputs along which the prediction "
                "changes most."
            )
        some = [read[0][c] for c in group]
        found.append(
            element(
                "figure",
                element("div", *panels, class_="pair"),
                _legend(reading, some),
                element("figcaption", f"{words} Medians: {medians(inputs, chosen)}."),
            )
        )
    return found


def _legend(reading: Reading, series: list[Series]) -> Html:
    """Return what the colours of a picture mean."""
    if len(series) > 1:
        entries = [
            (_patch(f"band swatch class-{number % 8}", solid=True), one.name)
            for number, one in enumerate(series)
        ]
        entries.append((_patch("band"), "their 95 % bands"))
    else:
        entries = [(_stroke("curve"), reading.what), (_patch("band"), "95 % band of the curve")]
        if series[0].noise is not None:
            entries.append((_patch("noise"), "of which noise for privacy alone"))
    if len(inputs_of(reading.release.facts)) != 2:
        ticks = element("path", class_="rug", d="M4 3v7M9 3v7M12 3v7M18 3v7")
        entries.append((_small(ticks), "public inputs"))
    return element("ul", *(element("li", mark, text) for mark, text in entries), class_="legend")


def _patch(kind: str, solid: bool = False) -> Html:
    name = kind.replace("band ", "") if solid else kind
    return _small(element("rect", width=22, height=12, rx=2, class_=name))


def _stroke(kind: str) -> Html:
    return _small(element("path", d="M0 6h22", class_=kind))


def _small(content: Html) -> Html:
    return element("svg", content, viewBox="0 0 22 12", aria_hidden="true")
