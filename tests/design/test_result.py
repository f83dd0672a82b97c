"""A design says whether it is certified."""

import numpy as np

from cloakgp.design import Design
from cloakgp.design.result import TARGET_GAP


def test_a_design_is_certified_exactly_up_to_the_target():
    T = np.zeros((0, 1))
    assert Design(T, 1.0, TARGET_GAP, "").certified
    assert not Design(T, 1.0, np.nextafter(TARGET_GAP, 1.0), "").certified
    assert not Design(T, 1.0, np.nan, "").certified
