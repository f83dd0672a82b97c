"""The script of the page, in a real browser: it predicts as Python does and asks nobody else."""

import numpy as np
import pytest
from browser import PHONE, Watched, opened
from report_cases import CASES, COMBINED, NASTY, ON_A_GRID, case

from cloakgp import Release
from cloakgp.drawing.predictions import predictions_of


def places(release, count=12):
    """Random places among the people, and far beyond them on all sides."""
    rng = np.random.default_rng(3)
    lo, hi = release.facts.X.min(axis=0), release.facts.X.max(axis=0)
    inside = rng.uniform(lo, hi, (count, len(lo)))
    outside = rng.uniform(lo - 1.5 * (hi - lo), hi + 1.5 * (hi - lo), (count, len(lo)))
    return np.vstack([inside, outside])


def said(page, points, clip=""):
    """What the page predicts, place by place; within the bounds unless ``clip`` is ``, null``."""
    return page.evaluate(f"points => points.map(x => cloakgp.predict(x{clip}))", points.tolist())


def close(found, expected, scale):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)


def column(answers, key):
    return np.array([[one[key] for one in answer] for answer in answers])


@pytest.mark.parametrize("name", [*CASES, *COMBINED])
def test_the_page_predicts_as_python_does_among_people_and_beyond(started, written, name):
    release = case(name)
    points = places(release)
    with opened(started, written(name)) as page:
        answers, raw = said(page, points), said(page, points, ", null")
    reading = predictions_of(release)
    expected = reading.with_all_classes(reading.at(points, person=True))
    for c, series in enumerate(expected):
        scale = max(np.ptp(series.high), np.abs(series.high).max())
        inside = series.within(reading.bounds(min(c, len(reading.names) - 1)))
        for found, wanted in ((answers, inside), (raw, series)):
            for key in ("value", "low", "high"):
                close(column(found, key)[:, c], getattr(wanted, key), scale)
            if wanted.person is not None:
                ends = np.array([answer[c]["person"] for answer in found])
                for side in (0, 1):
                    close(ends[:, side], wanted.person[side], scale)


def test_nothing_that_the_page_says_leaves_the_bounds(started, written):
    release = case("wide")
    points = np.array([[-60.0], [40.0], [300.0]])
    with opened(started, written("wide")) as page:
        answers = said(page, points)
        page.fill("[data-ask]", "300")
        page.wait_for_timeout(100)
        shown = page.inner_text("[data-answer] tr:nth-child(2)").split("\t")
    wanted = [release.predict(points, clip="bounds")]
    for of in ("curve", "person"):
        wanted += release.predict_interval(points, of=of, clip="bounds")
    said_of = [[a[0][key] for a in answers] for key in ("value", "low", "high")]
    said_of += [[a[0]["person"][side] for a in answers] for side in (0, 1)]
    np.testing.assert_allclose(said_of, wanted, rtol=1e-9)
    assert wanted[1].min() == 40.0 > release.predict_interval(points)[0].min()
    assert shown[2:] == ["40 to 200", "40 to 200"]  # far from everybody, nothing is known


def test_standard_deviations_are_those_of_python_too(started, written):
    release = case("curve")
    points = places(release)
    with opened(started, written("curve")) as page:
        found = column(said(page, points), "std")[:, 0]
    np.testing.assert_allclose(found, release.predict(points, return_std=True)[1], rtol=1e-9)


@pytest.mark.parametrize("name", ON_A_GRID)
def test_what_the_script_cannot_compute_is_interpolated_closely_and_said_to_be(
    started, written, name
):
    release = case(name)
    points = places(release)[:12]
    beyond = release.facts.X.max(axis=0, keepdims=True) * 9.0 + 100.0
    with opened(started, written(name)) as page:
        found = said(page, points)
        assert said(page, beyond) == [None]
        assert "interpolated" in page.inner_text(".ask")
    (series,) = predictions_of(release).at(points)
    width = float(np.max(release.facts.hi - release.facts.lo))
    np.testing.assert_allclose(column(found, "value")[:, 0], series.value, atol=1e-3 * width)


def test_hovering_a_curve_says_what_is_predicted_there(started, written):
    with opened(started, written("stationary")) as page:
        picture = page.locator("svg.wide[data-varies]")
        box = picture.bounding_box()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_timeout(100)
        age = float(page.input_value("[data-ask]"))
        value = page.inner_text("[data-answer] tr:nth-child(2) td:nth-child(2)")
    expected = float(np.clip(case("stationary").predict([[age]])[0], 40, 200))
    assert float(value) == pytest.approx(expected, abs=0.2)
    assert 0.0 < age < 79.0


def test_the_keyboard_moves_along_a_curve_and_says_so_to_screen_readers(started, written):
    with opened(started, written("stationary")) as page:
        picture = page.locator("svg.wide[data-varies]")
        picture.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(100)
        assert picture.get_attribute("role") == "slider"
        now, text = (picture.get_attribute(f"aria-value{end}") for end in ("now", "text"))
    lo, hi = case("stationary").facts.X.min(), case("stationary").facts.X.max()
    assert float(now) == pytest.approx(lo + 0.01 * (hi - lo))
    assert "height_cm" in text


def test_arrows_move_over_a_map_in_both_directions(started, written):
    with opened(started, written("map")) as page:
        before = [float(page.input_value(f"[data-ask='{i}']")) for i in (0, 1)]
        page.locator("svg[data-varies]").first.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(60)
        page.keyboard.press("Shift+ArrowUp")
        page.wait_for_timeout(60)
        after = [float(page.input_value(f"[data-ask='{i}']")) for i in (0, 1)]
    assert after[0] > before[0]
    assert after[1] > before[1]


