"""What one iteration publishes."""

from __future__ import annotations

from typing import NamedTuple

from cloakgp.privacy import NoisySketch, Sketch


class Part(NamedTuple):
    """One sketch and the noisy values published with it."""

    sketch: Sketch
    noisy: NoisySketch
