"""Checking a combination again: every release in it by itself, and all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloakgp.errors import DecodeError
from cloakgp.release.combine.pooled import gathered_members
from cloakgp.release.combine.statement import for_whom
from cloakgp.release.decode import check_decoding
from cloakgp.release.file.archive import compute_digests
from cloakgp.release.file.manifest import to_archive
from cloakgp.release.signature.check import NOT_CHECKED, SignatureCheck
from cloakgp.release.verify import FILE_ALONE, Check, VerificationReport, verify

if TYPE_CHECKING:
    from cloakgp.release.kinds import Combination
    from cloakgp.release.release import Release


def verify_combination(
    combination: Combination, signature: SignatureCheck = NOT_CHECKED, hasty: bool = False
) -> VerificationReport:
    """Run every check of every release; a warning names the release that it is about.

    ``signature`` is what was found of that of the combination.  What ``verify`` says of a ``hasty``
    reader holds here, too.
    """
    reports = [verify(member, hasty=hasty) for member in combination.members]
    checks = [
        _member(number, member, report)
        for number, (member, report) in enumerate(
            zip(combination.members, reports, strict=True), start=1
        )
    ]
    checks += [_together(combination), Check("guarantee", True, for_whom(combination))]
    if not hasty or all(check.passed or check.unknown for check in checks):
        checks.append(_decoding(combination))
    checks.append(_privacy(combination))
    warnings = [
        f"release {number}: {warning}"
        for number, report in enumerate(reports, start=1)
        for warning in report.warnings
    ]
    scope = f"{FILE_ALONE} The inputs were not compared with the data of any release."
    if combination.overlap == "disjoint":
        scope += " That nobody is in two of them is the word of whoever combined them."
    return VerificationReport(tuple(checks), tuple(warnings), scope, signature)


def _member(number: int, member: Release, report: VerificationReport) -> Check:
    """Say what was found of one release; whether it is private is said of all together."""
    failed = [c for c in report.checks if not c.passed and c.name != "privacy"]
    detail = "; ".join(f"{check.name}: {check.detail}" for check in failed)
    if not failed:
        chosen = f", the choice of {member.chosen} included" if member.chosen else ""
        detail = (
            f"{len(report.checks)} checks of {member.release_id}, epsilon="
            f"{member.total_epsilon:.6g}, delta={member.delta:g}{chosen}{_hash_of(member)}"
        )
    unknown = bool(failed) and all(check.unknown for check in failed)
    return Check(f"release {number}", not failed, detail, unknown)


def _hash_of(member: Release) -> str:
    """Return the hash of the file of one release, which is the one that its publisher has."""
    try:
        digest = compute_digests(*to_archive(member))["sha256"]
    except ValueError:  # a kernel that no file can hold
        return ""
    return f"; its own file has sha256 {digest.hex()}"


def _together(combination: Combination) -> Check:
    try:
        gathered_members(combination.members)
    except (TypeError, ValueError) as error:
        return Check("together", False, str(error))
    count = len(combination.members)
    return Check("together", True, f"{count} different releases of the same inputs and outputs")


def _decoding(combination: Combination) -> Check:
    try:
        check_decoding(combination)
    except DecodeError as error:
        return Check("decoding", False, str(error))
    return Check("decoding", True, "predictions can be computed")


def _privacy(combination: Combination) -> Check:
    if combination.private:
        return Check("privacy", True, "noise from OpenDP, drawn once for each release")
    detail = "made with repeatable noise, or with none: it carries no guarantee"
    return Check("privacy", False, detail)
