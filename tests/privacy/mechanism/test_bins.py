"""People aggregated in bins: the same integers as one by one, whatever the blocks are."""

import pickle
import traceback
from fractions import Fraction
from itertools import pairwise

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib_workers import silent_workers, watched_workers
from reference import (
    NO_NOISE,
    no_noise,
    random_sketch,
    release_counts,
    release_gathered,
    release_labels,
    release_numbers,
)

from cloakgp.privacy import (
    Batch,
    Bins,
    Bounded,
    Budget,
    Counted,
    Labelled,
    Noise,
    Query,
    Sketch,
    quantise,
    release,
)
from cloakgp.privacy.mechanism import bins as core
from cloakgp.privacy.mechanism.release import value_bits_for

BUDGET = Budget(1.0, 0.01)
PEOPLE, PLACES = 500, 7
RNG = np.random.default_rng(3)
AT = RNG.integers(0, PLACES, PEOPLE)
COUNTS = np.bincount(AT, minlength=PLACES)
Y = RNG.uniform(-20.0, 120.0, PEOPLE)
ONE = np.array([0.0]), np.array([100.0])
NAMES = np.array(["a", "b", "c"])[RNG.integers(0, 3, PEOPLE)]
SECRET = "8812937.5"


class Block(Batch):
    """Some people in memory."""

    def __init__(self, at, y):
        self.at, self.y = at, y

    def places(self):
        return self.at

    def outputs(self):
        return self.y


def blocks(y, cuts=(), at=AT):
    """Cut people into blocks."""
    ends = [0, *cuts, len(at)]
    return [Block(at[a:b], y[a:b]) for a, b in pairwise(ends)]


def columns_of_everybody(sketch):
    """The sketch in which each person has the column of their place."""
    return Sketch(np.ascontiguousarray(sketch.matrix[:, AT]), sketch.bits)


CASES = {
    "numbers": (
        Bounded(*ONE),
        Y,
        lambda s: release_numbers(s, Y, (0.0, 100.0), BUDGET, noise=NO_NOISE),
    ),
    "two columns": (
        Bounded(np.array([0.0, -10.0]), np.array([100.0, 90.0]), flat=False),
        np.column_stack([Y, -Y]),
        lambda s: release_numbers(
            s, np.column_stack([Y, -Y]), ([0.0, -10.0], [100.0, 90.0]), BUDGET, noise=NO_NOISE
        ),
    ),
    "two classes": (
        Labelled(("a", "b")),
        np.where(NAMES == "c", "a", NAMES),
        lambda s: release_labels(
            s, np.where(NAMES == "c", "a", NAMES), ["a", "b"], BUDGET, noise=NO_NOISE
        ),
    ),
    "three classes": (
        Labelled(("a", "b", "c")),
        NAMES,
        lambda s: release_labels(s, NAMES, ["a", "b", "c"], BUDGET, noise=NO_NOISE),
    ),
    "counts": (
        Counted(30.0),
        np.floor(np.abs(Y)),
        lambda s: release_counts(s, np.floor(np.abs(Y)), 30.0, BUDGET, noise=NO_NOISE),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_publishes_what_a_sketch_of_everybody_would(case):
    kind, y, one_by_one = CASES[case]
    sketch = random_sketch(4, PLACES)
    ours = release_gathered(sketch, COUNTS, blocks(y, (100, 101)), kind, BUDGET, noise=NO_NOISE)
    theirs = one_by_one(columns_of_everybody(sketch))
    assert ours.bits == theirs.bits
    assert ours.values.tolist() == theirs.values.tolist()
    assert (ours.sensitivity, ours.sigma, ours.private) == (theirs.sensitivity, theirs.sigma, False)
    assert not ours.values.flags.writeable


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, PEOPLE), max_size=6), st.randoms(use_true_random=False))
def test_blocks_in_any_order_give_the_same_integers(cuts, shuffler):
    sketch = random_sketch(3, PLACES)
    pieces = blocks(Y, sorted(cuts))
    whole = release_gathered(sketch, COUNTS, blocks(Y), Bounded(*ONE), BUDGET, noise=NO_NOISE)
    shuffler.shuffle(pieces)
    parts = release_gathered(sketch, COUNTS, pieces, Bounded(*ONE), BUDGET, noise=NO_NOISE)
    assert parts.values.tolist() == whole.values.tolist()


