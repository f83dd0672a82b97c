"""Whether a key made a signature, by the package ``cryptography``: the only module that uses it."""

from __future__ import annotations

import hashlib
from typing import Any

from cloakgp.errors import SignatureError
from cloakgp.release.signature.keys import PublicKey, WireReader
from cloakgp.release.signature.sshsig import SshSignature

#: The flag of a hardware key that somebody touched it.
TOUCHED = 1
#: The curve and the hash that belong to the name of a NIST curve.
_NIST = {
    "nistp256": ("SECP256R1", "SHA256"),
    "nistp384": ("SECP384R1", "SHA384"),
    "nistp521": ("SECP521R1", "SHA512"),
}
_RSA_HASHES = {"rsa-sha2-256": "SHA256", "rsa-sha2-512": "SHA512"}


def need_cryptography() -> None:
    """Say what to install, if it is not."""
    try:
        import cryptography  # noqa: F401
    except ModuleNotFoundError:
        raise SignatureError(
            "checking a signature needs the package cryptography: pip install 'cloakgp[sign]'"
        ) from None


def check_made_by(key: PublicKey, signature: SshSignature, digest: bytes) -> None:
    """Refuse a signature that ``key`` did not make of the file with this digest."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    message = signature.message(digest)
    if key.kind.hardware:
        message = _of_hardware(key, signature, message)
    try:
        if key.kind.curve:
            _check_nist(key, signature.signature, message)
        elif key.kind.point_bytes:
            _check_edwards(key, signature.signature, message)
        else:
            _check_rsa(key, signature, message)
    except InvalidSignature:
        raise SignatureError("the file or the signature was changed after signing") from None
    except SignatureError:
        raise
    # A point beside its curve, or a curve that this machine does not have.
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError(f"the key of type {key.type} cannot be used here") from None


def _of_hardware(key: PublicKey, signature: SshSignature, message: bytes) -> bytes:
    """Return what a hardware key signs: what it is for, its flags and counter, and the message."""
    if not signature.flags & TOUCHED:
        raise SignatureError("the hardware key signed without being touched")
    application = hashlib.sha256(key.application.encode()).digest()
    about = bytes([signature.flags]) + signature.counter.to_bytes(4)
    return application + about + hashlib.sha256(message).digest()


def _check_edwards(key: PublicKey, signature: bytes, message: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    Ed25519PublicKey.from_public_bytes(key.point).verify(signature, message)


def _check_nist(key: PublicKey, signature: bytes, message: bytes) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    numbers = WireReader(signature, "the signature")
    r, s = numbers.natural(), numbers.natural()
    numbers.end()
    curve, hash = _NIST[key.kind.curve]
    public = ec.EllipticCurvePublicKey.from_encoded_point(getattr(ec, curve)(), key.point)
    public.verify(encode_dss_signature(r, s), message, ec.ECDSA(getattr(hashes, hash)()))


def _check_rsa(key: PublicKey, signature: SshSignature, message: bytes) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    hash: Any = getattr(hashes, _RSA_HASHES[signature.algorithm])()
    public = rsa.RSAPublicNumbers(key.exponent, key.modulus).public_key()
    # Some programs leave out zeros in front.
    padded = signature.signature.rjust((key.modulus.bit_length() + 7) // 8, b"\0")
    public.verify(padded, message, padding.PKCS1v15(), hash)
