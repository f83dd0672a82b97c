"""What ties a proof to the code it is about: the text of that code, and of all constants it uses.

    python tests/privacy/fingerprints.py

prints the fingerprint of every page.  Comments, docstrings and blank lines do not count.  The text
is that of the source: syntax trees, which are used to find it, differ between versions of Python.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

#: Statements with statements inside; what they define is defined for the module.
BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


class Module:
    """One file of the core: the text of each name that it defines, and what that text uses."""

    def __init__(self, source: str) -> None:
        self.lines = plain_lines(source)
        self.nodes: dict[str, list[ast.stmt]] = {}  # functions, classes and constants
        self.imports: dict[str, tuple[str, str]] = {}  # name -> module, and the name there or ""
        self.loose: list[str] = []  # what else is done when the module is loaded
        self._read(ast.parse(source).body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, DEFINITIONS):
                self.nodes.setdefault(node.name, []).append(node)
            elif isinstance(node, ASSIGNMENTS):
                for name in assigned(node):
                    self.nodes.setdefault(name, []).append(node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    self.imports[alias.asname or whole] = (whole, "")
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    module = "." * node.level + (node.module or "")
                    self.imports[alias.asname or alias.name] = (module, alias.name)
                    if alias.name == "*":
                        self.loose.append(self.segment(node))
            elif isinstance(node, BLOCKS):
                self.loose.append(self.segment(node))
                for inner in ast.iter_child_nodes(node):
                    if isinstance(inner, ast.stmt):
                        self._read([inner])
                    elif isinstance(inner, ast.ExceptHandler | ast.match_case):
                        self._read(inner.body)
            elif self.segment(node):  # not a docstring
                self.loose.append(self.segment(node))

    def segment(self, node: ast.stmt) -> str:
        """Return the text of a statement, decorators included."""
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        lines = self.lines[start - 1 : node.end_lineno]
        return "\n".join(line for line in lines if line is not None)

    def text(self, name: str) -> str:
        """Return all that is said about a name; the last word counts, but any may matter."""
        return "\n".join(self.segment(node) for node in self.nodes[name])

    def is_constant(self, name: str) -> bool:
        return not any(isinstance(node, DEFINITIONS) for node in self.nodes[name])

    @cache  # noqa: B019 (few modules, and short-lived)
    def uses(self, name: str) -> frozenset[tuple[str, str]]:
        """Return the names in a definition, each with the attribute that is taken of it or ""."""
        found = set()
        for node in self.nodes[name]:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name):
                    found.add((inner.id, ""))
                elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                    found.add((inner.value.id, inner.attr))
        return frozenset(found)


@cache
def parsed(source: str) -> Module:
    """Return the module with this text; a copy of the core shares all files that are unchanged."""
    return Module(source)


class Core:
    """All files below a folder, as the modules of one package."""

    def __init__(self, root: Path, package: str = "cloakgp.privacy") -> None:
        self.root, self.package = root, package

    @cached_property
    def modules(self) -> dict[str, Module]:
        """Path below the root -> module."""
        return {
            path.relative_to(self.root).as_posix(): parsed(path.read_text("utf-8"))
            for path in sorted(self.root.rglob("*.py"))
        }

    @cached_property
    def pages(self) -> list[Path]:
        return sorted(page for page in self.root.rglob("*.md") if page.name != "README.md")

    def file_of(self, module: str) -> str | None:
        """Return the path of a module of this package."""
        if module != self.package and not module.startswith(self.package + "."):
            return None
        stem = module.removeprefix(self.package).lstrip(".").replace(".", "/")
        candidates = (f"{stem}.py", f"{stem}/__init__.py".lstrip("/"))
        return next((path for path in candidates if path in self.modules), None)

    def used(self, path: str, name: str, found: dict[tuple[str, str], str]) -> None:
        """Add the constants and the outside names that a definition uses to ``found``."""
        if path not in self.modules or name not in self.modules[path].nodes:
            raise LookupError(f"a proof is about {path}::{name}, which does not exist")
        for inner, attribute in self.modules[path].uses(name):
            self._use(path, inner, attribute, found)

    def _use(self, path: str, name: str, attribute: str, found: dict[tuple[str, str], str]) -> None:
        module = self.modules[path]
        if name in module.nodes:
            if module.is_constant(name) and (path, name) not in found:
                found[path, name] = module.text(name)
                self.used(path, name, found)
        elif name in module.imports:
            source, there = module.imports[name]
            # A module of the core whose attribute is used, or a name of such a module.
            whole = self.file_of(f"{source}.{there}" if there else source)
            part = self.file_of(source)
            if whole is not None:
                if attribute:
                    self._use(whole, attribute, "", found)
            elif part is not None and there:
                self._use(part, there, "", found)
            elif part is None:
                found["", name] = f"{name} is {source} {there}"

    def fingerprint(self, definitions: list[tuple[str, str]]) -> str:
        """Return a hash of definitions, in this order, and of all that they use."""
        found: dict[tuple[str, str], str] = {}
        for path, name in definitions:
            self.used(path, name, found)
        own = [self.modules[path].text(name) for path, name in definitions]
        text = "\n".join([*own, *sorted(set(found.values()))])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def proven(self) -> set[str]:
        """Return every path::name in a proof, with the constants that proven code uses."""
        found: dict[tuple[str, str], str] = {}
        names = {pair for page in self.pages for pair in proves(page.read_text("utf-8"))}
        for path, name in names:
            self.used(path, name, found)
        return {f"{path}::{name}" for path, name in names | set(found) if path}

    def helpers(self) -> dict[str, str]:
        """Return path::name -> reason, as the table in the README of the proofs says."""
        rows = [
            re.findall(r"^\| `([\w/]+\.py::\w+)` \| (.+) \|$", page.read_text("utf-8"), re.M)
            for page in self.root.rglob("README.md")
        ]
        return dict(row for table in rows for row in table)

    def unproven(self) -> list[str]:
        """Return what is in no proof and no list of helpers, loose statements included."""
        known = self.proven() | set(self.helpers())
        missing = []
        for path, module in self.modules.items():
            missing += [
                f"{path}::{name}" for name in module.nodes if f"{path}::{name}" not in known
            ]
            missing += [f"{path}: {text}" for text in module.loose if text not in NO_PROOF_NEEDED]
        return missing


#: Statements that may be carried out when a module is loaded.
NO_PROOF_NEEDED = ('enable_features("contrib")', "if TYPE_CHECKING:\n    import psycopg")


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names that an assignment binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name):
                yield inner.id


def plain_lines(source: str) -> list[str | None]:
    """Return the lines of a source without comments and docstrings; None for those left empty."""
    lines = source.split("\n")
    kept: set[int] = set()  # lines that end inside a string: white space counts
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
        elif kind == "STRING":
            kept |= set(range(token.start[0], token.end[0]))
        elif kind in ("FSTRING_START", "TSTRING_START"):  # one STRING up to Python 3.11
            opened.append(token.start[0])
        elif kind in ("FSTRING_END", "TSTRING_END"):
            kept |= set(range(opened.pop(), token.end[0]))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node) is not None:
            cut(lines, node.body[0])
            kept -= set(range(node.body[0].lineno, node.body[0].end_lineno))
    return [
        line if number in kept else line.rstrip() or None
        for number, line in enumerate(lines, start=1)
    ]


def cut(lines: list[str], node: ast.stmt) -> None:
    """Remove a statement from the lines.  Its columns are counted in bytes."""
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    lines[first : last + 1] = [before + after, *[""] * (last - first)]


def proves(page: str) -> list[tuple[str, str]]:
    """Return (path, name) of all that a page is about."""
    line = re.search(r"^Proves: (.*)$", page, re.M)
    return [] if line is None else re.findall(r"`([\w/]+\.py)::(\w+)`", line[1])


def main() -> None:
    """Print the fingerprint of every page as it should be."""
    core = Core(Path(__file__).parents[2] / "src" / "cloakgp" / "privacy")
    for page in core.pages:
        text = page.read_text("utf-8")
        right = core.fingerprint(proves(text))
        stale = "" if f"Fingerprint: {right}\n" in text else "   (the page says otherwise)"
        print(f"{right}  {page.name}{stale}")


if __name__ == "__main__":
    main()