def test_threads_give_the_same_integers_and_are_told_of():
    sketch, told = random_sketch(3, PLACES), []
    alone = release_gathered(sketch, COUNTS, blocks(Y), Bounded(*ONE), BUDGET, noise=NO_NOISE)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        ours = release_gathered(
            sketch,
            COUNTS,
            blocks(Y, range(50, 500, 50)),
            Bounded(*ONE),
            BUDGET,
            noise=NO_NOISE,
            done=told.append,
        )
    assert ours.values.tolist() == alone.values.tolist()
    assert told == [50] * 10


@pytest.mark.parametrize(
    "people",
    [
        blocks(Y)[:0],
        blocks(Y, (200,))[:1],
        [*blocks(Y), Block(AT[:1], Y[:1])],
        [Block(np.roll(AT, 1)[:-1], Y[:-1])],
        blocks(Y, at=np.zeros_like(AT)),
    ],
)
def test_more_or_fewer_people_than_planned_are_refused_before_anything_is_spent(people):
    noise = Noise(
        rehearsal=lambda *_: pytest.fail("noise was drawn"),
        commit=lambda: pytest.fail("it was spent"),
    )
    with pytest.raises(ValueError, match=r"planned for.*plan again"):
        release_gathered(
            random_sketch(2, PLACES), COUNTS, people, Bounded(*ONE), BUDGET, noise=noise
        )


def test_a_column_longer_than_one_is_refused():
    matrix = np.zeros((2, PLACES), dtype=np.int32)
    matrix[:, 5] = [1 << 20, 1]
    with pytest.raises(ValueError, match="more than 1"):
        release_gathered(Sketch(matrix, 20), COUNTS, blocks(Y), Bounded(*ONE), BUDGET)


@pytest.mark.parametrize(
    "at", [AT - 1, AT + 1, AT[:, None], AT.astype(float), np.zeros((3, 3), dtype=int)]
)
def test_a_place_that_does_not_exist_is_refused(at):
    with pytest.raises(ValueError, match=r"^places must be"):
        release_gathered(
            random_sketch(2, PLACES), COUNTS, [Block(at, Y)], Bounded(*ONE), BUDGET, noise=NO_NOISE
        )


@pytest.mark.parametrize(
    "counts",
    [
        COUNTS[:-1],
        np.where(np.arange(PLACES) == 2, -1, COUNTS),
        COUNTS.astype(float),
        COUNTS[:, None],
    ],
)
def test_counts_must_be_whole_numbers_for_all_places(counts):
    with pytest.raises(ValueError, match="counts must be"):
        release_gathered(random_sketch(2, PLACES), counts, blocks(Y), Bounded(*ONE), BUDGET)


def test_a_place_may_be_empty():
    sketch = random_sketch(2, PLACES + 1)
    counts = np.append(COUNTS, 0).astype(np.uint32)
    out = release_gathered(sketch, counts, blocks(Y), Bounded(*ONE), BUDGET, noise=NO_NOISE)
    one_by_one = release_numbers(
        columns_of_everybody(sketch), Y, (0.0, 100.0), BUDGET, noise=NO_NOISE
    )
    assert out.values.tolist() == one_by_one.values.tolist()


def test_a_cap_must_be_a_number():
    with pytest.raises(ValueError, match=r"^cap must be a number"):
        Counted("12")
    cap = Counted(np.float32(12.0)).cap
    assert (type(cap), cap) == (float, 12.0)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_workers_write_no_file_and_are_not_waited_for_forever(monkeypatch, jobs):
    made = watched_workers(monkeypatch, core)
    with joblib.parallel_config(backend="threading", n_jobs=jobs):
        release_gathered(
            random_sketch(2, PLACES), COUNTS, blocks(Y), Bounded(*ONE), BUDGET, noise=NO_NOISE
        )
    ((workers, options),) = made
    assert options == {"max_nbytes": None, "return_as": "generator"}
    assert workers.timeout == (None if jobs == 1 else core.PATIENCE)
    assert core.PATIENCE == 3600.0


def test_a_worker_that_does_not_answer_is_told_of(monkeypatch):
    silent_workers(monkeypatch, core)
    noise = Noise(rehearsal=no_noise, commit=lambda: pytest.fail("it was spent"))
    with pytest.raises(ValueError, match="a worker has not answered"):
        release_gathered(
            random_sketch(2, PLACES), COUNTS, blocks(Y), Bounded(*ONE), BUDGET, noise=noise
        )


def test_a_worker_that_was_killed_is_told_of(monkeypatch):
    silent_workers(monkeypatch, core, TerminatedWorkerError("SIGKILL(-9)"))
    noise = Noise(rehearsal=no_noise, commit=lambda: pytest.fail("it was spent"))
    with pytest.raises(ValueError, match=r"worker process was killed, probably .*fewer workers"):
        release_gathered(
            random_sketch(2, PLACES), COUNTS, blocks(Y), Bounded(*ONE), BUDGET, noise=noise
        )


