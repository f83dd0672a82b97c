"""Laplace noise: purely ε-private in exact fractions, and audited on the real release path.

False-alarm rates: tests on draws are made at levels of 1e-6 in sum, and each is shown to reject
noise that is 5 % too small or of another shape.
"""

import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp.domains import atom_domain, vector_domain
from opendp.metrics import l1_distance
from reference import NO_NOISE, no_noise, release_counts, release_gathered, release_labels
from reference import release_numbers as release
from scipy import stats

from cloakgp.privacy import (
    Batch,
    Bounded,
    Budget,
    Counted,
    Labelled,
    Noise,
    Sketch,
    absolute_sensitivity,
    laplace_std,
    quantise,
)
from cloakgp.privacy.mechanism import laplace as core
from cloakgp.privacy.mechanism import noise as drawing
from cloakgp.privacy.mechanism.laplace import laplace_scale
from cloakgp.privacy.mechanism.release import value_bits_for


def laplace(epsilon=1.0, parts=1):
    return Budget(epsilon, 0.0, parts=parts, mechanism="laplace")


def short_columns(r, n, seed=0, bits=20):
    """A sketch whose longest column has a 1-norm of 1."""
    T = np.random.default_rng(seed).normal(size=(r, n))
    return quantise(T / np.abs(T).sum(axis=0).max(), bits)


def cells(r, n):
    """Everybody in one of r cells."""
    return quantise(np.eye(r)[:, np.arange(n) % r], bits=0)


# --- the budget


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 50.0])
@pytest.mark.parametrize("parts", [1, 3])
def test_a_laplace_budget_is_pure_and_its_parts_add_up(epsilon, parts):
    budget = laplace(epsilon, parts)
    assert (budget.delta, budget.norm, Budget(1.0, 0.1).norm) == (0.0, 1, 2)
    assert budget.sigma == math.sqrt(2) / epsilon
    assert budget.part_sigma == budget.sigma * parts
    assert replace(budget, epsilon=1.0) == laplace(1.0, parts)
    assert pickle.loads(pickle.dumps(budget)) == budget


def test_without_noise_a_laplace_budget_has_no_sigma():
    assert (laplace(math.inf).sigma, laplace(math.inf).part_sigma) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((1.0, 1e-5, "analytic", 1, "laplace"), "delta must be 0"),
        ((math.inf, 1e-5, "analytic", 1, "laplace"), "delta must be 0"),
        ((1.0, 0.0, "hall", 1, "laplace"), "calibration 'analytic'"),
        ((0.9e-4, 0.0, "analytic", 1, "laplace"), "epsilon must lie"),
        ((51.0, 0.0, "analytic", 1, "laplace"), "epsilon must lie"),
        ((math.nan, 0.0, "analytic", 1, "laplace"), "epsilon must lie"),
        ((1.0, 0.0, "analytic", 0, "laplace"), "parts must be a whole number >= 1"),
        ((1.0, 0.0, "analytic", 1, "cauchy"), "mechanism must be 'gaussian' or 'laplace'"),
    ],
)
def test_what_is_no_laplace_budget_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Budget(*wrong)


# --- the scale, and what it means


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-4, 50.0), st.integers(1, 2**62), st.integers(1, 50))
def test_the_scale_is_the_smallest_float_that_is_private_to_the_last_digit(epsilon, moved, parts):
    scale = laplace_scale(epsilon, moved, parts)
    assert Fraction(moved) * parts / Fraction(scale) <= Fraction(epsilon)
    less = math.nextafter(scale, 0.0)
    assert Fraction(moved) * parts / Fraction(less) > Fraction(epsilon)


def test_rounding_to_nearest_would_not_be_private():
    assert Fraction(1) / Fraction(1 / 0.7) > Fraction(0.7)
    assert laplace_scale(0.7, 1) == math.nextafter(1 / 0.7, 9)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_no_scale_without_an_epsilon(wrong):
    with pytest.raises(ValueError, match="epsilon must be a number > 0"):
        laplace_scale(wrong, 1)
    with pytest.raises(ValueError, match="epsilon must be a number, got '1'"):
        laplace_scale("1", 1)
    for bad in (0, 1.5, True):
        with pytest.raises(ValueError, match="moved must be a whole number >= 1"):
            laplace_scale(1.0, bad)
        with pytest.raises(ValueError, match="parts must be a whole number >= 1"):
            laplace_scale(1.0, 1, bad)
        with pytest.raises(ValueError, match="steps must be a whole number >= 1"):
            laplace_std(1.0, 1, bad)


