"""Whole rows: exact sums, and no neighbour moves them further than the noise is for.

Neighbours differ in inputs, in outputs and in both; in the number of people, too.
"""

import itertools
import math
import pickle
import traceback
from fractions import Fraction

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import NO_NOISE

from cloakgp.privacy import (
    Batch,
    Bounded,
    Budget,
    Counted,
    Labelled,
    Noise,
    Query,
    Sketch,
    WholeRows,
    quantise,
    release,
)
from cloakgp.privacy.mechanism import release as core
from cloakgp.privacy.mechanism.release import value_bits_for_rows
from cloakgp.privacy.mechanism.whole_rows import (
    CAPACITY,
    _add_up,
    multiply,
    rows_at_random,
    rows_sensitivity,
)

LAPLACE, GAUSSIAN = Budget(1.0, 0.0, mechanism="laplace"), Budget(1.0, 1e-5)
SECRET = "8812937.5"


class Block(Batch):
    """Some people in memory."""

    def __init__(self, at, y, dtype=np.int64):
        self.at, self.y = np.asarray(at, dtype=dtype), np.asarray(y)

    def places(self):
        return self.at

    def outputs(self):
        return self.y


def people(at, y, bins=3, **more):
    return WholeRows(bins, [Block(at, y)], **more)


def shares(kind, y):
    """Slow and obvious: what a person's output is in Fractions, as shares that add up to 1."""
    if isinstance(kind, Labelled):
        if len(kind.classes) > 2:
            return [Fraction(int(y == name)) for name in kind.classes]
        u = Fraction(int(y == kind.classes[1]))
    elif isinstance(kind, Counted):
        u = Fraction(min(y, kind.cap)) / Fraction(kind.cap)
    else:
        ends = zip(np.atleast_1d(y).tolist(), kind.lo, kind.hi, strict=True)
        told = [
            (Fraction(min(max(one, lo), hi)) - Fraction(lo)) / (Fraction(hi) - Fraction(lo))
            for one, lo, hi in ends
        ]
        return [*told, *(1 - u for u in told)]
    return [u, 1 - u]


def reference(kind, T, at, ys):
    """T W as a table of Fractions."""
    told = [shares(kind, y) for y in ys]
    columns = len(told[0])
    return [
        [
            sum((Fraction(row[c]) * w[k] for c, w in zip(at, told, strict=True) if c >= 0), start=0)
            for k in range(columns)
        ]
        for row in T
    ]


KINDS = [
    Bounded([0], [8]),
    Labelled(["a", "b"]),
    Labelled(["a", "b", "c"]),
    Counted(4),
    Bounded([0, -2], [8, 2]),
]
NAMES = ["numbers", "two", "three", "counts", "pairs"]
#: Outputs whose u is on every grid, and one outside of the bounds.
OUTPUTS = {
    0: (0.0, 1.0, 8.0, 99.0),
    1: ("a", "b"),
    2: ("a", "b", "c"),
    3: (0, 1, 4, 7),
    4: ((0.0, 2.0), (8.0, -2.0), (1.0, 9.0)),
}


@pytest.mark.parametrize("number", range(5), ids=NAMES)
@pytest.mark.parametrize("bits", [0, 3, 10])
def test_sums_of_shares_are_exact(number, bits):
    kind, rng = KINDS[number], np.random.default_rng(number)
    at = rng.integers(-1, 3, 40)
    ys = [OUTPUTS[number][i] for i in rng.integers(0, len(OUTPUTS[number]), 40)]
    T = np.eye(2)[:, [0, 1, 1]] if bits == 0 else rng.integers(0, 5, (2, 3)) / 8
    if bits == 10:
        T /= 1.5
    sketch = quantise(T / max(1.0, T.sum(axis=0).max()), bits)
    for budget in (LAPLACE, GAUSSIAN):
        noisy = release(Query(sketch, kind, people(at, ys)), budget, noise=NO_NOISE)
        steps = noisy.whole << noisy.bits
        exact = reference(kind, sketch.rounded.tolist(), at.tolist(), ys)
        assert noisy.values.shape == (2, len(exact[0]))
        assert noisy.values.tolist() == [[int(x * steps) for x in row] for row in exact]


