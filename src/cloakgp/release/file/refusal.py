"""How a release file is refused: one kind of error, with the reason and what to do."""

from cloakgp.errors import ReleaseFileError


def refuse(
    reason: str, advice: str = "get an unchanged copy from its publisher"
) -> ReleaseFileError:
    """Return the error that refuses a file, or what should go into one."""
    return ReleaseFileError(f"{reason}; {advice}")
