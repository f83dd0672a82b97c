"""From the published sketch to predictions, for anybody and any number of times.

This is post-processing: it may use what was published and what is public, and nothing else.
"""

from cloakgp.errors import DecodeError

__all__ = ["DecodeError"]
