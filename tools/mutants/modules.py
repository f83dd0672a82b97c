"""Which code is mutated, which tests are run against it, and where this happens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = Path("src/cloakgp/privacy")
TESTS = Path("tests/privacy")
#: Every module has a folder here: a copy of sources and tests, and the results so far.
WORKSHOP = ROOT / "build" / "mutants"
#: Survivors and why they may survive.
LIST = ROOT / TESTS / "mutants.toml"

#: Public names, and old ones: nothing rests on them.
UNPROVEN = ("__init__.py", "deprecated.py")
#: Every door of the core refuses what is no number, and names the parameter.
DOORS = "mechanism/test_numbers.py"
#: Tests that read the source instead of running it must not count.
NOT_BEHAVIOUR = "test_proofs.py"


#: Files of the ledger, and the tests of the ledger that are run against each.
LEDGER = {
    "names": ("names", "ledger"),
    "inputs": ("inputs", "ledger", "book"),
    "errors": ("errors", "ledger", "book"),
    "store": ("book",),
    "history": ("history", "ledger", "book"),
    "accounts": ("accounts", "ledger", "book"),
    "book": ("book", "ledger", "history", "moving", "inputs", "damage"),
    "writing": ("writing", "book", "ledger", "inputs", "moving"),
    "sqlite": ("sqlite", "damage", "processes", "ledger"),
    "ledger": ("ledger", "names", "history", "moving", "inputs", "sqlite"),
    "address": ("address", "names"),
    "tables": ("tables", "postgres"),
    "postgres": ("postgres", "tables"),
    "moving": ("moving",),
}


@dataclass(frozen=True)
class Module:
    """A part of the core, and the tests that are to notice its mutants."""

    name: str
    tests: tuple[str, ...]  # patterns in TESTS

    @property
    def folder(self) -> Path:
        """Where its mutants live."""
        return WORKSHOP / self.name

    def source_files(self) -> list[Path]:
        """Its file, from the root of the project; names of the ledger's modules begin with it."""
        return _matching(CORE, (f"**/{self.name.replace('.', '/')}.py",))

    def label(self, source: Path) -> str:
        """Name one of its files."""
        return self.name

    def test_files(self) -> list[Path]:
        """Its tests, from the root of the project."""
        return [path for path in _matching(TESTS, self.tests) if path.name != NOT_BEHAVIOUR]


def _in(room: str, *names: str) -> tuple[str, ...]:
    """Return patterns of the tests of a room."""
    return tuple(f"{room}/test_{name}*.py" for name in names)


def _matching(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = {path.relative_to(ROOT) for p in patterns for path in (ROOT / folder).glob(p)}
    return sorted(found)


def forgotten() -> list[Path]:
    """Return files of the core that belong to no module."""
    known = {path for module in MODULES.values() for path in module.source_files()}
    found = set(_matching(CORE, ("**/*.py",))) - known
    return sorted(path for path in found if (ROOT / path).name not in UNPROVEN)


MODULES = {
    module.name: module
    for module in (
        Module("numbers", (*_in("mechanism", "calibration", "budget"), DOORS)),
        Module("contributions", _in("mechanism", "contributions", "owners")),
        Module(
            "outputs",
            (*_in("mechanism", "outputs", "squares", "release", "labels", "laplace"), DOORS),
        ),
        Module("calibration", (*_in("mechanism", "calibration"), DOORS)),
        Module("budget", _in("mechanism", "budget", "laplace")),
        Module("sensitivity", _in("mechanism", "sensitivity", "release", "laplace")),
        Module("noise", (*_in("mechanism", "release", "noise"), DOORS)),
        Module("laplace", _in("mechanism", "laplace")),
        Module(
            "release",
            (
                *_in("mechanism", "release", "labels", "noise", "bins", "laplace"),
                *_in("mechanism", "whole_rows", "squares"),
                DOORS,
            ),
        ),
        Module("bins", (*_in("mechanism", "bins", "squares"), DOORS)),
        Module("grid", (*_in("mechanism", "grid"), DOORS)),
        Module("whole_rows", (*_in("mechanism", "whole_rows"), DOORS)),
        Module("bounds", (*_in("choice", "bounds"), DOORS)),
        Module("selection", (*_in("choice", "selection"), DOORS)),
        Module("folds", (*_in("choice", "folds", "utility", "losses"), DOORS)),
        Module("losses", (*_in("choice", "utility", "losses"), DOORS)),
        Module("utility", (*_in("choice", "utility", "losses"), DOORS)),
        Module("spends", (*_in("accounting", "spends", "totals", "profiles"), DOORS)),
        Module("profiles", (*_in("accounting", "totals", "profiles"), DOORS)),
        Module("totals", (*_in("accounting", "totals", "profiles"), DOORS)),
        Module("shares", (*_in("accounting", "shares", "totals", "profiles"), DOORS)),
        Module("filter", (*_in("accounting", "filter"), DOORS)),
        Module("conversions", (*_in("accounting", "conversions"), DOORS)),
        *(Module(f"ledger.{n}", (*_in("ledger", *tests), DOORS)) for n, tests in LEDGER.items()),
    )
}
