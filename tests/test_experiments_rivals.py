"""The rivals: what they publish is as private as they say, and they are given their best."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from test_experiments import labelled, line, trial

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cloakgp import PrivateGPClassifier, PrivateGPRegressor  # noqa: E402
from experiments import compare, learnt, others, outcomes, rivals  # noqa: E402
from experiments.draw import without_privacy  # noqa: E402
from experiments.item import Run  # noqa: E402

UNIFORM = np.full(rivals.VALUES, 1.0 / rivals.VALUES)
LEANING = np.arange(1.0, rivals.VALUES + 1) / np.arange(1.0, rivals.VALUES + 1).sum()
GRID = np.linspace(0.0, 1.0, rivals.VALUES)


def squared_error(randomiser, prior):
    off = np.square(randomiser.said - GRID[:, None])
    return float(prior @ (randomiser.chance * off).sum(axis=1))


# ------------------------------------------------------------------------------ the GP behind them


def test_the_gp_without_noise_is_our_model_without_privacy():
    t = trial(line(100), 1.0)
    plan = PrivateGPRegressor(bounds=t.data.bounds, inducing=None).plan(t.X)
    found = rivals.without_privacy(t)[0]
    np.testing.assert_allclose(found, without_privacy(plan, t.X, t.y, t.at), atol=2e-3)


def test_the_classifier_of_labels_that_nobody_turned_is_ours_without_privacy():
    X, y = labelled()
    release = outcomes.without_privacy(PrivateGPClassifier(classes=[0.0, 1.0]), X, y)
    at = np.linspace(0, 10, 7)[:, None]
    seen = learnt.Seen(y, np.ones(len(y)), np.zeros(len(y)))
    found = learnt.classify(learnt.log_odds(X, X, at), seen)
    np.testing.assert_allclose(found, expit(release.latent(at)), atol=0.05)


def test_the_likelihood_of_turned_labels_is_that_of_the_mixture():
    seen = learnt.Seen(np.array([1.0, 0.0]), np.ones(2), np.zeros(2), hit=0.7, miss=0.1)
    f = np.array([0.5, -2.0])
    chance = 0.1 + 0.6 / (1.0 + np.exp(-f))
    wanted = np.log(chance[0]) + np.log(1.0 - chance[1])
    assert np.isclose(seen.log_likelihood(f), wanted)


# -------------------------------------------------------------------------------------- histograms


@pytest.mark.parametrize("how", rivals.HOWS)
@pytest.mark.parametrize("inputs", [1, 3])
def test_cells_hold_everybody_once_and_are_as_many_as_asked_for(how, inputs):
    X = np.random.default_rng(0).uniform(size=(200, inputs))
    for count in (1, 3, 8, 13):
        member = rivals.cells_of(X, (X.min(axis=0), X.max(axis=0)), count, how)
        assert len(np.unique(member)) == count
        sizes = np.bincount(member)
        assert sizes.sum() == 200
        if how == "equal counts":
            assert np.ptp(sizes) <= 4


def test_the_histogram_has_laplace_noise_for_one_cell_of_every_person(monkeypatch):
    # One cell: its mean has noise of std √2 d/(ε N); 4000 draws know it to 1.8 %.
    t = trial(line(), 0.5, 4000)
    seen = {}
    monkeypatch.setattr(
        rivals, "_through", lambda t, places, name, means, known: seen.update(m=means, k=known)
    )
    rivals.laplace_histogram(1, "equal counts")(t)
    wanted = np.sqrt(2.0) * t.width / (0.5 * t.train.sum())
    assert np.isclose(seen["m"].std(), wanted, rtol=0.08)
    assert np.isclose(np.sqrt(seen["k"][0]), wanted)
    # A histogram of more cells has as much noise in each sum.
    rivals.laplace_histogram(5, "equal counts")(t)
    counts = wanted * t.train.sum() / np.sqrt(seen["k"])
    np.testing.assert_allclose(seen["m"].std(axis=0) * counts, wanted * t.train.sum(), rtol=0.1)


def test_whole_numbers_have_the_noise_that_is_enough_for_one_label():
    rng = np.random.default_rng(0)
    for epsilon in (0.3, 1.0, 3.0):
        a = np.exp(-epsilon)
        found = rivals.discrete_laplace(a, 100_000, rng)
        assert np.isclose(found.var(), 2 * a / (1 - a) ** 2, rtol=0.05)
        share = [np.mean(found == k) for k in (0, 1)]
        assert np.isclose(share[0] / share[1], np.exp(epsilon), rtol=0.05)


# ------------------------------------------------------------------------------------- randomisers


@pytest.mark.parametrize("made", [rivals.rr_on_bins, rivals.unbiased])
@pytest.mark.parametrize("prior", [UNIFORM, LEANING])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_randomisers_are_private(made, prior, epsilon):
    chance = made(prior, epsilon).chance
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    used = chance.max(axis=0) > 1e-7  # below: what the solver leaves
    assert np.all(chance.max(axis=0)[used] <= np.exp(epsilon) * chance.min(axis=0)[used] * 1.0001)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_the_unbiased_randomiser_is_that_and_beats_laplace_and_two_answers(epsilon):
    found = rivals.unbiased(UNIFORM, epsilon)
    np.testing.assert_allclose(found.mean(), GRID, atol=1e-6 / epsilon)
    variance = float(UNIFORM @ found.variance())
    assert variance < 2.0 / epsilon**2
    low_or_high = 0.25 / np.tanh(0.5 * epsilon) ** 2 - np.mean((GRID - 0.5) ** 2)
    assert variance <= low_or_high * 1.0001


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_other_bins_are_better(epsilon):
    best = squared_error(rivals.rr_on_bins(LEANING, epsilon), LEANING)
    rng = np.random.default_rng(0)
    for _ in range(50):
        d = int(rng.integers(1, 6))
        borders = np.sort(rng.choice(np.arange(1, rivals.VALUES), d - 1, replace=False))
        member = np.searchsorted(borders, np.arange(rivals.VALUES), side="right")
        chance = np.where(member[:, None] == np.arange(d), np.exp(epsilon), 1.0)
        chance /= chance.sum(axis=1, keepdims=True)
        joint = LEANING[:, None] * chance
        said = joint.T @ GRID / joint.sum(axis=0)
        assert squared_error(rivals.Randomiser(said, chance), LEANING) >= best - 1e-12


def test_people_say_what_the_randomiser_says():
    made, rng = rivals.rr_on_bins(LEANING, 1.5), np.random.default_rng(0)
    said = made.draw(np.full(20_000, 7), rng)
    share = [np.mean(said == value) for value in made.said]
    np.testing.assert_allclose(share, made.chance[7], atol=0.02)


@pytest.mark.parametrize("classes", [2, 4])
def test_labels_are_turned_with_the_probability_that_epsilon_allows(classes, monkeypatch):
    # 20 × 600 labels at ε = 1, a standard error of 0.004.
    data = replace(line(800, "classification"), classes=classes)
    data = replace(data, y=np.arange(800.0) % classes)
    seen = []
    monkeypatch.setattr(rivals, "_people", lambda t: rivals.Places.of(t.X, np.arange(len(t.X))))
    monkeypatch.setattr(rivals, "_prior", lambda *_: None)
    monkeypatch.setattr(learnt, "classify", lambda prior, s: seen.append(s) or np.zeros(len(t.at)))
    t = trial(data, 1.0, 20)
    rivals.randomised_response(t)
    last = classes - 1
    mine = [s for k, s in enumerate(seen) if classes == 2 or k % classes == last]
    hit = np.mean([s.shares[t.y == last].mean() for s in mine])
    miss = np.mean([s.shares[t.y != last].mean() for s in mine])
    assert np.isclose(hit, np.e / (np.e + last), atol=0.03)
    assert np.isclose(miss, 1.0 / (np.e + last), atol=0.02)
    assert all(np.isclose(s.hit / s.miss, np.e) for s in seen)


# ---------------------------------------------------------------------------------- all together


@pytest.mark.parametrize(
    "predict",
    [rivals.local_laplace, rivals.laplace_histogram(8, "k-means")]
    + [p for _, p in rivals.rr_on_bins_variants((None, 0.2))]
    + [p for _, p in rivals.unbiased_variants((None, 0.2))],
)
def test_rivals_learn_a_line_when_the_budget_is_large(predict):
    t = trial(line(), 8.0)
    found = predict(t)
    assert found.shape == (2, len(t.at))
    assert compare.errors_of(t.data, found, t.truth).mean() < 0.1


@pytest.mark.parametrize(
    "predict", [rivals.randomised_response, rivals.label_histogram(9, "k-means", True)]
)
def test_rivals_tell_three_classes_apart(predict):
    data = line(200, "classification")
    three = replace(data, y=np.minimum(data.X[:, 0] // 3.4, 2.0), classes=3)
    t = trial(three, 6.0)
    found = predict(t)
    assert set(np.unique(found)) <= {0.0, 1.0, 2.0}
    assert compare.errors_of(three, found, t.truth).mean() < 0.2


def test_the_best_variant_in_hindsight_counts(tmp_path):
    def off_by(value):
        return lambda t: np.tile(t.truth + value, (3, 1))

    def good_at_small(t):
        return off_by(0.1 if t.epsilon < 1 else 0.4)(t)

    variants = (("a", off_by(0.2)), ("b", good_at_small))
    method = others.Method("m", others.PURE, variants=variants)
    data = replace(line(), bounds=(-9.0, 9.0))
    found = compare.run_all(Run(True, tmp_path), [data], [method], (0.3, 3.0), splits=2, draws=3)
    best = compare.best_settings(found)
    assert best[["ε = 0.3", "ε = 3"]].to_numpy().tolist() == [["b: 0.1", "a: 0.2"]]
    summary = compare.summary(found)["error"]
    assert np.isclose(summary["line", "m", 0.3], 0.1)
    assert np.isclose(summary["line", "m", 3.0], 0.2)


def test_the_best_of_many_does_not_keep_the_luck_of_its_noise(tmp_path):
    def noisy(t):
        return t.truth + t.rng.exponential(0.1) * np.ones((1, len(t.at)))

    data = replace(line(), bounds=(-9.0, 9.0))
    method = others.Method("m", others.PURE, variants=tuple((str(k), noisy) for k in range(40)))
    found = compare.run_all(Run(True, tmp_path), [data], [method], (1.0,), splits=1, draws=1)
    assert found["least"][0] < 0.03
    assert found["error"][0] != found["least"][0]
