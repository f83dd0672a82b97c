"""The release in exact arithmetic: what it computes, what it refuses, and what it never holds."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import NO_NOISE, no_noise, random_sketch, release_counts, release_labels
from reference import release_numbers as release
from scipy import stats

from cloakgp.privacy import (
    Bins,
    Bounded,
    Budget,
    Noise,
    Query,
    Sketch,
    gaussian_sigma,
    quantise,
    squared_sensitivity,
)
from cloakgp.privacy.mechanism import noise as drawing
from cloakgp.privacy.mechanism import release as core
from cloakgp.privacy.mechanism import sensitivity
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS
from cloakgp.release.sketch import COARSE_BITS, MANY_PEOPLE, MOST_AT_PLACES

BUDGET = Budget(1.0, 0.01)


def exact_product(sketch, y, lo, hi, bits):
    """T u in Python integers, in steps of 2^-bits."""
    steps = 1 << (bits - sketch.bits)
    u = [round(float((min(max(v, lo), hi) - lo) / (hi - lo)) * steps) for v in y]
    return [sum(int(t) * w for t, w in zip(row, u, strict=True)) for row in sketch.matrix]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, (3, 7), elements=st.floats(-1, 1)),
    hnp.arrays(np.float64, 7, elements=st.floats(-50, 250)),
)
def test_the_product_is_exact(T, y):
    sketch = quantise(T / max(1.0, np.linalg.norm(T, axis=0).max()))
    out = release(sketch, y, (0.0, 200.0), BUDGET, noise=NO_NOISE)
    assert out.values.tolist() == exact_product(sketch, y, 0.0, 200.0, out.bits)


def test_blocks_give_the_same_sum_as_one_piece(monkeypatch):
    sketch = random_sketch(4, 1000)
    y = np.random.default_rng(1).uniform(0, 1, 1000)
    whole = release(sketch, y, (0.0, 1.0), BUDGET, noise=NO_NOISE)
    monkeypatch.setattr(core, "BLOCK", 37)
    pieces = release(sketch, y, (0.0, 1.0), BUDGET, noise=NO_NOISE)
    assert np.array_equal(whole.values, pieces.values)


def test_the_decoded_sketch_is_close_to_the_real_one():
    sketch = random_sketch(5, 300)
    y = np.random.default_rng(1).uniform(70, 170, 300)
    out = release(sketch, y, (70.0, 170.0), Budget(math.inf, 1e-05))
    assert np.allclose(out.s, sketch.rounded @ ((y - 70) / 100), atol=1e-6)
    assert not out.private


def test_values_outside_the_bounds_count_as_the_bounds():
    sketch = random_sketch(2, 4)
    clipped = release(sketch, [0, 1, 0, 1], (0, 1), BUDGET, noise=NO_NOISE)
    for outside in ([-7, 1e300, -0.1, 1], [-1e300, 7, -1e-300, 1.1]):
        out = release(sketch, outside, (0, 1), BUDGET, noise=NO_NOISE)
        assert np.array_equal(clipped.values, out.values)


def test_one_step_over_length_one_is_refused_and_one_at_it_is_not():
    exact = Sketch(np.array([[1 << 20]], dtype=np.int32), 20)
    release(exact, [0.5], (0, 1), BUDGET)
    pair = np.array([[1 << 20], [1]], dtype=np.int32)  # longer than 1 by 2^-41
    with pytest.raises(ValueError, match="longer than 1"):
        release(Sketch(pair, 20), [0.5], (0, 1), BUDGET)


def test_the_core_does_not_believe_a_sketch_that_lies_about_its_grid():
    matrix = random_sketch(2, 3).matrix
    with pytest.raises(ValueError, match="longer than 1"):
        release(Sketch(matrix, 19), [0.5] * 3, (0, 1), BUDGET)


def test_several_columns_have_root_d_sensitivity_and_their_own_bounds():
    sketch = random_sketch(3, 50)
    y = np.random.default_rng(0).uniform(0, 1, (50, 2)) * [1.0, 10.0]
    out = release(sketch, y, ([0, 0], [1, 10]), BUDGET, noise=NO_NOISE)
    assert out.values.shape == (3, 2)
    assert out.sensitivity == math.sqrt(2)
    assert out.noise_std == pytest.approx(gaussian_sigma(1.0, 0.01) * math.sqrt(2))
    alone = release(sketch, y[:, 1], (0, 10), BUDGET, noise=NO_NOISE)
    assert np.allclose(out.s[:, 1], alone.s, atol=1e-6)


def test_a_failure_inside_opendp_releases_nothing_and_names_nothing(monkeypatch):
    class Broken:
        def __call__(self, values):
            raise RuntimeError(f"values were {values}")

    monkeypatch.setattr(drawing, "make_gaussian", lambda *a, **k: Broken())
    with pytest.raises(RuntimeError, match="nothing was released") as caught:
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), BUDGET)
    assert caught.value.__context__ is None


def test_the_result_holds_no_trace_of_y():
    sketch = random_sketch(3, 200)
    y = np.full(200, 123.456789)
    out = release(sketch, y, (0, 200), BUDGET)
    data = pickle.dumps(out)
    assert y[:1].tobytes() not in data
    assert (y[:1] / 200).tobytes() not in data
    assert b"123.456" not in repr(out).encode()
    assert not out.values.flags.writeable


def test_the_noiseless_product_is_not_kept_anywhere_in_the_result():
    sketch = random_sketch(3, 200)
    y = np.linspace(0, 1, 200)
    bare = release(sketch, y, (0, 1), BUDGET, noise=NO_NOISE)
    data = pickle.dumps(release(sketch, y, (0, 1), BUDGET))
    for value in bare.values:
        assert np.int64(value).tobytes() not in data


@pytest.mark.slow
def test_ten_million_people_fit_into_64_bits():
    # A coarse but complete run: one row of ones, which is the largest sum there can be.
    n = 10_000_000
    sketch = Sketch(np.full((1, n), 1 << 20, dtype=np.int32), 20)
    out = release(sketch, np.ones(n), (0.0, 1.0), BUDGET, noise=NO_NOISE)
    assert out.s[0] == n
    assert out.bits >= 36


@pytest.mark.parametrize("people", [1, 4, 5, 1000])
@pytest.mark.parametrize("noise_std", [0.0, 1e-9, 0.01, 0.25, 1.0, 3.7, 1e4, 5e5])
def test_the_grid_of_u_is_the_finest_that_fits(people, noise_std):
    """Sums and noise up to 64 standard deviations stay at or below 2^61, in exact arithmetic."""
    sketch = Sketch(np.vstack([np.full(people, -(1 << 20)), np.ones(people)]).astype(np.int32), 20)
    reach = people * 2**20 + math.ceil(64 * Fraction(noise_std) * 2**20)
    fits = [bits for bits in range(41) if reach * 2**bits <= 2**61]
    assert core.value_bits_for(sketch, noise_std) == max(fits)


def test_a_sketch_that_leaves_too_few_bits_is_refused():
    sketch = Sketch(np.array([[1 << 30]], dtype=np.int32), 30)
    largest = (2**45 - 2**30) / 2**36  # (2^30 + 64 · 2^30 std) 2^16 = 2^61
    assert core.value_bits_for(sketch, largest) == 16
    with pytest.raises(ValueError, match="64-bit integers"):
        core.value_bits_for(sketch, largest * (1 + 1e-12))
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="noise_std must be a number >= 0"):
            core.value_bits_for(sketch, bad)


@pytest.mark.parametrize("error", [-3, 3])
def test_u_never_leaves_its_grid_whatever_rounding_does(error, monkeypatch):
    """The last clip does not rely on the arithmetic before it."""
    rint = np.rint
    monkeypatch.setattr(core.np, "rint", lambda values: rint(values) + error)
    values = np.array([[0.0], [0.5], [1.0], [np.nan]])
    with np.errstate(invalid="ignore"):
        u = Bounded([0.0], [1.0]).steps(values, 16)
    assert u[:3, 0].tolist() == ([0, 5, 13] if error < 0 else [3, 11, 16])
    assert 0 <= u.min() <= u.max() <= 16


def test_small_epsilon_leaves_room_for_the_noise():
    sketch = random_sketch(3, 100)
    out = release(sketch, np.ones(100), (0, 1), Budget(0.0001, 1e-12))
    reach = 64 * out.sigma * 2.0**out.bits
    assert np.abs(sketch.matrix).sum(axis=1).max() * 2.0 ** (out.bits - 20) + reach < 2.0**62


def test_a_grid_too_coarse_for_the_proof_is_refused(monkeypatch):
    assert not core.grid_is_fine_enough(scale=1e3, count=10, epsilon=1.0)
    assert core.grid_is_fine_enough(scale=1e8, count=10, epsilon=1.0)
    monkeypatch.setattr(core, "value_bits_for", lambda *args: 1)
    with pytest.raises(ValueError, match="too many for the noise grid"):
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), Budget(0.0001, 0.5))


def test_the_grid_check_is_that_of_the_lemma():
    """κ = n (60² + 2)/(8 S²) ≤ 1e-9 ε/2, from both sides, in exact fractions."""
    for count, epsilon in [(1, 1.0), (7, 0.3), (10**5, 50.0)]:
        scale = math.sqrt(count * 3602 / 8 / (0.5e-9 * epsilon))
        for factor, fine in [(1 + 1e-12, True), (1 - 1e-12, False)]:
            kappa = Fraction(count * 3602, 8) / Fraction(scale * factor) ** 2
            assert (kappa <= Fraction(epsilon) / (2 * 10**9)) == fine
            assert core.grid_is_fine_enough(scale * factor, count, epsilon) == fine
    assert core.grid_is_fine_enough(1e300, 1, 1.0)
    assert not core.grid_is_fine_enough(1e-300, 1, 1.0)
    assert core.grid_is_fine_enough(0.5, 0, 1.0)
    assert core.grid_is_fine_enough(0.5, 0, 0.0)
    assert not core.grid_is_fine_enough(0.0, 0, 1.0)
    for scale, epsilon in [(0.0, 1.0), (-1e9, 1.0), (math.nan, 1.0), (1e9, math.nan), (1e9, -1.0)]:
        assert not core.grid_is_fine_enough(scale, 1, epsilon)


def test_the_grid_must_be_fine_enough_for_all_parts_together(monkeypatch):
    """√k times the noise and k times the values: what one part loses more, all parts lose."""
    monkeypatch.setattr(core, "value_bits_for", lambda *args: 0)
    monkeypatch.setattr(core, "GRID_COST", 1.0)  # of totals, and not what this is about
    for parts in (1, 4, 100):
        release(random_sketch(4, 3), [0.1, 0.2, 0.3], (0, 1), replace(BUDGET, parts=parts))
        with pytest.raises(ValueError, match="5 values are too many for the noise grid"):
            release(random_sketch(5, 3), [0.1, 0.2, 0.3], (0, 1), replace(BUDGET, parts=parts))


def test_every_release_that_is_allowed_satisfies_the_grid_lemma():
    for epsilon, delta in [(1e-4, 0.5), (50.0, 1e-12), (50.0, 0.5), (1.0, 1e-5)]:
        sketch = random_sketch(20, 1000)
        out = release(sketch, np.ones(1000), (0, 1), Budget(epsilon, delta))
        scale = out.sigma * 2.0**out.bits
        assert 20 * (60**2 + 2) / (8 * scale**2) <= 0.5e-9 * epsilon


def test_nobody_and_nothing_to_publish_are_fine():
    assert squared_sensitivity(Sketch(np.zeros((0, 4), dtype=np.int32), 20)) == 0
    out = release(Sketch(np.zeros((0, 4), dtype=np.int32), 20), np.ones(4), (0, 1), BUDGET)
    assert out.s.shape == (0,)
    nothing = core.add_discrete_gaussian(np.zeros((0, 2), dtype=np.int64), 5.0)
    assert (nothing.shape, nothing.dtype) == ((0, 2), np.int64)


def test_a_rehearsal_is_stamped_as_not_private():
    sketch = random_sketch(2, 3)
    assert release(sketch, [0, 0, 1], (0, 1), BUDGET).private
    assert not release(sketch, [0, 0, 1], (0, 1), BUDGET, noise=NO_NOISE).private


def test_what_is_published_says_with_how_many_others_it_shares_its_budget():
    sketch = random_sketch(2, 3)
    for parts in (1, 3):
        assert release(sketch, [0, 0, 1], (0, 1), Budget(1.0, 0.01, parts=parts)).parts == parts
    alone = core.NoisySketch(np.zeros(2, dtype=np.int64), 30, 1.0, 1.0, 1.0, 0.01, "analytic", True)
    assert alone.parts == 1


# --- what is checked is what is used


@pytest.mark.parametrize(
    "act",
    [
        lambda sketch, noise: release(sketch, [1.0, 1.0, 0.0], (0, 1), BUDGET, noise=noise),
        lambda sketch, noise: release_labels(sketch, [1, 1, 0], [0, 1], BUDGET, noise=noise),
        lambda sketch, noise: release_counts(sketch, [1, 1, 0], 1, BUDGET, noise=noise),
    ],
)
def test_a_commit_cannot_change_the_sketch_that_was_checked(act):
    """Not even through another view of its memory, the array itself being read-only."""
    memory = random_sketch(2, 3).matrix.copy()
    view = memory[:]
    view.setflags(write=False)
    before = act(Sketch(view, 20), NO_NOISE)
    attack = lambda: memory.fill(1 << 20)  # noqa: E731
    after = act(Sketch(view, 20), Noise(no_noise, attack))
    assert np.all(view == 1 << 20)
    assert np.array_equal(before.values, after.values)


def test_a_sketch_that_changes_with_every_look_is_looked_at_once():
    class Fickle:
        bits = 20
        looks = 0

        @property
        def matrix(self):
            self.looks += 1
            return np.full((1, 1), self.looks << 19, dtype=np.int32)

    out = release(Fickle(), [1.0], (0, 1), BUDGET, noise=NO_NOISE)
    assert out.s.tolist() == [0.5]


def test_a_commit_cannot_change_the_outputs_labels_and_bounds_that_were_checked():
    sketch = random_sketch(2, 3)
    y, lo, hi = np.array([0.1, 0.9, 0.5]), np.zeros(1), np.ones(1)
    labels = np.array(["a", "b", "c"])

    def attack():
        y[:], lo[:], hi[:], labels[:] = np.nan, -5.0, -4.0, "a"

    for act in (
        lambda commit: release(sketch, y, (lo, hi), BUDGET, noise=Noise(no_noise, commit)).values,
        lambda commit: (
            release_labels(
                sketch, labels, ["a", "b", "c"], BUDGET, noise=Noise(no_noise, commit)
            ).values
        ),
    ):
        before = act(None)
        y[:], lo[:], hi[:], labels[:] = [0.1, 0.9, 0.5], 0.0, 1.0, ["a", "b", "c"]
        assert np.array_equal(act(attack), before)
        y[:], lo[:], hi[:], labels[:] = [0.1, 0.9, 0.5], 0.0, 1.0, ["a", "b", "c"]


def test_a_budget_of_another_kind_is_refused_before_anything_is_spent():
    class Generous(Budget):
        @property
        def part_sigma(self):
            return 1e-9

    spent = []
    for act in ACTS.values():
        for budget in (Generous(1.0, 0.01), (1.0, 0.01), None):
            kind = type(budget).__name__
            with pytest.raises(TypeError, match=rf"a Budget\(epsilon, delta\), got {kind}$"):
                act(random_sketch(2, 2), budget, noise=Noise(commit=lambda: spent.append(1)))
    assert spent == []


def test_a_noise_that_changes_with_every_look_is_looked_at_once():
    class Fickle:
        commit = None

        @property
        def rehearsal(self):
            self.looks = getattr(self, "looks", 0) + 1
            return no_noise if self.looks == 1 else None

    for act in ACTS.values():
        assert not act(random_sketch(2, 2), BUDGET, noise=Fickle()).private


# --- what is asked of OpenDP, and when


@pytest.fixture
def asked(monkeypatch):
    """Replace OpenDP's noise by 7 in every entry, and keep what it is asked for."""
    seen = []

    def make(domain, metric, scale):
        seen.append((str(domain), str(metric), scale))
        return lambda values: seen.append(values) or [value + 7 for value in values]

    monkeypatch.setattr(drawing, "make_gaussian", make)
    return seen