def log_mass(x, scale):
    """Logarithm of the discrete Laplace at x, in long arithmetic."""
    q = mp.exp(-1 / mp.mpf(scale))
    return mp.log((1 - q) / (1 + q)) - abs(x) / mp.mpf(scale)


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 3.0, 10.0, 50.0])
@pytest.mark.parametrize("moved", [1, 2, 7, 2**40])
def test_no_ratio_of_probabilities_exceeds_e_to_epsilon(epsilon, moved):
    """All ways to split the move among two entries, all signs, outcomes on every side."""
    scale = laplace_scale(epsilon, moved)
    with mp.workdps(60):
        points = [0, 1, -1, moved, -moved, 3 * moved, -3 * moved, moved // 2]
        splits = [0, 1, moved // 3, moved]
        worst = mp.mpf(0)
        for first, a, b in itertools.product(splits, points, points):
            for move in ((first, moved - first), (first, first - moved)):
                here = log_mass(a, scale) + log_mass(b, scale)
                there = log_mass(a - move[0], scale) + log_mass(b - move[1], scale)
                worst = max(worst, here - there)
        assert worst <= mp.mpf(epsilon) + mp.mpf(10) ** -50
        assert worst > mp.mpf(epsilon) * (1 - mp.mpf(10) ** -15)  # and nothing is given away


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.5, 1.0, 3.7, 50.0, 2.0**30])
def test_the_standard_deviation_is_that_of_the_discrete_noise(scale):
    epsilon = 1 / scale if scale < 1e4 else 1.0
    moved = 1 if scale < 1e4 else int(scale)
    with mp.workdps(50):
        used = laplace_scale(epsilon, moved)
        q = mp.exp(-1 / mp.mpf(used))
        exact = mp.sqrt(2 * q) / (1 - q)
        if scale < 60:
            mass = [mp.exp(log_mass(x, used)) for x in range(int(130 * scale) + 30)]
            assert mp.almosteq(2 * sum(m * x * x for x, m in enumerate(mass)), exact**2, 1e-40)
        assert laplace_std(epsilon, moved, 4) == pytest.approx(float(exact) / 4, rel=1e-14)


def test_on_whole_numbers_the_noise_vanishes_as_epsilon_grows():
    """The table of the design notes: continuous noise has √2/ε."""
    whole = [round(laplace_std(epsilon, 1), 4) for epsilon in (0.1, 0.3, 1, 3, 10)]
    assert whole == [14.1362, 4.6964, 1.357, 0.3321, 0.0095]
    fine = [laplace_std(epsilon, 2**40, 2**40) for epsilon in (0.1, 0.3, 1, 3, 10)]
    assert fine == pytest.approx([math.sqrt(2) / e for e in (0.1, 0.3, 1, 3, 10)], rel=1e-12)
    assert laplace_std(math.inf, 5, 2) == 0.0


# --- how far one person can move a sketch, in the 1-norm


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 7), st.integers(1, 3))
def test_the_bound_in_the_1_norm_is_reached_over_signs_by_somebody(seed, r, n, owners):
    """Brute force over every sign: cells of T of one sign make the bound exact."""
    rng = np.random.default_rng(seed)
    sketch = Sketch(rng.integers(-20, 21, (r, n)).astype(np.int32), 20)
    groups = rng.integers(0, owners, n)
    columns = sketch.matrix.T.tolist()

    def reached(rows):
        return max(
            sum(abs(sum(a * t[k] for a, t in zip(signs, rows, strict=True))) for k in range(r))
            for signs in itertools.product((-1, 1), repeat=len(rows))
        )

    owned = [[t for t, g in zip(columns, groups, strict=True) if g == owner] for owner in groups]
    worst = max(reached(rows) for rows in owned)
    bound = absolute_sensitivity(sketch, groups)
    assert bound == max(sum(abs(x) for t in rows for x in t) for rows in owned)
    assert worst <= bound
    assert absolute_sensitivity(sketch) == max(reached([t]) for t in columns)
    positive = Sketch(np.abs(sketch.matrix), 20)
    assert absolute_sensitivity(positive, groups) == bound
    if r == 1:
        assert worst == bound


