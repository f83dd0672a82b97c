"""Options that are right alone are right together: every pair is audited exactly, or is refused.

``combination_cases`` has the options, how they are set, and the audit.
"""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from combination_cases import (
    EXCUSED,
    OPTIONS,
    AuditError,
    audit,
    cases,
    delta_of,
    epsilon_of,
    laplace_outcomes,
    parameters,
    refusal,
)
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
    private_bounds,
)
from cloakgp.data import table
from cloakgp.estimators import base, steps
from cloakgp.estimators.search import planning, search
from cloakgp.privacy import Bounded, Labelled, privacy_profile
from cloakgp.privacy.mechanism import release as core
from cloakgp.privacy.mechanism.laplace import laplace_scale
from cloakgp.release import sketch

#: What is refused, and with which words.  Everything else is audited.
REFUSED = {
    "bounds of a trial": "chosen with random_state, so they are not private",
    "groups & blocks": "groups cannot be combined with inputs that come in blocks",
    "max_contributions & blocks": "groups cannot be combined with inputs that come in blocks",
    "groups & bounds for single rows": "chosen for people with at most 1 row",
    "max_contributions & bounds for single rows": "chosen for people with at most 1 row",
    "groups & bounds for single rows & search": "chosen for people with at most 1 row",
    "groups & plan for single rows": "plan was made for other groups",
    "max_contributions & plan for single rows": "plan was made for other inputs",
    "private bounds & several outputs": "chosen privately for one output column, and y has 2",
    "bounds grid & several outputs": "chosen privately for one output column, and y has 2",
    "bounds grid & search": "bounds cannot be chosen within a private search",
    "bounds grid & hall": "calibration='hall' cannot share a budget",
    "bounds grid & no noise": "epsilon=inf adds no noise, so there is no budget",
    "bounds grid & mu": "mu are budgets of a release alone, and a choice of bounds",
    "search & mu": "mu are budgets of a release alone, and a private search",
    "several outputs & search": "a private search is for one output column, not for 2",
    "three classes & search": "a private search is for two classes",
    "counts & search": "a private search is for PrivateGPRegressor and for",
    "search & blocks": "a private search needs everybody in memory",
    "search & no noise": "epsilon must lie between",
    "ledger & random_state": "cannot be recorded in a ledger",
    "ledger & no noise": "cannot be recorded in a ledger",
    "combine & no noise": "are the same one",
    "private bounds & whole rows": "bounds that are chosen privately cannot be combined",
    "bounds grid & whole rows": "bounds that are chosen privately cannot be combined",
    "iterations & whole rows": "iterations cannot be combined with protect='rows'",
    "search & whole rows": "a private search cannot be combined with protect='rows'",
    "columns & whole rows": "columns cannot be combined with protect='rows'",
    "gaussian & whole rows": "design cannot be combined with protect='rows'",
}

#: The least share of the stated ε that somebody's data have to reach: no audit passes because it
#: asks too little.  Choices are never at their worst, a rank of 2 is short for everybody, and
#: Hall's noise is too large.
TIGHT, LOOSE = 0.98, 0.2

CASES = cases()


def least_share(case):
    chosen = {"search", "bounds"} & {*case.ways} or "bounds" in case.sets
    return LOOSE if chosen or {"rank", "calibration"} & {*case.sets} else TIGHT


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_the_stated_guarantee_holds_exactly_for_every_pair(name, tmp_path):
    case = CASES[name]
    found = audit(case, tmp_path)
    assert not case.stated or found.share >= least_share(case), found


@pytest.mark.parametrize("name", REFUSED)
def test_pairs_that_cannot_be_promised_are_refused_before_anything_is_spent(name, tmp_path):
    assert REFUSED[name] in refusal(CASES[name], tmp_path)


