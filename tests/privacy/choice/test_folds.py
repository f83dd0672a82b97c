"""Folds are checked, copied and scaled to outputs in [0, 1]."""

import numpy as np
import pytest

from cloakgp.privacy import Fold
from cloakgp.privacy.choice import folds as folding


def test_a_fold_is_scaled_to_outputs_between_zero_and_one():
    fold = Fold([1, 0], [2, 3], [10.0, 30.0], [[0.5, 0.25], [-1.0, 0.0]], [5.0, 1e9])
    [unit] = folding.unit_folds([fold], 4, 20.0, 10.0)
    assert unit.test.tolist() == [1, 0]
    assert unit.train.tolist() == [2, 3]
    assert unit.G.tolist() == fold.G
    # offset + G·lo − lo, in widths
    assert unit.offset == pytest.approx([(10 + 15 - 20) / 10, (30 - 20 - 20) / 10])
    assert unit.tau.tolist() == [0.5, 64.0]


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32, np.longdouble])
def test_a_fold_is_computed_with_in_double_precision_whatever_it_comes_in(kind):
    values = {"offset": [1], "G": [[1]], "tau": [0]}
    fold = Fold([0], [1], **{name: np.array(value, kind) for name, value in values.items()})
    [unit] = folding.unit_folds([fold], 2, 0.0, 1.0)
    assert {unit.offset.dtype, unit.G.dtype, unit.tau.dtype} == {np.dtype(np.float64)}


def one_fold(**change):
    good = {"test": [0], "train": [1], "offset": [0.0], "G": [[0.1]], "tau": [0.1]}
    return [Fold(**{**good, **change})]


@pytest.mark.parametrize("name", ["G", "offset"])
def test_weights_up_to_the_largest_are_taken(name):
    shaped = {"G": lambda x: [[x]], "offset": lambda x: [x]}[name]
    for sign in (-1.0, 1.0):
        folding.unit_folds(one_fold(**{name: shaped(sign * 1e9)}), 2, 0.0, 1.0)
        with pytest.raises(ValueError, match=r"G and offset must stay below 1e[+]09 times the"):
            folding.unit_folds(one_fold(**{name: shaped(sign * 1.001e9)}), 2, 0.0, 1.0)


def test_what_is_no_cross_validation_is_refused():
    folding.unit_folds(one_fold(tau=[0.0]), 2, 0.0, 1.0)
    with pytest.raises(ValueError, match="tau must not be negative"):
        folding.unit_folds(one_fold(tau=[-1e-9]), 2, 0.0, 1.0)
    with pytest.raises(ValueError, match="a row may be tested in one fold only, and not train"):
        folding.unit_folds(one_fold() + one_fold(), 2, 0.0, 1.0)
    with pytest.raises(ValueError, match="a row may be tested in one fold only, and not train"):
        folding.unit_folds(one_fold(train=[0]), 2, 0.0, 1.0)
    nobody = {"test": [], "offset": [], "G": np.zeros((0, 1)), "tau": []}
    for folds in ([], one_fold(**nobody)):
        with pytest.raises(ValueError, match="a candidate must have at least one fold with some"):
            folding.unit_folds(folds, 2, 0.0, 1.0)
    # a fold that tests nobody is no harm beside another
    assert len(folding.unit_folds(one_fold(**nobody) + one_fold(), 2, 0.0, 1.0)) == 2


@pytest.mark.parametrize("name", ["test", "train"])
def test_row_numbers_are_those_of_people(name):
    for rows in ([0, 2], [2, 0], np.array([1], dtype=np.uint8), []):
        assert folding._rows(name, rows, 3).tolist() == list(rows)
        assert folding._rows(name, rows, 3).dtype == np.intp
    for rows in ([3], [0, -1]):
        with pytest.raises(ValueError, match=f"{name} must hold row numbers from 0 to 2"):
            folding._rows(name, rows, 3)
    for rows in ([0.0], [[0]], [True]):
        with pytest.raises(
            ValueError, match=rf"{name} must be a list of row numbers, got shape \("
        ):
            folding._rows(name, rows, 3)
    with pytest.raises(ValueError, match=f"{name} names a row twice"):
        folding._rows(name, [1, 1], 3)
    with pytest.raises(ValueError, match=rf"{name} must be finite and of shape \(1,\), got shape"):
        folding._numbers(name, [1.0, 2.0], (1,))
    with pytest.raises(ValueError, match=rf"{name} must be finite and of shape \(1,\), got shape"):
        folding._numbers(name, [np.nan], (1,))