def test_sums_over_owners_do_not_overflow():
    """The largest entries there are, and more rows of one owner than int32 could add up."""
    many = Sketch(np.full((3, 70_000), -(1 << 30), dtype=np.int32), 30)
    assert absolute_sensitivity(many, np.zeros(70_000)) == 3 * 70_000 << 30
    assert absolute_sensitivity(many) == 3 << 30
    assert absolute_sensitivity(Sketch(np.zeros((3, 0), dtype=np.int32), 0)) == 0
    assert absolute_sensitivity(Sketch(np.zeros((0, 3), dtype=np.int32), 0), [1, 1, 2]) == 0


def neighbours(kind, n, rng):
    """Outputs of n people, and every way (of a few) to replace those of the first two."""
    if isinstance(kind, Labelled):
        values = np.array(kind.classes)
        y = values[rng.integers(0, len(values), n)]
        options = values[:, None]
    elif isinstance(kind, Counted):
        y, options = rng.integers(0, 9, n), np.array([[0], [1], [4], [99]])
    else:
        y = rng.uniform(0, 1, (n, kind.columns))
        options = np.array(list(itertools.product((0.0, 0.3, 1.0), repeat=kind.columns)))
    yield y, options


KINDS = [
    Bounded([0], [1], flat=False),
    Bounded([0, 0], [1, 1]),
    Labelled(["a", "b"]),
    Labelled(["a", "b", "c"]),
    Counted(4),
    Counted(2.5),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("bits", [0, 20])
@pytest.mark.parametrize("owner", [False, True])
def test_no_neighbour_moves_a_release_further_than_its_noise_is_for(kind, bits, owner):
    """Brute force over pairs: one row replaced, or two rows of one owner."""
    rng = np.random.default_rng(5)
    n, rows = 5, 2 if owner else 1
    groups = [0, 0, 1, 2, 3] if owner else None
    if bits:
        T = rng.normal(size=(3, n))
        T = (np.abs(T) if owner else T) / np.abs(T).sum(axis=0) / rows
    else:
        T = np.eye(3)[:, [0, 1, 1, 2, 0]] * ([0, 1, -1, 1, 1] if owner else [1, -1, 1, 1, 1])
    sketch, budget = quantise(T, bits), laplace(1.0)
    whole = kind.whole if bits == 0 else None

    def published(y):
        if isinstance(kind, Labelled):
            return release_labels(sketch, y, kind.classes, budget, groups=groups, noise=NO_NOISE)
        if isinstance(kind, Counted):
            return release_counts(sketch, y, kind.cap, budget, groups=groups, noise=NO_NOISE)
        return release(sketch, y, (kind.lo, kind.hi), budget, groups=groups, noise=NO_NOISE)

    (y, options), *_ = neighbours(kind, n, rng)
    seen = []
    for new in itertools.product(options, repeat=rows):
        other = y.copy()
        other[:rows] = np.reshape(new, other[:rows].shape)
        seen.append(published(other))
    steps = seen[0].whole << seen[0].bits
    assert (seen[0].whole, seen[0].bits == 0) == (whole or 1, whole is not None)
    moved = max(
        sum(abs(int(x)) for x in (a.values - b.values).ravel())
        for a, b in itertools.combinations(seen, 2)
    )
    allowed = kind.moving * steps
    assert kind.sensitivity_in(1) == kind.moving == seen[0].sensitivity
    assert kind.sensitivity_in(2) == kind.sensitivity == math.sqrt(kind.moving)
    assert 0.9 * allowed < moved <= allowed
    assert seen[0].noise_std == laplace_std(1.0, allowed, steps)


def test_one_step_over_a_1_norm_of_one_is_refused_and_one_at_it_is_not():
    half = 1 << 19
    exact = Sketch(np.array([[half], [-half]], dtype=np.int32), 20)
    assert release(exact, [0.5], (0, 1), laplace()).private
    over = Sketch(np.array([[half], [-half - 1]], dtype=np.int32), 20)
    spent = Noise(commit=lambda: pytest.fail("it was spent"))
    with pytest.raises(ValueError, match="more than 1 in the 1-norm"):
        release(over, [0.5], (0, 1), laplace(), noise=spent)
    assert release(over, [0.5], (0, 1), Budget(1.0, 1e-5)).private  # shorter than 1 in the 2-norm
    two_rows = {"groups": [0, 0, 1, 2], "noise": spent}
    with pytest.raises(ValueError, match="more than 1 in the 1-norm"):
        release(quantise([[1, 1, 0, 0], [0, 0, 1, 1]], 0), [0.5] * 4, (0, 1), laplace(), **two_rows)


# --- grids


def test_labels_in_cells_are_whole_numbers():
    y = np.array([0, 1, 1, 1, 0, 1])
    out = release_labels(cells(2, 6), y, [0, 1], laplace(10.0), noise=NO_NOISE)
    assert (out.values.tolist(), out.bits, out.whole) == ([1, 3], 0, 1)
    assert out.s.tolist() == [1.0, 3.0]
    assert round(out.noise_std, 4) == 0.0095
    assert (out.mechanism, out.delta, out.sensitivity) == ("laplace", 0.0, 1.0)
    assert out.sigma == math.sqrt(2) / 10
    three = release_labels(cells(2, 6), y, [0, 1, 2], laplace(10.0), noise=NO_NOISE)
    assert three.values.tolist() == [[2, 1, 0], [0, 3, 0]]
    assert (three.sensitivity, three.noise_std) == (2.0, laplace_std(10.0, 2))


def test_counts_in_cells_are_summed_as_they_are():
    counts = [0, 1, 3, 4, 5, 10**9]
    out = release_counts(cells(2, 6), counts, 4, laplace(), noise=NO_NOISE)
    assert (out.values.tolist(), out.bits, out.whole) == ([7, 9], 0, 4)
    assert out.s.tolist() == [1.75, 2.25]
    assert out.noise_std == laplace_std(1.0, 4, 4)
    large = 2**35 - 1  # and every count up to the cap is exact
    many = release_counts(cells(1, 2), [large - 1, 1], large, laplace(), noise=NO_NOISE)
    assert (many.values.tolist(), many.whole) == ([large], large)


@pytest.mark.parametrize("cap", [2.5, 2**41, 1e300])
def test_a_cap_without_a_whole_grid_that_fits_gets_a_fine_one(cap):
    out = release_counts(cells(2, 4), [0, 1, 2, 3], cap, laplace(), noise=NO_NOISE)
    assert (out.whole, out.bits) == (1, 40)


def test_numbers_or_fractions_in_t_or_gaussian_noise_get_the_fine_grid():
    for out in (
        release(cells(2, 4), [0, 1, 1, 0], (0, 1), laplace(), noise=NO_NOISE),
        release_labels(cells(2, 4), [0, 1, 1, 0], [0, 1], Budget(1.0, 1e-5), noise=NO_NOISE),
    ):
        assert (out.whole, out.bits) == (1, 40)
    sketch = quantise(np.eye(2))
    out = release_labels(sketch, [0, 1], [0, 1], laplace(), noise=NO_NOISE)
    assert (out.whole, out.bits) == (1, 20 + value_bits_for(sketch, 1.5, None, "laplace"))
    assert out.noise_std == pytest.approx(math.sqrt(2), rel=1e-12)


class Half(Batch):
    def __init__(self, places, y):
        self.at, self.y = places, y

    def places(self):
        return np.array(self.at)

    def outputs(self):
        return np.array(self.y)


def test_people_in_bins_have_whole_numbers_too_and_parts_share_the_sums():
    blocks = [Half([0, 0, 1], [1, 3, 5]), Half([1, 0], [2, 0])]
    out = release_gathered(cells(2, 2), [3, 2], blocks, Counted(4), laplace(), noise=NO_NOISE)
    assert (out.values.tolist(), out.whole) == ([4, 6], 4)
    rows = release_counts(cells(2, 5), [1, 5, 3, 2, 0], 4, laplace(), noise=NO_NOISE)
    assert rows.values.tolist() == out.values.tolist()


# --- int64


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("noise_std", [0.0, 1e-9, 0.3, 1.0, 1e4, 2e5])
def test_sums_and_the_reach_of_the_noise_fit_into_64_bits(noise_std, mechanism):
    sketch = Sketch(np.full((1, 1000), -(1 << 20), dtype=np.int32), 20)
    reach = {"gaussian": 64, "laplace": 142}[mechanism]
    total = 1000 * 2**20 + math.ceil(reach * Fraction(noise_std) * 2**20)
    fits = [bits for bits in range(41) if total * 2**bits <= 2**61]
    assert value_bits_for(sketch, noise_std, None, mechanism) == max(fits)
    assert math.exp(-142 * math.sqrt(2)) < 1e-87  # the chance of noise beyond


def test_the_smallest_epsilon_leaves_room_for_many_parts_and_columns():
    out = release(short_columns(3, 100), np.ones((100, 4)), (0, 1), laplace(1e-4, parts=4))
    assert out.private
    reach = np.abs(out.values).max()
    assert reach < 2**61
    with pytest.raises(ValueError, match="needs too much noise"):
        release(short_columns(3, 100), np.ones(100), (0, 1), laplace(1e-4, parts=1000))


def test_opendp_does_not_wrap_around_at_the_ends_of_int64():
    """It saturates, which is post-processing; release never comes near."""
    ends = np.array([2**63 - 1, -(2**63)] * 50)
    noisy = core.add_discrete_laplace(ends, 1e6)
    assert np.all((noisy > 2**62) == (ends > 0))
    assert np.any(noisy == 2**63 - 1)


# --- what is asked of OpenDP


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("epsilon", [0.3, 10.0])
def test_opendp_is_asked_for_the_scale_that_the_proof_names(monkeypatch, epsilon, parts):
    asked = []

    def make(domain, metric, scale):
        asked.append((str(domain), str(metric), scale))
        return lambda values: [value + 7 for value in values]

    monkeypatch.setattr(core, "make_laplace", make)
    sketch, y = short_columns(2, 3), np.eye(3)[:, :2]
    out = release(sketch, y, (0, 1), laplace(epsilon, parts))
    bare = release(sketch, y, (0, 1), laplace(epsilon, parts), noise=NO_NOISE)
    ((domain, metric, scale),) = asked
    assert (domain, metric) == ("VectorDomain(AtomDomain(T=i64))", "L1Distance(i64)")
    assert scale == laplace_scale(epsilon, 2 << out.bits, parts)
    assert np.all(out.values - bare.values == 7)
    assert out.noise_std == pytest.approx(2 * parts * math.sqrt(2) / epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 10.0, 50.0])
