"""The pictures of a release on its page, each with its legend and what it shows in words."""

from __future__ import annotations

from typing import Any

from cloakgp.drawing.axes import shortened
from cloakgp.drawing.marks import MARKS
from cloakgp.drawing.panels import (
    ClassPanel,
    CurvePanel,
    MapPair,
    MapPanel,
    curve_panels,
    map_panels,
    people_maps,
    people_panels,
)
from cloakgp.drawing.predictions import Predictions, Series
from cloakgp.drawing.views import (
    SPARSE,
    Input,
    Plane,
    medians,
    most_varying,
    public_inputs,
)
from cloakgp.report import curves, maps
from cloakgp.report.html import Html, element, joined
from cloakgp.report.svg import PlotFrame, drawing

#: No picture.
NOTHING = Html("")
#: The best attacker's guesses: squares in a row, the distance from one to the next, and their side.
ROW, STEP, SIDE = 20, 17.0, 13.0


def figures(predictions: Predictions, inputs: list[Input], ask: Html) -> Html:
    """Return all pictures of a release; ``ask`` is put where its answers are seen."""
    if len(inputs) == 2:
        first, *others = _maps(predictions, inputs)
        return joined([first, ask, *others])
    rows = curve_panels(predictions, inputs)
    people = _people(predictions, inputs, rows[0])
    if len(inputs) == 1:
        asked = [ask, *[Html("")] * (len(rows) - 1)]  # beside the first picture alone
        drawn = [_curve(predictions, row[0], at) for row, at in zip(rows, asked, strict=True)]
        return joined([*drawn, people])
    return joined([ask, *(_panels(predictions, inputs, row) for row in rows), people])


def shown_inputs(predictions: Predictions, inputs: list[Input]) -> list[int]:
    """Return the inputs that a reader of the page can set."""
    if len(inputs) > 2:
        return most_varying(predictions.values, inputs)
    return list(range(len(inputs)))


def _curve(predictions: Predictions, panel: CurvePanel, ask: Html) -> Html:
    """Return the picture along the only input: wide, narrow, how sure it is, and as a table."""
    parts = [
        _draw_panel(predictions, panel, size, class_=kind)
        for size, kind in ((curves.WIDE, "wide"), (curves.NARROW, "narrow"))
    ]
    marked = any(each is not None for each in panel.marks)
    parts += [_curve_legend(predictions, panel.series, marked), ask]
    if len(panel.series) == 1:
        costs = panel.series[0].noise is not None
        words = "How far the 95 % band reaches to either side"
        parts += [
            element("h3", "How sure"),
            element("div", curves.draw_strip(panel, curves.WIDE), class_="wide"),
            element("div", curves.draw_strip(panel, curves.NARROW), class_="narrow"),
            element(
                "figcaption",
                words + (", and how much of that privacy costs." if costs else "."),
            ),
        ]
    numbers = element("div", curves.table(panel), class_="scroll")
    parts.append(element("details", element("summary", "The same in numbers"), numbers))
    return element("figure", *parts)


def _panels(predictions: Predictions, inputs: list[Input], row: list[CurvePanel]) -> Html:
    """Return a panel for each input that is shown."""
    hidden = predictions.release.spec.rows is not None
    stay = "at their median, or the most frequent level, among the public inputs"
    if hidden:
        stay = "in the middle of the box, or at the first level"
    words = (
        f"Each panel varies one input while the others stay where they are: {stay}, or where you "
        "have put them."
    )
    if len(row) < len(inputs):
        words += (
            f" Shown are the {len(row)} of {len(inputs)} inputs along which the prediction "
            "changes most."
        )
    drawn = [_draw_panel(predictions, panel, curves.PANEL, data_redraw=True) for panel in row]
    where = medians(inputs, [panel.varied for panel in row])
    return element(
        "figure",
        element("div", *drawn, class_="pair"),
        _curve_legend(predictions, row[0].series),
        element("figcaption", f"{words} {'There they are' if hidden else 'Medians'}: {where}."),
    )


