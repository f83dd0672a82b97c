"""``learn``: when hyperparameters are learnt, from which family, and what cannot be combined."""

import math
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from cloakgp import (
    NotPrivateWarning,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)
from cloakgp.datasets import make_heights
from cloakgp.estimators.priors import MOST_TO_LEARN_FROM
from cloakgp.gp.defaults import (
    LOG_ODDS,
    LOG_RATES,
    NUMBERS,
    default_family,
    default_kernel,
)
from cloakgp.gp.family import family_around

pytestmark = pytest.mark.usefixtures("few_settings", "one_start")

N = 40
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (N, 2))
COUNTS = np.floor(RNG.uniform(0, 4, N))
FIXED = RBF(2.0, "fixed")
KINDS = {
    "numbers": lambda *k, **o: PrivateGPRegressor(*k, bounds=(0, 10), **o),
    "classes": lambda *k, **o: PrivateGPClassifier(*k, classes=[0.0, 1.0, 2.0, 3.0], **o),
    "counts": lambda *k, **o: PrivateGPCountRegressor(*k, cap=10, **o),
}
SCALES = {"numbers": (NUMBERS, 10.0), "classes": (LOG_ODDS, 1.0), "counts": (LOG_RATES, 1.0)}

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize("learn", ["auto", True, np.True_])
def test_without_a_kernel_the_default_family_is_learnt_from(kind, learn):
    facts = KINDS[kind](learn=learn).plan(X).facts
    assert facts.family == default_family(X, *SCALES[kind])


@every_kind
@pytest.mark.parametrize("learn", ["auto", False, np.False_])
def test_a_given_kernel_is_used_as_it_is(kind, learn):
    facts = KINDS[kind](3.0 * RBF(2.0), learn=learn).plan(X).facts
    assert facts.family is None
    assert facts.kernel == 3.0 * RBF(2.0)


@every_kind
def test_a_default_that_is_not_learnt_is_that_of_version_0_1_0(kind):
    facts = KINDS[kind](learn=False).plan(X).facts
    std = {"numbers": 4.0, "classes": 4.0, "counts": 1.0}[kind]
    assert facts.family is None
    assert facts.kernel == default_kernel(X, std)
    if kind == "numbers":
        assert facts.model.noise_variance == pytest.approx(1.0)


@every_kind
def test_free_hyperparameters_of_a_given_kernel_are_learnt_if_asked_for(kind):
    kernel = ConstantKernel(3.0, "fixed") * RBF(2.0)
    facts = KINDS[kind](kernel, learn=True).plan(X).facts
    scales, unit = SCALES[kind]
    assert facts.family == family_around(kernel, tuple((s * unit, w) for s, w in scales.noise))
    fitted = KINDS[kind](kernel, learn=True).fit(X, COUNTS)
    assert np.all(np.isfinite(fitted.predict(X)))
    assert kernel == ConstantKernel(3.0, "fixed") * RBF(2.0)


def test_nothing_to_learn_is_an_error():
    cases = (
        KINDS["numbers"](FIXED, learn=True, noise_variance=1.0),
        KINDS["classes"](FIXED, learn=True),
    )
    for model in cases:
        for call in (lambda m=model: m.plan(X), lambda m=model: m.fit(X, COUNTS)):
            with pytest.raises(ValueError, match="learn=True has nothing to learn"):
                call()
    # The scatter of outputs, or of rates, is left to learn.
    for kind in ("numbers", "counts"):
        assert len(KINDS[kind](FIXED, learn=True).plan(X).facts.family.kernels) == 1


@every_kind
@pytest.mark.parametrize("kernel", [None, RBF(2.0)])
def test_learning_cannot_be_decoded_directly(kind, kernel):
    model = KINDS[kind](kernel, learn=True, decode="direct")
    for call in (lambda: model.plan(X), lambda: model.fit(X, COUNTS)):
        with pytest.raises(ValueError, match="learn=True cannot be combined with decode='direct'"):
            call()