def test_blocks_in_any_order_give_the_same_integers():
    rng = np.random.default_rng(0)
    at, y = rng.integers(0, 3, 60), rng.uniform(0, 8, 60)
    cuts = [slice(0, 10), slice(10, 11), slice(11, 60)]
    found = []
    for order in itertools.permutations(cuts):
        whole = WholeRows(3, [Block(at[cut], y[cut]) for cut in order])
        query = Query(quantise(np.eye(3), 0), KINDS[0], whole)
        found.append(release(query, LAPLACE, noise=NO_NOISE).values.tolist())
    assert len({str(values) for values in found}) == 1


def tables(number, most_rows):
    """Everything one person may have: no row, or rows with any input and any output."""
    single = list(itertools.product((-1, 0, 1, 2), OUTPUTS[number]))
    for size in range(1, most_rows + 1):
        yield from itertools.product(single, repeat=size)


SKETCHES = {
    ("laplace", 0): np.eye(2)[:, [0, 1, 1]],
    ("laplace", 3): np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 0.875]]),
    ("gaussian", 0): np.eye(2)[:, [0, 1, 1]],
    ("gaussian", 16): np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 1.0]]),
}


@pytest.mark.parametrize("number", range(5), ids=NAMES)
@pytest.mark.parametrize(("mechanism", "bits"), SKETCHES)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("most_rows", [1, 2])
def test_no_neighbour_moves_whole_rows_further_than_the_noise_is_for(
    number, mechanism, bits, neighbours, most_rows
):
    """Brute force over all pairs, in integers; some pair of them reaches the bound."""
    kind, sketch = KINDS[number], quantise(SKETCHES[mechanism, bits], bits)
    budget = LAPLACE if mechanism == "laplace" else GAUSSIAN
    others = [(0, OUTPUTS[number][0]), (1, OUTPUTS[number][1])]

    def published(rows):
        at, ys = zip(*others, *rows, strict=True)
        owners = {} if most_rows == 1 else {"groups": [7, 8] + [9] * len(rows)}
        whole = people(at, ys, neighbours=neighbours, max_rows=most_rows, **owners)
        return release(Query(sketch, kind, whole), budget, noise=NO_NOISE)

    noisy = published(())
    without = noisy.values
    seen = {published(rows).values.tobytes(): rows for rows in tables(number, most_rows)}
    moves = [np.frombuffer(values, dtype=np.int64) for values in seen]
    if neighbours == "add-remove":
        apart = np.array([values - without.ravel() for values in moves])
    else:
        apart = np.array([a - b for a, b in itertools.combinations(moves, 2)])
    apart = apart.astype(object)
    steps, outputs = noisy.whole << noisy.bits, 2 if number == 4 else 1
    if mechanism == "laplace":
        assert noisy.sensitivity == most_rows * outputs * (1 if neighbours == "add-remove" else 2)
        furthest, allowed = abs(apart).sum(axis=1).max(), int(noisy.sensitivity) * steps
        assert furthest == allowed
    else:
        squared = most_rows**2 * outputs * (1 if neighbours == "add-remove" else 2)
        assert noisy.sensitivity == pytest.approx(math.sqrt(squared), rel=1e-15)
        furthest, allowed = (apart**2).sum(axis=1).max(), squared * steps**2
        assert 0.99 * allowed < furthest <= allowed


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 5), st.booleans())
def test_any_two_rows_are_at_most_two_or_root_two_apart(seed, r, bins, laplace):
    """Random sketches without negative entries, random rows, in exact integers."""
    rng = np.random.default_rng(seed)
    T = rng.uniform(size=(r, bins)) ** 3
    T /= T.sum(axis=0) if laplace else np.linalg.norm(T, axis=0)
    sketch, budget = quantise(T, 10), LAPLACE if laplace else GAUSSIAN
    rows = [(int(rng.integers(0, bins)), float(rng.uniform(0, 8))) for _ in range(4)]

    def published(at, y):
        query = Query(sketch, KINDS[0], people([at], [y], bins))
        return release(query, budget, noise=NO_NOISE)

    found = [published(*row) for row in rows]
    steps = 1 << found[0].bits
    for one, other in itertools.combinations(found, 2):
        apart = (one.values - other.values).astype(object)
        if laplace:
            assert abs(apart).sum() <= 2 * steps
        else:
            assert (apart**2).sum() <= 2 * steps**2


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_laplace_scale_makes_the_worst_neighbours_exactly_epsilon_private(
    kind, neighbours, monkeypatch
):
    """The scale that OpenDP is asked for, against the move of worst-case rows, in Fractions."""
    asked = []

    def watched(total, scale):
        asked.append((total.astype(object), scale))
        return total

    monkeypatch.setattr(core, "add_discrete_laplace", watched)
    outputs = OUTPUTS[KINDS.index(kind)]
    worlds = [([0, 2], [outputs[0], outputs[1]]), ([0, 0], [outputs[0], outputs[0]])]
    if neighbours == "add-remove":
        worlds[1] = ([0], [outputs[0]])
    for at, ys in worlds:
        query = Query(quantise(np.eye(3), 0), kind, people(at, ys, neighbours=neighbours))
        release(query, LAPLACE)
    (one, scale), (other, again) = asked
    assert scale == again
    loss = Fraction(int(abs(one - other).sum())) / Fraction(scale)
    assert loss <= Fraction(LAPLACE.epsilon)
    assert loss > Fraction(999, 1000) * Fraction(LAPLACE.epsilon)


