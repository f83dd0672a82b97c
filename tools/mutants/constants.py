"""Mutants of constants of modules and classes, each in a process of its own.

mutmut changes functions only, and other modules import constants by name, so that the whole package
has to be loaded again.  A number is halved, doubled and set to 0; of several strings one is left
out.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.functions import Verdict, environment
from tools.mutants.modules import ROOT, Module

#: Seconds after which a mutant counts as hanging, beside five times what the tests take.
SECONDS = 300.0
ARITHMETIC = ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop


@dataclass(frozen=True)
class Mutant:
    """One constant changed in one file."""

    source: Path
    name: str
    before: str
    after: str
    content: bytes  # of the whole file

    @property
    def key(self) -> str:
        """Which mutant this is, of which code."""
        digest = hashlib.sha256(self.content).hexdigest()[:16]
        return f"{self.source}::{self.name} {self.before} -> {self.after} {digest}"


def run(module: Module) -> None:
    """Test all mutants of constants that have no verdict yet."""
    waiting = [mutant for mutant in mutants(module) if mutant.key not in _known(module)]
    if not waiting:
        return
    folder = _prepared(module)
    tests, seconds = _tests(module)
    if _exit_code(folder, tests, seconds) != 0:
        raise SystemExit(f"the tests of {module.name} fail without any mutant")
    for mutant in waiting:
        target = folder / mutant.source
        original = target.read_bytes()
        target.write_bytes(mutant.content)
        code = _exit_code(folder, tests, seconds)
        target.write_bytes(original)
        # 2 to 4 are pytest's way to say that the package cannot even be imported.
        outcome = {0: "survived", 1: "killed", 2: "killed", 3: "killed", 4: "killed"}
        known = _known(module) | {mutant.key: outcome.get(code, "time limit or crash")}
        _results(module).write_text(json.dumps(known, indent=1))
        print(f"    {mutant.name}: {mutant.after}: {known[mutant.key]}", flush=True)


def verdicts(module: Module) -> Iterator[Verdict]:
    """Yield what became of every mutant so far."""
    known = _known(module)
    for mutant in mutants(module):
        yield _verdict(module, mutant, known.get(mutant.key, "not run"))


def _verdict(module: Module, mutant: Mutant, outcome: str) -> Verdict:
    where = module.label(mutant.source)
    return Verdict(where, mutant.name, mutant.before, mutant.after, outcome)


def forget_survivors(module: Module, is_listed: Callable[[Verdict], bool]) -> None:
    """Drop every verdict but "killed" and those listed; to be called when tests have changed."""
    stay = {m.key for m in mutants(module) if is_listed(_verdict(module, m, "survived"))}
    kept = {key: v for key, v in _known(module).items() if v == "killed" or key in stay}
    _results(module).write_text(json.dumps(kept, indent=1))


def mutants(module: Module) -> Iterator[Mutant]:
    """Yield the mutants of all constants of a module."""
    for source in module.source_files():
        content = (ROOT / source).read_bytes()
        for name, node in _constants(ast.parse(content).body):
            before = ast.get_source_segment(content.decode(), node) or ""
            for after, first, last in _changes(node, before):
                begin, end = _offset(content, *first), _offset(content, *last)
                changed = content[:begin] + after.encode() + content[end:]
                yield Mutant(source, name, before, after or f"without {name}", changed)


def _constants(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.expr]]:
    """Yield names and values of constants of a module, and of the classes in it."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _constants(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name):
                pairs = [(target, node.value)]
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            else:
                continue
            yield from ((prefix + ast.unparse(target), value) for target, value in pairs)


Place = tuple[int, int]


def _changes(node: ast.expr, text: str) -> Iterator[tuple[str, Place, Place]]:
    """Yield new texts for a constant, and which part of the source each replaces."""
    whole = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    if isinstance(node, ast.Tuple) and len(node.elts) > 1 and all(map(_is_string, node.elts)):
        for left_out in node.elts:
            others = [ast.unparse(element) for element in node.elts if element is not left_out]
            yield f"({', '.join(others)},)", *whole
    elif all(isinstance(part, ARITHMETIC) for part in ast.walk(node)):
        value = eval(compile(ast.Expression(node), "constant", "eval"))
        if isinstance(value, int | float) and not isinstance(value, bool):
            halves = f"({text}) // 2" if isinstance(value, int) else f"({text}) / 2"
            yield from ((new, *whole) for new in (halves, f"({text}) * 2", "0") if value)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _offset(content: bytes, line: int, column: int) -> int:
    return sum(map(len, content.splitlines(keepends=True)[: line - 1])) + column


def _prepared(module: Module) -> Path:
    """Make a copy of sources and tests without any mutant."""
    folder = module.folder / "constants"
    shutil.rmtree(folder, ignore_errors=True)
    clean = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=clean)
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(module.folder / "mutants" / "mutmut-stats.json", folder)
    return folder


def _tests(module: Module) -> tuple[list[str], float]:
    """Return the names of the tests, the quickest first, and how long all of them take."""
    stats = json.loads((module.folder / "mutants" / "mutmut-stats.json").read_text())
    durations: dict[str, float] = stats["duration_by_test"]
    return sorted(durations, key=durations.__getitem__), sum(durations.values())


def _exit_code(folder: Path, tests: list[str], seconds: float) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "tools.mutants.plugin"]
    marked = {"MUTANT_UNDER_TEST": "constant__mutmut_", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", "-m", "not slow", *tests],
            cwd=folder,
            env={**environment(folder), **marked},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5 * seconds + SECONDS,
        ).returncode
    except subprocess.TimeoutExpired:
        return 36


def _results(module: Module) -> Path:
    return module.folder / f"{module.name}.json"


def _known(module: Module) -> dict[str, str]:
    path = _results(module)
    return json.loads(path.read_text()) if path.exists() else {}