def test_panels_follow_the_other_inputs(started, written):
    with opened(started, written("three inputs")) as page:
        curve = page.locator("svg[data-varies='0'] [data-curve='0']")
        page.wait_for_timeout(300)
        before = curve.get_attribute("d")
        assert page.locator(".noise").count() == 4
        page.fill("[data-ask='1']", "2.9")
        page.wait_for_timeout(500)
        assert curve.get_attribute("d") != before
        assert page.locator(".noise").count() == 0  # it was that of another place
        assert "privacy alone" not in page.inner_text("figure")


def test_a_printed_picture_begins_on_the_first_page(started, written):
    """Only its parts are never broken: a figure with its tables is longer than a page."""
    with opened(started, written("stationary")) as page:
        page.emulate_media(media="print")
        breaks = "e => getComputedStyle(document.querySelector(e)).breakInside"
        assert page.evaluate(breaks, "figure") == "auto"
        assert page.evaluate(breaks, "figure svg") == "avoid"
        assert page.evaluate("document.querySelector('details td').checkVisibility()")


def test_a_touch_reads_a_prediction(started, written):
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with opened(started, written("stationary"), **phone) as page:
        box = page.locator("svg.narrow[data-varies]").bounding_box()
        before = page.input_value("[data-ask]")
        page.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_timeout(100)
        assert page.input_value("[data-ask]") != before


def test_a_place_beyond_all_people_can_be_typed(started, written):
    with opened(started, written("stationary")) as page:
        page.fill("[data-ask]", "300")
        page.wait_for_timeout(100)
        value = page.inner_text("[data-answer] tr:nth-child(2) td:nth-child(2)")
    assert float(value) == pytest.approx(float(case("stationary").predict([[300.0]])[0]), abs=0.1)


def test_names_of_strangers_are_shown_and_not_obeyed(started, written):
    with Watched(started, written("nasty")) as watched:
        page = watched.page
        dialogs = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.wait_for_timeout(200)
        shown = page.inner_text("body")
        assert all(name in shown for name in NASTY)
        assert page.locator("img").count() == 0
        assert dialogs == []
        assert watched.complaints == []
        assert watched.elsewhere == []


def test_the_policy_stops_scripts_and_styles_that_are_not_ours(started, written, tmp_path):
    changed = tmp_path / "changed.html"
    page = written("stationary").read_text()
    more = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'>"
    more += "<img src='https://example.org/leak'><style>body{display:none}</style>"
    changed.write_text(page.replace("<header>", f"{more}<header>"))
    with Watched(started, changed) as watched:
        watched.page.wait_for_timeout(300)
        assert watched.page.evaluate("window.stolen") is None
        assert watched.page.locator("body").is_visible()
        assert any("Content Security Policy" in each for each in watched.complaints)
        assert watched.stopped["https://example.org/leak"] == "csp"


@pytest.mark.parametrize("name", ["stationary", "map", "three inputs"])
def test_without_script_every_picture_and_word_is_there(started, written, name):
    with opened(started, written(name), java_script_enabled=False) as page:
        assert page.locator("svg").first.is_visible()
        assert not page.locator(".ask").is_visible()
        assert not page.locator("button").is_visible()
        assert page.locator("h2").count() >= 6
        assert page.locator("a[download='release.cloakgp']").is_visible()


@pytest.mark.parametrize("name", ["two outputs", "nasty", "three inputs", "three classes"])
def test_nothing_scrolls_sideways_on_a_phone(started, written, name):
    with opened(started, written(name), viewport=PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


#: What the contrast of words must be at least: WCAG 2 AA.
CONTRAST = """() => {
  const light = (c) => {
    const v = c / 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  const parts = (s) => s.match(/[\\d.]+/g).map(Number);
  const lum = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const ground = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const c = parts(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  const names = "p,li,h1,h2,h3,td,th,dt,dd,code,pre,a,label,summary,figcaption,.tick,.name";
  for (const node of document.querySelectorAll(names)) {
    if (!node.textContent.trim() || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const ink = parts(node.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const [a, b] = [lum(ink), lum(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${node.outerHTML.slice(0, 60)} ${ratio.toFixed(2)}`);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark(started, written, scheme):
    with opened(started, written("curve"), color_scheme=scheme) as page:
        assert page.evaluate(CONTRAST) == []
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(int(part) for part in ground[4:-1].split(",")) < 300
    assert dark == (scheme == "dark")


def test_paper_has_pictures_and_words_and_nothing_to_click(started, written):
    with opened(started, written("curve"), color_scheme="dark") as page:
        page.emulate_media(media="print")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert not page.locator(".ask").is_visible()
        assert not page.locator("button").is_visible()
        assert page.locator("svg.wide[data-varies]").is_visible()
        assert len(page.pdf()) > 10_000


def test_the_release_can_be_downloaded_from_the_page(started, written, tmp_path):
    saved, name = tmp_path / "saved.cloakgp", "stationary"
    case(name).save(saved)
    with opened(started, written(name)) as page:
        with page.expect_download() as waiting:
            page.click("a[download='release.cloakgp']")
        path = tmp_path / "downloaded.cloakgp"
        waiting.value.save_as(path)
    assert path.read_bytes() == saved.read_bytes()
    assert Release.load(path).verify().ok
