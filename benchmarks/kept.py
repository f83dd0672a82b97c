"""Measurements kept on disk, so that an interrupted run goes on where it stopped.

Each lies in build/bench, by what was asked for and by the source that was measured: a change of
``src/cloakgp`` measures everything anew.  With each one stands how busy the machine was.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "bench"

#: How busy the machine was: the load at the start of every measurement that was asked for.
loads: list[float] = []


@cache
def source() -> str:
    """Return a fingerprint of the source that is measured."""
    found = hashlib.sha256()
    for path in sorted((ROOT / "src" / "cloakgp").rglob("*.py")):
        found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def kept(task: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the measurement of ``task``: an earlier one, or a new one that is kept."""
    key = json.dumps(task, sort_keys=True) + source()
    path = FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
    else:
        load = os.getloadavg()[0]
        found = {"task": task, "load": load, "at": time.strftime("%F %R"), "found": measure()}
        FOLDER.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(found))
        unfinished.replace(path)
    loads.append(found["load"])
    result: dict[str, Any] = found["found"]
    return result


def busy() -> str:
    """Say how busy the machine was."""
    low, high = min(loads, default=0.0), max(loads, default=0.0)
    return f"load average {low:.1f} to {high:.1f}"


def environment() -> dict[str, str]:
    """Return that of processes: one thread, and modules compiled once and not at every start."""
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**plain, "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(FOLDER / "compiled")}


def in_a_process(
    script: str, task: dict[str, Any], seconds: float | None = None
) -> dict[str, Any] | None:
    """Run ``script --worker`` on a task in a process of its own, with one thread for each BLAS.

    Returns None if it takes more than ``seconds`` of processor time.
    """

    def limit() -> None:
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [sys.executable, script, "--worker", json.dumps(task), str(path)]
        done = subprocess.run(command, check=False, env=environment(), preexec_fn=limit)
        if path.exists():
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        if seconds is None or done.returncode >= 0:
            raise RuntimeError(f"a measurement failed: {task}")
        return None
