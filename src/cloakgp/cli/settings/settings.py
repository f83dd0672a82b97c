"""The settings of one command: gathered from flags and a TOML file, and what they make."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from cloakgp.cli.settings.checks import check
from cloakgp.cli.settings.declared import DECLARED, ESTIMATORS, Declared, Estimator, option_of
from cloakgp.errors import CommandError, listed, printable
from cloakgp.estimators.search.search import PrivateGridSearch
from cloakgp.plan.bounds import BoundsGrid
from cloakgp.privacy.choice.selection import check_choice


@dataclass(frozen=True)
class Settings(Declared):
    """What a plan or a release was told, and the estimator that it describes."""

    @classmethod
    def gather(cls, flags: Mapping[str, Any], config: Path | None = None) -> Settings:
        """Combine flags, which win, with a TOML file."""
        asked = {} if config is None else read_config(config)
        asked |= {n: (option_of(n), value) for n, value in flags.items() if value is not None}
        settings = cls(**{n: DECLARED[n].reader.read(*told) for n, told in asked.items()})
        check(settings)
        return settings

    def estimator(self) -> Estimator:
        """Return the estimator that these settings describe; its noise is never repeatable."""
        kind = ESTIMATORS[self.task]
        given = {n: value for n, value in vars(self).items() if value not in (None, ())}
        pairs = self.bounds * max(len(self.output), 1) if len(self.bounds) == 1 else self.bounds
        forms = {"bounds": _one_or_list(pairs), "prior_mean": _one_or_list(self.prior_mean or ())}
        forms |= {"classes": self.labels}
        if self.chooses_bounds:
            forms["bounds"] = self.grid()
        taken = given.keys() & signature(kind).parameters.keys()
        return kind(columns=self.columns or None, **{n: forms.get(n, given[n]) for n in taken})

    def grid(self) -> BoundsGrid:
        """Return the candidates for bounds that these settings describe."""
        quantiles = self.bounds_quantiles or (0.01, 0.99)
        try:
            return BoundsGrid(self.bounds_grid or (), quantiles, self.bounds_epsilon)  # type: ignore[arg-type]
        except ValueError as error:
            words = {"grid must": "--bounds-grid must", "quantiles must": "--bounds-quantiles must"}
            message = str(error).replace("epsilon must", "--bounds-epsilon must")
            for ours, theirs in words.items():
                message = message.replace(ours, theirs)
            raise CommandError(message) from None

    def search(self) -> PrivateGridSearch:
        """Return the private search that these settings describe."""
        if not self.candidates:
            raise CommandError(
                "--try is missing: name a setting and its values, such as --try "
                "'kernel=4000*RBF(10)|4000*RBF(40)'"
            )
        if self.task == "counts" or len(self.classes) > 2:
            raise CommandError(
                "a private search is for --task regression, and for --task classification with "
                "two classes"
            )
        own = {d.search: getattr(self, n) for n, d in DECLARED.items() if d.search is not None}
        own = {name: value for name, value in own.items() if value is not None}
        own["param_grid"] = {name: list(values) for name, values in self.candidates}
        inner = self.estimator().set_params(ledger=None, dataset=None)
        search = PrivateGridSearch(inner, **own)
        try:
            check_choice(search.epsilon, search.mechanism)
        except ValueError as error:
            message = str(error).replace("epsilon", "--selection-epsilon", 1)
            raise CommandError(message) from None
        return search


def read_config(path: Path) -> dict[str, tuple[str, Any]]:
    """Return what a TOML file says of each setting, and where; the values are not read yet."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CommandError(f"there is no settings file {printable(path)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{printable(path)} is not TOML: {printable(error)}") from None
    unknown = [key for key in content if key.replace("-", "_") not in DECLARED]
    if unknown:
        raise CommandError(
            f"{printable(path)} has the unknown key {listed(unknown)}; known are: "
            f"{listed(list(DECLARED))}"
        )
    return {key.replace("-", "_"): (f"{key} in {path}", v) for key, v in content.items()}


def _one_or_list(values: tuple[Any, ...]) -> Any:
    """Return a single value as it is: it holds for all output columns."""
    return values[0] if len(values) == 1 else list(values)
