"""The saddle point in (P, Y): its derivatives and its Newton steps."""

import numpy as np
import pytest
from design_cases import some_saddle

from cloakgp.design.bayes.saddle import PrimalDualPoint


@pytest.mark.parametrize("level", [1.0, 1e-2])
def test_slopes_are_those_of_the_value(level):
    saddle, P, Y, rng = some_saddle()
    point = PrimalDualPoint.at(P, Y)
    gradient = saddle.gradient(point, level)
    for _ in range(5):
        dP = rng.normal(size=P.shape)
        dP, dY = dP + dP.T, rng.normal(size=Y.shape)
        h = 1e-5
        there, back = (
            saddle.gradient(PrimalDualPoint.at(P + s * h * dP, Y + s * h * dY), level).value
            for s in (1, -1)
        )
        expected = np.sum((point.U.T @ dP @ point.U) * gradient.by_P)
        expected += 2.0 * np.sum((point.U.T @ dY) * gradient.by_Y)
        assert (there - back) / (2 * h) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_newtons_step_solves_the_linearised_equations():
    saddle, P, Y, _ = some_saddle()
    level = 0.1
    point = PrimalDualPoint.at(P, Y)
    gradient = saddle.gradient(point, level)
    dP, dY, _ = saddle.hessian(point, gradient, level).descent()
    dP, dY = point.U @ dP @ point.U.T, point.U @ dY
    h = 1e-5 / max(np.abs(dP).max(), np.abs(dY).max())

    def gradients(s):
        at = PrimalDualPoint.at(P + s * h * dP, Y + s * h * dY)
        new = saddle.gradient(at, level)
        return at.U @ new.by_P @ at.U.T, at.U @ new.by_Y

    (P_there, Y_there), (P_back, Y_back) = gradients(1.0), gradients(-1.0)
    by_P, by_Y = point.U @ gradient.by_P @ point.U.T, point.U @ gradient.by_Y
    np.testing.assert_allclose((P_there - P_back) / (2 * h), -by_P, atol=1e-5 * np.abs(by_P).max())
    np.testing.assert_allclose((Y_there - Y_back) / (2 * h), -by_Y, atol=1e-5 * np.abs(by_Y).max())
