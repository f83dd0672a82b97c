"""The statement says what holds, in figures that are right, and nothing that is not escaped."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor
from cloakgp.plot.canvas import guarantee
from cloakgp.privacy import gaussian_sigma, total_gdp, total_zcdp
from cloakgp.release.meaning import best_guess, guess_at, round_up
from cloakgp.release.statement import statement

X = pd.DataFrame({"age": np.arange(30.0)})
Y = pd.Series(np.linspace(80.0, 160.0, 30), name="height_cm")


@pytest.fixture(scope="module")
def release():
    return PrivateGPRegressor(bounds=(40, 200), epsilon=1.0, delta=1e-5).fit(X, Y).release_


@pytest.fixture(scope="module")
def rehearsal():
    model = PrivateGPRegressor(bounds=(40, 200), random_state=0)
    with pytest.warns(UserWarning, match="NOT private"):
        return model.fit(X, Y).release_


def test_it_tells_how_many_numbers_about_how_many_people(release):
    text = statement(release)
    count = release.published_values
    assert count == release.noisy.values.size + len(release.noisy.squares)
    assert f"{count} number{'' if count == 1 else 's'}, " in text
    assert "30 rows, each taken to be another person's" in text
    assert "30 people" not in text


def test_a_private_release_never_speaks_of_not_being_private(release):
    assert "NOT PRIVATE" not in statement(release)


def test_one_that_is_not_private_says_so_first_in_capitals_and_claims_no_guarantee(rehearsal):
    text = statement(rehearsal)
    assert text.splitlines()[0] == "# THIS RELEASE IS NOT PRIVATE"
    assert "What is protected" not in text
    assert "guesses right" not in text
    assert "differentially private" not in text


@pytest.mark.parametrize("part", ["age", "Who is in the data", "40 to 200", "nearest bound"])
def test_it_says_what_is_public_and_how_values_are_clipped(release, part):
    assert part in statement(release)


def test_it_says_the_same_as_mu_and_rho_rounded_up(release):
    [spend] = release.spends
    mu, rho = total_gdp([spend]), total_zcdp([spend])
    assert f"mu = {round_up(mu, 4):g} (Gaussian DP), rho = {round_up(rho, 4):g} (zCDP)." in (
        statement(release)
    )


def test_it_names_the_check_the_version_and_the_release(release):
    text = statement(release)
    for part in ("cloakgp verify", release.version, release.release_id, "were chosen"):
        assert part in text


def test_without_owners_somebody_with_several_rows_is_said_to_be_protected_less(release):
    text = statement(release)
    assert ("somebody with several rows is protected less" in text) == release.private


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_group_structure_is_named_as_public_only_where_there_are_groups(release, mechanism):
    owners = np.arange(30) // 3
    model = PrivateGPRegressor(bounds=(40, 200), mechanism=mechanism)
    text = statement(model.fit(X, Y, groups=owners).release_)
    assert "of 10 people." in text
    assert "taken to be another person's" not in text
    assert "Which rows belong to the same person" in text
    assert "(up to 3)" in text
    certified = mechanism == "gaussian"
    assert ("before people with several rows were allowed for" in text) is certified
    assert "Which rows belong" not in statement(release)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1.2, 4.0])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_printed_figures_are_rounded_to_the_safe_side(epsilon, mechanism):
    model = PrivateGPRegressor(bounds=(40, 200), epsilon=epsilon, mechanism=mechanism)
    release = model.fit(X, Y).release_
    text = statement(release)
    factor = float(text.split("conclusion is at most ")[1].split(" times")[0])
    assert math.exp(epsilon) <= factor <= 1.02 * math.exp(epsilon)
    guess = float(text.split("guesses right at most ")[1].split(" %")[0])
    best = 100.0 * guess_at(release.spec.budget)
    assert best <= guess <= best + 0.1001


def test_names_cannot_break_out_of_the_page(release):
    evil = "<script>x</script> **b** [a](http://evil.example) `c` | $d$ e_f_g\n# Title"
    text = statement(replace(release, target_names=(evil,), status=evil))
    assert "<script" not in text
    assert "[a](" not in text
    assert "http://" not in text
    assert "\n# Title" not in text
    assert "**b**" not in text.replace(r"\*", "")


def test_names_that_do_not_fit_the_contents_are_not_used(release):
    text = statement(replace(release, target_names=("a", "b")))
    assert "**y0**" in text


# --- classes and counts


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_labels_are_protected_among_classes_that_were_set_beforehand(mechanism):
    labels = pd.Series(np.where(X["age"] > 15, "<yes>", "no_way"), name="ill")
    model = PrivateGPClassifier(classes=["no_way", "<yes>"], iterations=2, mechanism=mechanism)
    model.fit(X, labels)
    text = statement(model.release_)
    assert "**ill**" in text
    assert r"&lt;yes&gt;, no_way" in text
    assert "<yes>" not in text
    assert "nearest bound" not in text
    assert f"{model.release_.published_values} numbers" in text
    assert "each of the 2 steps" in text
    # All steps together tell as much as one release of the same budget.
    guess = float(text.split("guesses right at most ")[1].split(" %")[0])
    gaussian = best_guess(gaussian_sigma(1.0, 1e-5))
    best = 100.0 * (gaussian if mechanism == "gaussian" else math.e / (1.0 + math.e))
    assert best <= guess <= best + 0.1001


def test_counts_are_protected_up_to_their_cap_and_exposures_are_public():
    model = PrivateGPCountRegressor(cap=7).fit(X, np.arange(30) % 5, exposure=np.full(30, 2.0))
    text = statement(model.release_)
    assert "**count** from 0 to 7" in text
    assert "Exposures" in text
    regression = PrivateGPRegressor(bounds=(40, 200)).fit(X, Y).release_
    assert "Exposures" not in statement(regression)


@pytest.mark.parametrize(
    ("mechanism", "most"),
    [("gaussian", "together by at most 1.414"), ("laplace", "in sum by at most 2")],
)
def test_more_classes_are_one_private_column(mechanism, most):
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    model = PrivateGPClassifier(classes=["a", "b", "c"], mechanism=mechanism)
    text = statement(model.fit(X, labels).release_)
    assert "private **label** of 30 rows, each taken to be another person's" in text
    assert most in text


def test_thousands_of_people_are_told_apart_in_plan_picture_and_statement():
    many = np.tile(np.arange(4.0), 1250)[:, None]  # gathered at four places: quick
    model = PrivateGPRegressor(bounds=(0, 1))
    plan = model.plan(many)
    release = model.fit(many, np.full(5000, 0.5), plan=plan).release_
    for text in (str(plan), guarantee(release.spec, True, 1.0), statement(release)):
        assert " 5,000 rows, each taken to be another person's" in text
        assert "5,000 people" not in text
