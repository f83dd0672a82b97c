"""The whole page: what was published, its picture, its guarantee, and how to use and check it.

One file with nothing fetched: style, script and release are inside, and a Content-Security-Policy
lets no other script run.  Without script all pictures and words are there; only asking for
predictions needs it.
"""

from __future__ import annotations

import base64
import hashlib
import math
from importlib.resources import files
from typing import TYPE_CHECKING

from cloakgp.data.columns import Column, Date, Number
from cloakgp.drawing.axes import format_number
from cloakgp.drawing.predictions import Predictions, predictions_of
from cloakgp.drawing.views import Input, describe_inputs
from cloakgp.privacy import total_gdp, total_zcdp
from cloakgp.release.cells import PublishedCells, collect_cells, summed_names
from cloakgp.release.diagnostics import hyperparameters
from cloakgp.release.file.archive import build_contents, encode_archive
from cloakgp.release.meaning import best_attacker, best_guess_rate, percent, round_up
from cloakgp.release.signature.check import NOT_CHECKED, SignatureCheck
from cloakgp.release.statement import NOT_PRIVATE, plain, what_cells_are
from cloakgp.release.verify import VerificationReport
from cloakgp.report.evaluation import evaluation
from cloakgp.report.figures import attacker, figures, shown_inputs
from cloakgp.report.html import Html, element, from_markdown, joined, sections
from cloakgp.report.model import as_json, page_data
from cloakgp.report.settings_toml import settings_toml

if TYPE_CHECKING:
    from cloakgp.release.release import Release

BROKEN = "THE GUARANTEE DOES NOT HOLD"
UNKNOWN = "WHETHER THE GUARANTEE HOLDS CANNOT BE TOLD"
#: A larger release is not put into its page.
LARGEST_RELEASE = 24_000_000
#: Settings of the prior that are listed, and inputs that a title names.
MOST_SETTINGS, MOST_NAMES = 6, 3
#: Cells that are listed at most, and those that a reader sees without asking.
MOST_CELLS, FEW_CELLS = 400, 14


def report_page(release: Release, signature: SignatureCheck = NOT_CHECKED) -> str:
    """Return the page of a release, as HTML; it says of the signature what was found."""
    predictions = predictions_of(release)
    inputs = describe_inputs(release.spec)
    words, report = sections(release.statement()), release.checked(signature)
    data = page_data(predictions, inputs)
    main = [
        _picture(predictions, inputs, data["model"] is not None, data["grid"] is not None),
        _numbers(predictions),
        _guarantee(release, words) if release.private and report.holds else "",
        _sides(words),
        _learnt(predictions, words),
        _verified(report, words),
        element("section", evaluation(release, report), id="evaluation"),
        _loading(release),
        _again(release) if len(release.members) == 1 else _members(words),
    ]
    body = [_header(predictions, inputs, report), element("main", *main), _footer(release)]
    return _document(_title(predictions, inputs), body, as_json(data))


