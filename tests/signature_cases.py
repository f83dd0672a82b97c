"""Keys and signatures by the real ssh-keygen, and a hardware key in software.

No machine of the tests has a security key, so what one would sign is put together here by
OpenSSH's description of it; ``test_algorithms`` has ssh-keygen accept the result.
"""

import base64
import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from cloakgp.release.signature.keys import natural_bytes, string
from cloakgp.release.signature.sshsig import NAMESPACE

needs_ssh = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None,
    reason="needs ssh-keygen: apt-get install openssh-client",
)
#: Types of keys that ssh-keygen makes without hardware, with the options that make them.
TYPES = {
    "ssh-ed25519": ("-t", "ed25519"),
    "ecdsa-sha2-nistp256": ("-t", "ecdsa", "-b", "256"),
    "ecdsa-sha2-nistp384": ("-t", "ecdsa", "-b", "384"),
    "ecdsa-sha2-nistp521": ("-t", "ecdsa", "-b", "521"),
    "ssh-rsa": ("-t", "rsa", "-b", "2048"),
}
CONTENT = b"what is published\n"


def ssh_keygen(*words, **options):
    return subprocess.run(
        ["ssh-keygen", *map(str, words)], capture_output=True, check=True, **options
    )


def make_key(path, *options, comment="office@example.org", passphrase=""):
    ssh_keygen(
        "-q", *(options or TYPES["ssh-ed25519"]), "-N", passphrase, "-C", comment, "-f", path
    )
    return path


def sign(key, content=CONTENT, namespace=NAMESPACE, *options):
    """Return a signature by the real ssh-keygen."""
    return ssh_keygen("-Y", "sign", "-f", key, "-n", namespace, *options, input=content).stdout


def public(key):
    """Return the file of the public key that belongs to a private one."""
    return key.with_name(f"{key.name}.pub")


def digest(content=CONTENT):
    """Return the hashes of a file, by the name of the algorithm."""
    return lambda name: hashlib.new(name, content).digest()


def armoured(blob):
    return b"-----BEGIN SSH SIGNATURE-----\n%s-----END SSH SIGNATURE-----\n" % base64.encodebytes(
        blob
    )


def dearmoured(content):
    return base64.b64decode(b"".join(content.splitlines()[1:-1]))


def blob_of(key_blob, inner, *, namespace=NAMESPACE, reserved=b"", hash="sha512", version=1):
    """Return the bytes of a signature with these fields."""
    fields = (key_blob, namespace.encode(), reserved, hash.encode(), inner)
    return b"SSHSIG" + version.to_bytes(4) + b"".join(string(field) for field in fields)


def message(content=CONTENT, namespace=NAMESPACE, hash="sha512"):
    """Return the bytes that a signature is of, written down once more and not taken from ours."""
    parts = (namespace.encode(), b"", hash.encode(), hashlib.new(hash, content).digest())
    return b"SSHSIG" + b"".join(string(part) for part in parts)


@dataclass(frozen=True)
class SecurityKey:
    """A hardware key in software."""

    type: str = "sk-ssh-ed25519@openssh.com"
    application: str = "ssh:"
    flags: int = 1
    counter: int = 7

    @property
    def blob(self):
        fields = [self.type.encode()]
        if "ecdsa" in self.type:
            fields += [b"nistp256", self._point(serialization.Encoding.X962)]
        else:
            fields += [self._point(serialization.Encoding.Raw)]
        return b"".join(string(field) for field in [*fields, self.application.encode()])

    @property
    def line(self):
        return f"{self.type} {base64.b64encode(self.blob).decode()}"

    def sign(self, content=CONTENT, namespace=NAMESPACE):
        about = bytes([self.flags]) + self.counter.to_bytes(4)
        of = hashlib.sha256(self.application.encode()).digest() + about
        of += hashlib.sha256(message(content, namespace)).digest()
        if "ecdsa" in self.type:
            r, s = decode_dss_signature(self._private().sign(of, ec.ECDSA(hashes.SHA256())))
            made = string(natural_bytes(r)) + string(natural_bytes(s))
        else:
            made = self._private().sign(of)
        inner = string(self.type.encode()) + string(made) + about
        return armoured(blob_of(self.blob, inner, namespace=namespace))

    def _private(self):
        return _nist() if "ecdsa" in self.type else _edwards()

    def _point(self, encoding):
        format = serialization.PublicFormat
        of = format.Raw if encoding is serialization.Encoding.Raw else format.UncompressedPoint
        return self._private().public_key().public_bytes(encoding, of)


@cache
def _edwards():
    return ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@cache
def _nist():
    return ec.derive_private_key(4711, ec.SECP256R1())
