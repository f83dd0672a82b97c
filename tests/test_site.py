"""The documentation site: complete, in order, linked, and built without a warning."""

import re
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from command_line import run

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.site import commands, members, pages  # noqa: E402

MODULES = ("cloakgp", *(f"cloakgp.{path.stem}" for path in (ROOT / "docs/api").glob("[!i]*.rst")))
LIST = re.compile(r"^\.\. autosummary::\n((?:   .*\n|\n)+)", re.M)


def listed():
    """Return the full name of everything that pages of the API list."""
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        text = page.read_text()
        (module,) = re.findall(r"^\.\. currentmodule:: (.*)$", text, re.M)
        for entries in LIST.findall(text):
            yield from (f"{module}.{name}" for name in re.findall(r"^   (\w+)$", entries, re.M))


def public(module):
    """Return the public objects of a module; other modules and its version have pages elsewhere."""
    names = [name for name in import_module(module).__all__ if name != "__version__"]
    return {name: getattr(import_module(module), name) for name in names}


def found(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_entry_in_the_reference(module):
    entries = [found(name) for name in listed()]
    pages_of_modules = {path.stem for path in (ROOT / "docs" / "api").glob("*.rst")}
    for name, value in public(module).items():
        if not isinstance(value, type(sys)):
            assert any(value is entry for entry in entries), f"{module}.{name} has no entry"
        else:
            assert name in pages_of_modules, f"{module}.{name} has no page"


def test_the_reference_lists_public_names_only_and_each_once():
    names = list(listed())
    assert len(names) > 60
    assert max(Counter(names).values()) == 1
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert attribute in import_module(module).__all__, f"{name} is not public"


def test_every_page_is_in_the_contents_once():
    below = Counter()
    for page, entries in pages.BELOW.items():
        for entry in entries:
            path = re.sub(r".*<(.*)>", r"\1", entry)
            below[(Path("/") / Path(page).parent / path).resolve().relative_to("/").as_posix()] += 1
    written = {
        place.removesuffix(".md") for place in pages.sources().values() if place.endswith(".md")
    }
    assert set(below) == written - {"index"} | {"gallery/index", "api/index"}
    assert set(below.values()) == {1}


@pytest.mark.parametrize(
    ("page", "link", "leads_to"),
    [
        ("docs/theory.md", "notation.md", "notation.md"),
        ("docs/theory.md", "../src/cloakgp/privacy/README.md", "proofs/index.md"),
        ("docs/results/README.md", "../guide.md#kernel", "../guide.md#kernel"),
        ("docs/guide.md", "results/README.md#a", "results/index.md#a"),
        ("docs/guide.md", "results/guide/budget.png", "results/guide/budget.png"),
        ("SECURITY.md", "src/cloakgp/privacy/README.md", "proofs/index.md"),
        (
            "src/cloakgp/privacy/choice/bounds.md",
            "../mechanism/groups.md",
            "../mechanism/groups.md",
        ),
        ("docs/project.md", "../LICENSE", "{host}/blob/main/LICENSE"),
        ("docs/guide.md", "../examples", "{host}/tree/main/examples"),
        ("docs/coming-from/paper.md", "../gallery", "../gallery/index.rst"),
        ("docs/guide.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("docs/guide.md", "#kernel", "#kernel"),
    ],
)
def test_links_lead_to_the_same_page_on_the_site(page, link, leads_to):
    places = pages.sources()
    path = ROOT / page
    text = pages.linked(f"See [this]({link}), not `[that]({link})`.", path, places[path], places)
    new = leads_to.format(host=pages.code_host())
    assert text == f"See [this]({new}), not `[that]({link})`."


def test_pages_keep_their_text_and_go_when_their_original_goes(tmp_path):
    pages.stage(tmp_path)
    assert (tmp_path / "notation.md").read_text() == (ROOT / "docs/notation.md").read_text()
    assert ":hidden:" in (tmp_path / "proofs/index.md").read_text()
    gone = ("old.md", "api/generated/cloakgp.Old.rst", "gallery/images/sphx_glr_plot_old_001.png")
    for name in ("gallery/index.rst", *gone):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("x")
    pages.stage(tmp_path)
    assert not any((tmp_path / name).exists() for name in gone)
    assert (tmp_path / "gallery/index.rst").exists()


def test_the_page_of_commands_has_every_option_that_help_prints():
    page = commands.page()
    for head in re.findall(r"^#+ cloakgp (.*)$", page, re.M):
        printed = run(*head.split(), "--help").output
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", printed)) - {"--help"}
        section = re.split(rf"^#+ cloakgp {head}$", page, flags=re.M)[1]
        section = re.split(r"^#+ ", section, flags=re.M)[0]
        assert options <= set(re.findall(r"--[a-z][a-z-]+", section)), head
    assert {"plan", "release", "budget open"} <= set(re.findall(r"^#+ cloakgp (.*)$", page, re.M))


def test_the_page_of_a_class_lists_what_it_has_from_here():
    methods = members.methods_of("cloakgp.PrivateGPRegressor")
    assert {"plan", "fit", "predict", "predict_interval"} <= set(methods)
    assert not {"get_params", "score", "set_fit_request"} & set(methods)
    assert "hyperparameters" in members.properties_of("cloakgp.Release")
    assert "predict" in members.methods_of("cloakgp.PrivateGridSearch")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    """Examples are shown and not run: ``make docs`` does that."""
    pytest.importorskip("sphinx", reason="no Sphinx: pip install 'cloakgp[docs]'")
    from tools.site.__main__ import build

    assert build(tmp_path, gallery=False) == 0
    site = tmp_path / "site"
    for page in ("index", "proofs/mechanism/calibration", "api/generated/commands", "security"):
        assert (site / f"{page}.html").exists()
    loads = re.compile(r"<(?:script|link|img)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]+\"")
    for page in site.rglob("*.html"):
        assert not loads.findall(page.read_text()), f"{page.name} needs the network"