@pytest.mark.parametrize(
    ("y", "sensitivity"),
    [([0.1, 0.2, 0.3], 1.0), ([[0.1], [0.2], [0.3]], 1.0), (np.eye(3)[:, :2], math.sqrt(2))],
)
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("epsilon", [1.0, 50.0])  # σ above 1, and below
def test_opendp_is_asked_for_the_noise_that_the_proof_names(asked, y, sensitivity, parts, epsilon):
    sketch, budget = random_sketch(2, 3), Budget(epsilon, 0.01, parts=parts)
    out = release(sketch, y, (0, 1), budget)
    bare = release(sketch, y, (0, 1), budget, noise=NO_NOISE)
    sigma = gaussian_sigma(epsilon, 0.01) * math.sqrt(parts)
    (domain, metric, scale), values = asked
    assert scale == sigma * sensitivity * 2.0**out.bits
    assert "i64" in domain
    assert "i64" in metric
    assert values == bare.values.ravel().tolist()
    assert {type(value) for value in values} == {int}
    assert np.array_equal(out.values, bare.values + 7)
    assert out.values.shape == (2, *np.shape(y)[1:])
    assert out.values.dtype == np.int64
    assert (out.sigma, out.sensitivity, out.parts) == (sigma, sensitivity, parts)
    assert (out.epsilon, out.delta, out.calibration) == (epsilon, 0.01, "analytic")
    assert out.private


