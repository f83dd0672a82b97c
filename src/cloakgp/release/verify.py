"""Checking a release again, from its public contents alone and, if they are there, from the inputs.

Once shapes and numbers are known to be those of a release, every check stands on its own: none
relies on another having passed, or on the release having been made by this library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakgp._version import __version__
from cloakgp.errors import ReleaseFileError
from cloakgp.privacy import Budget, Spend, absolute_sensitivity, squared_sensitivity
from cloakgp.privacy.mechanism.noise import grid_is_fine_enough
from cloakgp.privacy.mechanism.release import value_bits_for, value_bits_for_rows
from cloakgp.privacy.mechanism.whole_rows import check_no_negative_entries
from cloakgp.release.bounds_plan import cached_total
from cloakgp.release.card import card
from cloakgp.release.compared import compare_inputs
from cloakgp.release.decode import check_decoding
from cloakgp.release.decoder import DecodeError
from cloakgp.release.file.manifest import check_facts
from cloakgp.release.meaning import whose_rows
from cloakgp.release.plausibility import quiet_values
from cloakgp.release.signature.check import NOT_CHECKED, SignatureCheck

if TYPE_CHECKING:
    from cloakgp.privacy import NoisySketch
    from cloakgp.release.release import Release
    from cloakgp.release.spec import ChosenBounds, Part

#: The last line of a report, unless the release is signed.
NOT_AUTHORSHIP = (
    "These checks show that the release agrees with itself, not who made it: for the inputs, the "
    "bounds, the owners of rows and the stamp 'private' you have only the custodian's word."
)

#: The last line of a report if it is.
SIGNED_WORD = (
    "A signature shows who vouches for the release, not that it is true: for the inputs, the "
    "bounds, the owners of rows and the stamp 'private' you have the signer's word."
)

#: What a report says of itself if there were no data to compare with.
FILE_ALONE = "All checks were made from the file alone."

#: What a report says of the inputs of whole rows.
PRIVATE_INPUTS = "The inputs are private, so there is nothing to compare with the data."

Outcome = tuple[bool, str] | tuple[bool, str, bool]


@dataclass(frozen=True)
class Check:
    """One thing that was checked again.

    Attributes
    ----------
    name : str
        What was checked.
    passed : bool
        Whether it is as it should be.
    detail : str
        What was found, in words.
    unknown : bool
        It did not pass because the file does not say enough, and not because it is wrong.
    """

    name: str
    passed: bool
    detail: str
    unknown: bool = False

    @property
    def result(self) -> str:
        """The result in one word."""
        return "passed" if self.passed else "UNKNOWN" if self.unknown else "FAILED"


@dataclass(frozen=True)
class VerificationReport:
    """Every check of a release, and what else is remarkable about it.

    ``Release.verify`` returns it.  It is true if every check passed and no signature was refused;
    ``print`` shows it line by line.

    Attributes
    ----------
    checks : tuple of Check
        Each has a ``name``, whether it ``passed``, and a ``detail`` in words.
    warnings : tuple of str
        What is remarkable, such as published values that are too quiet for their noise.
    scope : str
        What the checks were made from, and what was not compared.
    signature : SignatureCheck
        Who signed the release, if that was asked.

    See Also
    --------
    Release.verify : Makes the report.

    Examples
    --------
    >>> from cloakgp import PrivateGPRegressor
    >>> from cloakgp.datasets import make_heights
    >>> people = make_heights(50)
    >>> model = PrivateGPRegressor(bounds=(40, 200)).fit(people[["age"]], people["height_cm"])
    >>> report = model.release_.verify(people[["age"]])
    >>> report.ok
    True
    >>> print(report.checks[0].name, report.checks[0].detail)
    contents all parts fit together
    """

    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    scope: str = ""
    signature: SignatureCheck = NOT_CHECKED

    @property
    def holds(self) -> bool:
        """Whether every check passed; a warning is evidence, not proof."""
        return all(check.passed for check in self.checks)

    @property
    def unknown(self) -> bool:
        """Whether nothing is wrong, but the file does not say enough to tell that all is right."""
        return not self.holds and all(check.passed or check.unknown for check in self.checks)

    @property
    def ok(self) -> bool:
        """Whether every check passed and no signature was refused."""
        return self.holds and self.signature.ok

    @property
    def authorship(self) -> str:
        """What all of this cannot show."""
        said = SIGNED_WORD if self.signature.status == "signed" else NOT_AUTHORSHIP
        # The release holds no inputs that could be those of others, but a box.
        hidden = self.scope.endswith(PRIVATE_INPUTS)
        return said.replace("for the inputs", "for the box of the inputs") if hidden else said

    def __bool__(self) -> bool:
        return self.ok

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        facts = [(f"{'✓' if c.passed else c.result} {c.name}", c.detail) for c in self.checks]
        facts += [("WARNING", warning) for warning in self.warnings]
        facts += [("scope", self.scope), ("signature", str(self.signature))]
        title = "Every check passed" if self.ok else "NOT everything is as it should be"
        return card(title, facts, self.authorship, good=self.ok and not self.warnings)

    def __str__(self) -> str:
        lines = [f"{c.result}  {c.name}: {c.detail}" for c in self.checks]
        lines += [f"WARNING {warning}" for warning in self.warnings]
        return "\n".join([*lines, self.scope, str(self.signature), self.authorship])


def verify(
    release: Release,
    inputs: Any = None,
    exposure: Any = None,
    signature: SignatureCheck = NOT_CHECKED,
    hasty: bool = False,
) -> VerificationReport:
    """Run every check; the others need shapes and numbers that are those of a release.

    ``inputs`` are those of everybody: what the release says of them is compared with them.
    ``signature`` is what was found of it, to be reported beside the checks.  A ``hasty`` reader,
    who takes no release that fails, does not decode one that has failed before.
    """
    try:
        check_facts(release)
    except ReleaseFileError as problem:
        unknown = "not checked, since the contents are not those of a release"
        others = (Check(name, False, unknown) for name in CHECKS if name != "contents")
        failed = (Check("contents", False, str(problem)), *others)
        return VerificationReport(failed, (), FILE_ALONE, signature)
    told = release.spec.privacy_unit.told
    found: list[Check] = []
    for name, check in CHECKS.items():
        failed_before = any(not (each.passed or each.unknown) for each in found)
        if not (hasty and failed_before and name == "decoding"):
            found.append(Check(name, *check(release)))
    checks = [replace(check, detail=told(check.detail)) for check in found]
    compared: list[Check] = []
    if inputs is not None and release.spec.rows is None:
        compared = [Check(*found) for found in compare_inputs(release, inputs, exposure)]
    return VerificationReport(
        (*checks, *compared),
        quiet_values(release) if release.private else (),
        _scope(release, [check.name for check in compared]),
        signature,
    )


def _scope(release: Release, compared: list[str]) -> str:
    """Say on one line which checks were made from the file, and which from the data."""
    if release.spec.rows is not None:
        return f"{FILE_ALONE} {PRIVATE_INPUTS}"
    told = "the inputs in it"
    if release.spec.partition is not None:
        told = "how many people are at each place, and the fingerprint of their inputs,"
    if not compared:
        return f"{FILE_ALONE} {told[0].upper()}{told[1:]} were not compared with the data."
    from_file = ", ".join(name for name in CHECKS)
    return f"Checked from the file: {from_file}. Compared with the data: {', '.join(compared)}."


def _contents(release: Release) -> Outcome:
    if release.version.split(".")[0] != __version__.split(".")[0]:
        return False, f"written by version {release.version}, this is {__version__}"
    return True, "all parts fit together"


def _sensitivity(release: Release) -> Outcome:
    spec = release.spec
    norm = " in the 1-norm" if spec.mechanism == "laplace" else ""
    longest = 0.0
    for sketch, _ in release.parts:
        try:
            if spec.rows is not None:
                check_no_negative_entries(sketch)
            if spec.mechanism == "laplace":
                squared = absolute_sensitivity(sketch, spec.groups) ** 2
            else:
                joint = spec.outcome.joint(len(spec.lo))
                squared = squared_sensitivity(sketch, spec.groups, joint=joint)
        except ValueError as error:
            return False, str(error)
        longest = max(longest, math.sqrt(squared) / 2**sketch.bits)
        if squared > 1 << (2 * sketch.bits):
            moved = f"one person can move the sketch by {longest:.9f}{norm}"
            return False, f"{moved}, more than 1: too far for its noise"
    if spec.rows is not None:
        return True, (
            f"one row counts for at most {longest:.9f}{norm}, and {whose_rows(spec.rows)} for "
            f"{spec.sensitivity:.9g} times that"
        )
    return True, f"one person can move the sketch by at most {longest:.9f}{norm}"


def _noise(release: Release) -> Outcome:
    noisy = release.noisy
    if not math.isfinite(noisy.epsilon):
        return not noisy.private, "no noise was added (epsilon is infinite)"
    try:
        needed = _promised(noisy).part_sigma
    except ValueError as error:
        return False, str(error)
    if len(release.parts) > noisy.parts:
        return False, f"{len(release.parts)} parts share a budget meant for {noisy.parts}"
    # The calibration's hair of 1e-9 covers the last digits of another machine's arithmetic.
    passed = all(part.noisy.sigma >= needed * (1.0 - 1e-12) for part in release.parts)
    if noisy.mechanism == "laplace" and noisy.sigma > needed * (1.0 + 1e-12):
        return False, f"Laplace noise of {noisy.sigma:.9g}, where epsilon asks for {needed:.9g}"
    return passed, (
        f"{noisy.mechanism.capitalize()} noise of {noisy.sigma:.9g} for each unit of sensitivity, "
        f"{'at least' if passed else 'but needs'} {needed:.9g} for "
        f"epsilon={noisy.epsilon:g}, delta={noisy.delta:g}"
    )


def _promised(noisy: NoisySketch) -> Budget:
    """Return the budget that the noise is said to be for."""
    return Budget(noisy.epsilon, noisy.delta, noisy.calibration, noisy.parts, noisy.mechanism)


def _outputs(release: Release) -> Outcome:
    spec = release.spec
    return all(part.noisy.sensitivity == spec.sensitivity for part in release.parts), (
        f"{len(spec.lo)} output column(s) need a noise factor of {spec.sensitivity:.9g}, "
        f"{release.noisy.sensitivity:.9g} was used"
    )


def _grid(release: Release) -> Outcome:
    """The grid must be the one that the core chooses, and fine enough for the proof."""
    partition = release.spec.partition
    counts = None if partition is None else partition.counts
    steps, rows = release.spec.outcome.whole_steps, release.spec.rows is not None
    checks = [_grid_of(part, counts, steps, rows) for part in release.parts]
    return next((check for check in checks if not check[0]), checks[0])


def _grid_of(
    part: Part, counts: NDArray[np.int64] | None, steps: int | None, rows: bool
) -> Outcome:
    sketch, noisy = part
    laplace = noisy.mechanism == "laplace"
    scale = math.ldexp(noisy.noise_std, noisy.bits) * noisy.whole
    detail = f"the discrete noise has a scale of {scale:.3g} steps of its grid"
    try:
        std = noisy.sigma * noisy.sensitivity
        squares = noisy.squares is not None
        if rows:
            value_bits = value_bits_for_rows(sketch, std, noisy.mechanism)
        else:
            value_bits = value_bits_for(sketch, std, counts, noisy.mechanism, squares)
    except ValueError as error:
        return False, f"{detail}; {error}"
    whole, expected = 1, sketch.bits + value_bits
    if laplace and sketch.bits == 0 and steps is not None and steps <= 1 << value_bits:
        whole, expected = steps, 0
    if noisy.bits != expected:
        return False, f"{detail} of {noisy.bits} bits, which should be {expected}"
    if noisy.whole != whole:
        return False, f"{detail} of {noisy.whole} whole steps, which should be {whole}"
    if laplace:
        return True, f"{detail}; Laplace noise is private on any grid"
    count = noisy.values.size * noisy.parts
    fine = not noisy.private or grid_is_fine_enough(scale, count, noisy.epsilon)
    return fine, detail if fine else f"{detail}, too coarse for the proof"


def _selection(release: Release) -> Outcome:
    """The choice of settings and the release together must cost what is claimed."""
    chosen = release.selection
    if chosen is None:
        return True, "no settings were chosen from the private outputs"
    what = (
        f"choosing among {chosen.candidates} settings (epsilon={chosen.epsilon:g}, "
        f"{chosen.mechanism})"
    )
    return _total(release, (chosen.spend,), chosen.total_epsilon, what)


def _bounds(release: Release) -> Outcome:
    """Bounds that were chosen must be candidates, and cost with everything else what is claimed.

    What a choice costs holds for people with as many rows as it allowed for, and no more.
    """
    chosen, spec = release.bounds_choice, release.spec
    if chosen is None:
        return True, "stated to be public, and not chosen from the private outputs"
    missing = [end for end in (spec.lo[0], spec.hi[0]) if end not in chosen.grid]
    if missing:
        return False, f"{missing[0]:g} is not among the {len(chosen.grid)} candidates for bounds"
    if (problem := _rows_beyond(release, chosen)) is not None:
        return False, problem, chosen.most_rows is None
    allowed = ""
    if spec.groups is not None and chosen.most_rows is not None:
        allowed = f", up to {chosen.most_rows} rows of one person"
    what = (
        f"choosing among {len(chosen.grid)} candidates for bounds (epsilon={chosen.epsilon:g}"
        f"{allowed})"
    )
    if release.selection is not None:
        what += ", choosing settings"
    return _total(release, release.choices, chosen.total_epsilon, what)


def _rows_beyond(release: Release, chosen: ChosenBounds) -> str | None:
    """Say whether somebody may have more rows than the choice of bounds allowed for."""
    groups, limit = release.spec.groups, release.spec.limit
    if groups is None:
        return None  # one row each, which every choice allows for
    most = _most_rows(groups)
    if chosen.most_rows is None:
        left_out = 0 if limit is None else limit.left_out
        if most == 1 and left_out == 0:
            return None
        return (
            f"one person has up to {most} rows, {left_out} rows were left out, and the file does "
            "not say how many rows of one person the choice of bounds allowed for (cloakgp 0.2.0 "
            "did not write it): whether the stated total holds cannot be told. Ask the publisher, "
            "or for a release that says it"
        )
    if most > chosen.most_rows:
        return (
            f"one person has up to {most} rows, and the bounds were chosen for at most "
            f"{chosen.most_rows}: the choice cost that person more than is stated"
        )
    return None


def _most_rows(groups: NDArray[np.int64]) -> int:
    return int(np.bincount(np.unique(groups, return_inverse=True)[1]).max())


def _total(release: Release, choices: tuple[Spend, ...], stated: float, what: str) -> Outcome:
    """Choices and the release after them must cost together what is stated."""
    noisy = release.noisy
    if not noisy.sigma > 0:
        return not noisy.private, "no noise was added"
    try:
        # What was really added counts; what is stated must be that of the parts as they are stated.
        meant = drawn = Spend.of(_promised(noisy))
        if noisy.mechanism == "gaussian":
            drawn = Spend.gaussian(noisy.sigma / math.sqrt(noisy.parts))
        total, most = (cached_total((*choices, spend), noisy.delta) for spend in (drawn, meant))
    except ValueError as error:
        return False, str(error)
    # More would be no lie about the total, but then one of its parts is not what it was.
    passed = total <= stated * (1.0 + 1e-9) and stated <= most * (1.0 + 1e-6)
    return passed, (
        f"{what} and releasing cost epsilon={total:.6g} together, {stated:.6g} is stated"
    )


def _rows(release: Release) -> Outcome:
    """Nobody may have more rows than the release says count."""
    limit, groups = release.spec.limit, release.spec.groups
    if limit is None or groups is None:
        return True, "no rows were left out to protect people with many"
    most = _most_rows(groups)
    return most <= limit.max_rows, (
        f"one person has up to {most} rows, {limit.max_rows} count at most; {limit.left_out} rows "
        "are said to be left out"
    )


def _decoding(release: Release) -> Outcome:
    try:
        check_decoding(release)
    except DecodeError as error:
        return False, str(error)
    return True, "predictions can be computed"


def _privacy(release: Release) -> Outcome:
    if release.private:
        return True, "noise from OpenDP, drawn once"
    return False, "made with repeatable noise, or with none: it carries no guarantee"


CHECKS: dict[str, Callable[[Release], Outcome]] = {
    "contents": _contents,
    "sensitivity": _sensitivity,
    "noise": _noise,
    "outputs": _outputs,
    "grid": _grid,
    "selection": _selection,
    "bounds": _bounds,
    "rows": _rows,
    "decoding": _decoding,
    "privacy": _privacy,
}
