"""Finished items on disk: written whole or not at all, and known by what they were made from."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cloakgp
from experiments.item import SEED, Item, Result

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(cloakgp.__file__).resolve().parent
RESULTS = ROOT / "docs" / "results"
#: Quick results and checkpoints, outside of the documentation and of version control.
SCRATCH = ROOT / "build" / "experiments"
#: Rooms of the package that no number of an experiment comes from.
SILENT = (
    "__init__.py",
    "_version.py",
    "errors.py",
    "cli",
    "web",
    "plot",
    "app",
    "data",
    "report",
    "release/file",
    "release/signature",
    "release/statement.py",
    "release/verify.py",
    "privacy/ledger",
    "privacy/mechanism/contributions.py",
)
#: Changes here do not change a number.
FRAMEWORK = {
    f"experiments.{name}" for name in ("confirm", "item", "page", "registry", "runner", "store")
}
RECORD = "result.json"


# ------------------------------------------------------------------------------- what it depends on


def fingerprint(item: Item) -> dict[str, str]:
    """Return what the item's numbers depend on, as hashes and versions."""
    module = item.compute.__module__
    return {
        "package": _digest(sorted(path for path in PACKAGE.rglob("*.py") if _counts(path))),
        "module": _digest(sorted(_sources(module))),
        "uses": ", ".join(f"{name} {_version(name)}" for name in item.uses),
        "seed": str(SEED),
    }


def _counts(path: Path) -> bool:
    """Tell whether numbers may depend on a file of the package."""
    return not any(path.is_relative_to(PACKAGE / room) for room in SILENT)


def _digest(paths: Iterable[Path]) -> str:
    """Return a hash of what the code does.

    Comments, docstrings and layout do not count, nor in which file or order things are defined.
    """
    pieces = {piece for path in paths for piece in _pieces_of(path, path.stat().st_mtime_ns)}
    return hashlib.sha256("\0".join(sorted(pieces)).encode()).hexdigest()[:16]


@cache
def _pieces_of(path: Path, changed: int) -> frozenset[str]:
    """Return what a file defines; it is read again when it has ``changed``."""
    return frozenset(_pieces(ast.parse(path.read_text())))


def _pieces(node: ast.AST) -> Iterator[str]:
    """Yield what a module or class defines, piece by piece: methods are pieces of their own."""
    for part in getattr(node, "body", []):
        if isinstance(part, ast.ClassDef):
            yield from _pieces(part)
            part.body = []
        elif isinstance(part, ast.Import | ast.ImportFrom) or _is_list_of_names(part):
            continue
        if not _is_string(part):
            yield ast.dump(_without_strings(part))


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _without_strings(tree: ast.AST) -> ast.AST:
    """Return the tree without strings that stand alone: they do nothing."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_string(part)]  # type: ignore[attr-defined]
    return tree


def _is_string(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _sources(module: str, seen: set[str] | None = None) -> set[Path]:
    """Return the file of a module and of all it imports from the experiments."""
    seen = set() if seen is None else seen
    path = ROOT / (module.replace(".", "/") + ".py")
    if module in seen or module in FRAMEWORK or not path.is_file():
        return set()
    seen.add(module)
    found = {path}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if name.startswith("experiments."):
                found |= _sources(name, seen)
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=10
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head + ("+changes" if head and git("status", "--porcelain", "--", "src") else "")
    except (OSError, subprocess.TimeoutExpired):
        return ""


# ------------------------------------------------------------------------------------ on the disk


def checkpoints(item: Item, quick: bool) -> Path:
    """Return the folder of an unfinished item; another fingerprint has another folder."""
    made_from = json.dumps(fingerprint(item), sort_keys=True) + str(quick)
    return SCRATCH / "unfinished" / item.name / hashlib.sha256(made_from.encode()).hexdigest()[:12]


def read(folder: Path) -> dict[str, Any] | None:
    """Return the record of a stored item, or None."""
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text())
        return record
    except (OSError, ValueError):
        return None


def fresh(item: Item, results: Path, quick: bool) -> bool:
    """Tell whether the stored result was made from what is there now."""
    record = read(results / item.name)
    mode = "quick" if quick else "full"
    return record is not None and (record["made_from"], record["mode"]) == (fingerprint(item), mode)


def confirmed(item: Item, results: Path) -> bool:
    """Tell whether the code of now was found to give the numbers of the stored result."""
    record = read(results / item.name)
    return record is not None and record.get("confirmed_for") == fingerprint(item)


def note_confirmed(item: Item, results: Path) -> None:
    """Note that the code of now gives the numbers of the stored result."""
    path = results / item.name / RECORD
    record = json.loads(path.read_text()) | {"confirmed_for": fingerprint(item)}
    unfinished = path.with_suffix(".partial")
    unfinished.write_text(_as_text(record))
    unfinished.replace(path)


def write(
    item: Item,
    result: Result,
    results: Path,
    quick: bool,
    seconds: float,
    made_from: dict[str, str] | None = None,
) -> None:
    """Store a finished item.  Its folder appears complete, under its name, in one step.

    ``made_from`` is the fingerprint at the start, should the code have changed in the meantime.
    """
    results.mkdir(parents=True, exist_ok=True)
    folder, partial, old = (results / f"{dot}{item.name}{end}" for dot, end in _NAMES)
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir()
    for name, table in result.tables.items():
        table.to_csv(partial / f"{name}.csv", index=False, float_format="%.6g")
    for name, figure in result.figures.items():
        figure.savefig(partial / f"{name}.png", dpi=130, metadata={"Software": None})
    record = {
        "item": item.name,
        "title": item.title,
        "place": item.place,
        "paper": result.paper,
        "setting": result.setting,
        "best": result.best,
        "conclusion": result.conclusion,
        "notes": list(result.notes),
        "tables": list(result.tables),
        "shown": list(result.shown),
        "figures": list(result.figures),
        "mode": "quick" if quick else "full",
        "seconds": round(seconds, 1),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": cloakgp.__version__,
        "commit": _commit(),
        "made_from": made_from or fingerprint(item),
    }
    (partial / RECORD).write_text(_as_text(record))
    if folder.exists():
        os.rename(folder, old)
    os.rename(partial, folder)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(checkpoints(item, quick).parent, ignore_errors=True)


def _as_text(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


_NAMES = (("", ""), (".", ".partial"), (".", ".old"))