def _document(title: str, body: list[Html], data: str) -> str:
    folder = files("cloakgp.report")
    style, script = ((folder / name).read_text("utf-8") for name in ("style.css", "script.js"))
    policy = (
        f"default-src 'none'; script-src {_hashed(script)}; style-src {_hashed(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Html(style)),
    ]
    # JSON without "<" and the script of ours are what they are, not words to be escaped.
    scripts = [
        element("script", Html(data), type="application/json", id="data"),
        element("script", Html(script)),
    ]
    page = element("html", element("head", *head), element("body", *body, *scripts), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _hashed(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _listed(names: list[str], most: int = MOST_NAMES) -> str:
    shown = names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _title(predictions: Predictions, inputs: list[Input]) -> str:
    return f"{predictions.title} by {_listed([each.name for each in inputs])}"


def _header(predictions: Predictions, inputs: list[Input], report: VerificationReport) -> Html:
    release = predictions.release
    count = release.published_values
    several = len(release.members)
    kind = "A differentially private release" if release.private else "A trial"
    if several > 1:
        kind = f"{several} {'differentially private releases' if release.private else 'trials'}"
        kind += ", read together"
    noisy = "noisy " if release.private else ""
    names, kind_of, whose = release.named_targets, "the private ", f" of {release.spec.counted}"
    if (rows := release.spec.rows) is not None:
        names, kind_of = [*release.spec.names, *names], "private rows of "
        whose = f" (planned for {rows.people:,})"
    lede = element(
        "p",
        f"{count:,} {noisy}{'number' if count == 1 else 'numbers'} about {kind_of}",
        joined([element("strong", name) for name in names], ", "),
        f"{whose}: everything on this page follows from them and from public facts.",
        class_="lede",
    )
    parts = [
        element("p", kind, class_="overline"),
        element("h1", _title(predictions, inputs)),
        lede,
    ]
    if not release.private:
        warning = "Made with repeatable noise or with none, for a trial. Do not publish it."
        parts.append(element("div", element("strong", NOT_PRIVATE), warning, class_="warning"))
    elif not report.holds:
        failed = ", ".join(check.name for check in report.checks if not check.passed)
        head, warning = BROKEN, "this release does not hold what it promises"
        if report.unknown:
            head, warning = UNKNOWN, "whether this release holds what it promises cannot be told"
        warning = f"Checked again, {warning} ({failed})."
        parts.append(element("div", element("strong", head), warning, class_="warning"))
    return element("header", *parts)


def _protected_fact(release: Release) -> tuple[str, str]:
    """Say what is protected of whole rows: how many there are may be private."""
    rows = release.spec.rows
    assert rows is not None
    return "protected", "whole rows" if rows.neighbours == "replace" else "whole rows, membership"


def _picture(predictions: Predictions, inputs: list[Input], exact: bool, grid: bool) -> Html:
    release = predictions.release
    if exact or grid:
        ask = _ask(predictions, inputs, exact)
    else:
        ask = element(
            "p",
            "This page cannot compute with the kernel or the design of this release, so it has no "
            "predictions at places of your own; use Python or the command line.",
            class_="note",
        )
    owned = len(release.members) > 1 or release.spec.groups is not None
    facts = [
        _protected_fact(release)
        if release.spec.rows is not None
        else (release.spec.privacy_unit.many if owned else "rows", f"{release.spec.people:,}"),
        ("epsilon", format_number(release.total_epsilon) if release.private else "none"),
        ("delta", f"{release.delta:g}" if release.private else "none"),
        *_other_units(release),
        ("numbers published", f"{release.published_values:,}"),
        ("made", release.created[:10]),
    ]
    pairs = [element("div", element("dt", key), element("dd", value)) for key, value in facts]
    return element(
        "section",
        figures(predictions, inputs, ask),
        element("dl", *pairs, class_="facts"),
        id="picture",
    )


def _other_units(release: Release) -> list[tuple[str, str]]:
    if not release.private:
        return []
    mu, rho = (max(map(total, release.cases)) for total in (total_gdp, total_zcdp))
    return [
        (name, f"{round_up(size, 4):g}") for name, size in (("mu (GDP)", mu), ("rho (zCDP)", rho))
    ]


def _ask(predictions: Predictions, inputs: list[Input], exact: bool) -> Html:
    fields = []
    for column in shown_inputs(predictions, inputs):
        fields.append(element("label", inputs[column].name, _field(inputs[column], column)))
    how = (
        "Computed in this page from the published numbers, as Python computes it; nothing is sent."
    )
    if not exact:
        how = (
            "This kernel or design is not one that this page computes with: between the points of "
            "a fine grid the answers are interpolated. Python gives them exactly."
        )
    if predictions.clipped:
        how += " Shown within the bounds."
    answer = element("div", class_="scroll", data_answer=True, aria_live="polite", role="status")
    return element(
        "div", element("form", *fields), answer, element("p", how, class_="note"), class_="ask"
    )


def _field(one: Input, number: int) -> Html:
    """Return the field in which a reader puts a value of an input."""
    if one.levels is not None:
        options = [
            element("option", level, value=at, selected=at == int(one.median))
            for at, level in enumerate(one.levels)
        ]
        return element("select", *options, data_ask=number)
    if isinstance(one.column, Date):
        return element("input", type="date", value=one.shown(one.median), data_ask=number)
    plain = format_number(one.median).replace(",", "").replace("−", "-")
    return element("input", type="number", step="any", value=plain, data_ask=number)


def _guarantee(release: Release, words: dict[str, str]) -> Html:
    chance = best_guess_rate(release)
    both = (
        ""
        if not release.chosen
        else f" This is for the private choice of {release.chosen} and the release together; the "
        "figures below are those of the release alone."
    )
    text = element(
        "div",
        element("strong", percent(chance)),
        element(
            "p",
            release.spec.privacy_unit.told(
                "is how often the best attacker guesses right, at most: "
                f"{best_attacker(release.spec.rows)}. "
                "Tossing a coin gives 50 %. The orange part is all that the release can add."
                f"{both}"
            ),
        ),
    )
    return element(
        "section",
        element("h2", f"What it tells about one {release.spec.privacy_unit.one}"),
        element("div", attacker(chance), text, class_="guess"),
        from_markdown(words["What the figures mean"]),
        id="guarantee",
    )


def _numbers(predictions: Predictions) -> Html:
    """Return what was published as a table, if numbers are sums over cells."""
    release = predictions.release
    cells = collect_cells(release)
    if not cells:
        return Html("")
    several = len(release.members) > 1, any(each.step > 1 for each in cells)
    names = summed_names(release)
    labelled = predictions.classes is not None
    unit = "share" if labelled else "mean"
    if any(each.exposure is not None for each in cells):
        unit = "per unit of exposure"
    head = [word for word, told in zip(("release", "step"), several, strict=True) if told]
    told = release.spec.privacy_unit.told
    head += [told("people with"), told("people")]
    for name in names:
        head += [f"{'number with' if labelled else 'sum of'} {name}", unit]
    rows = [row for each in cells for row in _cell_rows(each, several, labelled)]
    titles = element("tr", *(element("th", title, scope="col") for title in head))
    listed = element(
        "table", element("thead", titles), element("tbody", *rows[:MOST_CELLS]), class_="numbers"
    )
    listed = element("div", listed, class_="scroll")
    if len(rows) > FEW_CELLS:
        summary = f"All {len(rows):,} cells"
        if len(rows) > MOST_CELLS:
            summary = f"{MOST_CELLS} of {len(rows):,} cells; Release.published() has all"
        listed = element("details", element("summary", summary), listed)
    noisy = "noisy " if release.private else ""
    words = (
        f"{what_cells_are(release, noisy)} Where cells share people, parts of people are counted. "
        "± is what 95 % of the noise stays within."
    )
    return element(
        "section",
        element("h2", "What was published"),
        element("p", told(words)),
        listed,
        id="published",
    )


def _cell_rows(cells: PublishedCells, several: tuple[bool, bool], labelled: bool) -> list[Html]:
    """Return a row for each cell."""
    means, stds = cells.means(per_exposure=True)
    scale, end = (100.0, " %") if labelled else (1.0, "")
    rows = []
    for number, where in enumerate(cells.words()):
        line: list[object] = [
            element("td", told)
            for told, wanted in zip((cells.number, cells.step), several, strict=True)
            if wanted
        ]
        line.append(element("th", where, scope="row"))
        line.append(element("td", plain(cells.people[number])))
        for total, mean, std in zip(cells.sums[number], means[number], stds[number], strict=True):
            reach = plain(scale * cells.within * std)
            line.append(element("td", plain(total)))
            line.append(element("td", f"{plain(scale * mean)}{end} ± {reach}{end}"))
        rows.append(element("tr", *line))
    return rows


def _sides(words: dict[str, str]) -> Html:
    titles = [t for t in ("What is protected", "What is not protected") if t in words]
    sides = [element("div", element("h2", t), from_markdown(words[t])) for t in titles]
    return element("section", element("div", *sides, class_="sides"), id="protected")


def _learnt(predictions: Predictions, words: dict[str, str]) -> Html:
    release = predictions.release
    table = hyperparameters(release)
    weights = [name for name in table if str(name).startswith("weight")]
    rows = []
    for _, row in table.head(MOST_SETTINGS).iterrows():
        cells = [element("td", element("code", row["kernel"]))]
        for name in ("level_std", "noise_std", "scatter_std"):
            if name in table:
                cells.append(element("td", format_number(float(row[name]))))
        cells += [
            element("td", _bar(float(row[name] / table[name].max())), f"{100.0 * row[name]:.1f} %")
            for name in weights
        ]
        rows.append(element("tr", *cells))
    titles = {
        "level_std": "level (std)",
        "noise_std": "noise (std)",
        "scatter_std": "scatter (std)",
    }
    head = ["kernel", *(title for name, title in titles.items() if name in table)]
    names = predictions.names
    head += ["weight"] if len(weights) == 1 else [f"weight, {name}" for name in names]
    listed = element(
        "table",
        element("thead", element("tr", *(element("th", title, scope="col") for title in head))),
        element("tbody", *rows),
        class_="numbers",
    )
    parts = [
        element("h2", "What predictions assume"),
        from_markdown(words["What predictions assume"]),
    ]
    parts.append(element("div", listed, class_="scroll"))
    if len(table) > MOST_SETTINGS:
        rest = f"The {MOST_SETTINGS} of {len(table)} settings that count most."
        parts.append(element("p", rest, class_="note"))
    return element("section", *parts, id="model")


def _bar(share: float) -> Html:
    bar = element("rect", width=f"{90.0 * share:.2f}", height=6, rx=1)
    return element("svg", bar, viewBox="0 0 90 6", class_="weight", aria_hidden="true")


def _verified(report: VerificationReport, words: dict[str, str]) -> Html:
    lines = []
    for check in report.checks:
        lines.append(
            element(
                "li",
                element("span", check.result, class_="passed" if check.passed else "failed"),
                element("span", check.name),
                element("span", check.detail, class_="detail"),
            )
        )
    if report.holds:
        found = "Every public step of the guarantee was worked out again when this page was made:"
    else:
        verdict = "It CANNOT BE TOLD whether the guarantee holds"
        if not report.unknown:
            verdict = "The guarantee does NOT hold"
        found = f"{verdict}. What was worked out again when this page was made:"
    warnings = [element("p", f"WARNING: {each}", class_="failed") for each in report.warnings]
    return element(
        "section",
        element("h2", "Checked again"),
        element("p", found),
        element("ul", *lines, class_="checks"),
        *warnings,
        element(
            "p",
            f"When this page was made: {report.signature}",
            class_=None if report.signature.ok else "failed",
            id="signature",
        ),
        element(
            "p",
            f"{report.authorship} Check it yourself: load the release and verify it.",
            class_="note",
        ),
        from_markdown(words["How it was made"]),
        id="verified",
    )


def _loading(release: Release) -> Html:
    spec, names = release.spec, release.spec.names
    example = "import pandas as pd\nfrom cloakgp import Release\n\n"
    example += 'release = Release.load("release.cloakgp")\nrelease.verify()\n'
    codes = spec.codes_of(spec.points[:1])[0].tolist()
    point = [_python(each, at) for each, at in zip(spec.encoding.columns, codes, strict=True)]
    columns = ", ".join(f"{name!r}: [{value}]" for name, value in zip(names, point, strict=True))
    if spec.feature_names is not None and len(names) <= 6:
        example += f"X = pd.DataFrame({{{columns}}})\n"
    else:
        example += f"X = [[{', '.join(point) if len(names) <= 6 else '...'}]]\n"
    example += "release.predict_interval(X)\n"
    content = _file_of(release)
    if content is None:
        file = element(
            "p",
            "The release is not in this page, since it is too large or cannot be saved; ask its "
            "publisher for the file.",
            class_="note",
        )
    else:
        address = f"data:application/zip;base64,{base64.b64encode(content).decode()}"
        size = f"{max(len(content) / 1000.0, 1.0):,.0f} kB"
        file = element(
            "p",
            element(
                "a",
                f"Download the release ({size})",
                href=address,
                download="release.cloakgp",
                class_="button first",
            ),
        )
    return element(
        "section",
        element("h2", "Use it"),
        element(
            "p",
            "Predictions are free: what was published can be used any number of times, by anybody "
            "who has cloakgp.",
        ),
        file,
        element("pre", example),
        element(
            "pre",
            "cloakgp verify release.cloakgp\ncloakgp report release.cloakgp --out report.html",
        ),
        id="use",
    )


def _python(column: Column, code: float) -> str:
    """Return one value as Python writes it."""
    if isinstance(column, Number):
        return "float('nan')" if math.isnan(code) else f"{code:.4g}"
    return repr(column.shown(code))


def _file_of(release: Release) -> bytes | None:
    try:
        parts = encode_archive(build_contents(*release.contents()))
    except ValueError:
        return None
    if sum(memoryview(part).nbytes for part in parts) > LARGEST_RELEASE:
        return None
    return b"".join(bytes(part) for part in parts)


def _again(release: Release) -> Html:
    toml = settings_toml(release)
    address = f"data:application/toml;base64,{base64.b64encode(toml.encode()).decode()}"
    return element(
        "section",
        element("h2", "Do it again"),
        element("p", "The settings of this release, for another one with the command line:"),
        element("pre", toml, id="settings"),
        element(
            "a", "Download the settings", href=address, download="release.toml", class_="button"
        ),
        element("button", "Copy", type="button", data_copy="settings"),
        id="again",
    )


def _members(words: dict[str, str]) -> Html:
    """Return what is combined; each release has settings of its own."""
    text = from_markdown(words["What was published"])
    return element("section", element("h2", "What it combines"), text, id="members")


def _footer(release: Release) -> Html:
    words = (
        f"Release {release.release_id}, made {release.created} with cloakgp {release.version}. "
        "This page is one file: it loads nothing and sends nothing."
    )
    return element("footer", element("p", words))
