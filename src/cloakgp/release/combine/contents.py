"""A combination as the contents of a file: the prior that is shared, and every release in full.

The releases are there as their own files say it, manifest and arrays, so that each can be checked
alone, and taken out again byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from cloakgp.data.rows import check_rows
from cloakgp.errors import ReleaseFileError
from cloakgp.release.combine.pooled import (
    MOST_MEMBERS,
    Overlap,
    SharedPrior,
    gathered_members,
    pooled_spec,
)
from cloakgp.release.file.archive import own_fields
from cloakgp.release.file.cost import Sizes, check_cost
from cloakgp.release.file.manifest import (
    Head,
    Manifest,
    check_fields,
    count_sizes,
    encode_prior,
    from_archive,
    refusing,
    to_archive,
)
from cloakgp.release.file.model import PriorCodec, read_kernel
from cloakgp.release.file.schema import Section, check_array_names, to_json, typed

if TYPE_CHECKING:
    from cloakgp.release.kinds import Combination
    from cloakgp.release.release import Release

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

#: The section that only the manifest of a combination has.
SECTION = "combination"
_OF_MEMBER = re.compile(r"release([1-9][0-9]*)_([A-Za-z][A-Za-z0-9_]*)")


class CombinationCodec(Section, frozen=True):
    """What is combined, and how."""

    people: Overlap
    prior: PriorCodec
    releases: Annotated[list[dict[str, Any]], Meta(min_length=2, max_length=MOST_MEMBERS)]

    def check(self, arrays: Arrays) -> None:
        """Refuse a member that no file can hold, and a prior for other inputs and outputs."""
        by_member = _by_member(arrays)
        if extra := [number for number in by_member if number > len(self.releases)]:
            raise ReleaseFileError(f"there are arrays of a release {extra[0]}, which is not there")
        for number, fields in enumerate(self.releases, start=1):
            try:
                check_fields(fields, by_member.get(number, {}))
            except ReleaseFileError as error:
                raise ReleaseFileError(f"release {number}: {error}") from None
        outputs = len(self.releases[0]["bounds"]["lo"])
        if not len(self.prior.mean) == len(self.prior.unit) == outputs:
            raise ReleaseFileError("prior mean and units do not have one number for each output")
        check_array_names(by_member[0], self.prior.array_names, self.prior.kernel_array_names)
        self.prior.check(by_member[0], by_member[1]["X"].shape[1])

    def read_prior(self, arrays: Arrays, point: Array) -> SharedPrior:
        """Return the prior of all; ``point`` (1, L) is one of their inputs."""
        prior, own = self.prior, _by_member(arrays)[0]
        exact = prior.approximation == "exact"
        return SharedPrior(
            kernel=read_kernel(prior.kernel, own, point),
            family=prior.read_family(own, point),
            mean=np.array(prior.mean),
            unit=np.array(prior.unit),
            inducing=None if exact else check_rows(own["inducing"], "inducing"),
            approximation=prior.approximation,
        )


class CombinedManifest(Head, frozen=True):
    """Everything that a combination says in words and single numbers."""

    combination: CombinationCodec


def is_combined(manifest: dict[str, Any]) -> bool:
    """Tell whether a file is that of several releases."""
    return SECTION in manifest


def combined_to_archive(combination: Combination) -> tuple[dict[str, Any], Arrays]:
    """Return everything that a stranger needs to predict and to check every release again."""
    prior, arrays = encode_prior(combination.spec)
    releases = []
    for number, member in enumerate(combination.members, start=1):
        fields, own = to_archive(member)
        releases.append(fields)
        arrays |= {f"release{number}_{name}": array for name, array in own.items()}
    manifest = CombinedManifest(
        cloakgp_version=combination.version,
        release_id=combination.release_id,
        created=combination.created,
        combination=CombinationCodec(people=combination.overlap, prior=prior, releases=releases),
    )
    return to_json(manifest), arrays


def check_combined(fields: dict[str, Any], arrays: Arrays) -> CombinedManifest:
    """Return the manifest of a combination, or raise ``ReleaseFileError``."""
    manifest = typed(fields, CombinedManifest)
    manifest.check_head()
    manifest.combination.check(arrays)
    return manifest


def members_from_archive(
    manifest: dict[str, Any], arrays: Arrays, *, large: bool = False
) -> list[dict[str, Any]]:
    """Return the fields of every release of a combination, trusting none of them.

    ``large`` reads also what asks for more memory or work than files usually may.
    """
    with refusing():
        checked = check_combined(own_fields(manifest), arrays)
    if not large:
        check_cost(count_member_sizes(checked, arrays), arrays)
    by_member = _by_member(arrays)
    return [
        from_archive(own, by_member[number], large=True)  # all of them were counted
        for number, own in enumerate(checked.combination.releases, start=1)
    ]


def count_member_sizes(manifest: CombinedManifest, arrays: Arrays) -> list[Sizes]:
    """Return the sizes of the model of every release, and of that of all together."""
    by_member, shared = _by_member(arrays), manifest.combination
    alone = [
        count_sizes(typed(own, Manifest), by_member[number])
        for number, own in enumerate(shared.releases, start=1)
    ]
    together = Sizes(
        rows=sum(each.rows for each in alone),
        inputs=alone[0].inputs,
        outputs=alone[0].outputs,
        values=sum(each.values for each in alone),
        points=sum(each.points for each in alone),
        latent=alone[0].latent,
        **shared.prior.sizes(by_member[0], alone[0].inputs),
    )
    return [*alone, together]


def combined_from_archive(
    manifest: dict[str, Any], arrays: Arrays, members: Sequence[Release]
) -> dict[str, Any]:
    """Return the fields of a combination whose releases have been read and checked."""
    checked = typed(own_fields(manifest), CombinedManifest)
    section = checked.combination
    with refusing():
        together = gathered_members(members)
        prior = section.read_prior(arrays, together[0].spec.X[:1])
        spec = pooled_spec(together, prior)
    return {
        "spec": spec,
        "members": together,
        "overlap": section.people,
        "target_names": together[0].target_names,
        "release_id": checked.release_id,
        "created": checked.created,
        "version": checked.cloakgp_version,
    }


def _by_member(arrays: Arrays) -> dict[int, Arrays]:
    """Return the arrays of each release by its number, under their own names; 0: of the prior."""
    found: dict[int, Arrays] = {0: {}}
    for name, array in arrays.items():
        match = _OF_MEMBER.fullmatch(name)
        number, own = (int(match[1]), match[2]) if match else (0, name)
        found.setdefault(number, {})[own] = array
    return found