def test_opendp_agrees_about_what_the_scale_means():
    """Its own map, in ρ = (Δ/scale)²/2."""
    space = drawing.vector_domain(drawing.atom_domain(T="i64")), drawing.l2_distance(T="i64")
    assert drawing.make_gaussian(*space, scale=500.0).map(1000) == pytest.approx(2.0, rel=1e-12)


def test_the_noise_of_one_release_has_its_scale():
    """χ² for the variance of 400 values; fails right noise twice in 10^9."""
    out = release(quantise(np.eye(400)), np.zeros(400), (0, 1), BUDGET)
    low, high = stats.chi2.ppf([1e-9, 1 - 1e-9], 400)
    assert low < np.square(out.s / gaussian_sigma(1.0, 0.01)).sum() < high


def test_the_calibration_that_is_asked_for_is_used():
    out = release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), replace(BUDGET, calibration="hall"))
    assert out.sigma == gaussian_sigma(1.0, 0.01, "hall")
    assert out.calibration == "hall"
    labels = release_labels(
        random_sketch(2, 3), [0, 1, 1], [0, 1], replace(BUDGET, calibration="hall")
    )
    counts = release_counts(random_sketch(2, 3), [0, 1, 1], 1, replace(BUDGET, calibration="hall"))
    assert labels.sigma == counts.sigma == out.sigma
    with pytest.raises(ValueError, match="'analytic' or 'hall'"):
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), replace(BUDGET, calibration="none"))


