"""What a complete run found, kept for SECURITY.md: ``tests/privacy/mutants.json``.

A module is recorded with a hash of the sources that were mutated, so that it can be seen whether
they have changed since.  Comments and docstrings, which no mutant changes, do not count.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping

from tools.mutants.modules import LIST, MODULES, ROOT, Module

sys.path.append(str(ROOT / "tests"))

from privacy.fingerprints import plain_lines

RECORD = LIST.with_suffix(".json")
#: "stopped" counts mutants that ran into a time limit or crashed, "listed" those that survive.
COUNTS = ("mutants", "killed", "stopped", "listed")


def recorded() -> dict[str, dict[str, int | str]]:
    """Return the counts of each module, and the hash of its sources then."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def record(module: Module, counts: Mapping[str, int]) -> None:
    """Keep the counts of a complete run."""
    entry = {"sources": sources(module), **{name: counts[name] for name in COUNTS}}
    known = {**recorded(), module.name: entry}
    ordered = {name: known[name] for name in MODULES if name in known}
    RECORD.write_text(json.dumps(ordered, indent=1) + "\n")


def has_changed(module: Module) -> bool:
    """Tell whether the sources of a module are not those of its record."""
    return recorded().get(module.name, {}).get("sources") != sources(module)


def sources(module: Module) -> str:
    """Return a hash of the code of a module."""
    lines = [
        line
        for path in module.source_files()
        for line in plain_lines((ROOT / path).read_text())
        if line is not None
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
