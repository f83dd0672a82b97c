"""From the pages of the repository to the sources of the site: moved, linked, and in order.

Nothing is generated inside docs/.  A link to a page of the site is turned to its new place; a link
to any other file of the repository leads to the code host.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROOFS = "src/cloakgp/privacy"
GALLERY = ROOT / "docs" / "gallery"
#: Pages that lie elsewhere on the site than in docs/.
MOVED = {
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/results/README.md": "results/index.md",
    f"{PROOFS}/README.md": "proofs/index.md",
}
#: What is below each page, in the order of the menus.  Sphinx complains about pages left out.
BELOW = {
    "index.md": (
        *("Tutorial <tutorial>", "Outputs or rows? <outputs-or-rows>", "Guide <guide>"),
        *("Gallery <gallery/index>", "API <api/index>"),
        *("Coming from … <coming-from/index>", "How it works <how-it-works>"),
        *("Results <results/index>", "Project <project>"),
    ),
    "how-it-works.md": ("Theory <theory>", "notation", "Proofs <proofs/index>", "architecture"),
    "coming-from/index.md": (
        *("scikit-learn <scikit-learn>", "diffprivlib <diffprivlib>"),
        *("DP Wizard <dp-wizard>", "cloakgp 0.2 <cloakgp-0.2>"),
        *("The paper <paper>",),
    ),
    "results/index.md": (
        *("At a glance <at-a-glance>", "Whole rows <compare-rows>", "Benchmarks <../benchmarks>"),
    ),
    "project.md": ("security", "nist-800-226", "stability", "changelog", "contributing"),
    "proofs/index.md": (
        *("mechanism/calibration", "mechanism/release", "mechanism/discrete"),
        *("mechanism/laplace", "mechanism/grid", "mechanism/whole_rows"),
        *("mechanism/groups", "mechanism/bins", "mechanism/contributions"),
        *("mechanism/squares", "mechanism/composition", "mechanism/postprocessing"),
        *("accounting/totals", "accounting/filter", "accounting/conversions"),
        *("choice/selection", "choice/utility", "choice/bounds", "ledger/ledger"),
    ),
}
COPIED = {".md", ".rst", ".png", ".svg", ".csv", ".css", ".ico"}
#: Folders of docs/ that Sphinx reads where they are.
READ_THERE = ("_static", "_templates", "gallery")
CODE = re.compile(r"(^```.*?^```$|``.*?``|`[^`\n]*`)", re.M | re.S)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def sources() -> dict[Path, str]:
    """Return where every file of the repository that the site needs lies on the site."""
    docs = ROOT / "docs"
    found = {
        path: path.relative_to(docs).as_posix()
        for path in sorted(docs.rglob("*"))
        if path.suffix in COPIED and path.relative_to(docs).parts[0] not in READ_THERE
    }
    beside = ROOT / PROOFS
    found |= {path: f"proofs/{path.relative_to(beside)}" for path in sorted(beside.rglob("*.md"))}
    return found | {ROOT / path: place for path, place in MOVED.items()}


def stage(target: Path) -> None:
    """Write the sources of the site into a folder; pages of examples that have run are kept."""
    places = sources()
    for path in _left_over(target, {target / place for place in places.values()}):
        path.unlink()
    for path, place in places.items():
        copy = target / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = linked(path.read_text(encoding="utf-8"), path, place, places)
            copy.write_text(text + below(place), encoding="utf-8")
        else:
            shutil.copyfile(path, copy)
        # Sphinx reads a page again if it is newer than it was: as new as its original.
        os.utime(copy, ns=(path.stat().st_mtime_ns,) * 2)


def _left_over(target: Path, wanted: set[Path]) -> Iterator[Path]:
    """Yield what an earlier build wrote and this one would not."""
    scripts = {path.stem for path in GALLERY.glob("plot_*.py")}
    for path in [path for path in target.rglob("*") if path.is_file()]:
        example = re.search(r"plot_\w+", path.name)
        if path.relative_to(target).parts[0] == "gallery":
            if example and not any(example[0].startswith(script) for script in scripts):
                yield path
        elif path not in wanted:
            yield path


def linked(text: str, path: Path, place: str, places: dict[Path, str]) -> str:
    """Return a page with its links turned to where they lead on the site or the code host."""

    def turn(link: re.Match[str]) -> str:
        file, mark, anchor = link[2].partition("#")
        if not file or "://" in file or file.startswith("mailto:"):
            return link[0]
        leads_to = (path.parent / file).resolve()
        if on_site := places.get(leads_to, _example(leads_to)):
            new = os.path.relpath(on_site, Path(place).parent)
        elif leads_to.exists() and leads_to.is_relative_to(ROOT):
            kind = "tree" if leads_to.is_dir() else "blob"
            new = f"{code_host()}/{kind}/main/{leads_to.relative_to(ROOT).as_posix()}"
        else:
            return link[0]  # Sphinx says that it leads nowhere
        return f"{link[1]}{new}{mark}{anchor}{link[3]}"

    parts = CODE.split(text)  # code stands at odd places
    return "".join(part if i % 2 else LINK.sub(turn, part) for i, part in enumerate(parts))


def _example(path: Path) -> str | None:
    """Return the page of an example, or of all of them, that Sphinx makes of these scripts."""
    if path == GALLERY:
        return "gallery/index.rst"
    return f"gallery/{path.stem}.rst" if path.parent == GALLERY and path.exists() else None


def below(place: str) -> str:
    """Return the hidden table of contents that a page ends with."""
    if place not in BELOW:
        return ""
    return "\n".join(("\n\n```{toctree}", ":hidden:", "", *BELOW[place], "```\n"))


def code_host() -> str:
    """Return the address of the repository."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return str(told["hatch"]["metadata"]["hooks"]["custom"]["address"])
