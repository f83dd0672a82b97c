"""Who published a release: detached SSH signatures, made by ssh-keygen and checked without it.

A signature lies beside its release.  The key that it is checked with comes from the reader, never
from the release or the signature.  The guarantee does not depend on any of this.
"""
