"""Many people: gathered at places, released in blocks, and read again by anybody."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import cloakgp
from cloakgp import (
    Ledger,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
)
from cloakgp.data import table as crowd
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.errors import NotPrivateWarning
from cloakgp.privacy import LedgerError

pytestmark = pytest.mark.usefixtures("few_settings", "one_start")

RNG = np.random.default_rng(0)
N = 600
AGE = RNG.uniform(0.0, 80.0, (N, 1))
F = np.sin(AGE[:, 0] / 12.0)
OUTPUTS = {
    "numbers": F + 0.3 * RNG.normal(size=N),
    "labels": (RNG.random(N) < 1.0 / (1.0 + np.exp(-2.0 * F))).astype(int),
    "counts": RNG.poisson(np.exp(F)),
}
POINTS = np.linspace(2.0, 78.0, 12)[:, None]
KERNEL = 1.0 * RBF(12.0)


def estimator(task, **options):
    if task == "numbers":
        return PrivateGPRegressor(bounds=(-2.0, 2.0), **options)
    if task == "labels":
        return PrivateGPClassifier(classes=[0, 1], **options)
    return PrivateGPCountRegressor(cap=12, **options)


def mean_of(model):
    release = model.release_ if hasattr(model, "release_") else model
    return np.asarray(release.latent(POINTS))


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Gather people who would otherwise be few enough."""
    monkeypatch.setattr(crowd, "MOST_EXACT", 100)


@pytest.fixture(autouse=True)
def rehearsals():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield


@pytest.mark.parametrize("task", OUTPUTS)
def test_without_noise_it_is_the_model_of_everybody(task):
    """Within places people differ, so that it is nearly, not exactly, the same."""
    model = estimator(task, kernel=KERNEL, learn=False, epsilon=np.inf)
    gathered = model.fit(AGE, OUTPUTS[task])
    assert gathered.release_.facts.partition is not None
    ours = mean_of(gathered)
    one_by_one = model.set_params(inducing=None)
    crowd.MOST_EXACT = 10_000
    theirs = mean_of(one_by_one.fit(AGE, OUTPUTS[task]))
    assert one_by_one.release_.facts.partition is None
    np.testing.assert_allclose(ours, theirs, atol=0.02)


@pytest.mark.parametrize("task", OUTPUTS)
def test_equal_inputs_lose_nothing(task):
    ages = np.round(AGE)
    model = estimator(task, kernel=KERNEL, learn=False, epsilon=np.inf)
    ours = mean_of(model.fit(ages, OUTPUTS[task]))
    crowd.MOST_EXACT = 10_000
    theirs = mean_of(model.set_params(inducing=None).fit(ages, OUTPUTS[task]))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("task", OUTPUTS)
@pytest.mark.parametrize("learn", [True, False])
def test_blocks_give_what_arrays_give(task, learn):
    model = estimator(task, learn=learn or "auto", random_state=1)
    if not learn:
        model.set_params(kernel=KERNEL, learn=False)
    whole = model.fit(AGE, OUTPUTS[task]).release_
    rows = [100, 1, 499]
    X, y = cut_array(AGE, rows), cut_outputs(OUTPUTS[task], rows)
    plan = model.plan(X)
    parts = model.fit(X, y, plan=plan).release_
    assert parts.noisy.values.tolist() == whole.noisy.values.tolist()
    assert parts.facts.partition.fingerprint == whole.facts.partition.fingerprint
    np.testing.assert_array_equal(mean_of(parts), mean_of(whole))
    assert model.n_features_in_ == 1