def test_every_parameter_is_an_option_or_has_an_excuse():
    makers = (PrivateGPRegressor, PrivateGPClassifier, PrivateGPCountRegressor, PrivateGridSearch)
    functions = [f for maker in makers for f in (maker.__init__, maker.fit)]
    known = {name for f in (*functions, private_bounds, Release.combine) for name in parameters(f)}
    audited = {name for o in OPTIONS.values() for name in (*o.sets, *o.fits, *o.names)}
    assert sorted(known - audited - EXCUSED.keys()) == [], "make an option of it, or excuse it"
    assert sorted((audited | EXCUSED.keys()) - known) == [], "there is no such parameter"
    assert sorted(audited & EXCUSED.keys()) == [], "it is an option, and needs no excuse"


def test_pairs_that_are_left_out_cannot_be_written_down():
    """There is one y, bounds are given once, and only numbers have them."""
    numbers = {"private bounds", "bounds grid"}
    latent = {"two classes", "three classes", "counts"}
    main = [name for name, option in OPTIONS.items() if option.partners is None]
    left = [{*p} for p in itertools.combinations(main, 2) if " & ".join(p) not in CASES]
    for pair in left:
        one_y = pair <= latent | {"several outputs"}
        no_bounds = pair & numbers and pair & (latent | {"iterations"})
        no_steps = pair == {"several outputs", "iterations"}
        assert one_y or pair == numbers or no_bounds or no_steps, pair


# ------------------------------------------------------------------ that the audit can fail


def test_bounds_for_single_rows_that_are_released_for_owners_are_found_out(tmp_path, monkeypatch):
    """The first hole of 0.2.0, opened again."""
    monkeypatch.setattr(base, "check_owners", lambda *_: None)
    with pytest.raises(AuditError, match="times what is stated"):
        audit(CASES["groups & bounds for single rows"], tmp_path)


@pytest.mark.parametrize("partner", ["groups", "three classes", "counts", "search"])
def test_an_order_of_rows_that_is_published_is_found_out(partner, tmp_path, monkeypatch):
    """The second hole of 0.2.0, opened again: public tables in the order in which rows come."""
    as_given = SimpleNamespace(**{**vars(np), "lexsort": lambda keys: np.arange(len(keys[0]))})
    monkeypatch.setattr(table, "np", as_given)
    with pytest.raises(
        AuditError, match=r"what anybody sees depends on y|neighbours have other noise"
    ):
        audit(CASES[f"{partner} & sorted by y"], tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "groups & max_contributions",
        "several outputs & columns",
        "three classes & blocks",
        "counts & iterations",
        "search & combine",
        "ledger & combine",
        "groups & gaussian",
        "three classes & iterations & gaussian",
        "ledger & combine & gaussian",
    ],
)
def test_noise_that_is_too_small_is_found_out(name, tmp_path):
    with pytest.raises(AuditError, match="times what is stated"):
        audit(CASES[name], tmp_path, quieter=0.9)


@pytest.mark.parametrize(
    ("patched", "name", "wrong", "case"),
    [
        (Labelled, "moving", 1, "three classes"),
        (Bounded, "moving", 1, "several outputs"),
        (core, "laplace_scale", lambda e, moved, _: laplace_scale(e, moved), "counts & iterations"),
        (core, "laplace_scale", lambda *a: np.nextafter(laplace_scale(*a), 0.0), "two classes"),
    ],
)
def test_laplace_noise_for_another_norm_or_fewer_parts_is_found_out(
    patched, name, wrong, case, tmp_path, monkeypatch
):
    """The last float below the scale is found out, too: no δ is there to hide it."""
    monkeypatch.setattr(patched, name, wrong)
    with pytest.raises(AuditError, match="times what is stated"):
        audit(CASES[case], tmp_path)


def test_laplace_noise_for_single_rows_that_is_released_for_owners_is_found_out(
    tmp_path, monkeypatch
):
    def for_rows(spec, T, scaled=sketch._in_one_norm):
        return scaled(replace(spec, groups=None), T)

    monkeypatch.setattr(sketch, "_in_one_norm", for_rows)
    with pytest.raises(ValueError, match="more than 1 in the 1-norm"):
        audit(CASES["groups"], tmp_path)
    monkeypatch.setattr(core, "absolute_sensitivity", lambda *_: 0)
    with pytest.raises(AuditError, match="3 times what is stated"):
        audit(CASES["groups"], tmp_path)


