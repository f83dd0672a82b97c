"""Data flows one way: who may import what."""

import ast
import sys
from pathlib import Path

import pytest

import cloakgp

ROOT = Path(cloakgp.__file__).parent


def imports(path):
    """Return every module that a file imports, at any depth, with relative ones resolved."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(folder):
    return sorted((ROOT / folder).glob("*.py"))


@pytest.mark.parametrize("path", files("privacy"), ids=lambda path: path.stem)
def test_the_trusted_core_imports_numpy_scipy_special_and_opendp_only(path):
    for name in imports(path):
        top = name.split(".")[0]
        allowed = (
            top in sys.stdlib_module_names
            or top in ("numpy", "opendp")
            or name.startswith(("scipy.special", "cloakgp.privacy"))
            or name == "cloakgp.privacy"
        )
        assert allowed, f"privacy/{path.name} imports {name}"


@pytest.mark.parametrize("path", files("gp") + files("design"), ids=lambda path: path.stem)
def test_public_maths_never_reaches_for_private_values(path):
    for name in imports(path):
        if name.startswith("cloakgp"):
            assert name.startswith(("cloakgp.gp", "cloakgp.design", "cloakgp.archive")), name


@pytest.mark.parametrize("path", files("gp"), ids=lambda path: path.stem)
def test_the_model_does_not_know_of_designs(path):
    assert not any(name.startswith("cloakgp.design") for name in imports(path))


def test_the_rules_can_fail(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("from cloakgp.gp import exact\nimport pandas\n")
    assert {"pandas", "cloakgp.gp"} <= imports(bad)