@pytest.mark.parametrize("task", OUTPUTS)
def test_files_are_small_complete_and_the_same_to_the_last_bit(task, tmp_path):
    path = tmp_path / "release.cloakgp"
    release = estimator(task).fit(AGE, OUTPUTS[task]).release_
    release.save(path)
    back = Release.load(path)
    np.testing.assert_array_equal(mean_of(back), mean_of(release))
    for ours, theirs in zip(
        back.predict_interval(POINTS), release.predict_interval(POINTS), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert back.verify().ok
    assert back.facts.people == N
    np.testing.assert_array_equal(
        back.facts.partition.assign(AGE), release.facts.partition.assign(AGE)
    )
    back.save(tmp_path / "again.cloakgp")
    assert (tmp_path / "again.cloakgp").read_bytes() == path.read_bytes()


def test_exposures_in_memory_and_in_blocks_agree():
    watched = RNG.uniform(0.5, 3.0, N)
    model = estimator("counts", random_state=3)
    whole = model.fit(AGE, OUTPUTS["counts"], exposure=watched).release_
    rows = [200, 400]
    parts = model.fit(
        cut_array(AGE, rows),
        cut_outputs(OUTPUTS["counts"], rows),
        exposure=cut_array(watched[:, None], rows),
    ).release_
    assert parts.noisy.values.tolist() == whole.noisy.values.tolist()
    np.testing.assert_allclose(mean_of(parts), mean_of(whole), rtol=1e-9)
    with pytest.raises(ValueError, match="exposure must"):
        model.plan(cut_array(AGE, rows), exposure=cut_array(-watched[:, None], rows))
    with pytest.raises(ValueError, match="same blocks"):
        model.plan(cut_array(AGE, rows), exposure=cut_array(watched[:, None], [300, 300]))


def test_several_outputs_and_names_pass_through():
    frame = pd.DataFrame(AGE, columns=["age"])
    both = np.column_stack([OUTPUTS["numbers"], -OUTPUTS["numbers"]])
    model = PrivateGPRegressor(bounds=[(-2, 2), (-3, 3)], random_state=0)
    plan = model.plan(frame)
    model.fit(frame, both, plan=plan)
    assert model.release_.predict(POINTS).shape == (12, 2)
    assert model.release_.facts.feature_names == ("age",)
    assert "gathered at" in plan.summary()
    low, high = plan.lost_within_places
    assert 0.0 <= low <= high < 0.1
    assert "WARNING" not in plan.summary()
    assert plan.to_dict()["lost_within_places"] == [low, high]
    assert plan.to_dict()["places"] == len(plan.facts.partition.counts)


@pytest.mark.parametrize("design", ["total", "worst", "volume"])
def test_other_designs_and_direct_decoding_work(design):
    model = estimator("numbers", kernel=KERNEL, design=design, decode="direct", random_state=0)
    model.fit(AGE, OUTPUTS["numbers"])
    assert model.release_.verify().checks[1].passed
    assert np.all(np.isfinite(model.predict(POINTS, return_std=True)[1]))


def test_steps_of_classes_share_a_budget():
    model = estimator("labels", iterations=2, random_state=0).fit(AGE, OUTPUTS["labels"])
    assert len(model.release_.parts) == 2
    assert np.all(np.isfinite(model.predict_proba(POINTS)))


def test_the_plan_that_was_shown_is_released_for_the_same_people_only():
    model = estimator("numbers", random_state=0)
    plan = model.plan(AGE)
    model.fit(AGE, OUTPUTS["numbers"], plan=plan)
    moved = AGE.copy()
    moved[3] += 1e-9
    with pytest.raises(ValueError, match="plan was made for other"):
        model.fit(moved, OUTPUTS["numbers"], plan=plan)


def test_a_ledger_knows_the_people_again(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db").open("ages", 5.0, 1e-4, AGE, create=True)
    model = estimator("numbers", ledger=ledger, dataset="ages", epsilon=0.5)
    model.fit(AGE, OUTPUTS["numbers"])
    with pytest.raises(LedgerError, match="inputs are not those"):
        model.fit(AGE[::-1] + 1.0, OUTPUTS["numbers"])
    ledger.open("blocks", 5.0, 1e-4)
    X, y = cut_array(AGE, [300, 300]), cut_outputs(OUTPUTS["numbers"], [300, 300])
    model.set_params(dataset="blocks").fit(X, y)
    model.fit(X, y)
    with pytest.raises(LedgerError, match="inputs are not those"):
        model.fit(cut_array(AGE + 1.0, [300, 300]), y)
    assert ledger.spent("blocks") > 0.5


def test_nothing_of_y_is_kept():
    model = estimator("numbers").fit(AGE, OUTPUTS["numbers"])
    kept = pickle.dumps(model)
    assert all(value.tobytes() not in kept for value in OUTPUTS["numbers"][:50])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": np.arange(N) // 2}, "inducing=50"),
        ({"kernel": KERNEL + WhiteKernel(0.1)}, "WhiteKernel"),
        ({"inducing": "many"}, "inducing must be"),
        ({"inducing": None}, "inducing=50"),
    ],
)
def test_what_cannot_be_gathered_is_refused(change, words, monkeypatch):
    monkeypatch.setattr("cloakgp.estimators.priors.MOST_EXACT", 100)
    groups = change.pop("groups", None)
    model = estimator("numbers", **change)
    with pytest.raises(ValueError, match=words):
        model.plan(AGE, groups=groups)


