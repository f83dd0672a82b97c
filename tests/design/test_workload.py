"""Wrong workloads are named, right ones are left alone, and nothing depends on hidden state."""

import numpy as np
import pytest

from cloakgp.design import Prior, bayes, total, volume, worst
from cloakgp.design.workload import merge_equal

TAKES_WORKLOAD = {
    "volume": volume,
    "total": total,
    "worst": worst,
    "prior": lambda C: Prior(C, np.ones(3), np.zeros((3, 0)), 1.0),
    "independent": lambda C: Prior.independent(C, 1.0, 1.0),
}


# --- wrong inputs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", TAKES_WORKLOAD)
def test_a_workload_must_be_finite(name, entry):
    C = np.ones((2, 3))
    C[1, 1] = entry
    with pytest.raises(ValueError, match="workload must be finite"):
        TAKES_WORKLOAD[name](C)


@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (2, 0), (0, 0), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("name", TAKES_WORKLOAD)
def test_a_workload_must_be_a_matrix_with_points_and_people(name, shape):
    with pytest.raises(ValueError, match="workload must be a matrix") as error:
        TAKES_WORKLOAD[name](np.ones(shape))
    assert str(shape) in str(error.value)


def test_weights_must_fit_the_workload():
    C = np.ones((2, 3))
    for solve in (total, lambda C, w: Prior(C, np.ones(3), np.zeros((3, 0)), 1.0, w)):
        with pytest.raises(ValueError, match=r"weights must have shape \(2,\), got \(3,\)"):
            solve(C, np.ones(3))
        for bad in ([-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]):
            with pytest.raises(ValueError, match="weights must be finite, not negative"):
                solve(C, bad)


# --- right inputs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["volume", "total", "worst"])
def test_workloads_may_be_lists_integers_and_strided(name):
    C = np.random.default_rng(0).integers(-5, 6, size=(3, 12))
    solve = TAKES_WORKLOAD[name]
    expected = solve(C.astype(float))
    for same in (C, C.tolist(), np.asfortranarray(C, dtype=float), np.repeat(C, 2, axis=1)[:, ::2]):
        design = solve(same)
        np.testing.assert_allclose(design.T, expected.T, atol=1e-9)
        assert design.value == pytest.approx(expected.value, rel=1e-9)


def everything():
    """Arrays that the solvers are given, and what they make of them."""
    rng = np.random.default_rng(1)
    C = rng.normal(size=(4, 320))
    C[:, 7] = C[:, 8]
    arrays = {
        "C": C,
        "weights": np.array([1.0, 2.0, 0.0, 1.0]),
        "diagonal": rng.uniform(0.1, 1.0, size=320),
        "factor": rng.normal(size=(320, 2)),
    }

    def run():
        belief = Prior(C, arrays["diagonal"], arrays["factor"], 1.0, arrays["weights"])
        return [volume(C), total(C, arrays["weights"]), worst(C), bayes(belief)]

    return arrays, run


def test_inputs_are_left_alone():
    arrays, run = everything()
    before = {name: array.copy() for name, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    designs = run()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name])
        assert not any(np.shares_memory(design.T, array) for design in designs)


def test_results_do_not_depend_on_the_global_random_state():
    _, run = everything()
    designs = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002
        designs.append(run())
        after = np.random.get_state()[1]  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        np.testing.assert_array_equal(after, np.random.get_state()[1])  # noqa: NPY002
    for one, other in zip(*designs, strict=True):
        np.testing.assert_array_equal(one.T, other.T)
        assert (one.value, one.gap, one.status) == (other.value, other.gap, other.status)


def test_equal_people_are_merged_and_told_apart_from_the_rest():
    rng = np.random.default_rng(3)
    distinct = rng.normal(size=(6, 9))
    kind = rng.permutation(np.repeat(np.arange(9), [1, 2, 3, 4, 5, 1, 2, 3, 4]))
    C = distinct[:, kind] * (1.0 + 1e-15 * rng.normal(size=(6, 25)))
    columns, count, member = merge_equal(C)
    assert columns.shape == (6, 9)
    np.testing.assert_array_equal(np.bincount(member), count)
    np.testing.assert_allclose(columns[:, member], C, rtol=1e-13)
    for one in range(9):  # each kind is one, and one only
        assert len(set(member[kind == one])) == 1


@pytest.mark.parametrize("change", [1e-11, 1e-12, 5e-13])
def test_people_who_differ_in_one_entry_are_not_merged(change):
    C = np.ones((4, 2))
    C[2, 1] += change
    assert merge_equal(C)[0].shape == (4, 2)


def test_a_row_of_neighbours_that_drifts_is_not_merged():
    C = np.ones((3, 1)) + 0.9e-13 * np.arange(50)
    columns, count, member = merge_equal(C)
    np.testing.assert_array_equal(columns, C)
    np.testing.assert_array_equal(count, np.ones(50))
    np.testing.assert_array_equal(member, np.arange(50))


def test_people_without_influence_are_one():
    assert merge_equal(np.zeros((3, 7)))[1].tolist() == [7.0]
