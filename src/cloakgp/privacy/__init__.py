"""The trusted core: column lengths, σ, and the noise.

Only this package touches private values.  It imports NumPy, scipy.special and OpenDP and nothing
of ``gp`` or ``design``: whoever checks the guarantee needs to read these files and their proofs
alone.
"""

from cloakgp.privacy.calibration import gaussian_epsilon, gaussian_sigma, privacy_profile
from cloakgp.privacy.sensitivity import Sketch, quantise, squared_sensitivity
from cloakgp.privacy.sketch import NoisySketch, release, release_labels

__all__ = [
    "NoisySketch",
    "Sketch",
    "gaussian_epsilon",
    "gaussian_sigma",
    "privacy_profile",
    "quantise",
    "release",
    "release_labels",
    "squared_sensitivity",
]