ACTS = {
    "outputs": lambda sketch, *how, **more: release(sketch, [1.0, 0.0], (0, 1), *how, **more),
    "labels": lambda sketch, *how, **more: release_labels(sketch, [1, 0], [0, 1], *how, **more),
    "counts": lambda sketch, *how, **more: release_counts(sketch, [1, 0], 1, *how, **more),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_noise_is_drawn_after_the_commit_and_not_without_it(asked, act):
    act(random_sketch(2, 2), BUDGET, noise=Noise(commit=lambda: asked.append("commit")))
    assert asked[0] == "commit"
    assert len(asked) == 3
    asked.clear()

    def refuse():
        raise RuntimeError("over the cap")

    with pytest.raises(RuntimeError, match="over the cap"):
        act(random_sketch(2, 2), BUDGET, noise=Noise(commit=refuse))
    assert asked == []


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_nothing_is_committed_or_drawn_for_a_release_that_is_refused(asked, act, monkeypatch):
    noise = Noise(commit=lambda: asked.append("commit"))
    long = Sketch(np.full((2, 2), 1 << 20, dtype=np.int32), 20)
    for sketch, more, message in [
        (long, {}, "longer than 1"),
        (random_sketch(2, 2), {"groups": [0, 0]}, "longer than 1"),
        (random_sketch(2, 3), {}, "each of the 3 people"),
    ]:
        with pytest.raises(ValueError, match=message):
            act(sketch, BUDGET, noise=noise, **more)
    monkeypatch.setattr(core, "grid_is_fine_enough", lambda *_: False)
    for epsilon in (1.0, 50.0):
        message = f"2 values are too many for the noise grid at epsilon={epsilon:g};"
        with pytest.raises(ValueError, match=message):
            act(random_sketch(2, 2), Budget(epsilon, 0.01), noise=noise)
    assert asked == []


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_without_noise_nothing_is_private_and_the_grid_does_not_matter(asked, act, monkeypatch):
    monkeypatch.setattr(core, "grid_is_fine_enough", lambda *_: False)
    out = act(random_sketch(2, 2), Budget(math.inf, 0.01))
    assert (out.sigma, out.noise_std, out.epsilon, out.private) == (0.0, 0.0, math.inf, False)
    assert asked == []
    with pytest.raises(ValueError, match="epsilon must lie"):
        act(random_sketch(2, 2), Budget(-math.inf, 0.01))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_rehearsal_gets_the_scale_and_the_number_of_values(asked, act):
    seen = []
    out = act(
        random_sketch(2, 2), BUDGET, noise=Noise(lambda *a: seen.append(a) or np.array([5, 9]))
    )
    bare = act(random_sketch(2, 2), BUDGET, noise=NO_NOISE)
    assert seen == [(math.ldexp(out.noise_std, out.bits), 2)]
    assert (out.values - bare.values).tolist() == [5, 9]
    assert not out.private
    assert asked == []


def test_people_in_many_blocks_are_all_counted(monkeypatch):
    """Row sums for the grid, products of outputs and of labels, blocks of any size."""
    sketch, y = random_sketch(3, 50), np.random.default_rng(2).integers(0, 3, 50)
    how = {"budget": BUDGET, "noise": NO_NOISE}
    whole = (release(sketch, y, (0, 2), **how), release_labels(sketch, y, [0, 1, 2], **how))
    for block in (1, 7, 49, 50):
        monkeypatch.setattr(core, "BLOCK", block)
        monkeypatch.setattr(sensitivity, "BLOCK", block)
        pieces = (release(sketch, y, (0, 2), **how), release_labels(sketch, y, [0, 1, 2], **how))
        for a, b in zip(whole, pieces, strict=True):
            assert np.array_equal(a.values, b.values)
            assert a.bits == b.bits


@pytest.mark.parametrize("people", [10**6, 10**7 + 1, 10**8, 4 * 10**8])
def test_no_grid_costs_more_than_totals_count_for_it(people, monkeypatch):
    """Of designs for more than ten million people, too, which have 16 bits of T and not 20."""
    coarse = people > MANY_PEOPLE
    grid = COARSE_BITS if coarse else SKETCH_BITS
    budget, reached = Budget(1.0, 1e-5), Noise(rehearsal=lambda scale, n: np.zeros(n, dtype=int))

    def publish(columns):
        """Publish so many values about everybody: the first is their sum, the others are 0."""
        sketch = quantise(np.eye(columns, 1), grid)
        bins = Bins([people], [])
        monkeypatch.setattr(Bins, "sums", lambda *_: np.zeros((1, 1), dtype=np.int64))
        return core.release(Query(sketch, Bounded([0], [1]), bins), budget, noise=reached)

    bits = publish(1).bits
    most = math.floor(1e-14 * 8 * 4**bits / 3602)  # κ σ² = n (60² + 2)/(8 · 4^g) ≤ 1e-14
    assert most > MOST_AT_PLACES**0.5  # rows of a design, of which no place may have fewer
    if bits <= 36:  # a few hundred or thousand values; else a hundred thousand
        publish(most)
        with pytest.raises(ValueError, match=r"too many for a noise grid.*publish fewer"):
            publish(most + 1)
    else:
        publish(100_000)
