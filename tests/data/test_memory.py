"""Outputs among the inputs are found by their memory, whatever they are called."""

import array

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from input_cases import ESTIMATORS, HEIGHTS, RNG, A, N, arrow, mixed, pandas, polars, refuse
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPRegressor,
    PrivateGridSearch,
)

VIEWS = {
    "array": (A, A[:, 1]),
    "one column": (A, A[:, 1:2]),
    "by columns": (np.asfortranarray(A), None),
    "every other row": (A[::-1], A[::-1][:, 1]),
    "the other way round": (A, A[::-1, 1]),
    "reinterpreted": (A, A[:, 1].view(np.int64)),
    "list of rows": (list(A), A[:, 1]),
    "frame under another name": (pandas.rename(columns={"height": "public"}), pandas["height"]),
    "frame without a name": (pandas.to_numpy(), None),
    "renamed series": (pandas, pandas["height"].rename("private")),
    "several types": (mixed.rename(columns={"height": "public"}), mixed["height"]),
    "nullable": (
        pandas.astype("Float64").rename(columns={"height": "public"}),
        None,
    ),
    "polars under another name": (polars.rename({"height": "public"}), polars["height"]),
    "arrow under another name": (
        arrow.rename_columns(["age", "public", "weight"]),
        arrow["height"],
    ),
    "frame in arrow": (
        pandas.astype("float64[pyarrow]").rename(columns={"height": "public"}),
        None,
    ),
    **{
        f"values of {dtype or 'a frame'}, which have no name": (frame, frame["height"].array)
        for dtype in ("", "Float64", "float64[pyarrow]")
        for frame in [pandas.astype(dtype) if dtype else pandas]
    },
}

#: Labels that are true or false, which Arrow and polars keep as bits.
TRUTHS = pandas[["age"]].assign(ill=HEIGHTS > 1)
IN_BITS = {
    "pandas": TRUTHS,
    "nullable": TRUTHS.astype({"ill": "boolean"}),
    "arrow in pandas": TRUTHS.astype({"ill": "bool[pyarrow]"}),
    "polars": pl.from_pandas(TRUTHS),
    "arrow": pa.Table.from_pandas(TRUTHS),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("case", VIEWS)
def test_outputs_that_lie_in_the_inputs_are_refused_whatever_their_name(case, kind, unspent):
    X, y = VIEWS[case]
    if y is None:
        y = X[:, 1] if isinstance(X, np.ndarray) else X["public"].rename("private")
    message = refuse(ESTIMATORS[kind](), "X shares memory with y", X, y)
    assert "pass X without the private column" in message


@pytest.mark.parametrize("library", IN_BITS)
def test_labels_that_are_true_or_false_are_found_in_any_library(library, unspent):
    table, names = IN_BITS[library], {"ill": "public"}
    if library == "arrow":
        X = table.rename_columns(["age", "public"])
    else:
        X = table.rename(names) if library == "polars" else table.rename(columns=names)
    model = PrivateGPClassifier(classes=[False, True])
    refuse(model, "X shares memory with y in its column 'public'", X, table["ill"])


@pytest.mark.parametrize("library", IN_BITS)
def test_labels_that_are_true_or_false_are_fine_beside_the_inputs(library):
    table = IN_BITS[library]
    X = table.select(["age"]) if library in ("arrow", "polars") else table[["age"]]
    model = PrivateGPClassifier(4 * RBF(2.0), classes=[False, True])
    assert model.fit(X, table["ill"]).release_.private


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_columns_that_lie_beside_each_other_are_fine(kind):
    """One array, and nothing of it in both: exact, not by the range of addresses."""
    for X, y in (
        (A[:, :1], A[:, 1]),
        (A[:, ::2], A[:, 1]),
        (np.asfortranarray(A)[:, [0, 2]], np.asfortranarray(A)[:, 1]),
        (pandas[["age", "weight"]], pandas["height"]),
        (polars.drop("height"), polars["height"]),
        (arrow.drop(["height"]), arrow["height"]),
    ):
        assert ESTIMATORS[kind]().fit(X, y).release_.private


def test_every_second_row_is_not_the_row_between():
    tall = np.ascontiguousarray(RNG.uniform(0, 10, (2 * N, 3)))
    model = PrivateGPRegressor(bounds=(0, 10))
    assert model.fit(tall[::2], tall[1::2, 1]).release_.private
    refuse(PrivateGPRegressor(bounds=(0, 10)), "in its column 1", tall[::2], tall[::2, 1])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_outputs_as_owners_or_points_are_refused(kind, unspent):
    public = A[:, [0]].copy()
    refuse(ESTIMATORS[kind](), "groups is y itself", public, HEIGHTS, groups=HEIGHTS)
    refuse(ESTIMATORS[kind](), "groups shares memory", public, A[:, 1], groups=A[::-1, 1])
    named = pd.Series(HEIGHTS.copy(), name="height")
    refuse(ESTIMATORS[kind](), "groups is called 'height'", public, pandas["height"], groups=named)
    refuse(ESTIMATORS[kind](), "at shares memory with y", public, A[:, 1], at=A[:5, 1:2])
    at = pd.DataFrame({"height": HEIGHTS.copy()})
    refuse(ESTIMATORS[kind](), "at has the column 'height'", public, pandas["height"], at=at)
    model = ESTIMATORS[kind](inducing=A[:6, 1:2])
    refuse(model, "inducing shares memory with y", public, A[:, 1])


def test_outputs_as_exposure_are_refused(unspent):
    public, model = A[:, [0]].copy(), ESTIMATORS["counts"]()
    refuse(model, "exposure is y itself", public, HEIGHTS, exposure=HEIGHTS)
    refuse(model, "exposure shares memory", public, A[:, 1], exposure=A[:, 1])
    named = pd.Series(np.ones(N), name="height")
    refuse(model, "exposure is called 'height'", public, pandas["height"], exposure=named)


def test_points_that_a_candidate_is_given_are_looked_at_before_the_choice(unspent):
    model = PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10))
    grid = {"inducing": [3, A[:6, 1:2]]}
    made = PrivateGridSearch(model, grid, cv=2)
    refuse(made, "inducing shares memory with y", A[:, [0]].copy(), A[:, 1])


def test_arrays_of_other_libraries_are_recognised_by_their_memory(unspent):
    private = array.array("d", HEIGHTS)
    public = np.frombuffer(private).reshape(-1, 1)
    refuse(PrivateGPRegressor(bounds=(0, 10)), "X shares memory with y", public, private)
