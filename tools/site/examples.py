"""How examples of the gallery are run: each as in a new process, and with every picture shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakSet

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from cloakgp.estimators.spending import forget

#: Figures that a page shows already.
_shown: WeakSet[Figure] = WeakSet()
#: Pixels of a figure's inch: twice those of the page, for sharp screens.
DPI = 150


def begin(settings: dict[str, Any], script: str | Path) -> None:
    """Forget what earlier examples released, so that none warns of the others."""
    forget()


def figures(block: Any, found: dict[str, Any], settings: dict[str, Any]) -> str:
    """Show the figures that ``plot`` of plans and releases returned in this block.

    They do not belong to pyplot, whose figures sphinx-gallery shows by itself.
    """
    pyplots = {plt.figure(number) for number in plt.get_fignums()}
    paths = []
    for value in list(found["example_globals"].values()):
        if isinstance(value, Figure) and value not in _shown:
            _shown.add(value)
            if value not in pyplots:
                paths.append(str(next(found["image_path_iterator"])))
                value.savefig(paths[-1], dpi=DPI)
    return str(figure_rst(paths, settings["src_dir"]))
