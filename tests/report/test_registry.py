"""The entry for the public registry keeps the rules of its schema, and invents nothing."""

import re
from dataclasses import replace

import pytest
from report_cases import case

from cloakgp.release.spec import Chosen
from cloakgp.report.registry import Open, count_open, registry_entry, registry_yaml

yaml = pytest.importorskip("yaml", reason="no PyYAML: pip install 'cloakgp[test]'")

STRING, NUMBER, STRINGS = "string", "number", "strings"
#: The rules of schemas/deployments-schema.yaml: what a field holds, or its words; required ones
#: end in "!".  No other fields are allowed.
SCHEMA = {
    "url_slug!": STRING,
    "status!": {"Draft", "Pending", "Changes Required", "Approved", "Converted"},
    "tier!": {1, 2, 3},
    "deployment!": {
        "basic!": {
            "name!": STRING,
            "data_curators!": STRINGS,
            "intended_use!": STRING,
            "data_product_type!": {
                *("Summary statistics", "Machine learning model", "Dataset"),
                *("Synthetic data", "Interactive API", "SQL queries"),
            },
            "data_product_region!": STRING,
            "description!": STRING,
            "publication_date!": "date",
            "data_product_sector": {
                *("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
            },
        },
        "dp_variant": {
            "variant_name": {
                *("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
            },
            "data_domain": STRING,
            "unprotected_quantities": STRING,
        },
        "privacy_loss": {
            "privacy_unit": STRING,
            "privacy_unit_details": STRING,
            "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
            "privacy_parameters_details": STRING,
        },
        "deployment_model": {
            "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
            "model_name_details": STRING,
            "actors": STRING,
            "release_type": {"One release", "Many releases"},
            "release_type_details": STRING,
            "data_source_type": {"Static", "Dynamic"},
            "data_source_type_details": STRING,
            "access_type": {"Interactive", "Non-interactive"},
            "access_type_details": STRING,
        },
        "accounting": {"post_processing": STRING, "composition": STRING},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": STRING,
            "mechanisms": STRING,
            "justification": STRING,
        },
        "administrative": {"sources": STRING, "notes": STRING, "registry_authors!": STRINGS},
    },
}


def broken(rules, found, where=""):
    """Return every rule that an entry breaks."""
    if isinstance(rules, dict):
        if not isinstance(found, dict):
            return [f"{where} is no mapping"]
        names = {name.rstrip("!"): rule for name, rule in rules.items()}
        errors = [f"{where}{n} is unknown" for n in found if n not in names]
        errors += [
            f"{where}{n[:-1]} is missing" for n in rules if n.endswith("!") and n[:-1] not in found
        ]
        for name in found.keys() & names.keys():
            errors += broken(names[name], found[name], f"{where}{name}.")
        return errors
    if isinstance(rules, set):
        return [] if found in rules else [f"{where} is {found!r}"]
    if rules == STRINGS:
        fine = isinstance(found, list) and found and all(isinstance(s, str) for s in found)
    elif rules == NUMBER:
        fine = isinstance(found, int | float)
    else:
        fine = isinstance(found, str) and bool(found)
    if fine and rules == "date":
        fine = bool(re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", found))
    return [] if fine else [f"{where} is {found!r}"]


def leaves(entry):
    for value in entry.values():
        yield from leaves(value) if isinstance(value, dict) else [value]


@pytest.mark.parametrize("name", ["curve", "two outputs", "nasty", "three classes, map", "counts"])
def test_an_entry_keeps_every_rule_of_the_schema(name):
    assert broken(SCHEMA, yaml.safe_load(registry_yaml(case(name)))) == []


def test_rules_that_are_broken_are_noticed():
    entry = yaml.safe_load(registry_yaml(case("curve")))
    assert broken(SCHEMA, {**entry, "surprise": 1}) == ["surprise is unknown"]
    assert broken(SCHEMA, {k: v for k, v in entry.items() if k != "status"}) == [
        "status is missing"
    ]
    assert broken(SCHEMA, {**entry, "tier": 0}) == ["tier. is 0"]
    entry["deployment"]["basic"]["publication_date"] = "1/1/2026"
    assert len(broken(SCHEMA, entry)) == 1


def test_what_only_the_custodian_knows_is_left_open_and_the_rest_is_filled_in():
    found = list(leaves(registry_entry(case("curve"))))
    assert len(found) == 36
    assert count_open(registry_entry(case("curve"))) == sum(isinstance(v, Open) for v in found) == 7
    assert registry_yaml(case("curve")).count("TO BE FILLED IN: ") == 7


def test_the_figures_are_those_of_the_release():
    chosen = Chosen(0.5, "exponential", "absolute", 4, total_epsilon=4.4)
    for release in (case("curve"), replace(case("curve"), selection=chosen)):
        entry = yaml.safe_load(registry_yaml(release))["deployment"]
        assert entry["privacy_loss"]["privacy_parameters"] == {
            "epsilon": release.total_epsilon,
            "delta": release.delta,
        }
        assert entry["basic"]["publication_date"] == release.created[:10]
    assert "private choice" in entry["accounting"]["composition"]


def test_no_name_becomes_html_where_the_registry_shows_markdown():
    text = registry_yaml(case("nasty"))
    assert "<script" not in text
    assert "<img" not in text


def test_a_trial_has_no_place_in_the_registry():
    with pytest.raises(ValueError, match="NOT private"):
        registry_entry(case("not private"))


def test_a_combination_is_described_release_by_release():
    with pytest.raises(ValueError, match="no deployment of its own"):
        registry_entry(case("combined, learnt"))
