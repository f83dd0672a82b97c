"""The settings on the page make the same plan again, with the command line."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from report_cases import CASES, LINE, ON_A_GRID, PLANE, SPACE, case

from cloakgp.app.settings import gather_settings
from cloakgp.release.spec import Chosen
from cloakgp.report.settings_toml import settings_toml

INPUTS = {1: LINE, 2: PLANE, 3: SPACE}
EXPRESSIBLE = [name for name in {**CASES, **ON_A_GRID} if name not in ("map of Gibbs", "cells")]


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_the_command_line_plans_the_same_release_from_the_settings(name, tmp_path):
    release = case(name)
    path = tmp_path / "release.toml"
    path.write_text(settings_toml(release))
    settings = gather_settings({}, path)
    assert list(settings.inputs) == release.facts.names
    assert list(settings.output) == release.named_targets
    X = INPUTS[len(release.facts.names)].set_axis(release.facts.names, axis=1)
    facts = settings.estimator().plan(X).facts
    assert facts.task == release.facts.task
    assert facts.budget == release.facts.budget
    for name_ in ("lo", "hi", "prior_mean", "unit", "points"):
        np.testing.assert_allclose(getattr(facts, name_), getattr(release.facts, name_))
    assert str(facts.kernel) == str(release.facts.kernel)
    np.testing.assert_allclose(facts.model.noise_variance, release.facts.model.noise_variance)
    assert facts.approximation == release.facts.approximation
    assert (facts.family is None) == (release.facts.family is None)


def test_what_a_release_does_not_know_is_a_comment():
    toml = settings_toml(case("counts"))
    assert '# exposure = "…"' in toml
    assert '# at = "…"' in toml


def test_a_private_choice_is_mentioned():
    chosen = Chosen(0.5, "exponential", "absolute", 4, total_epsilon=4.4)
    assert "cloakgp select" in settings_toml(replace(case("curve"), selection=chosen))


def test_names_of_strangers_are_strings_of_toml():
    names = tomllib.loads(settings_toml(case("nasty")))
    assert names["inputs"] == case("nasty").facts.names
    assert names["output"] == case("nasty").named_targets
