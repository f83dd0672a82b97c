"""A prior is checked, and each of its errors has a name."""

import numpy as np
import pytest

from cloakgp.design import Prior, bayes


def prior(**changes):
    fields = {
        "C": np.ones((2, 3)),
        "diagonal": np.ones(3),
        "factor": np.ones((3, 1)),
        "sigma": 1.0,
    }
    return Prior(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"diagonal": np.ones(2)}, "diagonal"),
        ({"diagonal": np.ones((3, 3))}, "diagonal"),
        ({"diagonal": [1.0, -1e-9, 1.0]}, "diagonal must not be negative"),
        ({"diagonal": [1.0, np.nan, 1.0]}, "diagonal and factor must be finite"),
        ({"factor": np.ones(3)}, r"factor must have shape \(3, q\)"),
        ({"factor": np.ones((2, 1))}, r"factor must have shape \(3, q\)"),
        ({"factor": np.full((3, 1), np.inf)}, "diagonal and factor must be finite"),
        ({"sigma": 0.0}, "sigma must be a finite number > 0"),
        ({"sigma": -1.0}, "sigma must be a finite number > 0"),
        ({"sigma": np.nan}, "sigma must be a finite number > 0"),
        ({"sigma": np.inf}, "sigma must be a finite number > 0"),
        ({"floor": -1e-9}, "floor must be a finite number >= 0"),
        ({"floor": np.nan}, "floor must be a finite number >= 0"),
        ({"floor": np.inf}, "floor must be a finite number >= 0"),
    ],
)
def test_a_wrong_prior_is_refused_by_name(changes, message):
    prior()
    with pytest.raises(ValueError, match=message):
        prior(**changes)


def test_a_scalar_variance_stands_for_everybody():
    one = bayes(prior(diagonal=0.5))
    assert one.value == bayes(prior(diagonal=np.full(3, 0.5))).value


def test_an_independent_prior_has_one_variance_and_no_factor():
    belief = Prior.independent([[1.0, 2.0]], 0.25, 3.0)
    np.testing.assert_array_equal(belief.diagonal, [0.25, 0.25])
    assert belief.factor.shape == (2, 0)
    assert belief.sigma == 3.0


@pytest.mark.parametrize("rank", [0, -1])
def test_a_sketch_must_have_a_row(rank):
    with pytest.raises(ValueError, match=f"rank must be at least 1, got {rank}"):
        bayes(prior(), rank=rank)
