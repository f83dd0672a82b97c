"""Places: found in one pass or two, the same for any blocks, and true to who is where."""

import joblib
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib_workers import silent_workers

from cloakgp.data import partition as gathering
from cloakgp.data.partition import build_partition, describe_partition, fingerprint, sum_hashes
from cloakgp.gp.defaults import default_lengths

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 2)) * [1.0, 40.0] + [0.0, 2000.0]


class Rows:
    """A block of rows in memory."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=np.float64)
        self.rows = len(self.values)

    def read(self):
        return self.values


def cut(values, blocks=4):
    return [Rows(part) for part in np.array_split(values, blocks)]


@pytest.fixture(scope="module")
def found():
    return build_partition(cut(X), default_lengths)


def test_people_are_counted_where_they_are(found):
    number = found.assign(X)
    np.testing.assert_array_equal(np.bincount(number, minlength=len(found.counts)), found.counts)
    assert found.people == len(X)
    assert found.fingerprint == fingerprint([sum_hashes(X)])
    assert len(found.counts) == gathering.MOST_BINS


def test_centres_and_spreads_are_those_of_the_people_there(found):
    number = found.assign(X)
    for place in range(0, len(found.counts), 17):
        inside = X[number == place]
        np.testing.assert_allclose(found.centres[place], inside.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(found.spreads[place], inside.std(axis=0), rtol=1e-6, atol=1e-9)
    typical = np.sqrt(np.mean((X - found.centres[number]) ** 2, axis=0))
    np.testing.assert_allclose(found.distances, typical, rtol=1e-9)
    assert f"3,000 rows are gathered at {len(found.counts)} places" in describe_partition(
        found, ["a", "b"]
    )
    assert "(a)" in describe_partition(found, ["a", "b"])


def test_nodes_have_the_mean_and_the_spread_of_the_people(found):
    nodes = found.nodes.reshape(len(found.counts), found.nodes_each, 2)
    np.testing.assert_allclose(nodes.mean(axis=1), found.centres)
    np.testing.assert_allclose(nodes.std(axis=1), found.spreads, atol=1e-9)
    products = np.prod(nodes - found.centres[:, None], axis=2).mean(axis=1)
    np.testing.assert_allclose(products, 0.0, atol=1e-9)
    assert found.node_counts.sum() == pytest.approx(3000)


def test_two_nodes_do_for_one_input_and_one_for_equal_people():
    line = build_partition(cut(X[:, :1]), default_lengths)
    assert line.nodes_each == 2
    np.testing.assert_allclose(line.nodes.reshape(-1, 2).std(axis=1), line.spreads[:, 0], atol=1e-9)
    ages = RNG.integers(0, 90, (5000, 1)) / 3.0
    equal = build_partition(cut(ages), default_lengths)
    assert equal.nodes_each == 1
    np.testing.assert_allclose(np.sort(equal.nodes[:, 0]), np.unique(ages), rtol=1e-12)
    assert "typically" not in describe_partition(equal, ["age"])


@pytest.mark.parametrize("blocks", [1, 2, 31])
def test_blocks_and_threads_change_nothing(found, blocks):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        again = build_partition(cut(X, blocks), default_lengths)
    for name in ("centres", "spreads", "counts", "fingerprint"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    np.testing.assert_array_equal(again.tree.to_array(), found.tree.to_array())


def test_a_sample_does_for_many(monkeypatch):
    """Everybody is counted, and the sample does not follow the order of rows."""
    monkeypatch.setattr(gathering, "SAMPLE_ROWS", 500)
    ordered = X[np.argsort(X[:, 0])]
    found = build_partition(cut(ordered, 7), default_lengths)
    np.testing.assert_array_equal(np.bincount(found.assign(X)), found.counts)
    spread = np.average(found.centres[:, 0], weights=found.counts)
    assert abs(spread - X[:, 0].mean()) < 0.2


def test_few_places_do_where_people_are_close():
    near = build_partition(cut(RNG.uniform(0.0, 1.0, (4000, 1))), default_lengths)
    assert len(near.counts) < 150
    unit = gathering.BIN_LENGTH * default_lengths(X[:, :1])
    assert np.all(near.distances < unit)


def test_exposures_are_means_at_places(found):
    watched = RNG.uniform(1.0, 9.0, (3000, 1))
    ours = build_partition(cut(X), default_lengths, cut(watched))
    number = ours.assign(X)
    np.testing.assert_allclose(
        ours.exposure, np.bincount(number, watched[:, 0]) / np.bincount(number)
    )
    assert found.exposure is None


WHOLE = np.column_stack([RNG.integers(-3, 40, 6000), RNG.integers(1, 4, 6000)]).astype(float)


def test_different_rows_are_those_of_numpy():
    rows, number, people = np.unique(WHOLE, axis=0, return_inverse=True, return_counts=True)
    few = gathering.find_different(WHOLE)
    np.testing.assert_array_equal(few.rows, rows)
    np.testing.assert_array_equal(few.people, people)
    np.testing.assert_array_equal(few.spread(np.arange(len(rows))), number.ravel())


@pytest.mark.parametrize(
    "change",
    [(5, 0.5), (5999, 0.5), (5999, 1e-300), (5999, 2.0**60), (5999, 900.0), (5999, -1e9)],
    ids=["early", "late", "tiny", "huge", "far", "below"],
)
def test_rows_that_are_no_few_whole_numbers_are_taken_one_by_one(change):
    place, value = change
    rows = WHOLE.copy()
    rows[place, 0] = value
    assert gathering.find_different(rows) is None
    assert gathering.find_different(rows[:20]) is None


@pytest.mark.parametrize("blocks", [1, 5])
@pytest.mark.parametrize("sample", [40, 100_000])
def test_whole_numbers_are_gathered_as_all_rows_one_by_one(blocks, sample, monkeypatch):
    rows = WHOLE.copy()
    rows[WHOLE == 0.0] = -0.0
    monkeypatch.setattr(gathering, "SAMPLE_ROWS", sample)
    fast, again = build_partition(cut(rows, blocks), default_lengths), rows[:1111]
    recounted = gathering.recount(fast, cut(again, blocks))
    monkeypatch.setattr(gathering, "find_different", lambda rows: None)
    slow = build_partition(cut(rows, blocks), default_lengths)
    for name in ("centres", "spreads", "counts", "fingerprint"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name))
    np.testing.assert_array_equal(fast.tree.to_array(), slow.tree.to_array())
    expected = gathering.recount(slow, cut(again, blocks))
    np.testing.assert_array_equal(recounted.counts, expected.counts)
    assert recounted.fingerprint == expected.fingerprint
    monkeypatch.undo()
    np.testing.assert_array_equal(fast.assign(rows), slow.tree.assign(rows))


@pytest.mark.parametrize("repeated", [1, 3, 400])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.01, 0.0])
def test_of_a_block_the_rows_with_the_smallest_hashes_are_looked_at(repeated, share):
    rows = np.repeat(RNG.normal(size=(1 + 2000 // repeated, 2)), repeated, axis=0)
    hashes = gathering.hash_rows(rows, np.uint64(1))
    limit = np.uint64(min(share * 2.0**64, 2.0**64 - 2048))
    found = gathering._some(rows, hashes, limit, 50)
    expected, people = np.unique(hashes[hashes <= limit], return_counts=True)
    np.testing.assert_array_equal(found.hashes, expected[:50])
    np.testing.assert_array_equal(found.people, people[:50])
    np.testing.assert_array_equal(gathering.hash_rows(found.rows, np.uint64(1)), found.hashes)


def test_one_pass_does_where_different_rows_are_few(monkeypatch):
    def twice(*_):
        raise AssertionError("a second pass")

    monkeypatch.setattr(gathering, "_count", twice)
    found = build_partition(cut(WHOLE), default_lengths)
    np.testing.assert_array_equal(np.bincount(found.assign(WHOLE)), found.counts)
    monkeypatch.setattr(gathering, "SAMPLE_ROWS", 20)
    with pytest.raises(AssertionError, match="second pass"):
        build_partition(cut(WHOLE), default_lengths)


def test_progress_is_told():
    for rows in (X, WHOLE):
        told = []
        build_partition(cut(rows, 3), default_lengths, done=told.append)
        assert sum(told) == 2 * len(rows)


def test_blocks_that_change_between_passes_are_refused():
    class Shrinking(Rows):
        def read(self):
            self.values = self.values[:-1]
            return self.values

    watched = cut(np.ones((len(X), 1)), 1)  # so that there is a second pass
    with pytest.raises(ValueError, match="changed while they were read"):
        build_partition([Shrinking(X)], default_lengths, watched)


def test_a_worker_that_was_killed_is_told_of(monkeypatch):
    silent_workers(monkeypatch, gathering, TerminatedWorkerError("SIGKILL(-9)"))
    with pytest.raises(ValueError, match=r"worker process was killed, probably .*smaller blocks"):
        build_partition(cut(X), default_lengths)
