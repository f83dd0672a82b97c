"""Outputs among the inputs are found by their names, before anything is read or spent."""

import warnings

import numpy as np
import pandas as pd
import pytest
from input_cases import AGES, ESTIMATORS, HEIGHTS, NAMES, A, N, arrow, mixed, pandas, polars, refuse
from sklearn.exceptions import DataConversionWarning
from test_leaks import words_of

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPRegressor,
)

BY_NAME = {
    "series": (pandas, pandas["height"]),
    "copied series": (pandas.copy(), pandas["height"].astype(int)),
    "one column": (pandas, pandas[["height"]]),
    "columns of several types": (mixed, mixed["height"]),
    "labels that are numbers": (pd.DataFrame(A), pd.DataFrame(A)[1].copy()),
    "labels of two levels": (
        pandas.set_axis(pd.MultiIndex.from_product([["x"], NAMES]), axis=1),
        pd.Series(HEIGHTS, name=("x", "height")),
    ),
    "polars": (polars, polars["height"]),
    "polars beside pandas": (pandas, polars["height"]),
    "one column of polars": (polars, polars.select("height")),
    "arrow": (arrow, arrow.select(["height"])),
    "arrow beside pandas": (pandas, arrow.select(["height"])),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("case", BY_NAME)
def test_outputs_among_the_inputs_are_refused_by_name(case, kind, unspent):
    X, y = BY_NAME[case]
    message = refuse(ESTIMATORS[kind](), "X has the column .*, and so has y", X, y)
    assert "Pass X without that column" in message
    assert ("'height'" in message) == (case != "labels that are numbers")


def test_one_of_several_outputs_among_the_inputs_is_refused(unspent):
    model = PrivateGPRegressor(bounds=(0, 10))
    refuse(model, "X has the column 'height'", pandas[["age", "height"]], pandas[NAMES[1:]].copy())


def test_of_points_with_names_only_the_columns_of_the_inputs_are_taken():
    model = ESTIMATORS["regressor"]()
    fitted = model.fit(pandas[["age"]], pandas["height"], at=pandas.head(5))
    np.testing.assert_array_equal(fitted.release_.facts.points, A[:5, :1])
    renamed = pandas.rename(columns={"height": "public"})
    at = renamed[["public", "age"]].rename(columns={"public": "age", "age": "height"})
    refuse(ESTIMATORS["regressor"](), "at shares", pandas[["age"]], pandas["height"], at=at)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_refusal_reads_no_output(kind):
    """Outputs that fail when they are read, and inputs that hold them by name."""

    class Closed:
        shape, ndim, name = (N,), 1, "height"

        def __array__(self, *_, **__):
            raise AssertionError("y was read")

    refuse(ESTIMATORS[kind](), "X has the column 'height'", pandas, Closed())


def test_a_label_among_the_inputs_is_refused_before_it_could_be_quoted():
    """NumPy's message about a string that is no number quotes it."""
    label = str(271828)  # as it is written nowhere else
    patients = pd.DataFrame({"age": AGES, "ill": [f"label {label}"] * N})
    with pytest.raises(ValueError, match="X has the column 'ill'") as caught:
        PrivateGPClassifier(classes=["no", f"label {label}"]).fit(patients, patients["ill"])
    assert f"label {label}" not in words_of(caught.value)


def test_unnamed_columns_are_not_taken_for_one_another():
    """Frames without names count their columns from 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        for kind in ("regressor", "counts"):
            fitted = ESTIMATORS[kind]().fit(pd.DataFrame(A[:, [0, 2]]), pd.DataFrame(HEIGHTS))
            assert fitted.release_.private
