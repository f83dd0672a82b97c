"""The page for a package index, made from README when the package is built.

In README links and pictures are relative, so that they work in a clone.  On an index only whole
addresses lead somewhere, and the address of the project stands in ``pyproject.toml`` alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: What the index links to, below the address of the project.
PAGES = {
    "Homepage": "",
    "Source": "",
    "Documentation": "/tree/main/docs",
    "Issues": "/issues",
    "Changelog": "/blob/main/CHANGELOG.md",
}


def with_addresses(text: str, address: str) -> str:
    """Return Markdown whose links to files are whole addresses; those of pictures show them."""

    def whole(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/main/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)", whole, text)


class IndexPage(MetadataHookInterface):
    """Fills in ``readme`` and ``urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both to the metadata of the package."""
        address = self.config["address"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = with_addresses(text, address)
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
        metadata["urls"] = {name: address + below for name, below in PAGES.items()}
