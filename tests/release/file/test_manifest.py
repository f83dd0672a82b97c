"""Files whose hashes are right and whose contents are not: each is refused, and nothing else."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mutations import with_family

from cloakgp import Release
from cloakgp.errors import ReleaseFileError
from cloakgp.release.decoder import DecodeError
from cloakgp.release.file.archive import read_archive, write_archive
from cloakgp.release.file.canonical import canonical_json, parse_json

FOLDER = Path(__file__).parents[2] / "saved" / "releases-0.1.0"
LEAST = np.iinfo(np.int64).min
PARTS = ("arrays", "digest", "format", "format_version")


def crafted(path, name, edit):
    """Write the release of this name after an edit of its manifest and arrays."""
    manifest, arrays = read_archive(FOLDER / f"{name}.cloakgp")
    manifest = copy.deepcopy({k: v for k, v in manifest.items() if k not in PARTS})
    edit(manifest, arrays)
    write_archive(path, manifest, arrays)
    return path


def put(key, value):
    """Return an edit that sets a field of the manifest, or an array that exists."""

    def edit(manifest, arrays):
        if key in arrays:
            arrays[key] = value(arrays[key]) if callable(value) else value
            return
        *outer, last = key.split(".")
        home = manifest[outer[0]] if outer else manifest
        assert last in home
        home[last] = value

    return edit


def both(*edits):
    return lambda manifest, arrays: [edit(manifest, arrays) for edit in edits]


# ------------------------------------------------------------------------- what the loader met once


def test_a_sketch_of_one_dimension_with_groups_is_refused(tmp_path):
    path = crafted(tmp_path / "r", "groups", put("sketch", lambda T: T[0].copy()))
    for check in (True, False):
        with pytest.raises(ReleaseFileError, match="sketch is an array of int32 and shape"):
            Release.load(path, check=check)


@pytest.mark.parametrize(
    ("name", "key", "value", "of"),
    [("two-classes", "rate", "median", "counts"), ("counts", "sums", "whole", "labels")],
)
def test_what_belongs_to_another_kind_of_outputs_is_refused(tmp_path, name, key, value, of):
    path = crafted(tmp_path / "r", name, lambda manifest, _: manifest.update({key: value}))
    with pytest.raises(ReleaseFileError, match=f"{key}='{value}' belongs to releases of {of}"):
        Release.load(path)


def test_a_sketch_without_dimensions_is_refused(tmp_path):
    path = crafted(tmp_path / "r", "exact", put("sketch", np.array(1, dtype=np.int32)))
    for check in (True, False):
        with pytest.raises(ReleaseFileError, match=r"sketch .*shape \(\)"):
            Release.load(path, check=check)


def test_a_zero_sketch_that_is_decoded_directly_does_not_verify(tmp_path):
    path = crafted(tmp_path / "r", "direct", put("sketch", np.zeros_like))
    with pytest.raises(ReleaseFileError, match=r"decoding: .*rows are independent"):
        Release.load(path)
    release = Release.load(path, check=False)
    report = release.verify()
    assert [check.name for check in report.checks if not check.passed] == ["decoding"]
    with pytest.raises(DecodeError, match="rows are independent"):
        release.predict([[5.0]])


@pytest.mark.parametrize("name", ["exact", "no-noise", "two-classes"])
@pytest.mark.parametrize("sigma", [-1e308, 1e308, -1.0, 5e-324, 10**400])
def test_noise_of_an_impossible_size_is_refused(name, sigma, tmp_path):
    path = crafted(tmp_path / "r", name, put("guarantee.sigma", sigma))
    for check in (True, False):
        with pytest.raises(ReleaseFileError, match="sigma"):
            Release.load(path, check=check)


def test_an_infinite_epsilon_that_is_called_private_is_refused_and_never_stated(tmp_path):
    for name in ("no-noise", "exact"):
        forged = both(put("guarantee.private", True), put("guarantee.epsilon", "inf"))
        path = crafted(tmp_path / "r", name, forged)
        for check in (True, False):
            with pytest.raises(ReleaseFileError, match="no noise was added"):
                Release.load(path, check=check)
    release = Release.load(FOLDER / "no-noise.cloakgp")
    stamped = replace(release, noisy=replace(release.noisy, private=True))
    assert not stamped.private
    assert not stamped.verify().ok
    assert stamped.statement().startswith("# THIS RELEASE IS NOT PRIVATE")


# ------------------------------------------------------------------------ everything that comes in

WRONG = {
    "no rows in X": ("exact", put("X", lambda X: X[:0]), "empty"),
    "X in one dimension": ("exact", put("X", lambda X: X[:, 0].copy()), "X is an array"),
    "X of integers": ("exact", put("X", lambda X: X.astype(np.int64)), "X is an array of int64"),
    "X beyond squares": ("exact", put("X", lambda X: X * 1e155), "X holds numbers outside"),
    "X of fewer people": ("exact", put("X", lambda X: X[1:].copy()), "people"),
    "no points": ("exact", put("points", lambda p: p[:0]), "empty"),
    "points of other columns": ("exact", put("points", lambda p: np.hstack([p, p])), "points"),
    "a negative weight": ("exact", put("weights", lambda w: w * -1.0), "weights holds numbers"),
    "weights that are too large": ("exact", put("weights", lambda w: w * 2.0), "add up to 1"),
    "weights of fewer points": ("exact", put("weights", lambda w: w[1:].copy()), "weights"),
    "a sketch of floats": ("exact", put("sketch", lambda T: T.astype(float)), "float64"),
    "a sketch of wide integers": ("exact", put("sketch", lambda T: T.astype(np.int64)), "int64"),
    "a sketch of three dimensions": ("exact", put("sketch", lambda T: T[None].copy()), "sketch"),
    "values of no dimension": ("exact", put("noisy", np.array(1)), "noisy values"),
    "values of narrow integers": ("exact", put("noisy", lambda s: s.astype(np.int32)), "int32"),
    "values for more outputs": (
        "exact",
        put("noisy", lambda s: np.column_stack([s, s])),
        "noisy values",
    ),
    "one column for two outputs": ("two-outputs", put("noisy", lambda s: s[:, 0].copy()), "noisy"),
    "values that overflow": ("exact", put("noisy", lambda s: s * 0 + LEAST), "noisy holds numbers"),
    "owners of fewer rows": ("groups", put("groups", lambda g: g[1:].copy()), "groups"),
    "owners that are floats": ("groups", put("groups", lambda g: g.astype(float)), "groups"),
    "no inducing inputs": ("sparse", put("inducing", lambda z: z[:0]), "inducing"),
    "inducing inputs elsewhere": ("sparse", put("inducing", lambda z: np.hstack([z, z])), "induc"),
    "inducing inputs of an exact model": ("exact", put("prior.approximation", "dtc"), "inducing"),
    "an exposure of 0": ("counts", put("exposure", np.zeros_like), "exposure"),
    "a negative exposure": ("counts", put("exposure", lambda e: -e), "exposure"),
    "an exposure that is too large": ("counts", put("exposure", lambda e: e * 1e30), "exposure"),
    "a cap of 0": ("counts", put("bounds.hi", [0.0]), "bounds"),
    "half a cap": ("counts", put("bounds.hi", [1.5]), "cap"),
    "a huge cap": ("counts", put("bounds.hi", [1e12]), "cap"),
    "counts from 1": ("counts", put("bounds.lo", [1.0]), "bounds of counts"),
    "bounds reversed": ("exact", put("bounds.hi", [-300.0]), "bounds"),
    "bounds that are equal": ("exact", put("bounds.hi", [40.0]), "bounds"),
    "bounds as far apart as can be": (
        "exact",
        both(put("bounds.lo", [-1e308]), put("bounds.hi", [1e308])),
        "bounds",
    ),
    "bounds hardly apart": (
        "exact",
        both(put("bounds.lo", [0.0]), put("bounds.hi", [5e-324])),
        "bounds",
    ),
    "a bound for each of two outputs": ("exact", put("bounds.lo", [0.0, 0.0]), "each output"),
    "a prior mean beyond squares": ("exact", put("prior.mean", [1e308]), "mean"),
    "a unit of next to nothing": ("exact", put("prior.unit", [5e-324]), "unit"),
    "bounds that a unit makes too large": ("exact", put("prior.unit", [1e-149]), "over unit"),
    "a noise variance beyond squares": ("exact", put("prior.noise_variance", 1e308), "variance"),
    "an epsilon of 0": ("exact", put("guarantee.epsilon", 0.0), "epsilon"),
    "a huge epsilon": ("exact", put("guarantee.epsilon", 1e308), "epsilon"),
    "an epsilon of thousands of digits": ("exact", put("guarantee.epsilon", 10**4000), "epsilon"),
    "a delta of 1": ("exact", put("guarantee.delta", 1.0), "delta"),
    "a negative delta": ("exact", put("guarantee.delta", -1e-5), "delta"),
    "more parts than there are": ("exact", put("guarantee.parts", 2), "parts"),
    "fewer parts than there are": ("two-classes", put("guarantee.parts", 1), "share a budget"),
    "no parts": ("exact", put("grid.noisy_bits", []), "noisy_bits"),
    "a grid of fewer than no bits": ("exact", put("grid.noisy_bits", [-1]), "noisy_bits"),
    "a grid of too many bits": ("exact", put("grid.noisy_bits", [63]), "noisy_bits"),
    "a sketch of too many bits": ("exact", put("grid.sketch_bits", 31), "sketch_bits"),
    "bits that are a truth": ("exact", put("grid.sketch_bits", True), "sketch_bits"),
    "a rank of 0": ("exact", put("design.rank", 0), "rank"),
    "a rank that is a truth": ("exact", put("design.rank", True), "rank"),
    "a gap of thousands of digits": ("exact", put("design.gap", 10**4000), "gap"),
    "a class twice": ("three-classes", put("classes", [0, 1, 1.0]), "different labels"),
    "classes that end in nothing": ("two-classes", put("classes", ["a", "a\0"]), "different"),
    "one class": ("two-classes", put("classes", ["yes"]), "two or more"),
    "three classes in one column": ("two-classes", put("classes", ["a", "b", "c"]), "classes"),
    "classes of a regression": ("exact", put("classes", [0, 1]), "classes"),
    "classes too large to tell apart": ("three-classes", put("classes", [0, 1, 2**60]), "class"),
    "a name that is a number": (
        "exact",
        put("feature_names", [1]),
        r"feature_names\[0\]=1 .* a string",
    ),
    "a version that is none": ("exact", put("cloakgp_version", "\x1b[31m"), "version"),
    "a version that is a number": ("exact", put("cloakgp_version", 0.1), "version"),
    "a time that is none": ("exact", put("created", "yesterday"), "time"),
    "a name that colours the terminal": ("exact", put("release_id", "\x1b[31m"), "printed"),
    "a status of two lines": ("exact", put("design.status", "certified\nnot"), "printed"),
    "a status that is a list": ("exact", put("design.status", ["certified"]), "status"),
    "a choice for a huge epsilon": (
        "selected",
        lambda m, a: m["selection"].update(epsilon=1e300),
        "selection.epsilon",
    ),
    "a kernel of no size with inducing inputs": (
        "sparse",
        lambda m, a: m["prior"]["kernel"]["params"]["k1"]["params"].update(constant_value=0.0),
        "cannot be computed",
    ),
    "a kernel of negative length": (
        "exact",
        lambda m, a: m["prior"]["kernel"]["params"]["k2"]["params"].update(length_scale=-1.0),
        "length_scale",
    ),
    "a kernel with an array of another name": (
        "exact",
        lambda m, a: (
            m["prior"]["kernel"]["params"]["k2"]["params"].update(length_scale={"array": "more"}),
            a.update(more=np.ones(1)),
        ),
        "unknown to it: \\['more'\\]",
    ),
    "a kernel of length 1e308": (
        "exact",
        lambda m, a: m["prior"]["kernel"]["params"]["k2"]["params"].update(length_scale=1e308),
        "length_scale",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_release_can_hold_is_refused_with_and_without_checks(case, tmp_path):
    name, edit, message = WRONG[case]
    path = crafted(tmp_path / "r", name, edit)
    for check in (True, False):
        with pytest.raises(ReleaseFileError, match=message):
            Release.load(path, check=check)


def test_a_grid_of_whole_numbers_is_refused_where_none_was_meant(tmp_path):
    path = crafted(tmp_path / "r", "exact", put("grid.noisy_bits", [0]))
    with pytest.raises(ReleaseFileError, match=r"grid: .* of 0 bits, which should be"):
        Release.load(path)


def test_names_and_labels_may_be_any_strings_and_are_escaped_where_they_are_shown(tmp_path):
    wild = "a\x1b[31m\n<b> \u202e,\"'"
    edit = both(put("target_names", [wild]), put("classes", [wild, ""]))
    release = Release.load(crafted(tmp_path / "r", "two-classes", edit))
    assert set(release.predict([[5.0], [70.0]])) <= {wild, ""}
    for words in (release.statement(), str(release.verify()), repr(release)):
        assert "\x1b" not in words
        assert "\u202e" not in words
        assert "<b>" not in words


def test_zeros_below_zero_are_zeros(tmp_path):
    edit = both(put("guarantee.sigma", -0.0), put("design.gap", -0.0))
    release = Release.load(crafted(tmp_path / "r", "no-noise", edit))
    expected = Release.load(FOLDER / "no-noise.cloakgp").predict([[5.0]])
    np.testing.assert_array_equal(release.predict([[5.0]]), expected)


def test_what_would_not_be_read_is_not_written(tmp_path):
    release = Release.load(FOLDER / "exact.cloakgp")
    far = replace(release, spec=replace(release.facts, prior_mean=np.array([1e200])))
    with pytest.raises(ReleaseFileError, match=r"prior\.mean"):
        far.save(tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", ["exact", "sparse", "direct", "two-classes", "counts", "kernels"])
def test_predictions_that_are_no_numbers_are_an_error_that_says_so(name, tmp_path):
    dots = {"class": "DotProduct", "params": {"sigma_0": 1.0, "sigma_0_bounds": "fixed"}}
    cubes = {"class": "Exponentiation", "params": {"kernel": dots, "exponent": 3.0}}

    def edit(manifest, arrays):
        manifest["prior"]["kernel"] = cubes
        for array in [key for key in arrays if key.startswith("kernel_")]:
            del arrays[array]

    release = Release.load(crafted(tmp_path / "r", name, edit), check=False)
    with pytest.raises(DecodeError, match="check the points"):
        release.predict([[1e120]])
    with pytest.raises(DecodeError, match="check the points"):
        release.uncertainty([[1e90]])


# ---------------------------------------------------------------------------- families of priors


def learnt(path, edit, name="exact"):
    """Write the release of this name with a family of priors, after an edit of the family."""

    def put_family(manifest, arrays):
        manifest["prior"] = with_family(manifest, arrays)[0]["prior"]
        edit(manifest)

    return crafted(path, name, put_family)


def of_family(edit):
    return lambda manifest: edit(manifest["prior"]["family"])


def of_setting(**changes):
    return of_family(lambda family: family["settings"][1].update(changes))


def many_settings(family, count=10_001):
    family["settings"] = [{**family["settings"][0], "weight": 1.0 / count}] * count


WRONG_FAMILIES = {
    "weights below 1": of_setting(weight=0.4),
    "weights above 1": of_setting(weight=0.6),
    "a weight of 0": of_setting(weight=0.0),
    "a negative weight": of_setting(weight=-0.5),
    "a weight above 1": of_setting(weight=1.5),
    "a weight in words": of_setting(weight="0.5"),
    "no weight": of_family(lambda family: family["settings"][1].pop("weight")),
    "an unknown field": of_setting(remark="y was 4.2"),
    "no variances": of_setting(variances=[]),
    "a kernel that is not there": of_setting(variances=[[3, 900.0]]),
    "a kernel that can never be there": of_setting(variances=[[300, 900.0]]),
    "a negative kernel": of_setting(variances=[[-1, 900.0]]),
    "half a kernel": of_setting(variances=[[0.5, 900.0]]),
    "a variance of 0": of_setting(variances=[[0, 0.0]]),
    "a negative variance": of_setting(variances=[[0, -1.0]]),
    "a huge variance": of_setting(variances=[[0, 1e200]]),
    "a variance without a kernel": of_setting(variances=[[900.0]]),
    "too many kernels at once": of_setting(variances=[[0, 900.0]] * 11),
    "a huge list of kernels at once": of_setting(variances=[[0, 900.0]] * 100_000),
    "a negative level": of_setting(level=-1.0),
    "a huge level": of_setting(level=1e200),
    "no level": of_setting(level=None),
    "negative noise": of_setting(noise_variance=-1.0),
    "huge noise": of_setting(noise_variance=1e200),
    "no noise": of_setting(noise_variance=None),
    "no settings": of_family(lambda family: family.update(settings=[])),
    "too many settings": of_family(many_settings),
    "no kernels": of_family(lambda family: family.update(kernels=[])),
    "too many kernels": of_family(lambda family: family.update(kernels=family["kernels"] * 101)),
    "a kernel that is a word": of_family(lambda family: family["kernels"].append("RBF")),
    "a kernel of nothing": of_family(lambda family: family["kernels"].append(None)),
    "a kernel with a wrong parameter": of_family(
        lambda family: family["kernels"][0]["params"].update(length_scale=-1.0)
    ),
    "a kernel for other inputs": of_family(
        lambda family: family["kernels"][0]["params"].update(length_scale=[1.0, 2.0])
    ),
    "a kernel that asks for outputs": of_family(
        lambda family: family["kernels"][0]["params"].update(length_scale={"array": "noisy"})
    ),
    "a list": lambda manifest: manifest["prior"].update(family=[]),
    "an empty family": lambda manifest: manifest["prior"].update(family={}),
    "decoded directly": lambda manifest: manifest["design"].update(decode="direct"),
}


@pytest.mark.parametrize("name", ["exact", "two-classes"])
@pytest.mark.parametrize("case", WRONG_FAMILIES)
def test_a_family_that_no_release_has_is_refused(case, name, tmp_path):
    path = learnt(tmp_path / "r", WRONG_FAMILIES[case], name)
    for check in (True, False):
        with pytest.raises(ReleaseFileError):
            Release.load(path, check=check)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_of_a_family_that_json_does_not_know_is_refused(number):
    manifest, _ = with_family(*read_archive(FOLDER / "exact.cloakgp"))
    data = canonical_json(manifest).replace(b'"weight":0.5', f'"weight":{number}'.encode())
    with pytest.raises(ReleaseFileError, match="not finite"):
        parse_json(data, "manifest.json")


def test_no_family_may_be_said_but_is_not_written(tmp_path):
    path = crafted(tmp_path / "r", "exact", lambda m, a: m["prior"].update(family=None))
    release = Release.load(path)
    assert release.facts.family is None
    assert "family" not in release.contents()[0]["prior"]
