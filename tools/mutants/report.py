"""What a run found, against the list of mutants that may survive."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tools.mutants import constants, functions
from tools.mutants.functions import Verdict
from tools.mutants.modules import LIST, Module, forgotten
from tools.mutants.record import has_changed, record

#: Why a mutant may survive.
CATEGORIES = (
    "equivalent",  # it computes the same
    "message",  # it changes the wording of an error or a note
    "looser",  # it costs accuracy, speed or comfort; the guarantee holds as before
)


@dataclass(frozen=True)
class Listed:
    """An entry of the list: these changes of this line survive, and why."""

    module: str
    function: str
    before: str
    after: tuple[str, ...]
    category: str
    reason: str

    def covers(self, verdict: Verdict) -> bool:
        """Tell whether the entry is about this mutant."""
        place = (self.module, self.function, self.before)
        same = place == (verdict.module, verdict.function, verdict.before)
        return same and verdict.after in self.after


@lru_cache
def listed() -> list[Listed]:
    """Read the list."""
    return [_entry(entry) for entry in tomllib.loads(LIST.read_text()).get("mutant", [])]


def is_listed(verdict: Verdict) -> bool:
    """Tell whether a mutant may survive."""
    return any(entry.covers(verdict) for entry in listed())


def _entry(entry: dict[str, Any]) -> Listed:
    after = entry["after"]
    found = Listed(**{**entry, "after": (after,) if isinstance(after, str) else tuple(after)})
    if found.category not in CATEGORIES or len(found.reason) < 10:
        raise SystemExit(f"{LIST.name}: give a category ({CATEGORIES}) and a reason for {found}")
    return found


def report(modules: list[Module], *, keep: bool) -> bool:
    """Print a table and what is not as the list says; return whether all is well.

    ``keep`` records what was found about modules that are complete.
    """
    entries = listed()
    problems = [f"belongs to no module of tools/mutants: {path}" for path in forgotten()]
    columns = ("mutants", "killed", "time limit or crash", "listed", "survived", "not run")
    print(f"{'module':<14}" + "".join(f"{name:>{len(name) + 3}}" for name in columns))
    total: Counter[str] = Counter()
    for module in modules:
        found = [*functions.verdicts(module), *constants.verdicts(module)]
        survivors = [verdict for verdict in found if verdict.outcome == "survived"]
        unlisted = [v for v in survivors if not any(entry.covers(v) for entry in entries)]
        counts = Counter(verdict.outcome for verdict in found)
        counts["mutants"], counts["survived"] = len(found), len(unlisted)
        counts["listed"] = len(survivors) - len(unlisted)
        counts["stopped"] = counts["time limit or crash"]
        total += counts
        _row(module.name, counts, columns)
        wrong = [
            f"survived: {v.module}::{v.function}\n  - {v.before}\n  + {v.after}" for v in unlisted
        ]
        mine = {v.module for v in found}
        for entry in entries:
            for after in entry.after if entry.module in mine else ():
                one = Listed(**{**vars(entry), "after": (after,)})
                if not any(one.covers(verdict) for verdict in survivors):
                    wrong.append(
                        f"listed, but does not survive: {one.module}::{one.function}\n"
                        f"  - {one.before}\n  + {after}"
                    )
        problems += wrong
        if keep and not wrong and not counts["not run"]:
            record(module, counts)
    _row("all", total, columns)
    stale = [module.name for module in modules if has_changed(module)]
    print(f"changed since the record, or not recorded: {', '.join(stale)}" if stale else "")
    print("\n".join(["", *problems]) if problems else "")
    return not problems and not total["not run"]


def _row(name: str, counts: Counter[str], columns: tuple[str, ...]) -> None:
    print(f"{name:<14}" + "".join(f"{counts[column]:>{len(column) + 3}}" for column in columns))
