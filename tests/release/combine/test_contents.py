"""A combination is one file that holds every release, and is read without trust."""

from dataclasses import replace

import numpy as np
import pytest
from combine_cases import PAIRS, POINTS, heights, pair
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Release
from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.archive import write_archive


@pytest.mark.parametrize("name", PAIRS)
def test_a_combination_is_loaded_to_the_same_bits(name, tmp_path):
    both = Release.combine(pair(name), people="disjoint")
    both.save(tmp_path / "both.cloakgp")
    loaded = Release.load(tmp_path / "both.cloakgp")
    assert type(loaded) is type(both)
    assert loaded.overlap == "disjoint"
    for ours, theirs in zip(both.latent(POINTS, True), loaded.latent(POINTS, True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    loaded.save(tmp_path / "again.cloakgp")
    assert (tmp_path / "both.cloakgp").read_bytes() == (tmp_path / "again.cloakgp").read_bytes()


@pytest.mark.parametrize("name", ["learnt", "places and rows", "counts"])
def test_every_release_can_be_taken_out_again_byte_for_byte(name, tmp_path):
    Release.combine(pair(name)).save(tmp_path / "both.cloakgp")
    loaded = Release.load(tmp_path / "both.cloakgp")
    for number, member in enumerate(pair(name)):
        member.save(tmp_path / "own.cloakgp")
        loaded.members[number].save(tmp_path / "out.cloakgp")
        own, out = ((tmp_path / f"{n}.cloakgp").read_bytes() for n in ("own", "out"))
        assert own == out


def test_loading_does_not_choose_the_prior_anew(tmp_path, monkeypatch):
    both = Release.combine(pair("learnt"))
    both.save(tmp_path / "both.cloakgp")
    monkeypatch.setattr("cloakgp.gp.defaults.SMOOTH", ((1.0, 1.0),))  # of another version
    assert Release.load(tmp_path / "both.cloakgp").spec.family == both.spec.family


@pytest.fixture(scope="module")
def written():
    return Release.combine(pair("inducing")).contents()


def section(manifest):
    return manifest["combination"]


def without(mapping, name):
    return {key: value for key, value in mapping.items() if key != name}


def set_prior(manifest, **values):
    prior = section(manifest)["prior"] | values
    return manifest | {"combination": section(manifest) | {"prior": prior}}


def set_releases(manifest, releases):
    return manifest | {"combination": section(manifest) | {"releases": releases}}


CHANGES = {
    "a third release": (
        lambda m, a: (m, a | {"release3_X": a["release1_X"]}),
        "arrays of a release 3",
    ),
    "an array too many": (lambda m, a: (m, a | {"more": a["inducing"]}), "unknown to it"),
    "no inducing": (lambda m, a: (m, without(a, "inducing")), "array 'inducing'"),
    "inducing of other inputs": (
        lambda m, a: (m, a | {"inducing": np.zeros((3, 2))}),
        "must be float64 of shape (any, 1)",
    ),
    "inducing of nothing": (
        lambda m, a: (m, a | {"inducing": np.zeros((0, 1))}),
        "there are no inducing inputs",
    ),
    "a member without its sketch": (
        lambda m, a: (m, without(a, "release2_sketch")),
        "release 2: the release file lacks something",
    ),
    "a member that is no release": (
        lambda m, a: (set_releases(m, [section(m)["releases"][0], {"x": 1}]), a),
        "release 2: ",
    ),
    "one release": (
        lambda m, a: (set_releases(m, section(m)["releases"][:1]), a),
        "combination.releases",
    ),
    "the same release twice": (
        lambda m, a: (
            set_releases(m, [section(m)["releases"][0]] * 2),
            a | {f"release2_{k[9:]}": v for k, v in a.items() if k.startswith("release1_")},
        ),
        "are the same one",
    ),
    "two means": (lambda m, a: (set_prior(m, mean=[1.0, 2.0]), a), "one number for each output"),
    "weights of the family": (
        lambda m, a: (
            set_prior(
                m,
                family=section(m)["prior"]["family"]
                | {"settings": section(m)["prior"]["family"]["settings"][1:]},
            ),
            a,
        ),
        "add up to 1",
    ),
    "a word too many": (lambda m, a: (m | {"more": 1}, a), "unknown to it"),
    "no time": (lambda m, a: (m | {"created": "soon"}, a), "is not a time"),
    "an id in several lines": (lambda m, a: (m | {"release_id": "a\nb"}, a), "cannot be printed"),
    "another overlap": (
        lambda m, a: (m | {"combination": section(m) | {"people": "some"}}, a),
        "combination.people",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_combination_says_is_refused(written, tmp_path, name):
    change, message = CHANGES[name]
    manifest, arrays = change(*written)
    write_archive(tmp_path / "x.cloakgp", manifest, arrays)
    with pytest.raises(ReleaseFileError) as caught:
        Release.load(tmp_path / "x.cloakgp")
    assert message in str(caught.value)


def test_a_member_whose_guarantee_does_not_hold_is_refused(tmp_path):
    first, second = pair("learnt")
    quiet = replace(second, noisy=replace(second.noisy, sigma=0.5 * second.noisy.sigma))
    Release.combine([first, quiet]).save(tmp_path / "x.cloakgp")
    with pytest.raises(ReleaseFileError, match=r"release 2: noise: .*needs"):
        Release.load(tmp_path / "x.cloakgp")
    report = Release.load(tmp_path / "x.cloakgp", check=False).verify()
    assert [c.name for c in report.checks if not c.passed] == ["release 2"]


def test_a_kernel_that_no_file_can_hold_is_refused_on_saving(tmp_path):
    class Mine(RBF):
        pass

    with pytest.warns(UserWarning, match="cannot be saved"):
        members = [heights(s, Mine(15.0)) for s in (1, 2)]
    both = Release.combine(members)
    assert both.verify().ok
    with pytest.raises(ValueError, match="kernel"):
        both.save(tmp_path / "x.cloakgp")
    assert not (tmp_path / "x.cloakgp").exists()