@pytest.mark.parametrize("moved", [1, 5, 3 << 37])
def test_opendp_agrees_about_what_the_scale_means(epsilon, moved):
    space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
    told = core.make_laplace(*space, scale=laplace_scale(epsilon, moved)).map(moved)
    assert told <= epsilon * (1 + 2.3e-16)  # it rounds its quotient up to the next float
    assert told == pytest.approx(epsilon, rel=1e-15)


def test_a_rehearsal_gets_the_scale_and_is_not_private():
    seen = []
    noise = Noise(lambda *asked: seen.append(asked) or np.array([5, 9]))
    out = release_labels(cells(2, 4), [0, 1, 1, 1], [0, 1], laplace(10.0), noise=noise)
    assert (out.values.tolist(), out.private) == ([6, 11], False)
    assert seen == [(laplace_scale(10.0, 1), 2)]


def test_without_noise_the_sums_come_out_as_they_are():
    out = release_labels(cells(2, 4), [0, 1, 1, 1], [0, 1], laplace(math.inf))
    assert (out.values.tolist(), out.private, out.noise_std) == ([1, 2], False, 0.0)


def test_a_failure_inside_opendp_releases_nothing_and_names_nothing(monkeypatch):
    def broken(values):
        raise RuntimeError(f"values were {values}")

    monkeypatch.setattr(core, "make_laplace", lambda *a, **k: broken)
    with pytest.raises(RuntimeError, match="nothing was released") as caught:
        release(short_columns(2, 3), [0.1, 0.2, 0.3], (0, 1), laplace())
    assert caught.value.__context__ is None


