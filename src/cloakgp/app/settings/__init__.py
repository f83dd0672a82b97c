"""Settings: declared once, read from flags or a file, checked, and handed to the estimators.

``declarations`` holds ``Settings`` and every setting's declaration, ``readers`` what a value may
look like, and ``gather`` makes checked settings from what was given.
"""

from cloakgp.app.settings.declarations import Settings
from cloakgp.app.settings.gather import gather_settings

__all__ = ["Settings", "gather_settings"]
