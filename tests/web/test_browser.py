"""The pages in a real browser: from a table to the downloads, and a release to explore."""

import time

import pytest
from browser import DESKTOP, PHONE, browser, opened
from web_cases import served

from cloakgp import Release
from cloakgp.privacy import Spend, total_guarantee
from cloakgp.web.routes import planner_app, release_app

pytestmark = pytest.mark.slow

#: Controls without a name for screen readers, and words whose contrast is too low to be read.
CHECK = r"""
() => {
  const seen = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const named = (e) => (e.labels && [...e.labels].some((l) => l.textContent.trim()))
    || e.getAttribute("aria-label") || (e.matches("a, button, summary") && e.textContent.trim());
  const controls = [...document.querySelectorAll("input, select, button, a, summary")].filter(seen);
  const bare = controls.filter((e) => !named(e)).map((e) => e.outerHTML);

  const numbers = (c) => c.match(/[\d.]+/g).map(Number);
  const over = (top, under) => {
    const a = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((k) => a * top[k] + (1 - a) * under[k]);
  };
  const paper = (e) => {
    if (e === null) return [255, 255, 255];
    return over(numbers(getComputedStyle(e).backgroundColor), paper(e.parentElement));
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => {
      const s = v / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !seen(e) || e.closest("script, :disabled")) continue;
    const style = getComputedStyle(e);
    const ink = numbers(e.closest("svg") ? style.fill : style.color);
    const under = paper(e.closest("svg") ? e.closest("svg").parentElement : e);
    const [a, b] = [light(over(ink, under)), light(under)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push([walk.currentNode.data, style.color]);
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  const missing = [...document.querySelectorAll("[aria-describedby], [aria-labelledby]")].flatMap(
    (e) => `${e.getAttribute("aria-describedby") || ""} ${e.getAttribute("aria-labelledby") || ""}`
      .split(" ").filter((id) => id && !document.getElementById(id)));
  return { bare, faint, twice: ids.filter((id, k) => ids.indexOf(id) !== k), missing };
}
"""
CLEAN = {"bare": [], "faint": [], "twice": [], "missing": []}
#: The control that has the focus, and how wide the line around it is.
FOCUS = """
() => {
  const e = document.activeElement, style = getComputedStyle(e);
  const line = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  return [e.id || e.name || e.tagName, line];
}
"""


@pytest.fixture(scope="module")
def started():
    with browser() as running:
        yield running


def fits(page):
    """Check that nothing is wider than the screen, on a desk and in a hand."""
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)
        wide = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide[0] <= wide[1]


