"""Whatever the real ssh-keygen refuses, we refuse; where we are stricter, the reason is listed.

Every case goes to both.  Without a reason the verdicts must be the same, so none is looser; with
one, ours must be a refusal, whatever this version of ssh-keygen says.
"""

import base64
import datetime
import os
import subprocess
import time
from dataclasses import dataclass, replace

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from signature_cases import (
    CONTENT,
    TYPES,
    SecurityKey,
    armoured,
    blob_of,
    dearmoured,
    digest,
    make_key,
    message,
    needs_ssh,
    public,
    sign,
)

from cloakgp.errors import SignatureError
from cloakgp.release.signature.check import check_signature, trusted
from cloakgp.release.signature.keys import natural_bytes, string
from cloakgp.release.signature.sshsig import NAMESPACE

pytestmark = needs_ssh
NOON = "20260601120000Z"
EDWARDS = "ssh-ed25519"
HARDWARE = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")


@dataclass(frozen=True)
class Case:
    """A file of allowed signers and a signature, and why we alone refuse them, if we do."""

    signers: bytes = b"office {key}\n"
    identity: bytes = b"office"
    signature: bytes | None = None  # by default the one of {key}
    zone: str = "UTC"
    stricter: str = ""


@dataclass(frozen=True)
class Desk:
    """Where cases are checked: a folder, what stands for words in braces, a good signature."""

    folder: object
    words: dict
    good: bytes

    def offenders(self, cases):
        """Return what is wrong with the verdicts on these cases."""
        return [said for case in cases if (said := self._offence(case))]

    def _offence(self, case):
        signers, signature = self.folder / "list", self.folder / "signature"
        content = case.signers
        for word, value in self.words.items():
            content = content.replace(b"{%s}" % word.encode(), value)
        signers.write_bytes(content)
        signature.write_bytes(self.good if case.signature is None else case.signature)
        given = ("-f", signers, "-I", case.identity, "-O", f"verify-time={NOON}")
        theirs = ssh_says("verify", signature, case.zone, *given)
        mine = says(signature, case.zone, None, signers, os.fsdecode(case.identity))
        if case.stricter:
            wrong = "is listed as refused by us" if mine else ""
        else:
            wrong = {(True, False): "LOOSER", (False, True): "stricter"}.get((mine, theirs), "")
        return wrong and f"{wrong}: {replace(case, signers=content)}"


def ssh_says(what, signature, zone, *given):
    """Return whether ssh-keygen accepts a signature."""
    command = ["ssh-keygen", "-Y", what, "-s", signature, *given]
    command += [] if what == "find-principals" else ["-n", NAMESPACE]
    environment = {**os.environ, "TZ": zone}
    options = {"input": CONTENT, "capture_output": True, "timeout": 20, "env": environment}
    return subprocess.run(command, **options).returncode == 0


def says(signature, zone, *trust):
    """Return whether we accept a signature."""
    now = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        return check_signature(digest(), signature, trusted(*trust), now).status == "signed"
    except SignatureError:
        return False
    finally:
        os.environ.pop("TZ")
        os.environ.update({} if before is None else {"TZ": before})
        time.tzset()


def mpint(number):
    return string(natural_bytes(number))


def line_of(blob):
    type = blob[4 : 4 + int.from_bytes(blob[:4])]
    return type + b" " + base64.b64encode(blob)


#: Keys that no signature here is of.
BESIDE = {
    # A new type, a broken one, one that is too short for us, and one for OpenSSH, too.
    "unknown": string(b"ssh-ed448") + string(bytes(57)),
    "dss": string(b"ssh-dss") + b"".join(mpint((1 << n) + 1) for n in (1023, 159, 1023, 1023)),
    "rsa1024": string(b"ssh-rsa") + mpint(65537) + mpint((1 << 1023) + 1),
    "rsa768": string(b"ssh-rsa") + mpint(65537) + mpint((1 << 767) + 1),
    # Points beside the curve, compressed, and on another curve; keys of the wrong length.
    "beside": string(b"ecdsa-sha2-nistp256") + string(b"nistp256") + string(b"\4" + b"\1" * 64),
    "compressed": string(b"ecdsa-sha2-nistp256") + string(b"nistp256") + string(b"\2" + b"\1" * 32),
    "curve": string(b"ecdsa-sha2-nistp256") + string(b"nistp384") + string(b"\4" + b"\1" * 96),
    "long": string(EDWARDS.encode()) + string(bytes(33)),
    "more": string(EDWARDS.encode()) + string(bytes(32)) + b"\0",
    "empty": string(EDWARDS.encode()),
}