def test_gaussian_noise_has_the_scale_of_its_sensitivity(monkeypatch):
    asked = []
    monkeypatch.setattr(
        core, "add_discrete_gaussian", lambda total, scale: asked.append(scale) or total
    )
    for neighbours in ("replace", "add-remove"):
        whole = people([0], [1.0], neighbours=neighbours)
        noisy = release(Query(quantise(np.eye(3), 0), KINDS[0], whole), GAUSSIAN)
        assert noisy.noise_std == GAUSSIAN.sigma * noisy.sensitivity
        assert asked[-1] == math.ldexp(noisy.noise_std, noisy.bits)
    assert asked[0] == pytest.approx(math.sqrt(2) * asked[1], rel=1e-15)


def test_the_grid_says_nothing_of_how_many_people_there_are():
    def published(n, budget=LAPLACE, kind=KINDS[0]):
        whole = people(np.zeros(n, dtype=np.int64), np.full(n, 3.0))
        return release(Query(quantise(np.eye(3), 0), kind, whole), budget, noise=NO_NOISE)

    for budget in (LAPLACE, GAUSSIAN):
        few, many = published(1, budget), published(50_000, budget)
        assert (few.bits, few.noise_std, few.whole) == (many.bits, many.noise_std, many.whole)


def test_sums_of_more_rows_than_there_is_room_for_are_cut_off():
    """Without an error, which would say that there are so many."""
    sketch = Sketch(np.array([[1, 0], [0, 1]], dtype=np.int32), 0)
    sums = [[3 << 61, -5], [7, 1 << 70], [-1 << 70, 1 << 61]]
    both = multiply(sketch, sums[:2]).tolist() + multiply(sketch, sums[1:]).tolist()
    assert both == [[1 << 61, -5], [7, 1 << 61], [7, 1 << 61], [-1 << 61, 1 << 61]]


