"""Which releases can be combined: those about the same inputs and the same outputs, each once.

Names, tasks and classes have to agree, because nothing else tells that two columns mean the same.
People, bounds, caps, budgets and sketches may differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from cloakgp.errors import listed, printable
from cloakgp.release.published import Published

#: Releases at most: a file holds those of all.
MOST_MEMBERS = 40


def gathered_members(releases: Iterable[Any]) -> tuple[Published, ...]:
    """Return the releases to combine, those of earlier combinations one by one; or refuse them."""
    given = [releases] if isinstance(releases, Published) else list(releases)
    for each in given:
        if not isinstance(each, Published):
            raise TypeError(
                f"releases must be releases, such as those of Release.load(path) or of a fitted "
                f"estimator's release_, got a {type(each).__name__}"
            )
    members = tuple(member for each in given for member in each.members)
    if not 2 <= len(members) <= MOST_MEMBERS:
        raise ValueError(
            f"releases are {len(members)} in all; give from two to {MOST_MEMBERS} different ones"
        )
    _check_different(members)
    for number, other in enumerate(members[1:], start=2):
        _check_alike(members[0], other, number)
    return members


def fingerprint(release: Published) -> str:
    """Return a hash of everything that was published, by which a copy is known again."""
    digest = hashlib.sha256()
    for sketch, noisy in release.parts:
        digest.update(f"{sketch.matrix.shape} {sketch.bits} {noisy.bits}".encode())
        digest.update(np.ascontiguousarray(sketch.matrix, dtype="<i4").tobytes())
        digest.update(np.ascontiguousarray(noisy.values, dtype="<i8").tobytes())
    return digest.hexdigest()


def _check_different(members: tuple[Published, ...]) -> None:
    """Refuse the same release twice: its noise would be taken for that of two."""
    for names in ([m.release_id for m in members], [fingerprint(m) for m in members]):
        for number, name in enumerate(names):
            if (first := names.index(name)) < number:
                raise ValueError(
                    f"releases {first + 1} and {number + 1} are the same one "
                    f"({printable(members[first].release_id)}); give each release once"
                )


def _check_alike(first: Published, other: Published, number: int) -> None:
    """Refuse what cannot be about the same function."""
    one, two = first.facts, other.facts
    where = f"releases 1 and {number} cannot be combined"
    if type(one.outcome) is not type(two.outcome):
        raise ValueError(
            f"{where}: one is of {one.task}, the other of {two.task}; combine those of one task"
        )
    for what, ours, theirs in (
        ("inputs", one.feature_names, two.feature_names),
        ("outputs", first.target_names, other.target_names),
    ):
        if ours != theirs:
            raise ValueError(
                f"{where}: their {what} are {_named(ours)} and {_named(theirs)}. Only names tell "
                "whether columns and their units are the same; publish with the same names, in the "
                "same order"
            )
    if one.inputs != two.inputs:
        raise ValueError(
            f"{where}: they say differently what their inputs are, such as the levels of a "
            "category or the origin of a date; publish with the same columns, levels that nobody "
            "has at one of the places included"
        )
    for what, mine, its in (
        ("inputs", one.X.shape[1], two.X.shape[1]),
        ("outputs", len(one.lo), len(two.lo)),
    ):
        if mine != its and one.classes == two.classes:
            raise ValueError(f"{where}: they have {mine} and {its} {what}; combine equal ones")
    if one.classes != two.classes:
        mine, its = (listed([repr(c) for c in facts.classes or ()]) for facts in (one, two))
        raise ValueError(
            f"{where}: their classes are {mine} and {its}; publish with one list of classes, those "
            "that nobody has at one of the places included"
        )
    if first.private != other.private:
        which = number if first.private else 1
        raise ValueError(
            f"{where}: release {which} is NOT private, for a trial; leave it out, or combine "
            "trials alone"
        )


def _named(names: tuple[str, ...] | None) -> str:
    return "without names" if names is None else f"[{listed(names)}]"