@pytest.mark.parametrize(
    ("kind", "design"), product(KINDS, ("bayes", "total", "worst", "volume")), ids=str
)
def test_every_design_and_decoding_works_by_default(kind, design):
    for decode in ("bayes", "direct"):
        model = KINDS[kind](design=design, decode=decode, epsilon=3.0)
        release = model.fit(X, COUNTS, at=X[:5]).release_
        assert (release.facts.family is None) == (decode == "direct")
        assert release.verify().ok
        mean, std = release.latent(X, return_std=True)
        assert np.all(np.isfinite(mean))
        assert np.all(np.isfinite(std))
        low, high = model.predict_interval(X[:5], of="person")
        assert np.all(low <= high)


@every_kind
@pytest.mark.parametrize("learn", ["yes", "True", None, 1, 0.0, [True]])
def test_learn_has_three_values(kind, learn):
    with pytest.raises(ValueError, match='learn must be "auto", True or False'):
        KINDS[kind](learn=learn).plan(X)


def test_a_noise_variance_that_is_given_is_not_learnt():
    family = KINDS["numbers"](noise_variance=2.5).plan(X).facts.family
    assert {round(setting.noise_variance, 12) for setting in family.settings} == {2.5}


def test_without_noise_only_few_people_are_learnt_from_automatically():
    line = np.linspace(0, 10, MOST_TO_LEARN_FROM + 1)[:, None]
    for learn, learns in (("auto", False), (True, True)):
        model = KINDS["numbers"](epsilon=math.inf, learn=learn, inducing=5)
        assert (model.public_facts(line).family is not None) == learns
    assert KINDS["numbers"](epsilon=math.inf).public_facts(line[::50]).family is not None


def test_a_plan_is_not_used_for_another_way_to_learn():
    plan = KINDS["numbers"]().plan(X)
    with pytest.raises(ValueError, match="learn"):
        KINDS["numbers"](learn=False).fit(X, COUNTS, plan=plan)
    assert KINDS["numbers"]().fit(X, COUNTS, plan=plan).release_.facts.family is not None


def test_a_kernel_with_white_noise_cannot_be_learnt_with_inducing_inputs():
    kernel = RBF(2.0) + WhiteKernel(0.1)
    with pytest.raises(ValueError, match="WhiteKernel"):
        KINDS["numbers"](kernel, learn=True, inducing=5).fit(X, COUNTS)


@every_kind
def test_learn_is_a_parameter_like_others(kind):
    model = KINDS[kind](learn=False)
    assert clone(model).learn is False
    assert model.get_params()["learn"] is False
    assert model.set_params(learn="auto").learn == "auto"


def test_a_search_refits_what_it_has_chosen_with_learning():
    search = PrivateGridSearch(KINDS["numbers"](), {"inducing": [4, 6]}, epsilon=0.5, cv=2).fit(
        X, COUNTS
    )
    assert search.release_.facts.family is not None
    assert len(search.release_.hyperparameters) > 1


@pytest.mark.parametrize(("speed", "rough"), [(0.5, False), (5.0, True)])
def test_without_noise_the_lengthscale_is_learnt(speed, rough):
    """Outputs that hardly change leave no weight for rough kernels, and others for smooth ones."""
    line = np.linspace(0, 10, 60)[:, None]
    model = PrivateGPRegressor(bounds=(-2, 2), epsilon=math.inf)
    with pytest.warns(NotPrivateWarning):
        table = model.fit(line, np.sin(speed * line[:, 0])).release_.hyperparameters
    is_rough = np.array(["length_scale=0" in kernel for kernel in table["kernel"]])
    assert table["weight"][is_rough == rough].sum() > 0.9


def test_bands_hold_a_sharp_bend():
    """Without members for bends a growth curve is taken for a smooth one: they hold 71 %."""
    growth = make_heights(100_000, random_state=99).groupby("age")["height_cm"].mean()
    people = make_heights(2000)
    model = PrivateGPRegressor(bounds=(40, 200), epsilon=3.0, random_state=0)
    with pytest.warns(NotPrivateWarning):
        model.fit(people[["age"]], people["height_cm"])
    low, high = model.predict_interval(people[["age"]])
    truth = growth.reindex(people["age"]).to_numpy()
    assert np.mean((low <= truth) & (truth <= high)) > 0.9
