"""Every code block of the documentation runs as it stands, and every link leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/tutorial.md", "docs/guide.md", "docs/theory.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text())


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs(page, tmp_path):
    """In order, in one folder that holds the examples: commands, settings files and Python."""
    for example in (ROOT / "examples").iterdir():
        shutil.copy(example, tmp_path)
    script = []
    found = blocks(page)
    assert found, f"{page} has no code"
    for language, text in found:
        if language == "sh":
            run(["bash", "-euo", "pipefail", "-c", text], tmp_path)
        elif language == "toml":
            name = re.match(r"# (\S+\.toml)\n", text)[1]
            (tmp_path / name).write_text(text)
        elif language == "python":
            script.append(text)
            if "published/" in text:  # needs what the commands before it have made
                run([sys.executable, "-c", script.pop()], tmp_path)
        else:
            pytest.fail(f"{page} has a block of {language!r}, which nothing runs")
    if script:
        run([sys.executable, "-c", "\n".join(script)], tmp_path)


def run(command, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", [*PAGES, "docs/results/README.md", "CONTRIBUTING.md"])
def test_every_link_of_a_page_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), f"{page} links to {target}, which does not exist"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}
            assert anchor in slugs, f"{page} links to {target}: there is no such heading"


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
