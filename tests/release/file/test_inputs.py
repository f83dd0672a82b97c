"""How inputs become numbers, in a release file: written, read back, and refused if it lies."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from cloakgp import PrivateGPRegressor, Release
from cloakgp.columns import Boolean, Category, Columns, Date, Number
from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.inputs import column_codec
from cloakgp.release.file.manifest import check_fields, to_archive

COLUMNS = (
    Number(missing=3.0, shift=1.0, scale=2.0),
    Category(("a", "b"), missing="?"),
    Date("2020-01-01", utc=True, missing="2020-02-01"),
    Boolean(missing=True),
    Number(),
)


@pytest.fixture(scope="module")
def release():
    X = pd.DataFrame(
        {
            "n": [1.0, None, 2.0] * 4,
            "c": ["a", "b", None] * 4,
            "d": ["2020-01-05", None, "2020-01-09"] * 4,
            "b": [True, None, False] * 4,
            "p": np.arange(12.0),
        }
    )
    stated = dict(zip(X, COLUMNS, strict=True))
    model = PrivateGPRegressor(bounds=(0, 1), columns=stated, learn=False)
    return model.fit(X, np.zeros(12)).release_


def test_what_is_saved_is_loaded(release, tmp_path):
    release.save(tmp_path / "r.cloakgp")
    loaded = Release.load(tmp_path / "r.cloakgp")
    assert loaded.facts.inputs == Columns(("n", "c", "d", "b", "p"), COLUMNS)
    assert np.array_equal(loaded.facts.X, release.facts.X)


def test_a_file_of_plain_numbers_does_not_speak_of_inputs(tmp_path):
    model = PrivateGPRegressor(bounds=(0, 1)).fit(np.arange(5.0)[:, None], np.zeros(5))
    model.release_.save(tmp_path / "r.cloakgp")
    with zipfile.ZipFile(tmp_path / "r.cloakgp") as archive:
        assert "inputs" not in json.loads(archive.read("manifest.json"))


def test_the_origin_of_dates_is_always_written():
    said = column_codec(Date())
    assert said.origin == "2000-01-01"


@pytest.mark.parametrize(
    ("place", "lie", "message"),
    [
        (1, {"kind": "category", "levels": ["a", "a", "b"]}, "not sound: levels names 'a' twice"),
        (
            1,
            {"kind": "category", "levels": ["a", "b"]},
            "take 9 columns of the model",
        ),
        (1, {"kind": "category"}, r"lacks something: inputs\[1\].levels"),
        (2, {"kind": "date", "origin": "soon"}, "not sound: origin"),
        (2, {"kind": "date", "levels": ["a"]}, r"unknown to it: 'inputs\[2\].levels'"),
        (0, {"kind": "number", "missing": "x"}, r"inputs\[0\].missing='x' is refused"),
        (0, {"kind": "colour"}, r"inputs\[0\].kind='colour' is none of .*'number'"),
        (0, {"kind": "number", "scale": 0.0}, "scale"),
        (3, {"kind": "boolean", "origin": "2020-01-01"}, r"inputs\[3\].origin"),
    ],
)
def test_inputs_that_no_release_can_have_are_refused(place, lie, message, release):
    fields, arrays = to_archive(release)
    fields["inputs"][place] = lie
    with pytest.raises(ReleaseFileError, match=message):
        check_fields(fields, arrays)


def test_names_and_inputs_must_fit(release):
    fields, arrays = to_archive(release)
    with pytest.raises(ReleaseFileError, match="names"):
        check_fields(fields | {"feature_names": ["n", "c"]}, arrays)
    plain = [{"kind": "number"}] * 9
    with pytest.raises(ReleaseFileError, match="goes unsaid"):
        check_fields(fields | {"inputs": plain, "feature_names": None}, arrays)