def test_the_spend_is_recorded_before_the_noise_is_drawn(monkeypatch):
    order = []
    monkeypatch.setattr(core, "make_laplace", lambda *a, **k: order.append("noise") or list)
    noise = Noise(commit=lambda: order.append("spend"))
    release(short_columns(2, 3), [0, 0, 1], (0, 1), laplace(), noise=noise)
    assert order == ["spend", "noise"]
    assert drawing.drawn(list, np.zeros((2, 0), dtype=np.int64)).shape == (2, 0)
    assert no_noise(1.0, 2).tolist() == [0, 0]


# --- audits of the real path

FALSE_ALARM = 1e-7


def refutes_epsilon(null, moved, epsilon):
    """Tell whether P(moved > t) ≤ e^ε P(null > t) is refuted at some threshold t, or t turned.

    Clopper–Pearson at level 1e-7 for each of 2 · 2 bounds and thresholds: below 1e-6 in sum.
    """
    for sign, threshold in itertools.product((1, -1), (0.5,)):
        hits = int(np.sum(sign * moved > sign * threshold))
        misses = int(np.sum(sign * null > sign * threshold))
        if sign < 0:
            hits, misses = misses, hits
        low = stats.beta.ppf(FALSE_ALARM / 2, hits, len(moved) - hits + 1)
        high = stats.beta.ppf(1 - FALSE_ALARM / 2, misses + 1, len(null) - misses)
        if low > math.exp(epsilon) * high:
            return True
    return False


