"""Every code block of the documentation runs as it stands, and every link leads somewhere."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/tutorial.md", "docs/guide.md", "docs/theory.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text())


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    """In order, in one folder that holds the examples: commands, settings files and Python."""
    for example in (ROOT / "examples").iterdir():
        shutil.copy(example, tmp_path)
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
        else:
            pytest.fail(f"{page} has a block of {language!r}, which nothing runs")


def execute(line, installed):
    """Run a command: ``cloakgp`` in this process, but for one ``verify``, as it is installed."""
    words = shlex.split(line)
    if words[0] == "cloakgp" and not (installed and words[1] == "verify"):
        result = run(*words[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
    else:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


LINKING = ("CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/results/README.md")


@pytest.mark.parametrize("page", [*PAGES, *LINKING])
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