def _draw_panel(
    predictions: Predictions, panel: CurvePanel, size: tuple[int, int], **attributes: object
) -> Html:
    people = public_inputs(predictions.release.spec)[:, panel.varied]
    attributes |= {"data_varies": panel.varied, "data_series": " ".join(map(str, panel.group))}
    attributes |= _stamp(predictions)
    return curves.draw_curves(panel, size, people, marked=predictions.clipped, **attributes)


def _maps(predictions: Predictions, inputs: list[Input]) -> list[Html]:
    plane, people = Plane.over(predictions.release.spec, inputs), []
    if predictions.release.spec.rows is not None:
        where = people_maps(predictions, plane)
        drawn = [
            element("div", element("h3", panel.title), maps.draw_map(panel, plane, panel.title))
            for panel in where
        ]
        people = [_people_figure(predictions, [element("div", *drawn, class_="pair")])]
        plane = plane.faded(where[0].values)
    pairs = [_map_pair(predictions, plane, pair) for pair in map_panels(predictions, plane)]
    return pairs + people


def _people(predictions: Predictions, inputs: list[Input], row: list[CurvePanel]) -> Html:
    """Return where people are along the inputs, of a release of whole rows."""
    if predictions.release.spec.rows is None:
        return Html("")
    shown = people_panels(predictions, row)
    told = predictions.release.spec.privacy_unit.told
    entries = [
        (_stroke("curve people"), told("people")),
        (_patch("band people"), "their 95 % band"),
    ]
    if any(panel.marks and panel.marks[0] is not None for panel in shown):
        entries.append((_published("published"), told("published: noisy numbers of people")))
    if len(inputs) > 1:
        drawn = [curves.draw_people(panel, curves.PANEL) for panel in shown]
        drawn = [element("div", *drawn, class_="pair"), _legend(entries)]
        return _people_figure(predictions, drawn)
    both = ((curves.WIDE, "wide"), (curves.NARROW, "narrow"))
    drawn = [element("div", curves.draw_people(shown[0], size), class_=kind) for size, kind in both]
    numbers = element("div", curves.table(shown[0]), class_="scroll")
    folded = element("details", element("summary", "The same in numbers"), numbers)
    return _people_figure(predictions, [*drawn, _legend(entries)], folded)


def _people_figure(predictions: Predictions, drawn: list[Html], folded: Html = NOTHING) -> Html:
    told = predictions.release.spec.privacy_unit.told
    words = (
        "Found from the noisy numbers of people that were published, as a smooth density: nobody's "
        "inputs are in this page."
    )
    title = element("h2", told("Where people are"))
    parts = [title, *drawn, element("figcaption", told(words)), folded]
    return element("figure", *parts, id="people")


def _map_pair(predictions: Predictions, plane: Plane, pair: MapPair) -> Html:
    """Return what is predicted over both inputs, and beside it how sure that is."""
    marks: dict[str, Any] = {"data_varies": "{} {}".format(*plane.order), "data_series": "0"}
    marks |= _stamp(predictions)
    of_classes = isinstance(pair.value, ClassPanel)
    sure = f"How sure: {pair.sure.title}"
    if isinstance(pair.value, ClassPanel):
        title = f"Most probable {shortened(pair.value.title)}"
        first = maps.draw_classes(pair.value, plane, title, **marks)
    else:
        title = pair.value.title
        first = maps.draw_map(pair.value, plane, title, **marks)
    second = maps.draw_map(pair.sure, plane, sure, **marks)
    both = [element("div", element("h3", t), m) for t, m in ((title, first), (sure, second))]
    parts = [element("div", *both, class_="pair")]
    if pair.each:
        small = [
            element(
                "div",
                element("h3", f"Probability of {shortened(panel.title, 30)}"),
                maps.draw_map(panel, plane, f"probability of {panel.title}", small=True, **marks),
            )
            for panel in pair.each
        ]
        parts.append(element("div", *small, class_="pair small"))
    words = (
        "Dots are the public inputs. Colours fade where nobody is near: there the map shows "
        "what the model expects, not what it was told."
    )
    if predictions.release.spec.rows is not None:
        words = SPARSE
    if of_classes:
        parts.append(_legend(_class_entries(predictions.names, bands=False)))
    else:
        if not plane.stepped:
            words += " Lines join places of equal value."
        if isinstance(pair.value, MapPanel) and pair.value.marks is not None:
            words += " Large dots are what was published: the noisy means of cells of people."
    parts.append(element("figcaption", predictions.release.spec.privacy_unit.told(words)))
    return element("figure", *parts)


