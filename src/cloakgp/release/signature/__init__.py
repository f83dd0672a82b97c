"""Who published a release: detached SSH signatures, made by ssh-keygen and checked without it.

A signature lies beside its release.  The key that it is checked with comes from the reader, never
from the release or the signature.  The guarantee does not depend on any of this.

ssh-keygen could check, too, in fewer lines of ours.  It does not, since readers may have none (slim
containers, locked machines); it would have to be given the file again, while here only hashes of
what was read are left; and its verdict is another one: it accepts hardware keys that nobody
touched and RSA from 1024 bits, and differs between versions.  Two ways would be two verdicts.
So there is one, and the rule for it: never looser than ssh-keygen.  ``test_openssh`` asks the real
one about hundreds of cases and lists the reasons where we are stricter.
"""
