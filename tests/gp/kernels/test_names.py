"""Parameters of kernels are short strings in ``repr`` and in errors."""

import numpy as np
import pytest

from cloakgp.gp.kernels.names import name_of


def falling(X):
    return -X


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.23456, "1.23"),
        (np.float32(2), "2"),
        ([1.0, 2e-9], "[1, 2e-09]"),
        (np.eye(2), "[1, 0, 0, 1]"),
        (falling, "falling"),
        (np.mean, "mean"),
    ],
)
def test_numbers_have_three_digits_and_functions_their_name(value, name):
    assert name_of(value) == name


def test_a_function_without_a_name_is_shown_as_it_is():
    class Curve:
        def __call__(self, X):
            return X

        def __repr__(self):
            return "a curve"

    assert name_of(Curve()) == "a curve"