def test_releases_of_few_whole_numbers_may_be_alike_and_copies_of_many_are_found():
    X = np.linspace(0.0, 10.0, 60)[:, None]
    y = np.where(X[:, 0] > 5.0, "yes", "no")
    for rank, epsilon, refused in ((2, 8.0, False), (40, 0.5, True)):
        model = PrivateGPClassifier(
            9.0 * RBF(0.2), classes=["no", "yes"], rank=rank, epsilon=epsilon, mechanism="laplace"
        )
        one = model.fit(X, y).release_
        assert (one.noisy.bits, one.noisy.whole) == (0, 1)
        with pytest.raises(ValueError, match="same one"):
            Release.combine([one, one])
        other = replace(one, release_id="0" * 32)
        if refused:
            with pytest.raises(ValueError, match="same one"):
                Release.combine([one, other])
        else:
            assert Release.combine([one, other]).total_epsilon == 2 * epsilon


@pytest.mark.parametrize(
    ("module", "name", "forgets", "case"),
    [
        (base, "chosen_before", None, "private bounds"),
        (planning, "chosen_before", None, "private bounds & search"),
        (steps, "unrecorded", (), "private bounds & ledger"),
        (search, "unrecorded", (), "private bounds & search & ledger"),
    ],
)
def test_a_choice_that_is_not_stated_or_not_recorded_is_found_out(
    module, name, forgets, case, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, name, lambda *_: forgets)
    with pytest.raises(AuditError, match=r"the ledger has|choices stated|times what is stated"):
        audit(CASES[case], tmp_path)


def test_the_audit_has_the_profile_of_the_core_and_that_of_choices():
    for mu, epsilon in ((0.3, 0.5), (1.0, 2.0), (2.0, 8.0)):
        core = privacy_profile(1.0 / mu, epsilon)
        assert delta_of([(1.0, 1.0, mu)], epsilon) == pytest.approx(core, rel=1e-9)
    for epsilon in (0.0, 0.5, 1.9):  # ln(P/Q) of Laplace noise; δ by the sum over all integers
        x = np.arange(-300, 300)
        P, Q = (np.exp(-np.abs(x - m) / 5.0) * np.tanh(0.1) for m in (0, 10))
        truth = np.maximum(P - np.exp(epsilon) * Q, 0.0).sum()
        one = np.column_stack([*laplace_outcomes(((10, 5.0),)), np.zeros(11)])
        assert delta_of(one, epsilon) == pytest.approx(truth, rel=1e-9)
        pairs = np.outer(P, P) - np.exp(epsilon) * np.outer(Q, Q)
        two = laplace_outcomes(((10, 5.0), (10, 5.0)))
        two = np.column_stack([*two, np.zeros(len(two[0]))])
        assert delta_of(two, epsilon) == pytest.approx(np.maximum(pairs, 0.0).sum(), rel=1e-9)
    fine = [laplace_outcomes(((10 << k, 5.0 * 2**k),) * 3) for k in (0, 30)]
    coarse, fine = (np.column_stack([P, Q, np.zeros(len(P))]) for P, Q in fine)
    assert fine[:, :2].sum(axis=0) == pytest.approx(1.0, rel=1e-9)
    assert epsilon_of(fine, 1e-9) == pytest.approx(epsilon_of(coarse, 1e-9), rel=1e-3)
    assert epsilon_of(fine, 1e-9) == pytest.approx(6.0, rel=1e-3)
    choice = [(0.75, 0.25, 0.0), (0.25, 0.75, 0.0)]
    assert delta_of(choice, 0.0) == pytest.approx(0.5)
    assert epsilon_of(choice, 1e-9) == pytest.approx(np.log(3.0), rel=1e-3)