def _stamp(predictions: Predictions) -> dict[str, str]:
    """Return what is written across every picture of a release without a guarantee."""
    return {} if predictions.release.private else {"stamp": "NOT PRIVATE"}


def _curve_legend(predictions: Predictions, series: list[Series], marked: bool = False) -> Html:
    if len(series) > 1:
        entries = _class_entries([one.name for one in series])
    else:
        entries = [(_stroke("curve"), predictions.what), (_patch("band"), "95 % band of the curve")]
        if series[0].noise is not None:
            entries.append((_patch("noise"), "of which noise for privacy alone"))
    if marked:
        of = " class-0" if len(series) > 1 else ""
        entries.append((_published(f"published{of}"), MARKS))
    if predictions.release.spec.rows is None:
        ticks = element("path", class_="rug", d="M4 3v7M9 3v7M12 3v7M18 3v7")
        entries.append((_small(ticks), "public inputs"))
    return _legend(entries)


def _published(kind: str) -> Html:
    bars = element("path", class_=f"{kind} bars", d="M11 0v12M4 6h14")
    return _small(joined([bars, element("path", class_=f"{kind} spots", d="M11 6h0")]))


def _class_entries(names: list[str], *, bands: bool = True) -> list[tuple[Html, str]]:
    entries = [(_patch(f"swatch {curves.class_name(at)}"), name) for at, name in enumerate(names)]
    own = f"band {curves.class_name(0)}"  # each band has the colour of its class
    return [*entries, (_patch(own), "their 95 % bands")] if bands else entries


def _legend(entries: list[tuple[Html, str]]) -> Html:
    """Return what the colours of a picture mean."""
    return element("ul", *(element("li", mark, text) for mark, text in entries), class_="legend")


def _patch(kind: str) -> Html:
    return _small(element("rect", width=22, height=12, rx=2, class_=kind))


def _stroke(kind: str) -> Html:
    return _small(element("path", d="M0 6h22", class_=kind))


def _small(content: Html) -> Html:
    return element("svg", content, viewBox="0 0 22 12", aria_hidden="true")


def attacker(chance: float) -> Html:
    """Return a hundred squares: right by tossing a coin, right thanks to the release, and wrong."""
    squares = []
    for number in range(100):
        row, column = divmod(number, ROW)
        x, y = column * STEP, row * STEP
        squares.append(_square(x, y, SIDE, "cell-coin" if number < 50 else "cell"))
        more = min(max(100.0 * chance - number, 0.0), 1.0)
        if number >= 50 and more > 0.0:
            squares.append(_square(x, y, SIDE * more, "cell-extra"))
    frame = PlotFrame(ROW * STEP - (STEP - SIDE), 100 // ROW * STEP - (STEP - SIDE), (0, 1), (0, 1))
    words = f"Of 100 guesses the best attacker gets at most {100 * chance:.1f} right; a coin, 50"
    return drawing(frame, *squares, title=words)


def _square(x: float, y: float, width: float, kind: str) -> Html:
    return element("rect", x=f"{x:g}", y=f"{y:g}", width=f"{width:.3g}", height=SIDE, class_=kind)
