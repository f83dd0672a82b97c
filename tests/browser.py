"""A real browser for tests of pages, headless; tests skip where there is none, and say why.

Playwright drives the Chromium of the system, which it finds on the PATH or in ``CLOAKGP_BROWSER``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from urllib.parse import urlsplit

import pytest

#: Nothing of a browser's own may go over the network, and containers have no sandbox for root.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
DESKTOP, PHONE = {"width": 1100, "height": 900}, {"width": 360, "height": 740}


def program():
    """Return the path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CLOAKGP_BROWSER") or next(filter(None, map(shutil.which, names)), None)


@contextlib.contextmanager
def browser():
    """Start a browser, or skip the test with the command that would help."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="no Playwright: pip install 'cloakgp[test]'"
    )
    found = program()
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium, or set CLOAKGP_BROWSER")
    with api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


class Watched:
    """A page that notes errors of its console, and every request beside that for itself."""

    def __init__(self, started, path, **options):
        self.context = started.new_context(**{"viewport": DESKTOP, **options})
        self.page = self.context.new_page()
        self.complaints, self.requests, self.stopped = [], [], {}
        self.page.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda r: self.stopped.update({r.url: r.failure}))
        self.page.goto(path if isinstance(path, str) else path.as_uri())

    @property
    def elsewhere(self):
        """Requests for anything but the page, what is inside of it, and the server it is from."""
        found = urlsplit(self.requests[0])
        own = ("data:", f"{found.scheme}://{found.netloc}/" if found.netloc else "data:")
        return [url for url in self.requests[1:] if not url.startswith(own)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


@contextlib.contextmanager
def opened(started, path, **options):
    """Open a page, and check at the end that it complained of nothing and asked for nothing."""
    with Watched(started, path, **options) as watched:
        yield watched.page
        assert watched.complaints == []
        assert watched.elsewhere == []
