"""Owners and rows: one person is never two, and rows are not mixed up."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from input_cases import AGES, ESTIMATORS, HEIGHTS, A, N, refuse
from sklearn.gaussian_process.kernels import RBF

import cloakgp
from cloakgp.data.checks import names_people, owner_codes


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_owners_whose_index_is_not_that_of_the_inputs_are_refused(kind, unspent):
    people = pd.DataFrame({"age": AGES}, index=range(100, 100 + N))
    owners = pd.Series(np.arange(N) // 2, index=people.index)
    for wrong in (owners.reset_index(drop=True), owners[::-1]):
        message = refuse(ESTIMATORS[kind](), "another index", people, HEIGHTS, groups=wrong)
        assert "groups.loc[X.index]" in message
        assert "groups.to_numpy()" in message
        with pytest.raises(ValueError, match="another index"):
            ESTIMATORS[kind]().plan(people, groups=wrong)


def test_owners_with_the_index_of_the_inputs_or_none_are_fine():
    people = pd.DataFrame({"age": AGES}, index=range(100, 100 + N))
    owners = pd.Series(np.arange(N) // 2, index=people.index)
    expected = np.arange(N) // 2
    for groups, X in ((owners, people), (owners.to_numpy(), people), (owners[::-1][::-1], people)):
        np.testing.assert_array_equal(owner_codes(groups, N, X), expected)
    np.testing.assert_array_equal(owner_codes(owners, N, people.to_numpy()), expected)


class Odd:
    """An owner that is not equal to itself."""

    def __eq__(self, other):
        return False

    def __hash__(self):
        return 1


BAD_OWNERS = {
    "masked": np.ma.array(np.arange(N), mask=np.arange(N) == 3),
    "masked names": np.ma.array([f"p{i}" for i in range(N)], mask=np.arange(N) == 3),
    "numbers and strings": [7, "7", *range(N - 2)],
    "numbers and strings in a series": pd.Series([7, "7", *range(N - 2)], dtype=object),
    "numbers and strings in an array": np.array([7, "7", *range(N - 2)], dtype=object),
    "nan among objects": np.array([1, math.nan, *range(N - 2)], dtype=object),
    "nan twice": np.array([math.nan, float("nan"), *range(N - 2)], dtype=object),
    "no time": pd.Series([pd.NaT, *pd.date_range("2020", periods=N - 1)]),
    "not equal to itself": np.array([Odd(), *range(N - 1)], dtype=object),
    "pairs": pd.Series([(1, i) for i in range(N)]),
}


@pytest.mark.parametrize("kind", ["regressor", "search"])
@pytest.mark.parametrize("case", BAD_OWNERS)
def test_owners_of_which_one_could_be_two_are_refused(case, kind, unspent):
    refuse(ESTIMATORS[kind](), "groups", A[:, [0]], HEIGHTS.copy(), groups=BAD_OWNERS[case])


def test_equal_numbers_of_any_type_are_one_owner():
    for groups in (
        [1, 1.0, True, np.int64(1), np.float32(1), 2],
        np.array([1, 1.0, True, np.int64(1), np.float32(1), 2], dtype=object),
        pd.Series([1, 1.0, 1, 1, 1, 2], dtype=object),
        np.array([0.0, -0.0, 0.0, -0.0, 0.0, 5.0]),
    ):
        assert owner_codes(groups, 6).tolist() == [0, 0, 0, 0, 0, 1]


def test_rows_of_outputs_in_another_order_than_the_inputs_are_worth_a_warning():
    people = pd.DataFrame({"age": AGES}, index=[f"p{i}" for i in range(N)])
    heights = pd.Series(HEIGHTS, index=people.index, name="height")
    model = ESTIMATORS["regressor"]()
    with pytest.warns(UserWarning, match=r"y\.loc\[X\.index\]"):
        model.fit(people, heights[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fine in (heights, heights.reset_index(drop=True), heights.to_numpy()):
            cloakgp.estimators.spending.forget()
            model.fit(people, fine)


def test_a_column_of_owners_among_the_inputs_that_repeats_is_worth_a_warning():
    frame = pd.DataFrame({"age": np.arange(40.0), "patient_id": np.arange(40) // 4})
    model = cloakgp.PrivateGPRegressor(bounds=(0, 1), kernel=RBF(9.0))
    with pytest.warns(UserWarning, match="'patient_id' of X repeats: 10 different in 40 rows"):
        model.plan(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.plan(frame, groups=frame["patient_id"])
        model.plan(frame.assign(patient_id=np.arange(40)))  # nobody has several rows
        model.plan(frame[["age"]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (name, True)
            for name in ("patient_id", "PatientID", "id", "owner", "subject no", "name")
        ),
        *((name, True) for name in ("household", "customer-number", "userid", "e-mail")),
        *((name, False) for name in ("age", "patient_age", "household_size", "width", "")),
        *((name, True) for name in ("Kundennummer", "Haushalt-ID", "Schüler", "patienten_nr")),
        *((name, True) for name in ("Élève", "numéro client", "ID_paziente", "código_alumno")),
        *((name, False) for name in ("Kunden", "patients", "persistent", "Anzahl Kunden je Tag")),
        *((name, False) for name in ("hospital_name", "number_of_patients", "paid")),
    ],
)
def test_names_of_columns_that_say_whose_a_row_is_are_known(name, expected):
    assert names_people(name) == expected
