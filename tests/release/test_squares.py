"""What a published sum of squares says of the settings: by dense formulas, and in releases."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPRegressor, Release
from cloakgp.errors import ReleaseFileError
from cloakgp.gp.exact import ExactModel
from cloakgp.release import squares as module
from cloakgp.release.decode import decoders_for, measurements, posterior_mixtures, prior_weights
from cloakgp.release.decoder import Decoder
from cloakgp.release.file.manifest import check_fields
from cloakgp.release.mixture import Mixture
from cloakgp.release.spec import Part
from cloakgp.release.squares import Squares, group_people, moments, read_squares, weigh_noise

LO, WIDTH, MEAN, NOISE, SIGMA = -3.0, 10.0, 1.2, 0.8, 1.5
KERNEL = ConstantKernel(2.0) * RBF(1.5)


def made_up(n, cells=4, columns=1, seed=0):
    """People in cells, the decoder of their sums, and weights of all of them."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 10, (n, columns)), axis=0)
    share = rng.uniform(0.5, 1.0, n)
    T = np.eye(cells)[:, np.arange(n) * cells // n] * share
    model = ExactModel(KERNEL, X, NOISE)
    decoder = Decoder(model, T, SIGMA, LO, WIDTH, MEAN, "bayes")
    return decoder, Squares(np.array([0.0]), SIGMA, share, np.ones(n), slice(0, n))


def dense(decoder, s, v):
    """Return mean and variance of Σ v (u − 1/2)² given s, by the book: y given s is normal."""
    N = decoder.T.shape[1]
    K = decoder.model.kernel(decoder.model.X)
    A = K + decoder.model.scatter * np.eye(N)
    B = decoder.T / decoder.width
    S = B @ A @ B.T + decoder.noise_std**2 * np.eye(len(B))
    gain = A @ B.T @ np.linalg.inv(S)
    P = A - gain @ B @ A
    expected_s = B @ np.full(N, MEAN - LO)
    m = MEAN + gain @ (s - expected_s) - LO - 0.5 * WIDTH
    V = np.diag(v)
    mean = v @ (m**2 + np.diag(P))
    variance = 2 * np.trace(V @ P @ V @ P) + 4 * (v * m) @ P @ (v * m)
    return mean / WIDTH**2, variance / WIDTH**4, m, P


def found(decoder, s, squares):
    nodes = group_people(decoder, squares)
    return moments(decoder, s, nodes, decoder.model.prior_covariance(nodes.points))


@pytest.mark.parametrize("columns", [1, 2])
def test_moments_are_those_of_a_quadratic_form_of_everybody(columns):
    decoder, squares = made_up(24, columns=columns)
    s = np.array([3.0, 1.0, 2.5, 4.0])
    mean, variance, *_ = dense(decoder, s, squares.weights)
    assert found(decoder, s, squares) == pytest.approx((mean, variance), rel=1e-9)


def test_the_dense_formula_is_right_about_made_up_people():
    decoder, squares = made_up(24)
    s = np.array([3.0, 1.0, 2.5, 4.0])
    mean, variance, m, P = dense(decoder, s, squares.weights)
    y = np.random.default_rng(1).multivariate_normal(m, P, 200_000)
    q = (y / WIDTH) ** 2 @ squares.weights
    assert q.mean() == pytest.approx(mean, abs=6 * q.std() / np.sqrt(len(q)))
    assert q.var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
def test_groups_of_people_are_nearly_as_good_as_all_of_them(length):
    rng = np.random.default_rng(2)
    decoder, squares = made_up(800, cells=12)
    kernel = ConstantKernel(2.0) * RBF(length)
    decoder = replace(decoder, model=ExactModel(kernel, decoder.model.X, NOISE))
    s = decoder.draw(rng.standard_normal(12))
    mean, variance, *_ = dense(decoder, s, squares.weights)
    got = found(decoder, s, squares)
    assert len(group_people(decoder, squares).weights) == module.MOST_NODES
    assert got[0] == pytest.approx(mean, rel=0.01)
    assert got[1] == pytest.approx(variance, rel=0.1)


def test_several_sketches_at_once_and_people_without_weight():
    decoder, squares = made_up(30)
    some = replace(squares, weights=np.where(np.arange(30) < 5, 0.0, squares.weights))
    decoder = replace(decoder, T=decoder.T * (some.weights > 0))
    s = np.random.default_rng(3).uniform(0, 5, (4, 7))
    means, variances = found(decoder, s, some)
    for k in range(7):
        mean, variance, *_ = dense(decoder, s[:, k], some.weights)
        assert (means[k], variances[k]) == pytest.approx((mean, variance), rel=1e-9)


def test_several_releases_are_weighed_at_once():
    decoder, squares = made_up(30)
    families = [replace(decoder, model=ExactModel(KERNEL, decoder.model.X, v)) for v in (0.25, 1.0)]
    s, q = np.random.default_rng(4).uniform(0, 5, (4, 3)), np.array([2.0, 5.0, 9.0])
    together = weigh_noise(families, s, [replace(squares, values=q[None])], 0)
    for n in range(3):
        alone = weigh_noise(families, s[:, n], [replace(squares, values=q[n : n + 1])], 0)
        for some, one in zip(together, alone, strict=True):
            assert some[n] == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("true", [0.2, 0.4, 0.7, 1.5])
def test_noise_between_the_levels_of_a_family_is_found(true):
    """The sum of squares of many people, with little noise: each level stands for its range."""
    decoder, squares = made_up(2_000, cells=24)
    decoder = replace(decoder, noise_std=0.05)
    families = [replace(decoder, model=ExactModel(KERNEL, decoder.model.X, v)) for v in (0.25, 1.0)]
    exact = replace(decoder, model=ExactModel(KERNEL, decoder.model.X, true))
    s = exact.draw(np.zeros(24))
    value = found(exact, s, squares)[0]
    little = replace(squares, values=np.array([value]), noise_std=1e-3)
    logs, scatters = weigh_noise(families, s, [little], 0)
    best = int(np.argmax(logs))
    assert best == (true >= 0.5)
    assert scatters[best] == pytest.approx(true, rel=0.15)
    much = replace(little, noise_std=1e3)  # says nothing
    logs, scatters = weigh_noise(families, s, [much], 0)
    assert logs[0] == pytest.approx(logs[1], abs=1e-2)
    assert scatters == pytest.approx([0.25 * 1.16, 1.0 * 1.16], rel=0.1)
    alone = weigh_noise(families[:1], s, [little], 0)[1]
    assert alone.tolist() == [0.25]


# --- releases


def people(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 60.0, (n, 1))
    return X, np.clip(40 + 20 * np.sin(X[:, 0] / 15) + noise * rng.standard_normal(n), 0, 100)


@pytest.fixture(scope="module")
def fitted():
    X, y = people(1_500, 5.0)
    model = PrivateGPRegressor(bounds=(0, 100), epsilon=2.0)
    return X, y, model.fit(X, y).release_


def without(release):
    return replace(release, noisy=replace(release.noisy, squares=None))


def scatter(release):
    mixture = posterior_mixtures(release)[0]
    return float(np.sqrt(mixture.weights @ mixture.scatters))


@pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")
def test_people_s_intervals_are_as_wide_as_people_scatter():
    """Four draws of people and noise: coverage near 95 %, where cells alone say nearly nothing."""
    inside, widths = [], []
    for seed in range(4):
        X, y = people(1_500, 5.0, seed)
        model = PrivateGPRegressor(bounds=(0, 100), epsilon=2.0, random_state=seed)
        release = model.fit(X, y).release_
        other, new = people(1_000, 5.0, 100 + seed)
        for each in (release, without(release)):
            low, high = each.predict_interval(other, of="person")
            inside.append(np.mean((low <= new) & (new <= high)))
            widths.append(np.mean(high - low))
    with_squares, alone = np.array(widths).reshape(-1, 2).T
    assert 0.92 < np.mean(inside[::2]) < 0.985
    assert np.mean(with_squares) < 0.9 * np.mean(alone)


def test_it_is_one_number_more_for_each_output(fitted):
    X, y, release = fitted
    assert release.spec.squares
    assert release.noisy.squares.shape == (1,)
    assert release.published_values == len(release.sketch.matrix) + 1
    assert release.verify()
    two = PrivateGPRegressor(bounds=[(0, 100), (0, 200)], epsilon=2.0)
    both = two.fit(X[:200], np.column_stack([y, 2 * y])[:200]).release_
    assert both.noisy.squares.shape == (2,)
    for kind in ({"mechanism": "gaussian"}, {"learn": False}):
        plain = PrivateGPRegressor(bounds=(0, 100), **kind).fit(X[:200], y[:200]).release_
        assert plain.noisy.squares is None


def test_it_is_near_what_it_is_of(fitted):
    _, y, release = fitted
    v = np.abs(release.sketch.rounded).sum(axis=0)
    assert v == pytest.approx(1.0, abs=1e-4)
    found, std = release.published().attrs["squares"]["y0"]
    assert std == pytest.approx(1e4 * np.sqrt(2) / 2.0, rel=1e-6)
    assert found == pytest.approx(np.sum((y - 50) ** 2), abs=12 * std)
    words = release.statement()
    assert "squared distances of **y0** from 50, the middle of the bounds" in words
    assert "squared distances" not in without(release).statement()


def test_a_file_keeps_it_and_one_without_decodes_as_before(fitted, tmp_path):
    X, _, release = fitted
    release.save(tmp_path / "with")
    again = Release.load(tmp_path / "with")
    assert again.noisy.squares.tolist() == release.noisy.squares.tolist()
    assert np.array_equal(again.predict(X[:5]), release.predict(X[:5]))
    plain = without(release)
    by_hand = decoders_for(plain.spec, plain.sketch.rounded)
    seen = measurements(plain)[0]
    alone = Mixture.by_evidence(by_hand, prior_weights(plain.spec), seen.s[:, 0])
    assert np.array_equal(alone.mean(X[:5]), plain.predict(X[:5]))


def test_a_file_cannot_say_squares_where_there_are_none(fitted):
    release = fitted[2]
    manifest, arrays = release.contents()
    for change, message in (
        ({"squares": arrays["squares"].astype(np.int32)}, "int64"),
        ({"squares": np.zeros(2, dtype=np.int64)}, "one for each output"),
    ):
        with pytest.raises(ReleaseFileError, match=message):
            check_fields(manifest, arrays | change)
    left_out = {name: array for name, array in arrays.items() if name != "squares"}
    with pytest.raises(ReleaseFileError, match="squares"):
        check_fields(manifest, left_out)
    assert not release.verify().checks[0].unknown


def test_verify_notices_a_grid_that_is_too_fine_for_squares(fitted):
    release = fitted[2]
    finer = replace(release.noisy, bits=release.noisy.bits + 1)
    assert not replace(release, noisy=finer).verify()


def test_a_combination_learns_from_the_squares_of_its_members(fitted):
    X, y = people(600, 5.0, 9)
    bounds = (-20, 140)  # of its own
    other = PrivateGPRegressor(bounds=bounds, epsilon=2.0).fit(X, y).release_
    both = Release.combine([fitted[2], other])
    alone = Release.combine([without(fitted[2]), without(other)])
    first, second = measurements(both)[0].squares
    assert (first.rows, second.rows) == (slice(0, 1_500), slice(1_500, 2_100))
    assert abs(scatter(both) - 5.0) < abs(scatter(alone) - 5.0)
    mixed = Release.combine([fitted[2], without(other)])
    assert len(measurements(mixed)[0].squares) == 1


def test_people_at_places_have_squares_too():
    X, y = people(6_000, 5.0)
    release = PrivateGPRegressor(bounds=(0, 100), epsilon=1.0).fit(X, y).release_
    assert release.spec.places is not None
    (squares,) = measurements(release)[0].squares
    assert squares.weights @ squares.counts == pytest.approx(6_000, rel=1e-3)
    assert scatter(release) == pytest.approx(5.0, abs=2.0)


def test_a_sketch_without_anybody_says_nothing(fitted):
    release = fitted[2]
    nobody = replace(release.sketch, matrix=np.zeros_like(release.sketch.matrix))
    assert read_squares(Part(nobody, release.noisy), None) == []