def test_products_of_sums_are_exact_where_floats_and_int64_are_not():
    sketch = Sketch(np.array([[1, 1], [1, 0]], dtype=np.int32), 0)
    sums = [[1 << 62, (1 << 60) + 1], [1 << 62, 5]]
    assert multiply(sketch, sums).tolist() == [[1 << 61, (1 << 60) + 6], [1 << 61, (1 << 60) + 1]]


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("bits", [0, 3, 10])
def test_the_sums_of_so_many_people_fit(mechanism, bits):
    sketch = quantise(np.eye(2), bits)
    found = value_bits_for_rows(sketch, 100.0, mechanism)
    reach = (CAPACITY[mechanism] << bits) + math.ceil(core.REACH[mechanism] * 100.0 * 2**bits)
    assert reach << found <= 1 << 61 < reach << found + 1
    assert found >= 16
    with pytest.raises(ValueError, match="too many people, or needs too much noise"):
        value_bits_for_rows(quantise(np.eye(2), 24), 100.0, mechanism)


# --- owners of several rows


def test_at_most_so_many_rows_of_each_owner_count_whichever_the_lot_falls_on():
    owners = ["a"] * 5 + ["b"] * 2 + ["c"]
    kept = {tuple(sorted(rows_at_random(owners, 2, 8).tolist())) for _ in range(200)}
    for rows in kept:
        assert sorted(owners[row] for row in rows) == ["a", "a", "b", "b", "c"]
    assert len(kept) == 10  # all pairs of a's rows: one is missing with a chance below 1e-8


def test_the_rows_of_one_owner_do_not_depend_on_those_of_others(monkeypatch):
    """With the same lots for rows, those of others are kept or left out as before."""
    bytes_of = np.random.default_rng(1).integers(0, 2**63, 16, dtype=np.uint64)
    monkeypatch.setattr(
        "cloakgp.privacy.mechanism.whole_rows.secrets.token_bytes",
        lambda count: bytes_of[: count // 8].tobytes(),
    )
    one = set(rows_at_random(["a", "a", "a", "b", "b", "b", "b", "b"], 2, 8).tolist())
    other = set(rows_at_random(["a", "a", "a", "c", "c", "c", "d", "e"], 2, 8).tolist())
    assert {row for row in one if row < 3} == {row for row in other if row < 3}


def test_lots_are_whole_numbers(monkeypatch):
    """The smallest counts, and the second number of a row before the first."""
    lots = np.array([[9, 9, 0, 1], [2**63 + 5, 3, 2**63 + 9, 3]], dtype=np.uint64)
    monkeypatch.setattr(
        "cloakgp.privacy.mechanism.whole_rows.secrets.token_bytes", lambda count: lots.tobytes()
    )
    assert rows_at_random(["a"] * 4, 1, 4).tolist() == [3]
    assert rows_at_random(["a"] * 4, 3, 4).tolist() == [3, 1, 0]


def test_what_was_given_cannot_be_changed_afterwards():
    batches = [Block([0], [1.0])]
    whole = WholeRows(np.int64(3), batches, max_rows=np.int8(2), groups=["a"])
    batches.clear()
    assert len(whole.batches) == 1
    assert isinstance(whole.batches, tuple)
    assert type(whole.bins) is type(whole.max_rows) is int


@pytest.mark.parametrize(("neighbours", "moved"), [("replace", 2), ("add-remove", 1)])
def test_sensitivities_are_whole_or_their_roots(neighbours, moved):
    assert rows_sensitivity(neighbours, 3, 1) == 3.0 * moved
    assert rows_sensitivity(neighbours, 3, 1, 5) == 15.0 * moved
    assert rows_sensitivity(neighbours, 3, 2) == 3.0 * math.sqrt(moved)
    assert rows_sensitivity(neighbours, 3, 2, 5) == 3.0 * math.sqrt(5 * moved)


# --- what is refused, and what errors say


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: people([0], [1.0], neighbours="both"),
            r"neighbours must be one of \('replace', 'add-remove'\)",
        ),
        (lambda: people([0], [1.0], bins=0), "bins must be a whole number >= 1"),
        (lambda: people([0], [1.0], max_rows=0), "max_rows must be a whole number >= 1"),
        (lambda: people([0], [1.0], max_rows=2), "groups has to name them"),
        (
            lambda: WholeRows(3, [Block([0], [1.0])] * 2, groups=["a", "b"]),
            "of one block, not of several",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("T", "kind", "message"),
    [
        (np.eye(3)[:2] - 2.0**-10, KINDS[0], "no negative entries"),
        (np.ones((2, 3)), KINDS[0], "more than 1"),
        (np.eye(4), KINDS[0], "this sketch is of 4 bins, and the grid has 3"),
        (np.eye(3), Bounded([0, 0], [1, 1]), "y cannot be used"),
    ],
)
@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_sketch_that_could_move_further_is_refused_before_anything_is_spent(
    T, kind, message, budget
):
    spent = []
    with pytest.raises(ValueError, match=message):
        release(
            Query(quantise(T, 10), kind, people([0], [1.0])),
            budget,
            noise=Noise(commit=lambda: spent.append(1)),
        )
    assert not spent


