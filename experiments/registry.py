"""Which items there are, and which of the paper there should be."""

from __future__ import annotations

import importlib
import pkgutil

from experiments import items
from experiments.item import Item

#: Order of the page: name, what it is, the paper's place.  One that has no module yet is reported
#: as missing; a module that is not listed comes last.
EXPECTED = (
    ("figure-1", "Heights by age", "figure 1"),
    ("figure-2", "Heights by weight and age", "figure 2"),
    ("table-1", "Errors on the heights, 14 folds", "table 1"),
    ("section-5-3", "Why variable lengthscales fail", "section 5.3"),
    ("figure-3", "Home equity loans, one input", "figure 3"),
    ("figure-4", "Stripes, one and two private steps", "figure 4"),
    ("figure-5", "Low and high digits, by inducing inputs and lengthscale", "figure 5"),
    ("selection", "Private choice of hyperparameters", "appendix, section 5.7"),
    ("figure-6", "Chosen lengthscale against ε", "figure 6"),
    ("unexpected", "Truths that the default does not expect", "beyond the paper"),
    ("noise", "The two mechanisms", "beyond the paper"),
    ("all-defaults", "All defaults on the paper's classes", "beyond the paper"),
    ("search-or-learn", "Learning or a private search", "beyond the paper"),
    ("learning", "What is learnt, and whether it fits", "beyond the paper"),
    ("compare-regression", "Against what people would use instead: regression", "beyond the paper"),
    (
        "compare-classification",
        "Against what people would use instead: classification",
        "beyond the paper",
    ),
    ("compare-rows", "Whole rows: inputs private, too", "beyond the paper"),
    ("classes-and-counts", "Ten classes, and counts", "beyond the paper"),
    ("bounds", "Bounds chosen privately", "beyond the paper"),
    ("combined", "Releases that add up", "beyond the paper"),
    ("limits", "How close to the best possible, and how it moves with N", "beyond the paper"),
)


def find() -> dict[str, Item]:
    """Return the items by name, in the order of the page."""
    found: dict[str, Item] = {}
    for module in pkgutil.iter_modules(items.__path__):
        item = importlib.import_module(f"{items.__name__}.{module.name}").ITEM
        if item.name != module.name.replace("_", "-"):
            raise ValueError(f"items/{module.name}.py holds {item.name!r}: use one name for both")
        found[item.name] = item
    order = [name for name, *_ in EXPECTED]
    return dict(
        sorted(found.items(), key=lambda p: order.index(p[0]) if p[0] in order else len(order))
    )
