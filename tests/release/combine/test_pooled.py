"""One prior for several releases: a public rule, and what it cannot settle is refused."""

import numpy as np
import pytest
from combine_cases import (
    KERNEL,
    LATENT,
    POINTS,
    counts,
    fitted,
    heights,
    labels,
    pair,
    people,
    refused,
)
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from cloakgp import PrivateGPRegressor, Release
from cloakgp.gp.defaults import NUMBERS, default_family
from cloakgp.gp.family import Family, Setting
from cloakgp.release.combine import pooled
from cloakgp.release.combine.pooled import shared_prior, united


def test_default_priors_become_the_default_prior_of_everybody():
    members = pair("learnt")
    spec = Release.combine(members).spec
    X = np.vstack([m.spec.X for m in members])
    assert spec.family == default_family(X, NUMBERS, 160.0)
    assert spec.family != members[0].spec.family


def test_the_default_prior_knows_how_many_people_are_at_each_place():
    members = heights(1, n=300, in_blocks=True, inducing="auto"), heights(2)
    spec = Release.combine(members).spec
    counts_of_all = np.concatenate([members[0].spec.counts, np.ones(60)])
    X = np.vstack([m.spec.X for m in members])
    assert spec.family == default_family(X, NUMBERS, 160.0, counts_of_all)
    np.testing.assert_array_equal(spec.counts, counts_of_all)


def test_other_families_are_united_and_believed_in_equally():
    members = heights(1, RBF(15.0), learn=True), heights(2, RBF(30.0), learn=True)
    families = [m.spec.family for m in members]
    family = Release.combine(members).spec.family
    assert len(family.kernels) == sum(len({k.length_scale for k in f.kernels}) for f in families)
    for kernel_family in families:
        kernels = [family.kernels.index(k) for k in kernel_family.kernels]
        own = [s.weight for s in family.settings if s.variances[0][0] in kernels]
        assert sum(own) == pytest.approx(0.5)


def test_equal_families_stay_as_they_are():
    free = 900.0 * RBF(15.0)
    members = heights(1, free, learn=True), heights(2, free, learn=True)
    assert Release.combine(members).spec.family == members[0].spec.family


def test_settings_of_several_families_are_listed_once():
    one = Family(
        (RBF(1.0), RBF(2.0)),
        (Setting(((0, 1.0),), 0.0, 1.0, 0.25), Setting(((1, 1.0),), 0.0, 1.0, 0.75)),
    )
    two = Family((RBF(2.0),), (Setting(((0, 1.0),), 0.0, 1.0, 1.0),))
    family = united([one, two])
    assert family.kernels == (RBF(1.0), RBF(2.0))
    assert [s.weight for s in family.settings] == [0.125, 0.875]


def test_kernels_that_differ_are_refused_and_can_be_learnt_instead():
    members = heights(1, KERNEL), heights(2, 900.0 * RBF(20.0))
    refused(members, "releases 1 and 2 have different kernels", "learn=True")
    spec = Release.combine(members, learn=True).spec
    assert spec.family == default_family(spec.X, NUMBERS, 160.0)


def test_fixed_and_learnt_priors_are_not_mixed_without_a_word():
    members = heights(1, KERNEL), heights(2)
    refused(members, "fixed", "learn=True")
    assert Release.combine(members, learn=True).verify().ok


def test_priors_in_different_units_are_refused():
    def both(seed, wide):
        table = people(seed)
        y = table[["height"]].assign(weight=table["height"] / 2.5)
        bounds = [(40, 200), (0, wide)]
        return fitted(PrivateGPRegressor(bounds=bounds, learn=False), table[["age"]], y)

    refused([both(1, 120), both(2, 90)], "different units", "learn=True")


def test_prior_means_that_differ_a_little_become_that_of_people():
    members = pair("bounds, noise, budgets")[0], heights(3, KERNEL, bounds=(40, 220), n=120)
    assert Release.combine(members).spec.prior_mean == pytest.approx([(120 + 2 * 130) / 3])


