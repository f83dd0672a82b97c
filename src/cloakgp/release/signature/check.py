"""Whether the right key signed a release: what a report says of its signature.

The reader says whose signature counts: a public key, or an identity and a file of allowed signers.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cloakgp.errors import Message, SignatureError, printable
from cloakgp.release.signature.algorithms import check_made_by, need_cryptography
from cloakgp.release.signature.keys import PublicKey, quoted, read_key_file, small_file
from cloakgp.release.signature.signers import Signer, check_allowed, read_signers
from cloakgp.release.signature.sshsig import NAMESPACE, SshSignature, read_signature

Named = str | os.PathLike[str]
#: A signature lies beside its release, under the same name with this ending.
ENDING = ".sig"


@dataclass(frozen=True)
class SignatureCheck:
    """What is known of the signature of a release.

    Attributes
    ----------
    status : {"signed", "refused", "not checked", "not signed"}
        "not checked" if no key was given, "not signed" if there is no signature either.
    detail : str
        The same in words.
    signer : str or None
        Who signed, or should have.
    key : str or None
        Type and fingerprint of the key that signed.
    """

    status: Literal["signed", "refused", "not checked", "not signed"]
    detail: str
    signer: str | None = None
    key: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it was not refused: a signature that nobody asked for does not count."""
        return self.status != "refused"

    def __str__(self) -> str:
        if self.status == "signed":
            return f"Signed by {self.signer} ({self.key}): {self.detail}."
        if self.status == "refused":
            return f"NOT signed by {self.signer}: {self.detail}."
        said = "Signature not checked" if self.status == "not checked" else "Not signed"
        return f"{said}: {self.detail}."


#: What is said if nobody asked.
NOT_CHECKED = SignatureCheck("not checked", "no key was given to check one with")


@dataclass(frozen=True)
class Trust:
    """Whose signature counts, as the reader says: a key, or who is among the allowed signers."""

    name: str
    key: PublicKey | None = None
    signers: tuple[Signer, ...] = ()
    identity: bytes = b""

    def key_of(self, signature: SshSignature, when: datetime.datetime) -> PublicKey:
        """Return the trusted key that should have made a signature, or refuse it."""
        if self.key is None:
            check_allowed(self.signers, self.identity, signature.key.blob, NAMESPACE, when)
            return signature.key  # the reader lists it, byte for byte
        if signature.key.blob != self.key.blob:
            raise SignatureError(
                f"the signature is of another key, {signature.key.name}, not {self.key.name}"
            )
        return self.key


def trusted(key: Named | None, allowed_signers: Named | None, identity: str | None) -> Trust | None:
    """Return whose signature counts, or None if the reader does not say."""
    if key is None and allowed_signers is None and identity is None:
        return None
    if key is not None and not (allowed_signers is None and identity is None):
        raise SignatureError(Message("give either {key}, or {allowed_signers} and {identity}"))
    if key is not None:
        return Trust(f"the key in {printable(key)}", read_key_file(key))
    if allowed_signers is None:
        raise SignatureError(
            Message("{identity} needs {allowed_signers}, the file that lists who may sign")
        )
    if not identity:
        raise SignatureError(Message("{allowed_signers} needs {identity}: who should have signed"))
    try:
        name = os.fsencode(identity)  # the bytes that ssh-keygen would be given
        if b"\0" in name:
            raise ValueError
    except ValueError:
        raise SignatureError(f"identity {printable(identity)} cannot be a name in a file") from None
    return Trust(printable(identity), None, read_signers(allowed_signers), name)


def check_signature(
    digest: Callable[[str], bytes],
    signature: Named | None,
    trust: Trust | None,
    when: datetime.datetime | None = None,
) -> SignatureCheck:
    """Return whether the trusted key signed the file whose hashes ``digest`` returns.

    What the reader gave and cannot be used is an error; what came with the release and does not
    hold is refused.  ``when`` is the time at which the key must be valid, by default now.
    """
    if trust is None:
        if signature is not None:
            raise SignatureError(
                Message(
                    "{signature} needs {key}, or {allowed_signers} and {identity}: whose signature "
                    "counts is for you to say"
                )
            )
        return NOT_CHECKED
    if signature is None:
        raise SignatureError(
            "signature is missing: name the file that lies beside the release, such as "
            f"release.cloakgp{ENDING}"
        )
    need_cryptography()
    try:
        found = read_signature(small_file(signature, f"the signature {printable(signature)}"))
        if found.namespace != NAMESPACE:
            raise SignatureError(
                f"the signature is for {quoted(found.namespace)}, not for {NAMESPACE!r}"
            )
        key = trust.key_of(found, when or datetime.datetime.now(datetime.UTC))
        check_made_by(key, found, digest(found.hash))
    except SignatureError as reason:
        return SignatureCheck("refused", str(reason), trust.name)
    return SignatureCheck("signed", "it is exactly the file that was signed", trust.name, key.name)


def signature_beside(release: Named) -> Path:
    """Return where the signature of a release file lies."""
    return Path(f"{os.fspath(release)}{ENDING}")


def without_key(release: Named, advice: str) -> SignatureCheck:
    """Say whether a release file has a signature that nobody asked to check."""
    beside = signature_beside(release)
    if not beside.exists():
        return SignatureCheck("not signed", f"there is no {printable(beside.name)} beside it")
    return SignatureCheck("not checked", f"{printable(beside.name)} is there; {advice}")