def test_the_whole_way_from_a_table_to_the_downloads(started, planner, worker, book):
    planner.base["kernel"] = "900*RBF(20)"
    make = lambda session: planner_app(planner, session, worker)  # noqa: E731
    with served(make) as link, opened(started, link) as page:
        assert "key=" not in page.url
        page.check("input[name=inputs][value=age]")
        page.select_option("#output", "height")
        page.fill("#low", "300")
        page.fill("#high", "200")
        page.wait_for_selector("#error-bounds:not([hidden])")
        assert "lo < hi" in page.inner_text("#error-bounds")
        assert page.get_attribute("#low", "aria-invalid") == "true"
        page.fill("#low", "40")
        page.wait_for_selector("#preview figure svg")
        assert page.is_hidden("#error-bounds")
        assert page.evaluate(CHECK) == CLEAN
        assert "73.2 %" in page.inner_text("#cost")

        # Points that matter, on the picture.
        page.locator("#people svg").scroll_into_view_if_needed()
        picture = page.locator("#people svg").bounding_box()
        page.mouse.move(picture["x"] + 90, picture["y"] + 60)
        page.mouse.down()
        page.mouse.move(picture["x"] + 300, picture["y"] + 80)
        page.mouse.up()
        assert page.input_value("#at").startswith("age=")

        # With the keyboard alone: every control is reached in order, and is seen to be.
        page.focus("input[name=inputs] >> nth=0")
        page.keyboard.press("Tab")
        order = []
        while not order or order[-1] != "make":
            name, line = page.evaluate(FOCUS)
            order.append(name)
            assert line >= 2, f"the focus on {name} is not seen"
            page.keyboard.press("Tab")
            assert len(order) < 40
        fields = [name for name in order if name not in ("inputs", "task", "SUMMARY")]
        assert fields[:6] == ["output", "groups", "unit", "max_contributions", "low", "high"]
        assert fields[6:10] == ["at", "slider", "epsilon", "delta"]
        before = page.inner_text("#preview")
        page.focus("#slider")
        page.keyboard.press("End")
        assert float(page.input_value("#epsilon")) == 20.0
        page.wait_for_selector(".ledger .failed")  # more than the ledger has
        page.fill("#epsilon", "2")
        page.wait_for_selector("#preview:not(.old)")
        assert page.inner_text("#preview") != before
        assert page.query_selector(".ledger .failed") is None

        page.click("#compare")
        page.wait_for_selector("#comparison table")
        page.click("#make")
        page.wait_for_selector("#typed")
        page.fill("#typed", "height")
        assert page.is_enabled("#release")
        page.fill("#epsilon", "1.5")  # the picture is out of date
        assert page.is_disabled("#release")
        assert page.is_visible("#stale")
        page.wait_for_selector("#preview:not(.old)")
        page.click("#make")
        page.wait_for_selector("#plan:not(.stale) #typed")
        assert page.is_disabled("#release")
        page.keyboard.press("Tab")
        page.fill("#typed", "Height")
        assert page.is_disabled("#release")
        assert page.evaluate(CHECK) == CLEAN
        fits(page)
        page.fill("#typed", "height")
        assert book.spent("people") == 0.0
        page.click("#release")
        page.wait_for_selector("text=Download everything")
        assert book.spent("people") == total_guarantee([Spend("pure", 1.5)], 1e-5)
        assert page.evaluate(CHECK) == CLEAN
        fits(page)
        for name in ("release.cloakgp", "settings.toml", "everything.zip"):
            with page.expect_download() as waiting:
                page.click(f"a[download='{name}']")
            assert waiting.value.path().stat().st_size > 100
            if name == "release.cloakgp":
                assert Release.load(waiting.value.path()).epsilon == 1.5
        page.click("text=Look at the report")
        page.wait_for_selector("#guarantee")
        assert "height by age" in page.inner_text("h1")


def test_whole_rows_from_the_box_to_the_plan(started, planner, worker, monkeypatch):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 24)
    make = lambda session: planner_app(planner, session, worker)  # noqa: E731
    with served(make) as link, opened(started, link) as page:
        assert page.is_hidden("text=What is compared")
        page.check("input[name=protect][value=rows]")
        assert page.is_hidden("text=Where accuracy matters")
        page.check("input[name=inputs][value=age]")
        assert page.query_selector("#people svg") is None  # of public inputs alone
        page.select_option("#output", "height")
        page.fill("#low", "40")
        page.fill("#high", "200")
        page.fill("[id='box-low:age']", "0")
        page.wait_for_selector("#status:has-text('where age')")
        assert page.is_hidden("#error-box")
        page.fill("[id='box-high:age']", "90")
        page.wait_for_selector("#preview figure svg")
        page.check("input[name=neighbours][value=add-remove]")
        page.wait_for_selector("#error-people:not([hidden])")
        page.fill("#planned", "40")
        page.wait_for_selector("#preview:not(.old)")
        page.select_option("[id='box-kind:age']", "bool")
        assert page.is_hidden("[id='box-low:age']")
        assert page.evaluate(CHECK) == CLEAN
        fits(page)
        page.uncheck("input[name=inputs][value=age]")
        assert page.query_selector(".box-row") is None
        page.check("input[name=inputs][value=age]")
        assert page.input_value("[id='box-high:age']") == "90"
        page.check("input[name=protect][value=outputs]")
        page.wait_for_selector("#people svg")


def test_a_release_is_explored(started, saved_release):
    make = lambda session: release_app(saved_release, session)  # noqa: E731
    with served(make) as link, opened(started, link) as page:
        before = page.inner_text("[data-answer]")
        page.fill("[data-ask='0']", "20")
        time.sleep(0.05)
        assert page.inner_text("[data-answer]") != before
        value, std = saved_release.predict([[20.0]], return_std=True)
        assert std > 0
        assert f"{value[0]:.4g}"[:4] in page.inner_text("[data-answer]")
        fits(page)