def test_sums_of_a_billion_people_fit():
    """Of a place that no published value asks about, too: its sum is made all the same."""
    sketch = quantise(np.eye(PLACES), bits=16)
    silent = Sketch(sketch.matrix * (np.arange(PLACES, dtype=np.int32) != 2), sketch.bits)
    nothing = Sketch(sketch.matrix * np.int32(0), sketch.bits)
    assert value_bits_for(Sketch(nothing.matrix[:, :0], 16), 0.0, np.zeros(0, dtype=np.int64)) == 40
    for people in (10**3, 10**6, 10**8, 2 * 10**8):
        for each in (sketch, silent, nothing):
            counts = np.full(PLACES, people // PLACES + 1)
            counts[2] = people
            bits = value_bits_for(each, 4.0, counts)
            largest = max(int(counts.max()), int((np.abs(each.matrix) @ counts).max()))
            assert largest << bits <= 1 << 61
            assert bits == 40 or 2 * (largest + (1 << 24)) << bits > 1 << 61
    with pytest.raises(ValueError, match="too many people"):
        value_bits_for(sketch, 4.0, np.full(PLACES, 10**11))


@pytest.mark.parametrize("most", [1, 9, 1 << 30, 1 << 40])
def test_sums_in_floating_point_are_those_of_integers(most):
    """Also on the finest grid, where 8,192 people at a time are as many as can be."""
    at = np.random.default_rng(0).integers(0, 3, 20_000)
    y = np.concatenate([np.ones(19_000), np.random.default_rng(1).uniform(size=1000)])
    kind = Bounded([0.0], [1.0])
    found = core._sum_block(Block(at, y), kind=kind, bins=4, most=most, squared=False)
    u = kind.steps(kind.checked(y, len(y)), most)[:, 0].tolist()
    wanted = [sum(each for each, place in zip(u, at, strict=True) if place == c) for c in range(4)]
    assert found.sums[:, 0].tolist() == wanted


def test_counts_of_one_need_the_grid_of_a_plain_sketch():
    sketch = random_sketch(5, 40)
    assert value_bits_for(sketch, 4.0, np.ones(40, dtype=np.int64)) == value_bits_for(sketch, 4.0)


class ReadOnce(Block):
    """A block that is gone after it was read."""

    def outputs(self):
        values, self.y = self.y, None
        return values


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_later_parts_need_nobody_to_be_read_again(order):
    """The second sketch has a coarser grid of u than the first, or a finer one."""
    budget = Budget(1.0, 1e-5, parts=2)
    sketches = random_sketch(3, PLACES), quantise(np.eye(PLACES), bits=10)
    kind, bins = Bounded(*ONE), Bins(COUNTS, [ReadOnce(AT, Y)])
    out = [release(Query(sketches[i], kind, bins), budget, noise=NO_NOISE) for i in order]
    value_bits = [noisy.bits - sketches[i].bits for i, noisy in zip(order, out, strict=True)]
    assert value_bits[0] != value_bits[1]
    for i, noisy in zip(order, out, strict=True):
        afresh = release_gathered(sketches[i], COUNTS, blocks(Y), kind, budget, noise=NO_NOISE)
        assert noisy.bits == afresh.bits
        # Sums are rounded once for each bin instead of once for each person, or the other way.
        most = PEOPLE * 2.0 ** -min(value_bits)
        np.testing.assert_allclose(noisy.s, afresh.s, rtol=0, atol=most)


@given(
    st.integers(0, 2**40),
    st.integers(-(2**20), 2**20),
    st.integers(16, 40).map(lambda bits: 2**bits) | st.integers(1, 2**40),
    st.integers(16, 40).map(lambda bits: 2**bits) | st.integers(1, 2**20),
)
def test_sums_on_another_grid_move_by_no_more_than_one_person_may(sum_, move, steps, other):
    """Also from and to the whole numbers up to the cap of counts."""
    move = int(Fraction(move, 2**20) * steps)  # of one person, whose u lies in 0..steps
    kind, found = Bounded(*ONE), []
    for value in (sum_ % (steps << 20) + steps, sum_ % (steps << 20) + steps + move):
        bins = Bins([1], [])
        bins._kept.append(core._Sums(kind, steps, np.array([[value]])))
        found.append(int(bins.sums(kind, other)[0, 0]))
        assert found[-1] == value * other // steps
    assert abs(found[1] - found[0]) <= other


def test_the_people_of_later_parts_are_those_that_were_summed():
    counts, budget, kind = COUNTS.copy(), Budget(1.0, 1e-5, parts=2), Bounded(*ONE)
    bins, sketch = Bins(counts, blocks(Y)), random_sketch(2, PLACES)
    first = release(Query(sketch, kind, bins), budget, noise=NO_NOISE)
    counts[:] = 1
    again = release(Query(sketch, kind, bins), budget, noise=NO_NOISE)
    assert again.values.tolist() == first.values.tolist()
    with pytest.raises(ValueError, match="counts must be"):
        release(Query(random_sketch(2, PLACES + 1), kind, bins), budget, noise=NO_NOISE)
    with pytest.raises(ValueError, match="summed as another kind"):
        release(Query(sketch, Bounded([0.0], [50.0]), bins), budget, noise=NO_NOISE)


class Unreadable(Block):
    """A block whose error quotes a value."""

    def outputs(self):
        raise RuntimeError(f"cannot parse {SECRET}")


class Misplaced(Block):
    """A block whose inputs cannot be read."""

    def places(self):
        raise OSError("no such file /secret/path")


@pytest.mark.parametrize("kind", [Unreadable, Misplaced])
def test_a_block_that_cannot_be_read_is_not_quoted(kind):
    with pytest.raises(ValueError, match="could not be read") as caught:
        release_gathered(
            random_sketch(2, PLACES), COUNTS, [kind(AT, Y)], Bounded(*ONE), BUDGET, noise=NO_NOISE
        )
    said = "".join(traceback.format_exception(caught.value))
    assert SECRET not in said
    assert "secret" not in said
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("kind", "y"),
    [
        (Bounded(*ONE), np.where(np.arange(PEOPLE) == 3, np.nan, Y)),
        (Bounded(*ONE), [f"x{SECRET}", *Y[1:].astype(str)]),
        (Bounded(*ONE), np.column_stack([Y, Y])),
        (Bounded(*ONE), Y[:-1]),
        (Labelled(("a", "b")), np.where(np.arange(PEOPLE) == 3, SECRET, "a")),
        (Counted(30.0), np.where(np.arange(PEOPLE) == 3, float(SECRET), 1.0)),
        (Counted(30.0), np.where(np.arange(PEOPLE) == 3, -1.0, 1.0)),
    ],
)
def test_refused_outputs_are_not_quoted(kind, y):
    noise = Noise(rehearsal=no_noise, commit=lambda: pytest.fail("it was spent"))
    with pytest.raises(ValueError, match=r"y must|y holds") as caught:
        release_gathered(
            random_sketch(2, PLACES), COUNTS, [Block(AT, y)], kind, BUDGET, noise=noise
        )
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_the_spend_is_recorded_after_the_sums_and_before_the_noise():
    order = []

    class Watched(Block):
        def outputs(self):
            order.append("read")
            return self.y

    def drawn(scale, count):
        order.append("noise")
        return no_noise(scale, count)

    noise = Noise(rehearsal=drawn, commit=lambda: order.append("spend"))
    release_gathered(
        random_sketch(2, PLACES), COUNTS, [Watched(AT, Y)], Bounded(*ONE), BUDGET, noise=noise
    )
    assert order == ["read", "spend", "noise"]


def test_kinds_of_others_are_refused():
    class Louder(Bounded):
        """It could return anything."""

    with pytest.raises(TypeError, match="Louder"):
        release_gathered(random_sketch(2, PLACES), COUNTS, blocks(Y), Louder(*ONE), BUDGET)


def test_private_noise_hides_the_sums_and_nothing_of_y_is_kept():
    out = release_gathered(random_sketch(3, PLACES), COUNTS, blocks(Y), Bounded(*ONE), BUDGET)
    assert out.private
    assert Y.tobytes()[:64] not in pickle.dumps(out)


def test_noise_has_the_scale_of_the_budget():
    """The mean square of 400 values is within 6 standard deviations: false alarm below 1e-8."""
    sketch, draws = random_sketch(4, PLACES), []
    quiet = release_gathered(sketch, COUNTS, blocks(Y), Bounded(*ONE), BUDGET, noise=NO_NOISE)
    for _ in range(100):
        out = release_gathered(sketch, COUNTS, blocks(Y), Bounded(*ONE), BUDGET)
        draws.append((out.s - quiet.s) / BUDGET.sigma)
    mean = float(np.mean(np.square(draws)))
    assert abs(mean - 1.0) < 6.0 * np.sqrt(2.0 / 400)
