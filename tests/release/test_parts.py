"""What a private choice cost is told by its mechanism."""

import pytest

from cloakgp.release.spec import Chosen


@pytest.mark.parametrize(
    ("mechanism", "kind"), [("exponential", "bounded-range"), ("permute-and-flip", "pure")]
)
def test_a_choice_is_accounted_for_by_its_mechanism(mechanism, kind):
    chosen = Chosen(0.5, mechanism, "absolute", 7, 1.4)
    assert (chosen.spend.kind, chosen.spend.size) == (kind, 0.5)
