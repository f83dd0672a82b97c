"""A thousand edited release files: each is refused, or does what it says, and nothing else.

The edits are those of somebody who recomputes all hashes (``mutations``), so that the container is
sound.  Whatever loads must predict and state, or say clearly why not, and whatever verifies must
keep its guarantee by a count that is made here anew.
"""

import contextlib
import io
import itertools
import math
import os
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from mutations import mutate, with_family
from reference import profile_50_digits

from cloakgp import Release
from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.archive import read_archive, write_archive

pytestmark = pytest.mark.usefixtures("few_settings")

FILES = 1000
BATCHES = 10
SEEDS = sorted((Path(__file__).parents[2] / "saved").glob("releases-0.1.0/*.cloakgp"))
#: Those of which there is a copy with a family of priors.
LEARNT = ("counts", "exact", "groups", "sparse", "three-classes", "two-classes", "two-outputs")
NAMES = [path.stem for path in SEEDS] + [f"{name}, learnt" for name in LEARNT]


@pytest.fixture(scope="module")
def originals():
    archives = {path.stem: read_archive(path) for path in SEEDS}
    return [*archives.values(), *(with_family(*archives[name]) for name in LEARNT)]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)


def edited(number, originals, path):
    """Write the file of this number, and return what was edited, or None if it holds nothing."""
    rng = np.random.default_rng([10, number])
    manifest, arrays = originals[number % len(originals)]
    content = {k: v for k, v in manifest.items() if k not in CONTAINER}
    content, arrays, story = mutate(content, arrays, rng)
    for name in CONTAINER & content.keys():
        del content[name]
    try:
        write_archive(path, content, arrays)
    except ReleaseFileError:
        return None  # what cannot be written is a matter of test_archive
    return f"file {number}, {NAMES[number % len(NAMES)]}: {story}"


CONTAINER = {"arrays", "digest", "format", "format_version"}


def is_ours(error):
    """Tell whether an error is a clear answer of this library."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    module = str(frames[-1].f_globals.get("__name__"))
    return isinstance(error, ValueError) and module.startswith("cloakgp.")


def examine(path):
    """Do with a file whatever can be done with a release, and say how it went."""
    try:
        release = Release.load(path, check=False)
    except ReleaseFileError:
        with pytest.raises(ReleaseFileError):
            Release.load(path)
        return "refused"
    report = release.verify()
    assert str(report)
    try:
        Release.load(path)
        outcome = "private" if report.ok else "not private"
    except ReleaseFileError:
        outcome = "does not verify"
    if report.ok:
        assert outcome == "private"
        assert_guarantee(*read_archive(path))
    assert release.statement()
    assert repr(release)
    assert repr(release.facts.model.kernel)
    assert release.total_epsilon > 0
    assert release.published_values >= 0
    columns = release.facts.model.X.shape[1]
    points = np.vstack([release.facts.points[:1], np.full((1, columns), 0.5)])
    for use in uses_of(release):
        try:
            found = use(points)
        except ValueError as error:
            if not is_ours(error):
                raise
            outcome = outcome.removesuffix(", in part") + ", in part"
            continue
        for values in found if isinstance(found, tuple) else (found,):
            numbers = np.asarray(values)
            assert numbers.dtype.kind not in "fc" or np.isfinite(numbers).all()
    return outcome


def uses_of(release):
    yield release.predict
    yield lambda points: release.latent(points, return_std=True)
    yield lambda points: release.latent(points, return_cov=True)
    yield lambda points: vars(release.uncertainty(points)).values()
    yield lambda points: release.to_frame(points).select_dtypes("number")
    yield lambda points: release.sample_y(points, 2)
    yield release.predict_interval
    yield lambda points: release.predict_interval(points, 0.5, of="person")
    yield lambda points: release.hyperparameters.filter(like="weight")
    yield lambda points: release.check().p_value
    for name in ("predict_proba", "decision_function"):
        if hasattr(release, name):
            yield getattr(release, name)


def assert_guarantee(manifest, arrays):
    """Check the guarantee of verified contents from scratch, in Python's integers."""
    guarantee, bits = manifest["guarantee"], manifest["grid"]["sketch_bits"]
    assert guarantee["private"] is True
    parts, noisy_bits = guarantee["parts"], manifest["grid"]["noisy_bits"]
    assert len(noisy_bits) <= parts
    alone = guarantee["sigma"] / math.sqrt(parts)
    assert profile_50_digits(alone, guarantee["epsilon"]) <= guarantee["delta"]
    D = len(manifest["bounds"]["lo"])
    joint = manifest["task"] == "classification" and D > 1
    assert guarantee["sensitivity"] >= math.sqrt(2 if joint else D)
    ends = zip(manifest["bounds"]["lo"], manifest["bounds"]["hi"], strict=True)
    assert all(lo < hi for lo, hi in ends)
    N = len(arrays["X"])
    owners = arrays.get("groups", np.arange(N)).tolist()
    assert len(owners) == N
    for number in range(len(noisy_bits)):
        ending = "" if number == 0 else f"_{number + 1}"
        T = [[int(t) for t in row] for row in arrays["sketch" + ending]]
        assert all(len(row) == N for row in T)
        assert arrays["noisy" + ending].size == len(T) * D
        rows = {}
        for person, owner in enumerate(owners):
            rows.setdefault(owner, []).append([row[person] for row in T])
        assert all(reach(columns, joint) <= 4**bits for columns in rows.values())


def reach(columns, joint):
    """Return how far one person's columns can move the sketch, squared."""
    if joint or len(columns) > 8:
        products = itertools.product(columns, repeat=2)
        return sum(abs(sum(a * b for a, b in zip(*pair, strict=True))) for pair in products)
    signs = itertools.product((1, -1), repeat=len(columns))
    moved = (combined(one, columns) for one in signs)
    return max(sum(x * x for x in move) for move in moved)


def combined(signs, columns):
    rows = zip(*columns, strict=True)
    return [sum(s * t for s, t in zip(signs, row, strict=True)) for row in rows]


@pytest.mark.parametrize("batch", range(BATCHES))
def test_an_edited_file_is_refused_or_keeps_its_word(batch, originals, tmp_path):
    path = tmp_path / "edited.cloakgp"
    outcomes = Counter()
    for number in range(batch, FILES, BATCHES):
        story = edited(number, originals, path)
        if story is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                outcomes[examine(path)] += 1
            except Exception as error:
                error.add_note(story)
                raise
    # Were nearly all refused at once, the rest would not be tested.
    assert outcomes["private"] >= 3, outcomes
    assert outcomes["refused"] >= 20, outcomes


def test_whatever_loads_can_be_drawn(originals, tmp_path):
    path, drawn = tmp_path / "edited.cloakgp", 0
    for number in itertools.count(FILES):
        story = edited(number, originals, path)
        if story is None or not any(f"array {name}" in story for name in ("X", "points")):
            continue
        with contextlib.suppress(ReleaseFileError), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            picture = Release.load(path).plot()
            picture.savefig(io.BytesIO(), format="png", dpi=40)
            drawn += 1
        if drawn == 12:
            break


@pytest.mark.parametrize("number", range(len(LEARNT)), ids=LEARNT)
def test_the_copies_with_a_family_are_sound(number, originals, tmp_path):
    manifest, arrays = originals[len(SEEDS) + number]
    content = {k: v for k, v in manifest.items() if k not in CONTAINER}
    write_archive(tmp_path / "r", content, arrays)
    assert examine(tmp_path / "r") == "private"
    release = Release.load(tmp_path / "r")
    assert len(release.hyperparameters) == len(manifest["prior"]["family"]["settings"])
