"""A combination as the contents of a file: the prior that is shared, and every release in full.

The releases are there as their own files say it, manifest and arrays, so that each can be checked
alone, and taken out again byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta, to_builtins
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernels.from_json import kernel_from_json
from cloakgp.gp.matrices import evaluate
from cloakgp.gp.rows import check_rows
from cloakgp.inputs.kinds import LARGEST, check_array, check_range
from cloakgp.release.combine.compatible import MOST_MEMBERS, gathered_members
from cloakgp.release.combine.guarantee import Overlap
from cloakgp.release.combine.pooled import SharedPrior, pooled_facts
from cloakgp.release.file.archive import OF_CONTAINER
from cloakgp.release.file.contents import check_family, check_words, kernel_arrays, named_arrays
from cloakgp.release.file.manifest import (
    check_fields,
    family_from,
    from_archive,
    prior_of,
    refused,
    to_archive,
)
from cloakgp.release.file.schema import Line, Prior
from cloakgp.release.file.typed import Section, typed
from cloakgp.release.published import Published

if TYPE_CHECKING:
    from cloakgp.release.combine.combination import Combination

Arrays = dict[str, NDArray[Any]]

#: The section that only the manifest of a combination has.
SECTION = "combination"
_OF_MEMBER = re.compile(r"release([1-9][0-9]*)_([A-Za-z][A-Za-z0-9_]*)")


class CombinationOf(Section, frozen=True):
    """What is combined, and how."""

    people: Overlap
    prior: Prior
    releases: Annotated[list[dict[str, Any]], Meta(min_length=2, max_length=MOST_MEMBERS)]


class CombinedManifest(Section, frozen=True):
    """Everything that a combination says in words and single numbers."""

    cloakgp_version: Line
    release_id: Line
    created: Line
    combination: CombinationOf


def is_combined(manifest: dict[str, Any]) -> bool:
    """Tell whether a file is that of several releases."""
    return SECTION in manifest


def combined_to_archive(combination: Combination) -> tuple[dict[str, Any], Arrays]:
    """Return everything that a stranger needs to predict and to check every release again."""
    prior, arrays = prior_of(combination.facts)
    releases = []
    for number, member in enumerate(combination.members, start=1):
        fields, own = to_archive(member)
        releases.append(fields)
        arrays |= {f"release{number}_{name}": array for name, array in own.items()}
    manifest = CombinedManifest(
        cloakgp_version=combination.version,
        release_id=combination.release_id,
        created=combination.created,
        combination=CombinationOf(people=combination.overlap, prior=prior, releases=releases),
    )
    return to_builtins(manifest), arrays


def check_combined(fields: dict[str, Any], arrays: Arrays) -> CombinedManifest:
    """Return the manifest of a combination, or raise ``ReleaseFileError``."""
    manifest = typed(fields, CombinedManifest)
    check_words(manifest.cloakgp_version, manifest.created, manifest.release_id)
    releases = manifest.combination.releases
    for number in _by_member(arrays):
        if number > len(releases):
            raise ReleaseFileError(f"there are arrays of a release {number}, which is not there")
    for number, of_member in enumerate(releases, start=1):
        try:
            check_fields(of_member, _by_member(arrays).get(number, {}))
        except ReleaseFileError as error:
            raise ReleaseFileError(f"release {number}: {error}") from None
    _check_prior(manifest.combination, _own(arrays))
    return manifest


def members_from_archive(manifest: dict[str, Any], arrays: Arrays) -> list[dict[str, Any]]:
    """Return the fields of every release of a combination, trusting none of them."""
    try:
        checked, by_member = check_combined(_fields(manifest), arrays), _by_member(arrays)
    except ReleaseFileError as error:
        raise refused(error) from error
    releases = checked.combination.releases
    return [from_archive(own, by_member[number]) for number, own in enumerate(releases, start=1)]


def combined_from_archive(
    manifest: dict[str, Any], arrays: Arrays, members: Sequence[Published]
) -> dict[str, Any]:
    """Return the fields of a combination whose releases have been read and checked."""
    checked = typed(_fields(manifest), CombinedManifest)
    section = checked.combination
    try:
        together = gathered_members(members)
        with np.errstate(all="ignore"):  # what overflows is refused for what comes out
            facts = pooled_facts(together, _shared(section.prior, _own(arrays), together))
    except (ValueError, ArithmeticError, MemoryError) as error:
        raise refused(error) from error
    return {
        "facts": facts,
        "members": together,
        "overlap": section.people,
        "target_names": together[0].target_names,
        "release_id": checked.release_id,
        "created": checked.created,
        "version": checked.cloakgp_version,
    }


def _fields(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are not those of the container."""
    return {name: value for name, value in manifest.items() if name not in OF_CONTAINER}


def _by_member(arrays: Arrays) -> dict[int, Arrays]:
    """Return the arrays of each release, by its number and their own names."""
    found: dict[int, Arrays] = {}
    for name, array in arrays.items():
        if match := _OF_MEMBER.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2]] = array
    return found


def _own(arrays: Arrays) -> Arrays:
    """Return the arrays of the shared prior."""
    return {name: array for name, array in arrays.items() if not _OF_MEMBER.fullmatch(name)}


def _check_prior(section: CombinationOf, own: Arrays) -> None:
    """Refuse a prior that is not one for outputs like these, and arrays that nothing asks for."""
    prior, first = section.prior, section.releases[0]
    outputs = len(first["bounds"]["lo"])
    if not len(prior.mean) == len(prior.unit) == outputs:
        raise ReleaseFileError("prior mean and units do not have one number for each output")
    check_family(prior.family)
    kernels = [prior.kernel, *(() if prior.family is None else prior.family.kernels)]
    wanted = {name for kernel in kernels for name in named_arrays(kernel)}
    if prior.approximation != "exact":
        wanted.add("inducing")
        if "inducing" not in own:
            raise ReleaseFileError("the release file lacks something: the array 'inducing'")
        check_array("inducing", own["inducing"], "float64", (None, None), "rows by columns")
        check_range("inducing", own["inducing"], -LARGEST, LARGEST)
    if extra := sorted(set(own) - wanted):
        raise ReleaseFileError(f"the release file holds entries unknown to it: {extra[:3]}")


def _shared(prior: Prior, own: Arrays, members: Sequence[Published]) -> SharedPrior:
    point = members[0].facts.X[:1]
    kernel = kernel_from_json(prior.kernel, kernel_arrays(own))
    evaluate(kernel, point)  # a kernel for other inputs is refused here
    inducing = None
    if prior.approximation != "exact":
        inducing = check_rows(own["inducing"], "inducing")
        if inducing.shape[1] != point.shape[1]:
            raise ReleaseFileError("the inducing inputs do not have the columns of the inputs")
    return SharedPrior(
        kernel=kernel,
        family=None if prior.family is None else family_from(prior.family, own, point),
        mean=np.array(prior.mean),
        unit=np.array(prior.unit),
        inducing=inducing,
        approximation=prior.approximation,
    )
