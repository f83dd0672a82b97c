"""Several releases predict together as the joint Gaussian of all of them says."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from combine_cases import (
    KERNEL,
    LATENT,
    PAIRS,
    POINTS,
    dense,
    fitted,
    heights,
    pair,
    people,
)
from scipy import stats

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor, Release
from cloakgp.release import Combination, CountRelease, LabelRelease
from cloakgp.release.decode import (
    decode,
    decoders_for,
    measurements,
    posterior_mixtures,
    prior_weights,
)
from cloakgp.release.squares import weigh_noise

pytestmark = pytest.mark.usefixtures("few_settings", "one_start")


@pytest.mark.parametrize("name", ["bounds, noise, budgets", "places and rows"])
def test_predictions_are_those_of_the_joint_gaussian_of_all_releases(name):
    members = pair(name)
    both = Release.combine(members)
    mean, covariance = dense(members, POINTS, 120.0)
    found = both.predict(POINTS, return_std=True)
    np.testing.assert_allclose(found[0], mean, rtol=1e-8)
    np.testing.assert_allclose(found[1], np.sqrt(np.diag(covariance)), rtol=1e-7)
    np.testing.assert_allclose(
        both.predict(POINTS, return_cov=True)[1], covariance, rtol=1e-6, atol=1e-6
    )


def test_several_iterations_and_three_releases_are_stacked_too():
    members = [heights(seed, KERNEL, noise_variance=20.0 * seed) for seed in (1, 2, 3)]
    mean, covariance = dense(members, POINTS, 120.0)
    found = Release.combine(members).predict(POINTS, return_std=True)
    np.testing.assert_allclose(found[0], mean, rtol=1e-8)
    np.testing.assert_allclose(found[1] ** 2, np.diag(covariance), rtol=1e-7)


def one_dense_step(combination, f, kernel, mean, probe):
    """Latent values at people after one Newton step from f, by plain matrices."""
    X = np.vstack([m.spec.X for m in combination.members])
    blocks, spread, s = [], [], []
    for m in combination.members:
        for sketch, noisy in m.parts:
            blocks.append((m, sketch.rounded))
            spread += [noisy.noise_std**2] * len(sketch.matrix)
            s.append(noisy.s.reshape(len(sketch.matrix), -1)[:, 0])
    start = np.cumsum([0, *(len(m.spec.X) for m in combination.members)])
    rows = []
    for m, T in blocks:
        number = combination.members.index(m)
        wide = np.zeros((len(T), len(X)))
        wide[:, start[number] : start[number + 1]] = T / m.spec.hi[0]
        rows.append(wide)
    A = np.vstack(rows)  # s = A t + noise, for outputs t
    expected, slope, variance = probe(f)
    # t ≈ expected + slope (f_new − f), with this variance: linear and Gaussian in f_new.
    H = A * slope
    cov = H @ kernel(X) @ H.T + (A * variance) @ A.T + np.diag(spread)
    rest = np.concatenate(s) - A @ (expected + slope * (mean - f))
    return mean + kernel(X) @ H.T @ np.linalg.solve(cov, rest)


def logistic(f):
    p = 1.0 / (1.0 + np.exp(-f))
    return p, p * (1.0 - p), p * (1.0 - p)


def test_classes_settle_where_a_dense_newton_step_stays():
    both = Release.combine(pair("two classes"))
    f = posterior_mixtures(both)[0].mean(both.spec.X)
    again = one_dense_step(both, f, LATENT, 0.0, logistic)
    np.testing.assert_allclose(again, f, atol=1e-7)


def test_counts_with_different_caps_settle_where_a_dense_newton_step_stays():
    both = Release.combine(pair("counts"))
    # Without averaging over what is not known of f, as releases of 0.2.0 are decoded.
    spec = replace(both.spec, outcome=replace(both.spec.outcome, rate="mean"))
    f = decode(spec, measurements(both))[0].mean(spec.X)
    watched = np.concatenate([people(seed)["years"] for seed in (1, 2)])
    caps = np.repeat([8, 5], 60)

    def poisson(f):
        rate, t = watched * np.exp(f), np.arange(60)[:, None]
        p, clipped = stats.poisson.pmf(t, rate), np.minimum(t, caps)
        mean = (p * clipped).sum(axis=0)
        return mean, (p * clipped * (t - rate)).sum(axis=0), (p * (clipped - mean) ** 2).sum(axis=0)

    again = one_dense_step(both, f, LATENT, 0.0, poisson)
    np.testing.assert_allclose(again, f, atol=1e-6)


HALVES = {
    "numbers": (PrivateGPRegressor, {"bounds": (40, 200)}, "height"),
    "classes": (PrivateGPClassifier, {"classes": ["no", "yes"]}, "ill"),
    "counts": (PrivateGPCountRegressor, {"cap": 8, "prior_mean": 0.0}, "falls"),
}


@pytest.mark.parametrize("kernel", [None, "given"], ids=["learnt", "fixed"])
@pytest.mark.parametrize("name", HALVES)
def test_without_noise_two_halves_are_the_whole(name, kernel):
    kind, settings, column = HALVES[name]
    if kernel is not None:
        kernel = KERNEL if name == "numbers" else LATENT
    table = people(5, 50)

    def released(rows):
        extra = {"exposure": rows["years"].to_numpy()} if name == "counts" else {}
        learn = {"learn": kernel is None}
        estimator = kind(kernel, epsilon=np.inf, **learn, **settings)
        return fitted(estimator, rows[["age"]], rows[column], **extra)

    whole = released(table)
    both = Release.combine([released(table[::2]), released(table[1::2])])
    order = np.argsort(np.r_[0:50:2, 1:50:2])  # rows of the combination in the table's order
    np.testing.assert_allclose(both.spec.X[order], whole.spec.X)
    latent = whole.latent(POINTS, return_std=True), both.latent(POINTS, return_std=True)
    for ours, theirs in zip(*latent, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=2e-5, atol=2e-5)
    assert not both.private


def test_learnt_settings_are_shared_and_weighed_by_the_evidence_of_all():
    members = pair("learnt")
    both = Release.combine(members)
    table = both.hyperparameters
    assert len(table) == len(members[0].hyperparameters)
    mixture = posterior_mixtures(both)[0]
    assert len(mixture.s) == sum(len(m.noisy.values) for m in members)
    scores = np.array([d.log_evidence(mixture.s) for d in mixture.decoders])
    (seen,) = measurements(both)
    assert len(seen.squares) == 2
    every = decoders_for(both.spec, seen.T)
    every = [replace(decoder, noise_std=seen.noise_std) for decoder in every]
    scores += weigh_noise(every, mixture.s, seen.squares, 0)[0][list(mixture.settings)]
    expected = prior_weights(both.spec)[list(mixture.settings)] * np.exp(scores - scores.max())
    np.testing.assert_allclose(mixture.weights, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_a_combination_does_all_that_a_release_does(name, tmp_path):
    both = Release.combine(pair(name))
    assert isinstance(both, Combination)
    assert type(both).__name__ in ("Combination", "LabelCombination", "CountCombination")
    assert isinstance(both, LabelRelease) == ("classes" in name)
    assert isinstance(both, CountRelease) == name.startswith("counts")
    columns = 3 if name == "three classes" else 1
    low, high = both.predict_interval(POINTS)
    assert np.all(low <= high)
    assert low.size == len(POINTS) * columns
    parts = both.uncertainty(POINTS)
    np.testing.assert_allclose(
        parts.curve, np.reshape(both.latent(POINTS, return_std=True)[1], parts.curve.shape)
    )
    assert 0.0 <= both.check().p_value <= 1.0
    assert len(both.sample_y(POINTS, 3)) == len(POINTS)
    assert both.hyperparameters["prior"].sum() == pytest.approx(1.0)
    frame = both.to_frame()
    assert len(frame) == len(both.spec.points)
    assert "age" in frame
    pd.testing.assert_frame_equal(frame, pickle.loads(pickle.dumps(both)).to_frame())
    assert "2 releases" in repr(both)
    assert both.verify().ok
    assert both.plot().axes


def test_fewer_people_and_more_noise_count_for_less():
    strong, weak = heights(1, KERNEL, n=400, epsilon=8.0), heights(2, KERNEL, n=30, epsilon=0.05)
    both = Release.combine([strong, weak])
    stds = [r.predict(POINTS, return_std=True)[1] for r in (strong, weak, both)]
    assert np.all(stds[2] <= stds[0] + 1e-9)
    assert np.all(stds[0] < stds[1] + 1e-9)
    np.testing.assert_allclose(both.predict(POINTS[1:4]), strong.predict(POINTS[1:4]), atol=5.0)


def test_a_combination_can_be_combined_again_release_by_release():
    first, second = pair("learnt")
    third = heights(3)
    nested = Release.combine([Release.combine([first, second]), third])
    flat = Release.combine([first, second, third])
    assert nested.members == (first, second, third)
    np.testing.assert_array_equal(nested.predict(POINTS), flat.predict(POINTS))
    assert nested.total_epsilon == flat.total_epsilon


def test_the_paper_s_decoding_is_not_used_for_several_releases():
    members = [heights(s, KERNEL, decode="direct", design="total") for s in (1, 2)]
    both = Release.combine(members)
    assert both.spec.decode == "bayes"
    mean, _ = dense(members, POINTS, 120.0)
    np.testing.assert_allclose(both.predict(POINTS), mean, rtol=1e-8)


def test_inputs_of_a_combination_are_compared_release_by_release():
    both = Release.combine(pair("learnt"))
    with pytest.raises(ValueError, match=r"members\[0\]\.verify"):
        both.verify(people(1)[["age"]])
    assert both.members[0].verify(people(1)[["age"]]).ok


def test_several_outputs_share_one_prior_each_in_units_of_its_own():
    members = []
    for seed, bounds in ((1, [(40, 200), (0, 120)]), (2, [(40, 220), (0, 100)])):
        table = people(seed)
        y = pd.DataFrame({"height": table["height"], "weight": table["height"] / 2.5})
        estimator = PrivateGPRegressor(bounds=bounds, epsilon=3.0)
        members.append(fitted(estimator, table[["age"]], y))
    both = Release.combine(members)
    assert both.predict(POINTS).shape == (len(POINTS), 2)
    np.testing.assert_allclose(both.spec.unit, [1.0, 120.0 / 180.0])
    assert both.verify().ok
