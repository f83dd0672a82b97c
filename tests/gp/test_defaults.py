"""The default family: it follows the inputs and the bounds, and nothing else."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from cloakgp.gp.defaults import (
    LOG_ODDS,
    LOG_RATES,
    MANY_LOG_ODDS,
    MOST_INPUTS,
    NUMBERS,
    SMOOTH,
    WAVES,
    are_of_one_kind,
    default_family,
    default_kernel,
    default_lengths,
    design_kernel,
    family_lengths,
)
from cloakgp.kernels import Cells

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (50, 2)) * [1.0, 7.0]
SCALES = {"numbers": NUMBERS, "log-odds": LOG_ODDS, "log rates": LOG_RATES}


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_default_lengths_are_the_spread_times_the_root_of_the_inputs(columns):
    rows = RNG.normal(size=(30, columns)) * np.arange(1, columns + 1)
    np.testing.assert_allclose(default_lengths(rows), rows.std(axis=0) * np.sqrt(columns))


@pytest.mark.parametrize("factor", [1e-140, 1e-9, 1.0, 1e9, 1e140])
def test_lengthscales_follow_the_unit_of_the_inputs(factor):
    np.testing.assert_allclose(default_lengths(factor * X), factor * default_lengths(X))
    small, large = default_family(X, NUMBERS), default_family(factor * X, NUMBERS)
    assert small.settings == large.settings
    for one, other in zip(small.kernels, large.kernels, strict=True):
        np.testing.assert_allclose(one(X), other(factor * X), atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0, -3e5])
def test_constant_inputs_have_a_lengthscale_of_their_own(value):
    rows = np.column_stack([X[:, 0], np.full(len(X), value)])
    np.testing.assert_allclose(default_lengths(rows)[1], np.sqrt(2.0))
    default_family(rows, NUMBERS)
    default_family(rows[:1], NUMBERS)


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("scales", SCALES.values(), ids=SCALES)
def test_variances_levels_and_noise_are_in_units_of_the_outputs(scales, unit):
    one, other = default_family(X, scales), default_family(X, scales, unit)
    assert [s.weight for s in one.settings] == [s.weight for s in other.settings]
    for a, b in zip(one.settings, other.settings, strict=True):
        assert b.level == pytest.approx(a.level * unit**2)
        assert b.noise_variance == pytest.approx(a.noise_variance * unit**2)
        assert [v for _, v in b.variances] == pytest.approx([v * unit**2 for _, v in a.variances])


@pytest.mark.parametrize("scales", SCALES.values(), ids=SCALES)
def test_every_setting_has_a_variance_that_the_scales_name(scales):
    kinds = (scales.smooth, scales.both, scales.rough)
    stds = {std for belief in kinds for std, _ in belief}
    family = default_family(X, scales)
    for setting in family.settings:
        total = sum(v for _, v in setting.variances)
        assert min(abs(np.sqrt(total) - std) for std in stds) < 1e-12
        assert setting.level == pytest.approx(scales.level**2)
    assert family.weights.sum() == pytest.approx(1.0)


def test_kernels_go_from_smooth_to_rough_and_occur_once():
    rows = X[:, :1]
    family = default_family(rows, NUMBERS)
    smooth = family.kernels[: len(SMOOTH)]
    lengths = [kernel.length_scale for kernel in smooth]
    assert lengths == sorted(lengths, reverse=True)
    assert max(lengths) > 2.0 * default_lengths(rows)[0] > 16.0 * min(lengths)
    assert len({repr(kernel.get_params()) for kernel in family.kernels}) == len(family.kernels)


@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_may_bend_at_no_more_kernels(columns):
    """With a share of 1 % and less of kernels that are there already."""
    rows = X[:, :columns]
    family = default_family(rows, NUMBERS)
    plain = default_family(rows, replace(NUMBERS, two_scales=LOG_RATES.two_scales))
    assert {repr(kernel) for kernel in family.kernels} == {repr(kernel) for kernel in plain.kernels}

    def of_bends(family):
        mixed = [[v for _, v in s.variances] for s in family.settings if len(s.variances) == 2]
        return [pair for pair in mixed if pair[1] < 0.02 * sum(pair)]

    assert of_bends(family)
    assert not of_bends(plain)
    assert not of_bends(default_family(rows, LOG_ODDS))


def test_a_few_inputs_may_count_alone_and_many_count_alike():
    few, many = (RNG.normal(size=(20, L)) for L in (MOST_INPUTS, MOST_INPUTS + 1))
    alone = [k.length_scale / default_lengths(few) for k in default_family(few, NUMBERS).kernels]
    assert any(np.ptp(factors) > 1.0 for factors in alone)
    kernels = default_family(many, NUMBERS).kernels
    shared = [k.scale if isinstance(k, Cells) else k.length_scale for k in kernels]
    assert all(np.ptp(lengths / default_lengths(many)) < 1e-9 for lengths in shared)


def test_many_inputs_may_fall_into_cells():
    """Three kinds of people, far apart in many inputs, are three of the cells."""
    kinds = RNG.normal(size=(3, MOST_INPUTS + 1))
    rows = np.repeat(kinds, 20, axis=0) + 0.01 * RNG.normal(size=(60, MOST_INPUTS + 1))
    for kernel in (k for k in default_family(rows, NUMBERS).kernels if isinstance(k, Cells)):
        cell = kernel.cells(rows).reshape(3, 20)
        assert not any(set(a) & set(b) for a, b in itertools.combinations(cell, 2))
    assert not any(isinstance(k, Cells) for k in default_family(X, NUMBERS).kernels)
    design = design_kernel(rows, NUMBERS)
    assert "Cells" in repr(design)


@pytest.mark.parametrize("scales", SCALES.values(), ids=SCALES)
def test_the_design_kernel_has_the_variance_that_designs_are_for(scales):
    wanted = 9.0 * (scales.design[0] ** 2 + scales.trend**2 + scales.level**2)
    np.testing.assert_allclose(design_kernel(X, scales, 3.0).diag(X), wanted)


@pytest.mark.parametrize("columns", [1, 2, MOST_INPUTS + 1])
def test_a_trend_adds_a_function_of_the_default_lengthscale_to_the_design(columns):
    rows = RNG.normal(size=(20, columns))
    plain, more = (design_kernel(rows, replace(NUMBERS, trend=std)) for std in (0.0, 0.5))
    kernels = default_family(rows, NUMBERS).kernels
    middle = [
        kernel for kernel in kernels if np.allclose(4.0 * (more(rows) - plain(rows)), kernel(rows))
    ]
    assert len(middle) == 1
    if columns <= MOST_INPUTS:
        np.testing.assert_allclose(middle[0].length_scale, default_lengths(rows))


def test_roughness_multiplies_the_belief_in_rough_functions_alone():
    rows = X[:, :1]
    plain, rougher = (default_family(rows, replace(NUMBERS, roughness=k)) for k in (1.0, 3.0))
    ratio = rougher.weights / plain.weights
    assert ratio.max() / ratio.min() == pytest.approx(3.0)
    for factor, setting in zip(ratio, plain.settings, strict=True):
        kernels = [plain.kernels[number] for number, _ in setting.variances]
        smooth = (
            len(kernels) == 1 and isinstance(kernels[0], RBF) and not isinstance(kernels[0], Matern)
        )
        smooth = smooth and kernels[0].length_scale > 0.3 * default_lengths(rows)[0]
        assert factor == pytest.approx(ratio.min() if smooth else ratio.max())


def test_a_fixed_default_kernel_has_the_default_lengths():
    kernel = default_kernel(X, 3.0)
    np.testing.assert_allclose(kernel.diag(X), 9.0)
    np.testing.assert_allclose(kernel.k2.length_scale, default_lengths(X))
    assert not len(kernel.theta)  # all of it is fixed


def test_the_family_is_the_same_every_time():
    assert default_family(X, NUMBERS) == default_family(X.copy(), NUMBERS)


def test_waves_leave_no_trace_in_broad_averages_and_rough_functions_do():
    """The mean over many waves hardly varies; that over a rough function of their size does."""
    rows = np.linspace(0.0, 10.0, 400)[:, None]
    length = default_lengths(rows)[0]
    waves = [k for k in default_family(rows, NUMBERS).kernels if "ExpSine" in repr(k)]
    assert len(waves) == len(WAVES)
    quick = waves[-1]
    assert quick.k1.periodicity == pytest.approx(WAVES[-1][0] * length)
    level = quick.k1(rows).mean() * quick.k2(rows).mean()  # what all waves have in common
    assert quick(rows).mean() == pytest.approx(level, abs=1e-3)
    assert RBF(0.5 * WAVES[-1][0] * length)(rows).mean() > 0.05
    assert not any("ExpSine" in repr(k) for k in default_family(X, NUMBERS).kernels)


def pixels():
    """Twelve inputs from 0 to 16, one that is nearly always 0, and one that always is."""
    rows = RNG.integers(0, 17, (60, 12)).astype(float)
    rows[0], rows[1] = 0.0, 16.0
    rows[:, 10:] = 0.0
    rows[5, 10] = 1.0
    return rows


def test_many_inputs_of_one_kind_share_a_lengthscale_for_classes_alone():
    rows = pixels()
    lengths = family_lengths(rows, LOG_ODDS)
    assert np.ptp(lengths) == 0.0
    apart = np.square(rows[:, None] - rows).sum(axis=2).mean()  # of two people, twice the variance
    np.testing.assert_allclose(12 * lengths**2, 12 * apart / 2.0)
    for scales in (NUMBERS, LOG_RATES):
        np.testing.assert_array_equal(family_lengths(rows, scales), default_lengths(rows))


@pytest.mark.parametrize("unlike", ["starts", "ranges", "few", "categories"])
def test_inputs_that_differ_in_kind_keep_lengthscales_of_their_own(unlike):
    rows, spreads = pixels(), None
    if unlike == "starts":
        rows[:, 0] += 1.0
    if unlike == "ranges":
        rows = rows * np.geomspace(1.0, 1000.0, 12)
    if unlike == "few":
        rows = rows[:, :MOST_INPUTS]
    if unlike == "categories":
        spreads = ((0.7, 0.7), *((None,),) * 10)
    assert are_of_one_kind(rows) is (unlike == "categories")
    found = family_lengths(rows, LOG_ODDS, None, spreads)
    np.testing.assert_array_equal(found, default_lengths(rows, None, spreads))


def test_a_sketch_for_many_classes_is_designed_for_more_cells():
    rows = RNG.normal(size=(60, 12))
    few, many = (repr(design_kernel(rows, scales)) for scales in (LOG_ODDS, MANY_LOG_ODDS))
    assert "30 centres" in many
    assert "30 centres" not in few
    assert default_family(rows, LOG_ODDS).settings == default_family(rows, MANY_LOG_ODDS).settings
