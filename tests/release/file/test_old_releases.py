"""Releases that earlier versions wrote load, verify and predict as they did."""

import json
from pathlib import Path

import pandas as pd
import pytest

from cloakgp import Release

SAVED = sorted((Path(__file__).parents[2] / "saved").glob("releases-*/*.cloakgp"))


def expected(path):
    return json.loads((path.parent / "expected.json").read_text())


def version_of(path):
    return path.parent.name.removeprefix("releases-")


def named(path):
    return f"{version_of(path)}-{path.stem}"


def test_every_release_has_its_predictions_and_its_recipe():
    for folder in {path.parent for path in SAVED}:
        recipe = (folder / "README.md").read_text()
        names = {path.stem for path in folder.glob("*.cloakgp")}
        assert names == set(expected(folder / "any"))
        assert all(f'"{name}"' in recipe for name in names)


@pytest.mark.parametrize("path", SAVED, ids=named)
def test_a_release_of_an_earlier_version_verifies_and_predicts_the_same(path):
    release = Release.load(path)
    assert release.version == version_of(path)
    failed = [check.name for check in release.verify().checks if not check.passed]
    assert failed == (["privacy"] if path.stem == "no-noise" else [])
    # Later versions show more columns.  Other machines multiply matrices in another order, so that
    # a variance of zero may be the difference of two that round differently.
    then = pd.DataFrame(expected(path)[path.stem])
    if "day" in then:
        then["day"] = pd.to_datetime(then["day"])
    at = then[[*release.facts.feature_names]]
    now = release.to_frame(at)[[*then]]
    pd.testing.assert_frame_equal(now, then, rtol=1e-6, atol=1e-6, check_dtype=False)
    said = release.statement()
    assert release.release_id in said
    if path.stem != "combined":
        assert ("each taken to be another person's" in said) == (release.facts.groups is None)


@pytest.mark.parametrize("path", SAVED, ids=named)
def test_a_release_of_an_earlier_version_is_saved_again_byte_for_byte(path, tmp_path):
    Release.load(path).save(tmp_path / "again.cloakgp")
    assert (tmp_path / "again.cloakgp").read_bytes() == path.read_bytes()
