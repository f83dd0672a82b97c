"""Releases that earlier versions wrote load, verify and predict as they did."""

import json
from pathlib import Path

import pandas as pd
import pytest

from cloakgp import Release

FOLDER = Path(__file__).parents[2] / "data" / "releases-0.1.0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def test_every_release_has_its_predictions_and_its_recipe():
    recipe = (FOLDER / "README.md").read_text()
    assert {path.stem for path in FOLDER.glob("*.cloakgp")} == set(EXPECTED)
    assert all(f'"{name}": ' in recipe for name in EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_release_of_version_0_1_0_verifies_and_predicts_the_same(name):
    release = Release.load(FOLDER / f"{name}.cloakgp")
    assert release.version == "0.1.0"
    failed = [check.name for check in release.verify().checks if not check.passed]
    assert failed == (["privacy"] if name == "no-noise" else [])
    # Later versions show more columns.  Other machines multiply matrices in another order.
    expected = pd.DataFrame(EXPECTED[name])
    pd.testing.assert_frame_equal(release.to_frame()[[*expected]], expected, rtol=1e-6)
    assert release.release_id in release.statement()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_release_of_version_0_1_0_is_saved_again_byte_for_byte(name, tmp_path):
    source = FOLDER / f"{name}.cloakgp"
    Release.load(source).save(tmp_path / "again.cloakgp")
    assert (tmp_path / "again.cloakgp").read_bytes() == source.read_bytes()
