"""Which code is mutated, which tests are run against it, and where this happens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = Path("src/cloakgp/privacy")
TESTS = Path("tests/privacy")
#: Every module has a folder here: a copy of the sources and tests, and the results so far.
WORKSHOP = ROOT / "build" / "mutants"
#: Survivors and why they may survive.
LIST = ROOT / TESTS / "mutants.toml"

#: Tests that read the source instead of running it must not count.
NOT_BEHAVIOUR = "test_proofs.py"


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
        """Its file or, of a package, its files, from the root of the project."""
        return _matching(CORE, (f"**/{self.name}.py", f"**/{self.name}/*.py"))

    def label(self, source: Path) -> str:
        """Name one of its files."""
        return self.name if source.stem == self.name else f"{self.name}.{source.stem}"

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
    return sorted(path for path in found if (ROOT / path).name != "__init__.py")


MODULES = {
    module.name: module
    for module in (
        Module("numbers", _in("mechanism", "numbers", "calibration", "budget")),
        Module("owners", _in("mechanism", "owners")),
        Module("outputs", _in("mechanism", "outputs", "sketch", "labels")),
        Module("calibration", _in("mechanism", "calibration")),
        Module("budget", _in("mechanism", "budget")),
        Module("sensitivity", _in("mechanism", "sensitivity", "sketch")),
        Module("noise", _in("mechanism", "sketch", "noise")),
        Module("sketch", _in("mechanism", "sketch", "labels", "noise")),
        Module("selection", _in("choice", "selection")),
        Module("folds", _in("choice", "folds", "utility", "losses")),
        Module("losses", _in("choice", "utility", "losses")),
        Module("utility", _in("choice", "utility", "losses")),
        Module("spends", _in("accounting", "spends", "totals", "profiles")),
        Module("profiles", _in("accounting", "totals", "profiles")),
        Module("totals", _in("accounting", "totals", "profiles")),
        Module("shares", _in("accounting", "shares", "totals", "profiles")),
        Module("filter", _in("accounting", "filter")),
        Module("ledger", ("ledger/test_*.py",)),
    )
}
