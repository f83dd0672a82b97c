"""What an item is, what it gives, and what it is given to work with."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

SEED = 0


@dataclass(frozen=True)
class Result:
    """Numbers, pictures and sentences of one item.

    The sentences are made from the item's own numbers, so that they cannot go stale.  They are
    Markdown on one line each.
    """

    paper: str  #: the paper's number or figure
    setting: str  #: ours in the paper's setting
    best: str  #: ours at our best
    conclusion: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    shown: tuple[str, ...] = ()  #: tables that the page prints; the others are linked
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One table or figure: its name is its folder."""

    name: str
    title: str
    place: str  #: where the paper has it
    compute: Callable[[Run], Result]
    seconds: float = 30.0  #: a guess for the full run; long items start first
    uses: tuple[str, ...] = ()  #: optional packages; the item is computed again if they change


class Run:
    """What an item may use: a seed, whether to be quick, checkpoints, and a voice."""

    def __init__(
        self,
        quick: bool,
        checkpoints: Path,
        seed: int = SEED,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.quick, self.seed, self.say = quick, seed, say
        self._checkpoints = checkpoints

    def rng(self, *labels: Any) -> np.random.Generator:
        """Return a generator of its own for these labels, the same in every run."""
        return np.random.default_rng([self.seed, *(zlib.crc32(str(x).encode()) for x in labels)])

    def choose(self, full: Any, quick: Any) -> Any:
        return quick if self.quick else full

    def keep(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return ``compute()``, from a checkpoint if an interrupted run has left one.

        What it returns must survive JSON.
        """
        path = self._checkpoints / (re.sub(r"[^\w.=+-]+", "_", key) + ".json")
        if path.is_file():
            return json.loads(path.read_text())
        self.say(key)
        value = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(json.dumps(value))
        partial.replace(path)
        return value