def test_blocks_need_outputs_in_blocks_and_no_owners():
    X = cut_array(AGE, [300, 300])
    model = estimator("numbers")
    with pytest.raises(ValueError, match="y does not"):
        model.fit(X, OUTPUTS["numbers"])
    with pytest.raises(cloakgp.errors.TableError, match="cut"):
        model.fit(X, cut_outputs(OUTPUTS["numbers"], [200, 400]))
    with pytest.raises(ValueError, match="groups cannot"):
        model.plan(X, groups=np.arange(N))
    with pytest.raises(ValueError, match="comes in blocks"):
        PrivateGPClassifier(classes="public").fit(X, cut_outputs(OUTPUTS["labels"], [300, 300]))


def test_a_private_search_says_how_many_people_it_can_take():
    search = PrivateGridSearch(
        estimator("numbers", kernel=KERNEL), {"noise_variance": [0.1, 0.2]}, epsilon=1.0
    )
    with pytest.raises(ValueError, match="a private search"):
        search.plan(AGE)


def test_sparse_models_of_many_people_are_gathered_too(monkeypatch):
    monkeypatch.setattr(crowd, "MOST_ROWS", 200)
    model = estimator("numbers", inducing=15, random_state=0).fit(AGE, OUTPUTS["numbers"])
    assert model.release_.facts.partition is not None
    assert model.release_.facts.approximation == "fitc"
    assert np.all(np.isfinite(model.predict(POINTS)))


def test_a_plan_says_when_nothing_is_lost_and_warns_when_much_is():
    years = np.random.default_rng(0).integers(18, 90, size=(600, 1)).astype(float)
    plan = PrivateGPRegressor(bounds=(0, 100)).plan(years)
    assert plan.lost_within_places == (0.0, 0.0)
    assert "Nothing is lost by that" in plan.summary()
    X = np.random.default_rng(1).uniform(size=(600, 8))
    plan = PrivateGPRegressor(bounds=(0, 100), learn=False, design="total").plan(X)
    assert plan.lost_within_places[0] > 0.1
    assert "What differs within a place is not seen" in plan.summary()
    assert "WARNING: that is much" in plan.summary()
    few = PrivateGPRegressor(bounds=(0, 100), learn=False).plan(X[:50])
    assert few.lost_within_places == (0.0, 0.0)
    assert "within a place" not in few.summary()


def test_owners_of_many_rows_are_told_what_to_do():
    X, owners = np.arange(4001.0)[:, None], np.arange(4001) // 2
    with pytest.raises(ValueError, match=r"4001 rows with groups .* Keep one row for each owner"):
        PrivateGPRegressor(bounds=(0, 1)).plan(X, groups=owners)
