"""What can be known before a plan is drawn: whether its outputs can be written and paid for.

Planning may take minutes, and then somebody is asked to agree; an error that was certain from the
beginning would come too late.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cloakgp.cli.outputs import OUTPUTS
from cloakgp.cli.settings import Settings
from cloakgp.cli.wording import explained
from cloakgp.errors import CommandError, listed, printable
from cloakgp.plan.outcomes import OUTCOMES
from cloakgp.privacy import Ledger, gaussian_epsilon, gaussian_sigma
from cloakgp.privacy.ledger import rounded_down
from cloakgp.privacy.ledger.address import is_address

PICTURES = (".png", ".svg", ".pdf")
#: A request above the rest of the budget by this factor is refused whatever the rounding.
CERTAIN = 1.01


def check_outputs(settings: Settings) -> None:
    """Refuse names that the table of predictions cannot have."""
    if not settings.output:
        raise CommandError("--output is missing: name the private column, such as --output height")
    names = _table_names(settings)
    if len({*names, *settings.inputs}) < len(names) + len(settings.inputs):
        raise CommandError(
            "predictions.csv would have two columns of one name: beside the inputs it has "
            f"{listed(names)}; rename a column"
        )


def check_folder(folder: Path, others: Iterable[Path | str | None], force: bool) -> None:
    """Refuse a folder that cannot take the outputs, or in which they would overwrite ``others``."""
    shown = printable(folder)
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--out {shown} is a file; name a folder")
    there = [name for name in OUTPUTS if (folder / name).exists()]
    files = [Path(other) for other in others if other is not None and not is_address(other)]
    for name in there:
        if any(file.exists() and file.samefile(folder / name) for file in files):
            raise CommandError(
                f"{name} in {shown} would overwrite the data or another file that is read here; "
                "choose another folder"
            )
        if (folder / name).is_dir():
            raise CommandError(f"{name} in {shown} is a folder; choose another folder for --out")
    if there and not force:
        raise CommandError(
            f"{shown} already has {', '.join(there)}; choose another folder, or give --force"
        )
    _check_place(folder)


def check_file(option: str, path: Path, endings: tuple[str, ...], force: bool = True) -> None:
    """Refuse a file that cannot be written, or that exists and is not to be overwritten."""
    shown = f"{option} {printable(path)}"
    if path.suffix.lower() not in endings:
        raise CommandError(f"{shown} must end in {' or '.join(endings)}")
    if path.is_dir():
        raise CommandError(f"{shown} is a folder; name a file")
    if not path.parent.is_dir():
        raise CommandError(f"{shown}: there is no folder {printable(path.parent)}")
    if path.exists() and not force:
        raise CommandError(f"{printable(path)} exists; choose another name or give --force")
    _check_place(path.parent)


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be written."""
    check_file("--plot", path, PICTURES)


def check_ledger(settings: Settings) -> None:
    """Refuse an account that is not there, or that does not allow what would be spent."""
    if settings.ledger is None or settings.dataset is None:
        return
    estimator = settings.estimator()
    with explained():
        ledger = Ledger(settings.ledger)
        balance = ledger.balances(settings.dataset)[0]
        elsewhere = ledger.moved_to()
        sigma = gaussian_sigma(estimator.epsilon, estimator.delta, estimator.calibration)  # type: ignore[arg-type]
        requested = gaussian_epsilon(sigma, balance.delta)
    if elsewhere is not None:
        raise CommandError(
            f"the ledger {printable(ledger.name)} is closed: it was moved to "
            f"{printable(elsewhere)}; name that one"
        )
    if requested > CERTAIN * balance.remaining:
        raise CommandError(
            f"the budget of {printable(settings.dataset)!r} does not allow this: requested epsilon "
            f"= {requested:.4g}, spent epsilon = {balance.spent:.4g}, remaining epsilon = "
            f"{rounded_down(balance.remaining)} (for one more release), cap epsilon = "
            f"{balance.epsilon:g}, all at delta = {balance.delta:g}"
        )


def _table_names(settings: Settings) -> list[str]:
    """Return the columns that predictions have beside the inputs."""
    return OUTCOMES[settings.task].table_names(settings.output, settings.labels)


def _check_place(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to."""
    parent = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not parent.is_dir():
        raise CommandError(f"{printable(parent)} is a file, so it cannot hold {printable(folder)}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise CommandError(f"the folder {printable(parent)} cannot be written to")
