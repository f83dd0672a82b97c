"""Pages of all cases, and one browser for all tests of them."""

import pytest
from browser import browser
from report_cases import case

from cloakgp.report.page import report_page


@pytest.fixture(scope="module")  # its event loop would be in the way of other tests
def started():
    with browser() as running:
        yield running


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Return the file of a case's page; each is written once."""
    folder, known = tmp_path_factory.mktemp("pages"), {}

    def write(name):
        if name not in known:
            known[name] = folder / f"{len(known)}.html"
            known[name].write_text(report_page(case(name)), encoding="utf-8")
        return known[name]

    return write