def test_the_longest_column_is_bounded_in_the_norm_of_the_noise():
    T = np.array([[0.8], [0.6]])
    query = Query(quantise(T, 10), KINDS[0], people([0], [1.0], bins=1))
    assert release(query, GAUSSIAN, noise=NO_NOISE).values.shape == (2, 2)
    with pytest.raises(ValueError, match="1-norm"):
        release(query, LAPLACE, noise=NO_NOISE)


class Broken(Batch):
    """Cannot be read, and would say why."""

    def places(self):
        raise ValueError(SECRET)

    def outputs(self):
        return [1.0]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (Broken(), "a block of the data could not be read"),
        (Block([0, 5], [1.0, 2.0]), "places must be whole numbers"),
        (Block([0, -2], [1.0, 2.0]), "places must be whole numbers"),
        (Block([0, 3], [1.0, 2.0]), "places must be whole numbers"),
        (Block([[0, 1]], [1.0]), "places must be whole numbers"),
        (Block([0.0, 1.0], [1.0, 2.0], float), "places must be whole numbers"),
        (Block([0, 0], [1.0, math.nan]), "y cannot be used"),
        (Block([0, 0], [1.0]), "y cannot be used"),
        (Block([0] * 977, [1.0]), "y cannot be used"),
        (Block([0], [SECRET + "x"]), "y cannot be used"),
    ],
)
def test_errors_name_neither_values_nor_numbers_of_rows(batch, message):
    query = Query(quantise(np.eye(3), 0), KINDS[0], WholeRows(3, [batch]))
    with pytest.raises(ValueError, match=message) as error:
        release(query, LAPLACE, noise=NO_NOISE)
    said = "".join(traceback.format_exception(error.value))
    assert SECRET not in said
    assert "977" not in str(error.value)
    assert error.value.__context__ is None


class Greedy(Block):
    """Has more rows than there is memory for, and NumPy says how many."""

    def outputs(self):
        return np.broadcast_to(np.array(1.0), (1 << 50,))

    def places(self):
        return np.broadcast_to(np.array(0), (1 << 50,))


class Unsendable(Block):
    def __reduce__(self):
        raise TypeError(SECRET)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1]], ids=["numbers", "labels"])
def test_whatever_fails_with_rows_says_no_number(several, kind):
    blocks = [Greedy([0], [1.0])] * (1 + several)
    query = Query(quantise(np.eye(3), 0), kind, WholeRows(3, blocks))
    with pytest.raises(ValueError, match=r"could not be summed|cannot be used") as error:
        release(query, LAPLACE, noise=NO_NOISE)
    assert not any(sign.isdigit() for sign in str(error.value))
    assert error.value.__context__ is None


