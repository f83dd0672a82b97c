"""Checking a release again, from its public contents alone.

Every check stands on its own: none relies on another having passed, or on the release having been
made by this library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cloakgp._version import __version__
from cloakgp.privacy import Spend, gaussian_sigma, squared_sensitivity, total_guarantee
from cloakgp.privacy.sketch import grid_is_fine_enough, value_bits_for

if TYPE_CHECKING:
    from cloakgp.parts import Part
    from cloakgp.release import Release


@dataclass(frozen=True)
class Check:
    """One thing that was checked again."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class VerificationReport:
    """Every check of a release."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        marks = ("FAILED", "passed")
        return "\n".join(f"{marks[c.passed]}  {c.name}: {c.detail}" for c in self.checks)


def verify(release: Release) -> VerificationReport:
    """Run every check."""
    checks = (_contents, _sensitivity, _noise, _outputs, _grid, _selection, _privacy)
    return VerificationReport(tuple(check(release) for check in checks))


def _contents(release: Release) -> Check:
    b = release.blueprint
    (N, L), D = b.model.X.shape, len(b.lo)
    problems = []
    for sketch, noisy in release.parts:
        matrix = sketch.matrix
        if matrix.ndim != 2 or matrix.shape[1] != N:
            problems.append(f"the sketch has shape {matrix.shape} for {N} people")
        shapes = {(len(matrix), D)} | ({(len(matrix),)} if D == 1 else set())
        if noisy.values.dtype != np.int64 or noisy.values.shape not in shapes:
            problems.append(
                f"{noisy.values.dtype} values of shape {noisy.values.shape} for a sketch of "
                f"{len(matrix)} rows and {D} output(s)"
            )
    if b.task == "classification":
        columns = {2: 1}.get(len(b.classes or ()), len(b.classes or ()))
        if columns != D or np.any(b.lo != 0.0) or np.any(b.hi != 1.0):
            problems.append(f"{D} column(s) of indicators for classes {b.classes!r}")
    elif b.classes is not None or (b.task == "counts" and (D != 1 or b.lo[0] != 0.0)):
        problems.append(f"classes or bounds do not fit a release of {b.task}")
    if not (b.hi.shape == b.prior_mean.shape == b.unit.shape == (D,) and np.all(b.hi > b.lo)):
        problems.append("bounds and prior mean do not fit together")
    if not (np.all(np.isfinite(b.unit)) and np.all(b.unit > 0)):
        problems.append("units of outputs must be positive")
    if not all(np.all(np.isfinite(v)) for v in (b.lo, b.hi, b.prior_mean)):
        problems.append("bounds and prior mean must be finite")
    if b.weights.shape != (len(b.points),) or b.points.shape[1] != L:
        problems.append("workload points, weights and inputs do not fit together")
    if b.groups is not None and b.groups.shape != (N,):
        problems.append("groups do not name an owner for each person's row")
    if b.feature_names is not None and len(b.feature_names) != L:
        problems.append(f"{len(b.feature_names)} names for {L} inputs")
    targets = D if b.task == "regression" else 1
    if release.target_names is not None and len(release.target_names) != targets:
        problems.append(f"{len(release.target_names)} names for {targets} outputs")
    if release.version.split(".")[0] != __version__.split(".")[0]:
        problems.append(f"written by version {release.version}, this is {__version__}")
    return Check("contents", not problems, "; ".join(problems) or "all parts fit together")


def _sensitivity(release: Release) -> Check:
    b = release.blueprint
    longest = 0.0
    for sketch, _ in release.parts:
        try:
            squared = squared_sensitivity(sketch, b.groups, joint=b.joint)
        except ValueError as error:
            return Check("sensitivity", False, str(error))
        longest = max(longest, math.sqrt(squared) / 2**sketch.bits)
        if squared > 1 << (2 * sketch.bits):
            break
    else:
        detail = f"one person can move the sketch by at most {longest:.9f}"
        return Check("sensitivity", True, detail)
    detail = f"one person can move the sketch by {longest:.9f}, more than 1: too far for its noise"
    return Check("sensitivity", False, detail)


def _noise(release: Release) -> Check:
    noisy = release.noisy
    if not math.isfinite(noisy.epsilon):
        return Check("noise", not noisy.private, "no noise was added (epsilon is infinite)")
    try:
        one = gaussian_sigma(noisy.epsilon, noisy.delta, noisy.calibration)
    except ValueError as error:
        return Check("noise", False, str(error))
    needed = one * math.sqrt(noisy.parts)
    if len(release.parts) > noisy.parts:
        detail = f"{len(release.parts)} parts share a budget meant for {noisy.parts}"
        return Check("noise", False, detail)
    # The calibration's hair of 1e-9 covers the last digits of another machine's arithmetic.
    passed = all(part.noisy.sigma >= needed * (1.0 - 1e-12) for part in release.parts)
    return Check(
        "noise",
        passed,
        f"noise of {noisy.sigma:.9g} for each unit of sensitivity, "
        f"{'at least' if passed else 'but needs'} {needed:.9g} for "
        f"epsilon={noisy.epsilon:g}, delta={noisy.delta:g}",
    )


def _outputs(release: Release) -> Check:
    b = release.blueprint
    return Check(
        "outputs",
        all(part.noisy.sensitivity == b.sensitivity for part in release.parts),
        f"{len(b.lo)} output column(s) need a noise factor of {b.sensitivity:.9g}, "
        f"{release.noisy.sensitivity:.9g} was used",
    )


def _grid(release: Release) -> Check:
    """The grid must be the one that the core chooses, and fine enough for the proof."""
    checks = [_grid_of(part) for part in release.parts]
    return next((check for check in checks if not check.passed), checks[0])


def _grid_of(part: Part) -> Check:
    sketch, noisy = part
    if not 0 < noisy.bits <= 62:
        return Check("grid", False, f"a grid of {noisy.bits} bits is impossible")
    scale = math.ldexp(noisy.noise_std, noisy.bits)
    detail = f"the discrete noise has a scale of {scale:.3g} steps of its grid"
    try:
        expected = sketch.bits + value_bits_for(sketch, noisy.noise_std)
    except ValueError as error:
        return Check("grid", False, f"{detail}; {error}")
    if noisy.bits != expected:
        return Check("grid", False, f"{detail} of {noisy.bits} bits, which should be {expected}")
    count = noisy.values.size * noisy.parts
    fine = not noisy.private or grid_is_fine_enough(scale, count, noisy.epsilon)
    return Check("grid", fine, detail if fine else f"{detail}, too coarse for the proof")


def _selection(release: Release) -> Check:
    """The choice of settings and the release together must cost what is claimed."""
    chosen, noisy = release.selection, release.noisy
    if chosen is None:
        return Check("selection", True, "no settings were chosen from the private outputs")
    if not noisy.sigma > 0:
        return Check("selection", not noisy.private, "no noise was added")
    stated = chosen.total_epsilon
    try:
        # What was really added counts; what is stated must be that of the parts as they are stated.
        drawn = noisy.sigma / math.sqrt(noisy.parts)
        meant = gaussian_sigma(noisy.epsilon, noisy.delta, noisy.calibration)
        total, most = (
            total_guarantee([chosen.spend, Spend.gaussian(sigma)], noisy.delta)
            for sigma in (drawn, meant)
        )
    except ValueError as error:
        return Check("selection", False, str(error))
    detail = (
        f"choosing among {chosen.candidates} settings (epsilon={chosen.epsilon:g}, "
        f"{chosen.mechanism}) and releasing cost epsilon={total:.6g} together, "
        f"{stated:.6g} is stated"
    )
    # More would be no lie about the total, but then one of its parts is not what it was.
    passed = total <= stated * (1.0 + 1e-9) and stated <= most * (1.0 + 1e-6)
    return Check("selection", passed, detail)


def _privacy(release: Release) -> Check:
    return Check(
        "privacy",
        release.private,
        "noise from OpenDP, drawn once"
        if release.private
        else "made with repeatable noise, or with none: it carries no guarantee",
    )
