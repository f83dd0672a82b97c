"""Mutants of functions: made and run by mutmut, in a folder of their own for each module."""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.modules import ROOT, Module
from tools.mutants.operators import desugared

#: What tells one verdict from another among the exit codes of mutmut.
KILLED, SURVIVED = {1, 3}, {0, 5, 33}
UNDECIDED = {None, 2}  # not run, or interrupted
TIME_IS_UP = 36  # of the processor, as the plugin counts it: a busy machine changes nothing

SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {sources}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-m", "not slow", "-p", "tools.mutants.plugin", "-p", "no:cacheprovider"]
on_dependency_change = "ignore"
use_git_change_detection = false
timeout_multiplier = 20.0
timeout_constant = 100.0
"""


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    module: str
    function: str
    before: str  # the changed lines, without their indentation
    after: str
    outcome: str  # "killed", "time limit or crash", "survived" or "not run"


def prepare(module: Module, *, fresh: bool) -> None:
    """Copy sources and tests into the folder of a module; keep results of unchanged functions."""
    folder = module.folder
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    sources, tests = module.source_files(), module.test_files()
    shutil.rmtree(folder / "tests", ignore_errors=True)
    shutil.rmtree(folder / "mutants" / "tests", ignore_errors=True)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for path in sorted((ROOT / "src").rglob("*")):
        relative = path.relative_to(ROOT)
        if path.is_file() and "__pycache__" not in path.parts:
            text = path.read_bytes()
            if relative in sources:
                text = desugared(text.decode()).encode()
            _write(folder / relative, text)
            if relative not in sources:
                _write(folder / "mutants" / relative, text)
    settings = SETTINGS.format(
        sources=json.dumps([str(p) for p in sources]), tests=json.dumps([str(p) for p in tests])
    )
    _write(folder / "pyproject.toml", (ROOT / "pyproject.toml").read_bytes() + settings.encode())


def run(module: Module, jobs: int) -> None:
    """Test all mutants that have no verdict yet."""
    if not any(map(_has_functions, module.source_files())):
        return  # mutmut takes that for a mistake
    folder = module.folder
    sources = [str(path) for path in module.source_files()]
    command = [sys.executable, "-m", "tools.mutants.worker", str(jobs), *sources]
    paths = {"MUTANTS_STARTERS": str(folder / "starters.txt")}
    subprocess.run(command, cwd=folder, env=environment(folder / "mutants") | paths, check=True)


def _has_functions(source: Path) -> bool:
    """Tell whether there is a function that is more than its description."""
    found = ast.walk(ast.parse((ROOT / source).read_text()))
    functions = (node for node in found if isinstance(node, ast.FunctionDef))
    return any(not isinstance(line, ast.Expr) for each in functions for line in each.body)


def environment(copy: Path) -> dict[str, str]:
    """Return an environment in which everybody, child processes too, imports that copy."""
    paths = [str(copy / "src"), str(ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}


def verdicts(module: Module) -> Iterator[Verdict]:
    """Yield what became of every mutant of a module so far."""
    return (verdict for _, _, verdict in _by_key(module))


def _by_key(module: Module) -> Iterator[tuple[Path, str, Verdict]]:
    """Yield where mutmut keeps the results of a file, its name for a mutant, and the verdict."""
    for source in module.source_files():
        copy = module.folder / "mutants" / source
        meta, spans = Path(f"{copy}.meta"), Path(f"{copy}.spans")
        if not meta.exists():
            continue
        lines = copy.read_text().splitlines()
        where = json.loads(spans.read_text())["spans"]
        name = module.label(source)
        for key, code in json.loads(meta.read_text())["exit_code_by_key"].items():
            mutant = key.rpartition(".")[2]
            function = mutant.partition("__mutmut_")[0]
            original = _lines(lines, where[f"{function}__mutmut_orig"])
            before, after = changed_lines(original, _lines(lines, where[mutant]))
            shown = function.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
            yield meta, key, Verdict(name, shown, before, after, _outcome(code))


def changed_lines(original: list[str], mutated: list[str]) -> tuple[str, str]:
    """Return the lines that differ, before and after."""
    difference = list(difflib.ndiff(original, mutated))
    return tuple(
        " ".join(line[2:].strip() for line in difference if line.startswith(sign))
        for sign in ("- ", "+ ")
    )  # type: ignore[return-value]


def _lines(lines: list[str], span: tuple[int, int]) -> list[str]:
    """Return the lines of a function but the one with its name, which is not the same."""
    found = lines[span[0] - 1 : span[1]]
    head = next(
        i for i, line in enumerate(found) if line.lstrip().startswith(("def ", "async def "))
    )
    name = found[head].split("def ")[1].split("(")[0]
    return [found[head].replace(name, "f", 1), *found[head + 1 :]]


def _outcome(code: int | None) -> str:
    if code in UNDECIDED:
        return "not run"
    if code in SURVIVED:
        return "survived"
    return "killed" if code in KILLED else "time limit or crash"


def forget_survivors(module: Module, is_listed: Callable[[Verdict], bool]) -> bool:
    """With other tests than last time, those that were not killed get another chance.

    Return whether the tests are others.  Those that are listed stay as they are: no test is
    expected to kill them.  A limit of time by the clock may be the fault of a busy machine, so
    these get another chance in every run.
    """
    files = [ROOT / path for path in module.test_files()]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    stamp = module.folder / f"{module.name}.sha256"
    known = stamp.exists() and stamp.read_text() == state
    again = {"time limit or crash"} if known else {"time limit or crash", "survived"}
    forgotten: dict[Path, list[str]] = {}
    for meta, key, verdict in _by_key(module):
        sure = json.loads(meta.read_text())["exit_code_by_key"][key] == TIME_IS_UP
        if verdict.outcome in again and not sure and not is_listed(verdict):
            forgotten.setdefault(meta, []).append(key)
    for meta, keys in forgotten.items():
        found = json.loads(meta.read_text())
        found["exit_code_by_key"].update(dict.fromkeys(keys))
        meta.write_text(json.dumps(found, indent=4))
    _write(stamp, state.encode())
    return not known


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it says this already: mutmut goes by times of change."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