def audited_pair(epsilon, people=200, rounds=500):
    """100,000 draws for 0 and for 1 on the whole numbers: everybody has a cell of their own."""
    T, budget = cells(people, people), laplace(epsilon)

    def draw(label):
        y = np.full(people, label)
        return np.concatenate([release_labels(T, y, [0, 1], budget).values for _ in range(rounds)])

    return draw(0), draw(1)


@pytest.mark.slow
def test_the_audit_passes_at_epsilon_and_rejects_five_percent_less_noise(monkeypatch):
    """On whole numbers P(moved ≥ 1)/P(null ≥ 1) is e^ε exactly, so the audit has nothing to spare.

    With 5 % less noise the ratio is e^(1.0526 ε); at ε = 2 that is 11 %, and the standard error
    of the logarithm of the ratio is below 0.9 %: power above 99.9 %.
    """
    null, moved = audited_pair(2.0)
    assert not refutes_epsilon(null, moved, 2.0)
    right = core.laplace_scale
    monkeypatch.setattr(
        "cloakgp.privacy.mechanism.release.laplace_scale", lambda *a: 0.95 * right(*a)
    )
    assert refutes_epsilon(*audited_pair(2.0), 2.0)


def has_this_scale(noise, scale):
    """Tell whether the mean of |x| is within six standard errors of 2q/(1 − q²)."""
    mean = 1 / math.sinh(1 / scale)
    variance = 0.5 / math.sinh(0.5 / scale) ** 2 - mean**2
    return abs(np.abs(noise).mean() - mean) < 6 * math.sqrt(variance / noise.size)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "bits"), [(1.0, 0), (1.0, 20), (3.0, 0)])
def test_the_noise_has_its_scale_its_shape_and_no_memory(epsilon, bits):
    T = quantise(np.eye(200), bits)
    draws = np.array(
        [release_labels(T, np.zeros(200), [0, 1], laplace(epsilon)).values for _ in range(300)]
    )
    out = release_labels(T, np.zeros(200), [0, 1], laplace(epsilon))
    scale = laplace_scale(epsilon, 1 << out.bits)
    assert has_this_scale(draws, scale)
    assert not has_this_scale(draws, 0.95 * scale)
    assert not has_this_scale(draws, 1.05 * scale)
    s = np.ldexp(draws.astype(float), -out.bits)
    assert abs(s.std() / out.noise_std - 1) < 0.05
    if bits:
        assert stats.kstest(s.ravel(), "laplace", (0, 1 / epsilon)).pvalue > 1e-7
        assert stats.kstest(s.ravel(), "norm", (0, out.noise_std)).pvalue < 1e-7
    first, second = s[0::2].ravel(), s[1::2].ravel()
    assert abs(np.corrcoef(first, second)[0, 1]) * math.sqrt(len(first)) < 6
    assert abs(np.corrcoef(s[:, 0::2].ravel(), s[:, 1::2].ravel())[0, 1]) * 173 < 6


def test_the_noise_ignores_numpys_seed():
    def seeded():
        np.random.seed(0)  # noqa: NPY002
        return release(quantise(np.eye(3)), np.ones(3), (0, 1), laplace()).values

    assert not np.array_equal(seeded(), seeded())