@pytest.fixture(scope="module")
def desk(keys, tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    other = make_key(folder / "other", comment="")
    key = b" ".join(public(keys[EDWARDS]).read_bytes().split()[:2])
    words = {name: line_of(blob) for name, blob in BESIDE.items()}
    words |= {"key": key, "base64": key.split()[1]}
    words["other"] = b" ".join(public(other).read_bytes().split()[:2])
    return Desk(folder, words, sign(keys[EDWARDS]))


def lists(*contents, identity=b"office", **facts):
    """Return cases of lists of one line."""
    return [Case(content + b"\n", identity, **facts) for content in contents]


#: Who is on a line: identities, patterns, exclusions.
NAMES = [
    Case(patterns + b" {key}\n", identity)
    for patterns, identity in [
        (b"office@a.org", b"office@a.org"),
        (b"office@a.org", b"Office@a.org"),
        (b"office@a.org", b"office@b.org"),
        (b"office@a.org", b"office"),
        (b"a,office@a.org", b"office@a.org"),
        (b"office@a.org,a", b"office@a.org"),
        (b"*@a.org", b"office@a.org"),
        (b"*@a.org", b"office@a.org.evil"),
        (b"*@a.org", b"@a.org"),
        (b"o?fice@a.org", b"office@a.org"),
        (b"?office@a.org", b"office@a.org"),
        (b"*", b"anybody at all"),
        (b"**", b"a"),
        (b"*?", b"a"),
        (b"a*?b", b"ab"),
        (b"a?*b", b"acb"),
        (b"*a*b*", b"xaxbx"),
        (b"[a-c]", b"a"),
        (b"\\*", b"*"),
        (b"*@a.org,!office@a.org", b"office@a.org"),
        (b"!office@a.org,*@a.org", b"office@a.org"),
        (b"*@a.org,!office@a.org", b"press@a.org"),
        (b"!office@a.org", b"press@a.org"),
        (b"*,!*@evil.org", b"a@evil.org"),
        (b"*,!!a", b"!a"),
        (b"*,!!a", b"a"),
        (b"!!a", b"a"),
        (b"*,a!b", b"a!b"),
        # A letter of two bytes is two of `?`, and no letter is the same in another encoding.
        (b"*,!??lice", "älice".encode()),
        (b"*,!?lice", "älice".encode()),
        (b"?lice", "älice".encode()),
        (b"??lice", "älice".encode()),
        (b"????", "😀".encode()),
        (b"?", "😀".encode()),
        (b"*,!???", "€".encode()),
        ("älice".encode(), "älice".encode()),
        ("älice".encode(), "a\u0308lice".encode()),
        ("älice".encode(), "älice".encode("latin-1")),
        (b"\xe4lice", b"\xe4lice"),
        (b"?lice", b"\xe4lice"),
        (b"*,!?lice", b"\xe4lice"),
        (b"\xef\xbb\xbfoffice", b"office"),
        (b"\xef\xbb\xbf*", b"office"),
        (b'"office,the press"', b"the press"),
        (b'"the office"', b"the office"),
        (b'"the office"', b"the"),
        (b'"the office', b"the office"),
        (b'"*,!the press"', b"the press"),
        (b'"#office"', b"#office"),
        (b"office,", b"a"),
        # The longest pattern; the next one ends the search of OpenSSH without a word.
        (b"a" * 1022, b"a" * 1022),
        (b"a" * 1023, b"a" * 1023),
        (b"a" * 1024, b"a" * 1024),
        (b"a" * 5000, b"a" * 5000),
        (b"*" * 1022, b"a"),
        (b"*" * 1023, b"a"),
        (b"a," + b"*" * 1023, b"a"),
        (b"*,!" + b"*" * 1023, b"a"),
        (b"*,!" + b"*" * 1021 + b"a", b"a"),
        (b"*,!" + b"*" * 1021 + b"a", b"b"),
        (b",".join(b"name%d" % i for i in range(400)), b"name399"),
    ]
]
EMPTY = "an empty name is a mistake in a list, and it may be the one that excludes"
QUOTES = "a quote in the middle of a name is a mistake"
NAMES += [
    Case(b",office {key}\n", stricter=EMPTY),
    Case(b"office, {key}\n", stricter=EMPTY),
    Case(b"office,,a {key}\n", stricter=EMPTY),
    Case(b'of"fice" {key}\n', stricter=QUOTES),
    Case(b'"office"{key}\n', stricter=QUOTES),
]

#: How lines are written: separators, ends, comments, zero bytes, several lines.
FORMS = lists(
    b"office {key}",
    b"office {key} any comment, here",
    b"  office\t \t{key} ",
    b"office {key}\r",
    b"office {key} comment\r",
    b"\r\n# comment\r\noffice {key}\r",
    b"# office {key}\nx {key}",
    b"  # office {key}",
    b"#\noffice {key}",
    b"",
    b"office",
    b"office ",
    b"office {other}",
    b"office {other}\noffice {key}",
    b"x {unknown}\noffice {key}",
    b"x {dss}\noffice {key}",
    b"office {key}\noffice {unknown}",
    b"office {key}\noffice {beside}",
    # What stands before the right key need not be a key.
    b"office {unknown}\noffice {key}",
    b"office {rsa768}\noffice {key}",
    b"office {beside}\noffice {key}",
    b"office {compressed}\noffice {key}",
    b"office {curve}\noffice {key}",
    b"office {long}\noffice {key}",
    b"office {more}\noffice {key}",
    b"office {empty}\noffice {key}",
    b"office {dss}\noffice {key}",
    b"office {rsa1024}\noffice {key}",
    # Spaces that are none: no-break, ideographic, of the next line, vertical tab, form feed.
    *(
        form.replace(b"~", space)
        for space in (b"\xc2\xa0", b"\xa0", "\u3000".encode(), "\x85".encode(), b"\v", b"\f")
        for form in (b"office~{key}", b"office ssh-ed25519~{base64}", b"office~ {key}")
    ),
    b"office\r{other}\r",
    b"office ssh-ed25519\r{base64}",
    b"office\0 {key}",
    b"office \0{key}",
    b"office ssh-ed25519\0 {base64}",
    b"office ssh-ed25519 \0{base64}",
    b"\0\noffice",
    b"office ssh-rsa {base64}",
    b"office SSH-ED25519 {base64}",
    b"office ssh-ed25519-cert-v01@openssh.com {base64}",
    b"office {base64}",
    b"office ssh-ed25519 ssh-ed25519 {base64}",
    b'office "ssh-ed25519" {base64}',
    b"office ssh-ed25519 {base64}=",
    b"office ssh-ed25519 {base64}==",
    b"office ssh-ed25519 {base64}===",
    b"office ssh-ed25519 {base64}A",
    b"office ssh-ed25519 {base64}AAAA",
    b"office ssh-ed25519 {base64}*",
    b"office ssh-ed25519 ={base64}",
    b"office ssh-ed25519 A A A A",
)
WHOLE = "a line that cannot be understood refuses the whole list: it might be the one that forbids"
CONTROL = "a control character in a line is a mistake, or hides something"
FORMS += [
    *lists(b"x\noffice {key}", b"office {key}\nx", b"x y {key}\noffice {key}", stricter=WHOLE),
    *lists(b"office {key}\0", b"office {key}\v", b"office {key} \x1b[1m", stricter=CONTROL),
    *lists(b"office\r {key}", b"office\r{key}", b"office {key} \x7f", stricter=CONTROL),
]

#: What a line allows: options, as they may be written and as they may not.
OPTIONS = lists(
    *(
        b"office " + options + b" {key}"
        for options in [
            b'namespaces="cloakgp-release"',
            b'NameSpaces="file,cloakgp-release"',
            b'namespaces="cloakgp-*"',
            b'namespaces="cloakgp-release",valid-before="20260101Z"',
            b'valid-before="20270101Z",namespaces="cloakgp-release"',
            b'namespaces="cloakgp-releas?"',
            b'namespaces="file"',
            b'namespaces=""',
            b'namespaces=","',
            b'namespaces="*,!cloakgp-release"',
            b'namespaces="!cloakgp-release,*"',
            b'namespaces="!file"',
            b'namespaces="*,!cloakgp-*"',
            b'namespaces="CLOAKGP-RELEASE"',
            b'namespaces=" cloakgp-release"',
            b'namespaces="file, cloakgp-release"',
            b'namespaces="cloakgp-release\\",*"',
            b'namespaces="a\\"b,*"',
            b'namespaces="\\\\",cert-authority',
            b'namespaces="%s"' % (b"*" * 1022),
            b'namespaces="%s"' % (b"*" * 1023),
            b'namespaces="*,!%s"' % (b"a" * 1023),
            b"namespaces=cloakgp-release",
            b"namespaces='cloakgp-release'",
            b'namespaces= "cloakgp-release"',
            b'namespaces ="cloakgp-release"',
            b'namespaces="cloakgp-release',
            b'namespaces="cloakgp-release"x',
            b'namespaces="cloakgp-release",',
            b'namespaces="cloakgp-release", ',
            b'namespaces="cloakgp-release",namespaces="*"',
            b"namespaces",
            b'"namespaces=*"',
            b'namespace="cloakgp-release"',
            b"cert-authority",
            b"CERT-AUTHORITY",
            b'cert-authority="*"',
            b"no-cert-authority",
            b"cert-authorityx",
            b'cert-authority,namespaces="cloakgp-release"',
            b'namespaces="cloakgp-release",cert-authority',
            b"cert-authority {key}\noffice",
            b"no-touch-required",
            b'from="*"',
            b"x",
            b'namespaces="file" {key}\noffice namespaces="cloakgp-release"',
            b'namespaces="cloakgp-release"\xc2\xa0',
            b'namespaces="*"\v,cert-authority',
        ]
    )
)
TWICE = "an option that stands twice, or with an empty one beside it, is a mistake"
OPTIONS += lists(
    b"office cert-authority,cert-authority {key}\noffice {key}",
    b'office ,namespaces="*" {key}',
    b'office namespaces="*",,valid-after="20200101Z" {key}',
    stricter=TWICE,
)

#: When a key is valid, checked at noon of 1 June 2026 in UTC.
DATES = lists(
    *(
        b"office " + options + b" {key}"
        for options in [
            b'valid-after="20260601Z"',
            b'valid-after="20260602Z"',
            b'valid-after="202606011200Z"',
            b'valid-after="20260601120001Z"',
            b'valid-before="20260601Z"',
            b'valid-before="20260602Z"',
            b'valid-before="20260601120000Z"',
            b'valid-before="20260601115959Z"',
            b'valid-after="20260101Z",valid-before="20270101Z"',
            b'valid-before="20270101Z",valid-after="20260101Z"',
            b'valid-after="20270101Z",valid-before="20260101Z"',
            b'valid-after="20260101Z",valid-before="20260101Z"',
            b'valid-before="20260101Z" {key}\noffice valid-after="20260101Z"',
            b'valid-after="20260101Z",valid-after="20260101Z"',
            # Nothing, the beginning of 1970, and what was before that.
            b'valid-after="19700101Z"',
            b'valid-after="19700101000001Z"',
            b'valid-after="19691231Z"',
            b'valid-after="19691231235959Z"',
            b'valid-after="19600101Z"',
            b'valid-after="19010101Z"',
            b'valid-before="19700101Z"',
            b'valid-before="19700101000001Z"',
            b'valid-after="00000101Z"',
            b'valid-after="99991231Z"',
            b'valid-before="99991231Z"',
            b'valid-before="20380120Z"',
            b'valid-after=""',
            b'valid-after="Z"',
            b'valid-after="2020"',
            b'valid-after="2020-01-01"',
            b'valid-after="2020010112"',
            b'valid-after="20201301Z"',
            b'valid-after="20200132Z"',
            b'valid-after="202001012500Z"',
            b'valid-after="202001012360Z"',
            b'valid-after="20200101ZZ"',
            b'valid-after="20200101+0100"',
            b'valid-after="+2020101"',
            b'valid-after="0x200101"',
            b"valid-after=20200101Z",
            b'valid-after="always"',
            '\u0662valid-after="20200101"'.encode(),
            'valid-after="٢٠٢٠٠١٠١"'.encode(),
        ]
    )
)
BEFORE = "OpenSSH takes an end before 1970 for one in the far future"
SPELLING = "one spelling of a time is enough"
CALENDAR = "OpenSSH takes 30 February for 2 March"
DATES += [
    *lists(b'office valid-before="19691231Z" {key}', stricter=BEFORE),
    *lists(b'office valid-after="20200101z" {key}', stricter=SPELLING),
    *lists(b'office valid-after="20200101UTC" {key}', stricter=SPELLING),
    *lists(b'office valid-after="2020 1 1Z" {key}', stricter=SPELLING),
    *lists(b'office valid-after="20200230Z" {key}', stricter=CALENDAR),
    *lists(b'office valid-after="20200101235960Z" {key}', stricter=CALENDAR),
]
#: The same without Z, in zones with and without summer time; noon in UTC is 14:00 in Berlin.
DATES += [
    Case(b'office valid-%s="%s" {key}\n' % (option, moment), zone=zone)
    for zone, moments in {
        "UTC": (b"20260601", b"20260602", b"202606011200", b"20260601120001", b"19700101"),
        "Europe/Berlin": (b"202606011300", b"202606011301", b"202606011400", b"19700101"),
        "America/New_York": (b"202606010700", b"202606010701", b"202606010800", b"19691231190000"),
        "Asia/Tokyo": (b"202606012100", b"202606012101", b"19700101090000", b"19700101090001"),
        "Australia/Sydney": (b"202606012200", b"202606012201", b"202601010000"),
    }.items()
    for moment in moments
    for option in (b"after", b"before")
    # What ends before 1970 has its reason above.
    if not (option == b"before" and moment < b"19700102")
]

BEGIN, END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
WINDOWS = "OpenSSH before 9.5 refuses the line ends of Windows"
PLAIN = "ssh-keygen writes nothing but letters and line ends"
AFTER = "something after the signature is a mistake, or hides something"


def armours(good):
    """Return cases of a good signature in other clothes."""
    body = b"".join(good.splitlines()[1:-1])
    blob = dearmoured(good)
    same = [
        good,
        good.rstrip(),
        good + b"\n",
        good + b"\n \n\t\n",
        b"\n".join([BEGIN, body, END]),
        b"\n".join([BEGIN, *(body[i : i + 10] for i in range(0, len(body), 10)), END]),
        b"\n".join([BEGIN, b"", body, b"", END]),
        b"",
        b"\n" + good,
        b" " + good,
        b"x" + good,
        b"text before\n" + good,
        b"\xef\xbb\xbf" + good,
        good[:-9],
        good.replace(BEGIN, BEGIN + b" "),
        good.replace(BEGIN + b"\n", BEGIN),
        good.replace(b"\n" + END, END),
        good.replace(b"BEGIN", b"begin"),
        good.replace(b"SSH", b"PGP"),
        good.replace(END, b"----END SSH SIGNATURE----"),
        BEGIN + b"\n" + END + b"\n",
        BEGIN + b"\n\n" + END + b"\n",
        BEGIN + b"\n" + good,
        good.replace(b"\n", b""),
        good.replace(b"\n", b"\r"),
        b"\n".join([BEGIN, body + b"=", END]),
        b"\n".join([BEGIN, body + b"==", END]),
        b"\n".join([BEGIN, body.rstrip(b"=") + b"===", END]),
        b"\n".join([BEGIN, b"=" + body, END]),
        b"\n".join([BEGIN, body[:-1], END]),
        b"\n".join([BEGIN, body + b"A", END]),
        b"\n".join([BEGIN, body + b"AAAA", END]),
        b"\n".join([BEGIN, body + b"====", END]),
        b"\n".join([BEGIN, b"*" + body, END]),
        b"\n".join([BEGIN, b"\xc2\xa0" + body, END]),
        b"\n".join([BEGIN, b"\0" + body, END]),
        b"\n".join([BEGIN, body[:40] + b"\0" + body[40:], END]),
        b"\n".join([BEGIN, body[:40] + b"-" + body[40:], END]),
        b"\n".join([BEGIN, body[:40] + END + body[40:], END]),
        b"\n".join([BEGIN, b"Comment: mine", body, END]),
        good.replace(b"A", b"-", 1),
        armoured(blob + b"\0"),
        armoured(blob[:-1]),
        armoured(b"SSHSIX" + blob[6:]),
        armoured(blob[6:]),
        armoured(b""),
        blob,
        body,
    ]
    stricter = {
        good.replace(b"\n", b"\r\n"): WINDOWS,
        good.replace(BEGIN + b"\n", BEGIN + b"\r\n"): WINDOWS,
        good.replace(b"\n" + END, b"\r\n" + END): WINDOWS,
        good + b"\r\n": WINDOWS,
        b"\n".join([BEGIN, b" " + body, END]): PLAIN,
        b"\n".join([BEGIN, body[:40] + b"\t\v\f" + body[40:], END]): PLAIN,
        b"\n".join([BEGIN, body + b"\0", END]): PLAIN,
        good + b"more": AFTER,
        good.rstrip() + b"-": AFTER,
        good + good: AFTER,
    }
    cases = [Case(signature=content) for content in same]
    return cases + [Case(signature=found, stricter=why) for found, why in stricter.items()]


UNSIGNED = "a field that nobody signs could hold anything"
ONE_FORM = "numbers and names have one encoding"


def fields_of(blob):
    """Return the key, the namespace, the reserved field, the hash and the signature of a blob."""
    found, at = [], 10
    while at < len(blob):
        length = int.from_bytes(blob[at : at + 4])
        found.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def fields(good):
    """Return cases of one field changed or one too many; what was signed is the same."""
    key, _, _, _, made = fields_of(dearmoured(good))
    other = bytes([made[-1] ^ 1])
    changed = [
        blob_of(key, made),
        blob_of(key, made, version=2),
        blob_of(key, made, version=1 << 31),
        blob_of(key, made, namespace="file"),
        blob_of(key, made, namespace=""),
        blob_of(key, made, namespace=f"{NAMESPACE}\0x"),
        blob_of(key, made, namespace=NAMESPACE.upper()),
        blob_of(key, made, hash="sha256"),
        blob_of(key, made, hash="sha1"),
        blob_of(key, made, hash="SHA512"),
        blob_of(key, made, hash="sha512,sha256"),
        blob_of(key, made, hash="sha*"),
        blob_of(key, made, hash=""),
        blob_of(key, made + b"\0"),
        blob_of(key, made[:-1]),
        blob_of(key, made[:-1] + other),
        blob_of(key, b""),
        blob_of(key + b"\0", made),
        blob_of(key[:-1], made),
        blob_of(b"", made),
        blob_of(key, made) + b"\0",
        blob_of(key, made) + string(b""),
        blob_of(key, string(b"ssh-rsa") + made[4 + int.from_bytes(made[:4]) :]),
        blob_of(key, string(b"") + made[4 + int.from_bytes(made[:4]) :]),
        blob_of(BESIDE["unknown"], made),
        blob_of(BESIDE["dss"], made),
    ]
    stricter = {
        blob_of(key, made, version=0): UNSIGNED,
        blob_of(key, made, reserved=b"x"): UNSIGNED,
        blob_of(key, made, namespace=f"{NAMESPACE}\0"): ONE_FORM,
        blob_of(key, made, hash="sha512\0"): ONE_FORM,
    }
    line = b"office " + line_of(key) + b"\n"
    cases = [Case(line, signature=armoured(blob)) for blob in changed]
    more = stricter.items()
    return cases + [Case(line, signature=armoured(blob), stricter=why) for blob, why in more]


def private(path):
    return serialization.load_ssh_private_key(path.read_bytes(), None)


def rsa_cases(path):
    """Return cases of RSA: which hash it signs with, and how numbers are written."""
    key = private(path)
    numbers = key.public_key().public_numbers()
    blob = string(b"ssh-rsa") + mpint(numbers.e) + mpint(numbers.n)
    wide = string(b"ssh-rsa") + mpint(numbers.e) + string(b"\0\0" + natural_bytes(numbers.n))
    negative = string(b"ssh-rsa") + mpint(numbers.e) + string(numbers.n.to_bytes(256))
    scheme = padding.PKCS1v15()
    by = {
        name: key.sign(message(), scheme, hash)
        for name, hash in {
            b"ssh-rsa": hashes.SHA1(),
            b"rsa-sha2-256": hashes.SHA256(),
            b"rsa-sha2-512": hashes.SHA512(),
        }.items()
    }
    pss = key.sign(message(), padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512())
    best = by[b"rsa-sha2-512"]
    over = int.from_bytes(best) + numbers.n  # the same number to the modulus
    made = [(blob, name, value) for name, value in by.items()]
    made += [(blob, b"rsa-sha2-256", best), (blob, b"rsa-sha2-512", by[b"rsa-sha2-256"])]
    made += [
        (blob, b"rsa-sha2-512", value) for value in (pss, b"\0" + best, best[1:], b"", best * 2)
    ]
    made += [(blob, b"rsa-sha2-512", over.to_bytes(257 if over >> 2048 else 256))]
    made += [(blob, b"rsa-sha2-*", best), (blob, b"ssh-rsa-sha512@ssh.com", best)]
    made += [(negative, b"rsa-sha2-512", best)]
    line = b"office " + line_of(blob) + b"\n"
    cases = [
        Case(line, signature=armoured(blob_of(key, string(name) + string(value))))
        for key, name, value in made
    ]
    good = string(b"rsa-sha2-512") + string(best)
    loose = armoured(blob_of(wide, good))
    return [*cases, Case(line, signature=loose, stricter=ONE_FORM)]


def nist_cases(path):
    """Return cases of ECDSA: which two numbers, and how they are written."""
    key = private(path)
    size, hash = {
        256: (b"256", hashes.SHA256()),
        384: (b"384", hashes.SHA384()),
        521: (b"521", hashes.SHA512()),
    }[key.curve.key_size]
    der = key.sign(message(), ec.ECDSA(hash))
    r, s = decode_dss_signature(der)
    point = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    type = b"ecdsa-sha2-nistp" + size
    blob = string(type) + string(b"nistp" + size) + string(point)
    inner = [mpint(r) + mpint(s), mpint(s) + mpint(r), mpint(0) + mpint(s), mpint(r) + mpint(0)]
    inner += [mpint(r) + mpint(s) + b"\0", mpint(r), der, b"", mpint(1 << 520) + mpint(s)]
    inner += [mpint(r) + string(b"\xff" + s.to_bytes(size_of(s)))]
    line = b"office " + line_of(blob) + b"\n"
    cases = [
        Case(line, signature=armoured(blob_of(blob, string(type) + string(value))))
        for value in inner
    ]
    loose = mpint(r) + string(b"\0\0" + natural_bytes(s))
    found = armoured(blob_of(blob, string(type) + string(loose)))
    return [*cases, Case(line, signature=found, stricter=ONE_FORM)]


def size_of(number):
    return (number.bit_length() + 7) // 8


def edwards_cases(path):
    """Return cases of Ed25519: other numbers of the same meaning, and keys that sign everything."""
    key = private(path)
    order = 2**252 + 27742317777372353535851937790883648493
    made = key.sign(message())
    number = int.from_bytes(made[32:], "little") + order
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    type = string(b"ssh-ed25519")
    blob = type + string(key.public_key().public_bytes(*raw))
    values = dict.fromkeys((made, made[:-1], made + b"\x00", b"", bytes(64), made[::-1]), "")
    values[made[:32] + number.to_bytes(32, "little")] = ONE_FORM
    line = b"office " + line_of(blob) + b"\n"
    cases = [
        Case(line, signature=armoured(blob_of(blob, type + string(value))), stricter=why)
        for value, why in values.items()
    ]
    # Beside the neutral element every message has the signature (neutral, 0).
    for neutral in (1, 1 | 1 << 255, 2**255 - 19 + 1, 0, 2**255 - 19 - 1):
        weak = type + string(neutral.to_bytes(32, "little"))
        value = (1).to_bytes(32, "little") + bytes(32)
        found = armoured(blob_of(weak, type + string(value)))
        cases.append(Case(b"office " + line_of(weak) + b"\n", signature=found))
    return cases


TOUCH = "a hardware key that nobody touched has not signed"
FOR_SSH = "a hardware key for something else may not sign releases"


def hardware_cases():
    """Return cases of keys in hardware: what they are for, and whether they were touched."""
    cases = []
    for type in HARDWARE:
        for facts, stricter in [
            ({}, ""),
            ({"flags": 5}, ""),
            ({"counter": 2**32 - 1}, ""),
            ({"application": "ssh:office"}, ""),
            ({"application": "ssh:\0x"}, ""),
            ({"application": "\0"}, ""),
            ({"application": "ssh:\0"}, ONE_FORM),
            ({"flags": 0}, TOUCH),
            ({"flags": 4}, TOUCH),
            ({"application": "https://bank.example"}, FOR_SSH),
            ({"application": ""}, FOR_SSH),
        ]:
            key = SecurityKey(type, **facts)
            line = f"office {key.line}\n".encode()
            cases.append(Case(line, signature=key.sign(), stricter=stricter))
        line = f"office {SecurityKey(type).line}\n".encode()
        touched = SecurityKey(type, flags=5).sign()
        other = dearmoured(touched)[:-5] + bytes([1]) + dearmoured(touched)[-4:]
        cases.append(Case(line, signature=armoured(other)))
        cases.append(Case(line, signature=SecurityKey(type).sign(b"another")))
        cases.append(Case(line, signature=SecurityKey(type).sign(namespace="file")))
        cases.append(Case(line, signature=SecurityKey(type, application="ssh:x").sign()))
    return cases


def test_who_is_on_a_line_is_never_read_more_loosely_than_by_ssh_keygen(desk):
    assert desk.offenders(NAMES) == []


def test_the_form_of_a_line_is_never_read_more_loosely_than_by_ssh_keygen(desk):
    assert desk.offenders(FORMS) == []


def test_options_of_a_line_are_never_read_more_loosely_than_by_ssh_keygen(desk):
    assert desk.offenders(OPTIONS) == []


def test_dates_are_never_read_more_loosely_than_by_ssh_keygen_in_any_zone(desk):
    assert desk.offenders(DATES) == []


def test_the_armour_is_never_read_more_loosely_than_by_ssh_keygen(desk):
    assert desk.offenders(armours(desk.good)) == []


@pytest.mark.parametrize("type", [*TYPES, *HARDWARE])
def test_no_field_of_a_signature_is_read_more_loosely_than_by_ssh_keygen(desk, keys, type):
    good = sign(keys[type]) if type in TYPES else SecurityKey(type).sign()
    assert desk.offenders(fields(good)) == []


def test_no_signature_counts_that_does_not_for_ssh_keygen(desk, keys):
    cases = [*rsa_cases(keys["ssh-rsa"]), *edwards_cases(keys[EDWARDS]), *hardware_cases()]
    for type in TYPES:
        if type.startswith("ecdsa"):
            cases += nist_cases(keys[type])
    assert desk.offenders(cases) == []


def test_a_key_in_a_file_counts_for_what_ssh_keygen_reads_there(desk):
    """Against find-principals, which needs no name, and check-novalidate, which needs no list."""
    listed, key, signature = (desk.folder / name for name in ("listed", "key.pub", "good"))
    signature.write_bytes(desk.good)
    assert ssh_says("check-novalidate", signature, "UTC")
    verdicts = {}
    for case in FORMS + OPTIONS:
        content = case.signers
        if not content.startswith(b"office ") or b"\n" in content[:-1] or case.stricter:
            continue
        for word, value in desk.words.items():
            content = content.replace(b"{%s}" % word.encode(), value)
        listed.write_bytes(content)
        key.write_bytes(content.removeprefix(b"office "))
        theirs = ssh_says("find-principals", signature, "UTC", "-f", listed)
        mine = says(signature, "UTC", key, None, None)
        verdicts[mine, theirs] = [*verdicts.get((mine, theirs), []), content]
    assert (True, False) not in verdicts
    assert len(verdicts[True, True]) >= 3  # with options before it, a line is none of a key file


def test_there_are_many_lists_and_most_have_the_same_verdict():
    cases = NAMES + FORMS + OPTIONS + DATES
    assert len(cases) == len(set(cases)) >= 150
    assert sum(bool(case.stricter) for case in cases) < len(cases) / 8
