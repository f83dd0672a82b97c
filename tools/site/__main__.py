"""Build the site: ``python -m tools.site [--no-gallery]`` writes build/site; no warning passes."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tools.site import commands
from tools.site.pages import ROOT, stage


def build(folder: Path, gallery: bool = True) -> int:
    """Build the site below a folder and return the exit code of Sphinx; warnings are errors."""
    source = folder / "site-source"
    stage(source)
    commands.write(source / "api" / "generated" / "commands.md")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    command += ["-c", str(ROOT / "docs"), "-d", str(folder / "site-doctrees")]
    command += [] if gallery else ["-D", "plot_gallery=0"]
    return subprocess.run([*command, str(source), str(folder / "site")], cwd=ROOT).returncode


def main() -> int:
    """Build as asked for at the command line, and say where the first page is."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--no-gallery", action="store_true", help="show examples, run none")
    parser.add_argument("--into", type=Path, default=ROOT / "build", help="default: build")
    asked = parser.parse_args()
    began = time.monotonic()
    code = build(asked.into.resolve(), gallery=not asked.no_gallery)
    page = asked.into.resolve() / "site" / "index.html"
    seconds = f"{time.monotonic() - began:.0f} s"
    if code:
        print(f"The site has errors or warnings, above ({seconds}).", file=sys.stderr)
    else:
        print(f"The site is built ({seconds}). Open {page}")
    return code


if __name__ == "__main__":
    sys.exit(main())
