"""What was published: an object that predicts, a file that strangers can check, a plain statement.

A release holds the noisy sketch and public facts.  Nothing private may come here.  In the order of
time:

- before y is read: ``spec`` (everything public, as frozen data), ``sketch`` (asks ``design`` for
  T), ``mechanism`` (which noise), ``forecast`` (how good it will be) and ``plan``, which shows all
  that; ``bounds_plan`` and ``search_plan`` are for private choices that come first;
- from s to predictions: ``decode`` (the steps), ``decoder`` (one setting of the prior), ``mixture``
  (settings weighed by what s says, with ``squares`` and ``density``) and ``posterior`` (numbers,
  labels and counts);
- what was published: ``release`` (the object), ``postprocessing`` (what anybody may ask of it),
  ``kinds`` (those of labels, of counts, and of several together: ``combine``) and ``outputs`` (what
  is public of each kind);
- for strangers: ``file`` (how it is written and read), ``verify`` (checks it again, with
  ``plausibility`` and ``compared``), ``diagnostics`` (does the model fit?), ``signature``,
  ``meaning`` (what a guarantee means) and ``statement`` (all of it in plain words).
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
