"""Releases that are not about the same thing are refused, with what to do."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from combine_cases import KERNEL, counts, fitted, heights, labels, pair, people, refused

from cloakgp import PrivateGPClassifier, PrivateGPRegressor, Release
from cloakgp.release.combine.pooled import MOST_MEMBERS, fingerprint, gathered_members


def renamed(seed, inputs, output="height"):
    table = people(seed)
    X = pd.DataFrame({name: table["age"] * (1.0 + n) for n, name in enumerate(inputs)})
    kernel = 900.0 * KERNEL.k2.__class__(20.0)
    return fitted(PrivateGPRegressor(kernel, bounds=(40, 200)), X, table["height"].rename(output))


def test_one_release_is_not_several():
    refused([pair("learnt")[0]], "1 in all", "from two")
    refused([], "0 in all")
    refused(pair("learnt")[0], "1 in all")


def test_more_releases_than_a_file_holds_are_refused_at_once():
    refused([pair("learnt")[0]] * (MOST_MEMBERS + 1), f"from two to {MOST_MEMBERS}")


def test_only_releases_can_be_combined():
    with pytest.raises(TypeError, match=r"release_, got a PrivateGPRegressor"):
        Release.combine([PrivateGPRegressor(), PrivateGPRegressor()])


def test_the_same_release_twice_is_refused_by_its_id_or_by_what_it_holds():
    first, second = pair("learnt")
    refused([first, second, first], "releases 1 and 3 are the same", first.release_id)
    refused([first, replace(first, release_id="another")], "releases 1 and 2 are the same")
    refused([Release.combine([first, second]), second], "releases 2 and 3 are the same")
    refused([first, replace(second, release_id=first.release_id)], "are the same")


def test_a_fingerprint_tells_any_change_of_what_was_published():
    first = pair("learnt")[0]
    noisy = replace(
        first.noisy,
        values=first.noisy.values + np.eye(1, len(first.noisy.values), dtype=np.int64)[0],
    )
    assert fingerprint(first) == fingerprint(replace(first, release_id="another"))
    assert fingerprint(first) != fingerprint(replace(first, noisy=noisy))
    assert fingerprint(first) != fingerprint(pair("learnt")[1])


def test_other_tasks_are_refused():
    refused([heights(1, KERNEL), labels(1)], "regression", "classification", "one task")
    refused([labels(1), counts(1)], "classification", "counts")


def test_inputs_and_outputs_are_known_by_their_names():
    plain = fitted(
        PrivateGPRegressor(KERNEL, bounds=(40, 200)),
        people(1)[["age"]].to_numpy(),
        people(1)["height"].to_numpy(),
    )
    refused([heights(1, KERNEL), renamed(2, ["age_months"])], "[age]", "[age_months]", "names")
    refused([heights(1, KERNEL), plain], "[age]", "without names")
    refused([heights(1, KERNEL), renamed(2, ["age"], "height_inch")], "outputs", "[height_inch]")
    turned = renamed(1, ["age", "size"]), renamed(2, ["size", "age"])
    refused(turned, "[age, size]", "[size, age]")


def test_columns_without_names_must_be_as_many():
    def plain(columns, outputs=1):
        rng = np.random.default_rng(columns + 10 * outputs)
        y = rng.uniform(40, 200, (40, outputs))
        estimator = PrivateGPRegressor(KERNEL, bounds=(40, 200))
        return fitted(estimator, rng.uniform(0, 9, (40, columns)), y)

    refused([plain(1), plain(2)], "1 and 2 inputs")
    refused([plain(1), plain(1, outputs=2)], "1 and 2 outputs")


def test_other_classes_are_refused():
    table = people(3)
    other = fitted(
        PrivateGPClassifier(classes=["never", "no", "yes"]), table[["age"]], table["ill"]
    )
    refused([labels(1), other], "'no', 'yes'", "'never', 'no', 'yes'", "one list of classes")


def test_trials_are_not_mixed_with_what_is_private():
    trial = heights(3, epsilon=np.inf)
    refused([pair("learnt")[0], trial], "release 2 is NOT private", "leave it out")
    refused([trial, pair("learnt")[0]], "release 1 is NOT private")
    both = Release.combine([trial, heights(4, random_state=0)])
    assert not both.private
    assert not both.verify().ok


def test_members_of_combinations_are_taken_one_by_one():
    first, second = pair("learnt")
    assert gathered_members([Release.combine([first, second]), heights(9)])[:2] == (first, second)
