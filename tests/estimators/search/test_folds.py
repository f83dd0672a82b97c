"""Who trains and who is tested is decided without y."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from cloakgp import PrivateGPRegressor
from cloakgp.estimators.search.folds import FoldInputs, plan_alone, plan_candidate, split_rows

X = np.arange(12.0)[:, None]
OWNERS = np.arange(12) // 3


@pytest.mark.parametrize("cv", [2, 4, 12, KFold(3)], ids=str)
def test_everybody_is_tested_once_and_does_not_train_there(cv):
    splits = split_rows(cv, X, None)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(12))
    for train, test in splits:
        assert not set(train) & set(test)


def test_the_rows_of_an_owner_stay_together():
    for train, test in split_rows(4, X, OWNERS):
        assert not set(OWNERS[train]) & set(OWNERS[test])
    with pytest.raises(ValueError, match="from 2 to the 4 people"):
        split_rows(5, X, OWNERS)


@pytest.mark.parametrize("cv", [1, 13, True, "five", ShuffleSplit(8), StratifiedKFold(3)], ids=str)
def test_other_ways_to_split_are_refused(cv):  # eight tests of two rows out of twelve must overlap
    with pytest.raises(ValueError, match="cv"):
        split_rows(cv, X, None)


def test_a_candidate_predicts_every_fold_and_draws_from_its_prior():
    table = FoldInputs(X, split_rows(3, X, None), None, None)
    model = PrivateGPRegressor(bounds=(0, 1))
    found = plan_candidate(model, table, draws=5, seed=1)
    for fold, (train, test) in zip(found.folds, table.splits, strict=True):
        assert fold.G.shape == (len(test), len(train))
    assert found.outputs.shape == (5, 12)
    assert ((found.outputs >= 0) & (found.outputs <= 1)).all()
    assert len(plan_alone(PrivateGPRegressor(bounds=(0, 1)), table).folds) == 3
    assert plan_alone(PrivateGPRegressor(), table) is None
