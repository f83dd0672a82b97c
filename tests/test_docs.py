"""Every code block of the documentation runs as it stands, and every link leads somewhere."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import run
from table_fixtures import plain, undrawn  # noqa: F401

ROOT = Path(__file__).parents[1]
COMING_FROM = ("scikit-learn", "diffprivlib", "dp-wizard", "cloakgp-0.2", "paper")
PAGES = (
    *("README.md", "docs/tutorial.md", "docs/outputs-or-rows.md", "docs/guide.md"),
    "docs/theory.md",
    *(f"docs/coming-from/{name}.md" for name in COMING_FROM),
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text())


@pytest.mark.slow
@pytest.mark.usefixtures("coarse_maps")
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch, request):
    """In order, in one folder that holds the examples: commands, settings files and Python.

    Commands of one page are rehearsed and draw; those of the others leave that out.
    """
    if page != "README.md":
        request.getfixturevalue("plain")
    for example in (ROOT / "examples").iterdir():
        shutil.copy(example, tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    known = {}
    found = blocks(page)
    assert found, f"{page} has no code"
    for language, text in found:
        if "office.pub" in text and shutil.which("ssh-keygen") is None:
            continue  # what the guide signs with this key needs OpenSSH
        if language == "sh":
            for line in text.splitlines():
                execute(line, installed=page == "README.md")
        elif language == "toml":
            Path(re.match(r"# (\S+\.toml)\n", text)[1]).write_text(text)
        elif language == "python":
            exec(compile(text, page, "exec"), known)
        elif language == "py":  # code of libraries that are not installed here
            compile(text, page, "exec")
            assert "cloakgp" not in text
        else:
            pytest.fail(f"{page} has a block of {language!r}, which nothing runs")


def execute(line, installed):
    """Run a command: ``cloakgp`` in this process, but for one ``verify``, as it is installed.

    What sets up a clone is set up already; and there is nobody here to agree to a release.
    """
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)
        return
    if words == ["source", ".venv/bin/activate"]:
        assert "VENV := .venv\n" in (ROOT / "Makefile").read_text()
        return
    if words[:2] == ["cloakgp", "release"] and "--yes" not in words:
        words.append("--yes")
    if words[0] == "cloakgp" and not (installed and words[1] == "verify"):
        result = run(*words[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
    else:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


LINKING = (
    *("CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/results/README.md"),
    *(
        "docs/index.md",
        "docs/how-it-works.md",
        "docs/project.md",
        "docs/nist-800-226.md",
        "docs/stability.md",
        "docs/coming-from/index.md",
    ),
)


def links(page):
    """Return what a page links to, and the file and the heading that this means here."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if "://" not in file:
            yield target, (ROOT / page).parent / file if file else ROOT / page, anchor


@pytest.mark.parametrize("page", [*PAGES, *LINKING])
def test_every_link_of_a_page_leads_somewhere(page):
    for target, path, anchor in links(page):
        assert path.exists(), f"{page} links to {target}, which does not exist"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}
            assert anchor in slugs, f"{page} links to {target}: there is no such heading"


def test_the_site_starts_as_readme_does():
    assert blocks("docs/index.md") == blocks("README.md")[:1]


def test_readme_works_in_a_clone_as_it_is():
    text = (ROOT / "README.md").read_text()
    assert len(list(links("README.md"))) >= 8
    assert re.findall(r"!\[[^\]]+\]\((docs/[a-z]+\.png)\)", text)
    assert "://" not in re.sub(r"```.*?```", "", text, flags=re.S)


def test_the_address_of_the_project_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    address = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["address"]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.splitlines()] or ROOT.glob("*.*")
    texts = {".py", ".md", ".toml", ".cff", ".html", ".js", ".yaml", ".yml"}
    holds = [
        path.name
        for path in files
        if path.suffix in texts and path.is_file() and address.split("://")[1] in path.read_text()
    ]
    assert holds == ["pyproject.toml"]


def test_every_figure_against_the_paper_is_one_of_the_results():
    section = (ROOT / "README.md").read_text().split("## Against the paper")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 5
    results = (ROOT / "docs/results/README.md").read_text()
    figures = re.findall(r"\d+\.\d+ ± \d+\.\d+|\d+\.\d+|\d+(?= %)", "\n".join(rows))
    figures += re.findall(r"(\d+ of \d+) cases", section)
    assert len(figures) > 20
    for figure in figures:
        found = re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d]|\.\d)", results)
        assert found, f"{figure} of the README is not in docs/results"
