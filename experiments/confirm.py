"""Whether code that changed since an item ran still gives its numbers.

An item may take half an hour, and most changes of the code change none of its numbers.  So its
short version is run with the code of then, from version control, and with that of now.  If all
tables say the same, their numbers to five digits, the record says so, and for which code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from experiments import store
from experiments.item import Item


def confirm(items: Iterable[Item], results: Path, say: Callable[[str], None]) -> bool:
    """Confirm what is not fresh; return whether all of it could be."""
    by_commit: dict[str, list[Item]] = {}
    for item in items:
        record = store.read(results / item.name)
        if record is None or store.fresh(item, results, quick=False):
            continue
        by_commit.setdefault(record["commit"], []).append(item)
    confirmed = [_confirm(commit, some, results, say) for commit, some in by_commit.items()]
    return all(confirmed)


def _confirm(commit: str, items: list[Item], results: Path, say: Callable[[str], None]) -> bool:
    """Compare short runs at one commit with short runs now."""
    names = [item.name for item in items]
    if not commit or commit.endswith("+changes"):
        say(f"{', '.join(names)}: made from code that no commit holds; run them again")
        return False
    with tempfile.TemporaryDirectory() as folder:
        then, source = Path(folder) / "then", Path(folder) / "source"
        try:
            _git("worktree", "add", "--detach", str(source), commit)
            say(f"{', '.join(names)}: short runs with the code of {commit}")
            _run(source, names, then)
            now = Path(folder) / "now"
            say(f"{', '.join(names)}: short runs with the code of now")
            _run(store.ROOT, names, now)
        finally:
            _git("worktree", "remove", "--force", str(source))
        found = {item.name: compared(then / item.name, now / item.name) for item in items}
    for item in items:
        if found[item.name] == SAME:
            store.note_confirmed(item, results)
        say(f"{item.name}: {found[item.name]}")
    return set(found.values()) == {SAME}


SAME = "the same numbers"
#: Relative differences up to this come from sums in another order, and from iterations that end
#: where they are near enough.
RTOL = 1e-5


def compared(then: Path, now: Path) -> str:
    """Say whether two finished items have the same tables."""
    before, after = (
        {path.name: pd.read_csv(path) for path in sorted(folder.glob("*.csv"))}
        for folder in (then, now)
    )
    if not before or not after:
        return "a short run failed"
    if before.keys() != after.keys() or not all(map(_alike, before.values(), after.values())):
        return "other numbers"
    return SAME


def _alike(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Tell whether tables have the same words, and numbers that agree."""
    if one.shape != other.shape or [*one.columns] != [*other.columns]:
        return False
    for name in one.columns:
        a, b = one[name], other[name]
        if a.dtype.kind in "fiu" and b.dtype.kind in "fiu":
            scale = float(np.abs(a[np.isfinite(a)]).max()) if np.isfinite(a).any() else 0.0
            if not np.allclose(a, b, rtol=RTOL, atol=RTOL * scale, equal_nan=True):
                return False
        elif not a.equals(b):
            return False
    return True


def _run(source: Path, names: list[str], out: Path) -> None:
    words = [sys.executable, "-m", "experiments", "--quick", "--only", *names, "--out", str(out)]
    paths = os.pathsep.join([str(source / "src"), str(source)])
    # A failure shows as an item without tables.
    subprocess.run(words, cwd=source, env={**os.environ, "PYTHONPATH": paths}, check=False)


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=store.ROOT, check=True, capture_output=True)