def test_memory_that_is_missing_after_reading_says_no_number(monkeypatch):
    def greedy(at, shares, bins, most):
        return np.empty((len(at) << 50, 5))

    monkeypatch.setattr("cloakgp.privacy.mechanism.whole_rows._add_up", greedy)
    query = Query(quantise(np.eye(3), 0), KINDS[0], people([0] * 7, [1.0] * 7))
    with pytest.raises(ValueError, match="there may be too little memory") as error:
        release(query, LAPLACE, noise=NO_NOISE)
    assert not any(sign.isdigit() for sign in str(error.value))
    assert error.value.__context__ is None


def test_rows_that_cannot_be_sent_to_a_worker_are_not_quoted():
    blocks = [Unsendable([0], [1.0]) for _ in range(2)]
    with joblib.parallel_config("loky", n_jobs=2), pytest.raises(ValueError, match="sent") as error:
        release(
            Query(quantise(np.eye(3), 0), KINDS[0], WholeRows(3, blocks)), LAPLACE, noise=NO_NOISE
        )
    assert SECRET not in "".join(traceback.format_exception(error.value))
    alone = Query(quantise(np.eye(3), 0), KINDS[0], WholeRows(3, blocks[:1]))
    with joblib.parallel_config("loky", n_jobs=2):  # one block is not sent
        assert release(alone, LAPLACE, noise=NO_NOISE).values.shape == (3, 2)


@pytest.mark.parametrize("most", [1, 3, 1 << 34, 1 << 50, 1 << 53])
def test_sums_of_any_number_of_rows_in_one_bin_are_exact(most):
    """Made-up shares that stand for so many rows that their sum leaves int64."""
    rng = np.random.default_rng(0)
    at = np.r_[np.zeros(3000, dtype=np.int64), rng.integers(0, 3, 500)]
    u = np.r_[np.full(3000, most), rng.integers(0, min(most, 9) + 1, 500)]
    shares = np.column_stack([u, most - u])
    W = _add_up(at, shares, 4, most).tolist()
    told = list(zip(at.tolist(), shares.tolist(), strict=True))
    for b, row in enumerate(W):
        assert row == [sum(w[k] for c, w in told if c == b) for k in (0, 1)]
    assert most < 1 << 52 or max(map(max, W)) > 1 << 63
    assert all(type(entry) is int for row in W for entry in row)


@pytest.mark.parametrize("groups", [["a"] * 9, ["a", None], ["a", 7], [math.nan, 1.0]])
def test_owners_that_cannot_be_told_apart_are_refused_without_a_number(groups):
    whole = people([0, 1], [1.0, 2.0], groups=groups, max_rows=2)
    with pytest.raises(ValueError, match="groups must name the owner") as error:
        release(Query(quantise(np.eye(3), 0), KINDS[0], whole), LAPLACE, noise=NO_NOISE)
    assert not any(sign.isdigit() for sign in str(error.value))


def test_the_spend_is_recorded_after_the_sums_and_before_the_noise(monkeypatch):
    events = []

    class Seen(Block):
        def outputs(self):
            events.append("read")
            return self.y

    monkeypatch.setattr(
        core, "add_discrete_laplace", lambda total, scale: events.append("noise") or total
    )
    whole = WholeRows(3, [Seen([0], [1.0])])
    noise = Noise(commit=lambda: events.append("spent"))
    release(Query(quantise(np.eye(3), 0), KINDS[0], whole), LAPLACE, noise=noise)
    assert events == ["read", "spent", "noise"]


@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_noise_is_drawn_and_nothing_private_is_kept(budget):
    at, y = np.zeros(2000, dtype=np.int64), np.full(2000, 8.0)
    query = Query(quantise(np.eye(3), 0), KINDS[0], people(at, y))
    one, other = release(query, budget), release(query, budget)
    assert one.private
    assert not np.array_equal(one.values, other.values)
    # 20 standard deviations: a false alarm has a chance below 1e-8 with Laplace noise.
    assert abs(one.s[0, 0] - 2000.0) < 20 * one.noise_std
    assert abs(one.s[1:]).max() < 20 * one.noise_std
    assert pickle.loads(pickle.dumps(one)).values.tolist() == one.values.tolist()
