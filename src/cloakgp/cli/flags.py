"""The options of the commands: what they are called, what they say in the help, how they are read.

Numbers stay strings here; ``Settings`` reads them, as strictly as those of a settings file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cloakgp.cli.numerals import read_number
from cloakgp.cli.settings import Settings

MODEL, BUDGET = "Model", "Guarantee"


def option(help: str, metavar: str, panel: str | None = None) -> Any:
    """Declare an option; those of numbers stay strings until they are read."""
    return typer.Option(help=help, metavar=metavar, rich_help_panel=panel, show_default=False)


def flag(name: str, help: str) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=help, metavar="", show_default=False)


def path_option(help: str, metavar: str, panel: str | None = None) -> Any:
    """Declare an option that names a file or folder."""
    return typer.Option(
        help=help, metavar=metavar, rich_help_panel=panel, show_default=False, parser=read_path
    )


def number_option(help: str, metavar: str = "NUMBER", panel: str | None = None) -> Any:
    """Declare an option that is a number and no setting."""
    return typer.Option(
        help=help, metavar=metavar, rich_help_panel=panel, show_default=False, parser=strict_number
    )


def read_path(text: str) -> Path:
    """Return a path; an empty one would be the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("the name is empty; give the name of a file or folder")
    return Path(text)


def strict_number(text: str) -> float:
    """Return a finite number written in digits 0 to 9."""
    number = text if isinstance(text, float) else read_number(text.strip())
    if number is None:
        raise typer.BadParameter(f"{text!r} is not a number such as 0.5 or 1e-5")
    return number


def decimal_sign(text: str) -> str:
    """Return a decimal sign."""
    if text not in (".", ","):
        raise typer.BadParameter(f"it is either . or , and not {text!r}")
    return text


Data = Annotated[Path, typer.Argument(help="CSV or Parquet file", metavar="DATA", parser=read_path)]
Saved = Annotated[Path, typer.Argument(help="A release file", metavar="RELEASE", parser=read_path)]
Task = Annotated[
    str | None, option("What the private column holds", "regression|classification|counts")
]
Classes = Annotated[str | None, option("Every label that is possible", "LABEL,LABEL", BUDGET)]
Cap = Annotated[str | None, option("Counts above the cap are clipped to it", "N", BUDGET)]
Exposure = Annotated[
    str | None, option("Public column: how long or how large each row was watched", "NAME")
]
Inputs = Annotated[str | None, option("Public columns to predict from", "NAME[,NAME]")]
Output = Annotated[str | None, option("Private columns", "NAME[,NAME]")]
At = Annotated[str | None, option("Points that matter: a grid or a file", "NAME=LO:HI:COUNT|FILE")]
Groups = Annotated[str | None, option("Column that names the owner of each row", "NAME")]
Config = Annotated[Path | None, path_option("Settings; flags win over it", "FILE.toml")]
Epsilon = Annotated[str | None, option("Privacy budget, 1 if not given", "NUMBER", BUDGET)]
Delta = Annotated[str | None, option("Privacy budget, 1e-5 if not given", "NUMBER", BUDGET)]
Bounds = Annotated[
    list[str] | None,
    option("Public bounds of the private column; repeat for several", "LO,HI", BUDGET),
]
Calibration = Annotated[str | None, option("How epsilon sets the noise", "analytic|hall", BUDGET)]
Kernel = Annotated[str | None, option("Such as 900*RBF(25) + 10*Matern(5)", "SPEC", MODEL)]
NoiseVariance = Annotated[
    str | None, option("Variance of outputs around the curve", "NUMBER", MODEL)
]
PriorMean = Annotated[str | None, option("Mean before anything is known", "NUMBER", MODEL)]
Inducing = Annotated[str | None, option("Number of inducing inputs", "N", MODEL)]
Approximation = Annotated[str | None, option("Sparse model", "fitc|dtc", MODEL)]
Design = Annotated[
    str | None, option("Which numbers are published", "bayes|total|worst|volume", MODEL)
]
Target = Annotated[str | None, option("What the design cares for", "auto|points|latents", MODEL)]
Iterations = Annotated[str | None, option("Steps that share the budget", "N", MODEL)]
Decode = Annotated[str | None, option("How predictions are made", "bayes|direct", MODEL)]
Rank = Annotated[str | None, option("Publish at most so many numbers", "N", MODEL)]
LedgerFile = Annotated[Path | None, path_option("Budget ledger to spend from", "FILE", BUDGET)]
Dataset = Annotated[str | None, option("Name of the data set in the ledger", "NAME", BUDGET)]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal sign of the numbers in a text table, a point if not given",
        metavar=".|,",
        show_default=False,
        parser=decimal_sign,
    ),
]
AsJson = Annotated[bool, flag("--json", "Print one JSON object and nothing else")]
Force = Annotated[bool, flag("--force", "Overwrite existing outputs")]


#: The options that plan, release and select have in common, in the order of their help.
SETTINGS: dict[str, Any] = {
    "task": Task,
    "inputs": Inputs,
    "output": Output,
    "exposure": Exposure,
    "at": At,
    "groups": Groups,
    "decimal": Decimal,
    "bounds": Bounds,
    "classes": Classes,
    "cap": Cap,
    "epsilon": Epsilon,
    "delta": Delta,
    "calibration": Calibration,
    "kernel": Kernel,
    "noise_variance": NoiseVariance,
    "prior_mean": PriorMean,
    "inducing": Inducing,
    "approximation": Approximation,
    "design": Design,
    "target": Target,
    "iterations": Iterations,
    "decode": Decode,
    "rank": Rank,
}


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the common options; it finds their values in its context."""
    own = inspect.signature(command, eval_str=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    common = [
        inspect.Parameter(name, keyword, default=None, annotation=kind)
        for name, kind in SETTINGS.items()
    ]

    def run(**given: Any) -> None:
        command(**{name: value for name, value in given.items() if name in own.parameters})

    parameters = [p.replace(kind=keyword) for p in own.parameters.values()]
    run.__doc__ = command.__doc__
    run.__signature__ = own.replace(parameters=[*parameters, *common])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in [*parameters, *common]}
    return run


def settings_of(ctx: typer.Context, config: Path | None) -> Settings:
    """Return what was asked for, from the flags of this command and its settings file."""
    names = Settings.__dataclass_fields__
    flags = {name: value for name, value in ctx.params.items() if name in names}
    repeated = ("bounds", "candidates")
    lists = {name: list(v) if v else None for name, v in flags.items() if name in repeated}
    return Settings.gather(flags | lists, config)
