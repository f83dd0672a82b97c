"""Take the pictures of a page that the documentation shows, in a real browser.

    python -m tools.screenshots     # writes docs/report.png and docs/report-phone.png

Needs Playwright and Chromium, as the tests of pages do: tests/browser.py says how to get them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import make_heights

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "tests"))

from browser import browser  # noqa: E402

#: How wide and how high each picture is, and with how many dots for each of its units.
PICTURES: dict[str, tuple[dict[str, int], float]] = {
    "report.png": ({"width": 1000, "height": 1180}, 1.0),
    "report-phone.png": ({"width": 390, "height": 1180}, 1.0),
}


def take(started: Any, page: Path, target: Path, size: dict[str, int], scale: float) -> None:
    """Open a page at one size, and write down what is seen."""
    context = started.new_context(viewport=size, device_scale_factor=scale)
    opened = context.new_page()
    opened.goto(page.as_uri())
    opened.wait_for_timeout(300)
    opened.screenshot(path=target)
    context.close()


def main() -> None:
    """Release made-up heights and take every picture of their page."""
    people = make_heights(400)
    model = PrivateGPRegressor(bounds=(40, 200), epsilon=2.0)
    release = model.fit(people[["age"]], people["height_cm"]).release_
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        page = Path(folder) / "report.html"
        release.report(page)
        for name, (size, scale) in PICTURES.items():
            take(started, page, PROJECT / "docs" / name, size, scale)


if __name__ == "__main__":
    main()
