"""Take the pictures of pages that the documentation shows, in a real browser.

    python -m tools.screenshots           # writes docs/report*.png and docs/planner*.png
    python -m tools.screenshots planner   # only those whose name begins so

Needs Playwright and Chromium, as the tests of pages do: tests/browser.py says how to get them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cloakgp import Ledger, PrivateGPRegressor
from cloakgp.datasets import make_heights
from cloakgp.web.planner import Planner
from cloakgp.web.routes import planner_app
from cloakgp.web.tasks import Worker

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "tests"))

from browser import browser  # noqa: E402
from web_cases import served  # noqa: E402

#: How wide and how high each picture is.
PICTURES = {
    "report.png": {"width": 1000, "height": 1180},
    "report-phone.png": {"width": 390, "height": 1180},
    "planner.png": {"width": 1180, "height": 1180},
    "planner-phone.png": {"width": 390, "height": 1180},
}


def take(started: Any, address: str, target: Path, fill: Callable[[Any], None]) -> None:
    """Open a page at one size, do what a reader would, and write down what is seen."""
    context = started.new_context(viewport=PICTURES[target.name])
    opened = context.new_page()
    opened.goto(address)
    fill(opened)
    opened.wait_for_timeout(300)
    opened.screenshot(path=target)
    context.close()


def fill_in(page: Any) -> None:
    """Fill in the planner as somebody does who knows these people."""
    page.check("input[name=inputs][value=age]")
    page.select_option("#output", "height_cm")
    page.fill("#low", "40")
    page.fill("#high", "200")
    page.fill("#at", "age=5:70:27")
    page.wait_for_selector("#preview figure svg")
    page.wait_for_selector("#preview:not(.old)")
    page.evaluate("document.activeElement.blur()")
    if page.viewport_size["width"] < 500:  # what a release would give comes after the form
        page.locator("aside").scroll_into_view_if_needed()
    else:
        page.evaluate("scrollTo(0, 0)")


def main(beginning: str = "") -> None:
    """Take every picture whose name begins so, of made-up heights."""
    people = make_heights(400)
    names = [name for name in PICTURES if name.startswith(beginning)]
    with tempfile.TemporaryDirectory() as scratch, browser() as started:
        folder = Path(scratch)
        reports = [name for name in names if name.startswith("report")]
        if reports:
            model = PrivateGPRegressor(bounds=(40, 200), epsilon=2.0)
            release = model.fit(people[["age"]], people["height_cm"]).release_
            release.report(folder / "report.html")
        for name in reports:
            address = (folder / "report.html").as_uri()
            take(started, address, PROJECT / "docs" / name, lambda _: None)
        (folder / "heights.csv").write_bytes(people.to_csv(index=False).encode())
        Ledger(folder / "budget.ledger").open("heights", 2.0, 1e-5, create=True)
        base = {"ledger": str(folder / "budget.ledger"), "dataset": "heights"}
        for name in (name for name in names if name.startswith("planner")):
            planner = Planner(folder / "heights.csv", folder / "out", base)
            with served(lambda session, p=planner: planner_app(p, session, Worker())) as link:
                take(started, link, PROJECT / "docs" / name, fill_in)


if __name__ == "__main__":
    main(*sys.argv[1:2])
