"""Settings: declared once, read from flags or a file, checked, and handed to the estimators.

Nothing here reads data.
"""

from cloakgp.cli.settings.settings import Settings

__all__ = ["Settings"]
