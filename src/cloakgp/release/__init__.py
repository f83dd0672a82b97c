"""What was published: an object that predicts, a file that strangers can check, a plain statement.

A release holds the noisy sketch and public facts.  Nothing private may come here.
"""

from cloakgp.errors import ImplausibleNoiseWarning, ReleaseFileError, SignatureError
from cloakgp.release.kinds import Combination, CountRelease, LabelRelease
from cloakgp.release.release import Release
from cloakgp.release.signature.check import SignatureCheck
from cloakgp.release.verify import VerificationReport

__all__ = [
    "Combination",
    "CountRelease",
    "ImplausibleNoiseWarning",
    "LabelRelease",
    "Release",
    "ReleaseFileError",
    "SignatureCheck",
    "SignatureError",
    "VerificationReport",
]