def test_prior_means_that_contradict_each_other_are_refused():
    members = labels(1, LATENT, prior_mean=-9.0), labels(2, LATENT, prior_mean=9.0)
    refused(members, "prior means", "one prior_mean", "standard deviation of 2")
    members = heights(1, bounds=(0, 100)), heights(2, bounds=(1000, 1100))
    assert Release.combine(members).spec.prior_mean == pytest.approx(
        [550.0]
    )  # unknown: a wide level


def test_default_means_of_counts_follow_exposures_and_may_differ():
    members = pair("counts, learnt")
    means = [m.spec.prior_mean[0] for m in members]
    assert means[0] != means[1]
    assert Release.combine(members).spec.prior_mean == pytest.approx([np.mean(means)])


def test_outputs_scatter_by_the_noise_of_their_own_release():
    both = Release.combine(pair("bounds, noise, budgets"))
    np.testing.assert_array_equal(both.spec.model.noise_variance, np.repeat([30.0, 90.0], 60))
    np.testing.assert_allclose(both.uncertainty(POINTS).observation, np.sqrt(60.0))
    assert both.hyperparameters["noise_std"][0] == pytest.approx(np.sqrt(60.0))


def test_white_noise_in_a_kernel_is_refused_where_people_are_gathered():
    kernel = KERNEL + WhiteKernel(4.0, "fixed")
    gathered = heights(1, KERNEL, n=300, in_blocks=True, inducing="auto")
    object.__setattr__(gathered.spec.model, "kernel", kernel)
    refused([gathered, heights(2, kernel)], "WhiteKernel", "noise_variance")


def test_many_rows_are_decoded_through_inducing_inputs(monkeypatch):
    monkeypatch.setattr(pooled, "MOST_EXACT", 99)
    prior = shared_prior(pair("learnt"))
    assert prior.approximation == "fitc"
    assert len(prior.inducing) == 100  # everybody: 60 + 40 different ages
    monkeypatch.setattr(pooled, "OF_ALL", 30)
    few = Release.combine(pair("learnt"))
    assert len(few.spec.inducing) == 30
    monkeypatch.undo()
    exact = Release.combine(pair("learnt"))
    np.testing.assert_allclose(few.predict(POINTS), exact.predict(POINTS), atol=2.0)


def test_the_paper_s_approximation_is_kept_where_all_have_it():
    members = [heights(s, inducing=9, approximation="dtc") for s in (1, 2)]
    assert Release.combine(members).spec.approximation == "dtc"
    assert Release.combine([members[0], heights(3, inducing=9)]).spec.approximation == "fitc"


def test_points_that_matter_are_those_of_all_weighed_by_people():
    members = pair("learnt")
    spec = Release.combine(members).spec
    assert spec.weights.sum() == pytest.approx(1.0)
    assert len(spec.points) == len(np.unique(np.vstack([m.spec.points for m in members]), axis=0))
    mean = sum(
        share * m.spec.weights @ m.spec.points for share, m in zip((0.6, 0.4), members, strict=True)
    )
    np.testing.assert_allclose(spec.weights @ spec.points, mean)


def test_what_takes_too_much_memory_is_refused_before_it_is_tried(monkeypatch):
    rows = sum(len(m.noisy.values) for m in pair("learnt"))
    settings = len(pair("learnt")[0].spec.family.settings)
    needed = settings * rows**2, 100 * 100  # a matrix for each setting, and people by people
    monkeypatch.setattr(pooled, "MOST_ENTRIES", max(needed) - 1)
    refused(pair("learnt"), "too much memory", "combine fewer")
    monkeypatch.setattr(pooled, "MOST_ENTRIES", max(needed))
    Release.combine(pair("learnt"))


def test_exposures_and_caps_are_those_of_each_release():
    spec = Release.combine([counts(1), counts(2, cap=12)]).spec
    assert spec.hi.tolist() == [12.0]
    assert spec.outcome.whole_steps is None
    assert len(spec.outcome.exposure) == 120
