"""The trusted core: column lengths, σ, and the noise.

Only this package touches private values.  It imports NumPy, scipy.special and OpenDP and nothing
of ``gp`` or ``design``: whoever checks the guarantee needs to read these files and their proofs
alone.
"""

from cloakgp.privacy.calibration import gaussian_epsilon, gaussian_sigma, privacy_profile
from cloakgp.privacy.sketch import NoisySketch, Sketch, quantise, release, squared_sensitivity

__all__ = [
    "NoisySketch",
    "Sketch",
    "gaussian_epsilon",
    "gaussian_sigma",
    "privacy_profile",
    "quantise",
    "release",
    "squared_sensitivity",
]
