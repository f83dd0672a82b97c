"""How each example of the gallery begins: as a new process does, with nothing released."""

from pathlib import Path
from typing import Any

from cloakgp.estimators.repeats import forget


def begin(settings: dict[str, Any], script: str | Path) -> None:
    """Forget what earlier examples released, so that none warns of the others."""
    forget()
