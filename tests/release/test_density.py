"""Where people are: every prior that has a say has settled, so that its band is its own."""

import numpy as np
import pytest

from cloakgp.release import density
from cloakgp.release.density import Seen, find_density

#: Four groups, of which one has nobody, each along 24 places: most people are at a few of them.
PLACES, GROUPS = 24, 4
AT = np.linspace(0.0, 3.4, PLACES)
X = np.column_stack([np.repeat(AT, GROUPS), np.tile(0.8 * np.eye(GROUPS), (PLACES, 1))])
LIKELY = np.exp(-0.5 * ((AT - 1.0) / 0.35) ** 2)[:, None] * np.array([0.6, 0.3, 0.1, 0.0])
PEOPLE = 3000 * (LIKELY / LIKELY.sum()).ravel()
#: Cells of three places of one group, with the noise of ε = 1.
T = np.kron(np.kron(np.eye(PLACES // 3), np.ones(3)), np.eye(GROUPS))
SEEN = Seen(T, np.random.default_rng(5).normal(T @ PEOPLE, 4.0), np.full(len(T), 16.0))


@pytest.fixture(scope="module")
def found():
    return find_density(SEEN, X, 3000.0)


def test_every_member_has_settled(found):
    """The mode that is linearised at is the mode that follows from it."""
    for member in found.members:
        mean, std = found._log_at(X, member)
        np.testing.assert_allclose(mean, member.log_density, atol=10 * density.SETTLED)
        assert std.min() > 1e-3


def test_bands_hold_how_many_people_there_are(found):
    low, middle, high = found.quantiles(X, (0.025, 0.5, 0.975))
    assert np.all((low < middle) & (middle < high))
    many = PEOPLE > 5.0
    assert np.mean((low <= PEOPLE)[many] & (high >= PEOPLE)[many]) >= 0.85
    assert np.average(np.abs(middle / np.maximum(PEOPLE, 1.0) - 1.0)[many]) < 0.2


def test_mixed_steps_settle_where_single_ones_go_to_and_fro(found, monkeypatch):
    monkeypatch.setattr(density, "MIXED", 1)
    monkeypatch.setattr(density, "SHORTER_STEP", density.LONGEST_STEP)
    single = find_density(SEEN, X, 3000.0)
    off = [np.abs(single._log_at(X, m)[0] - m.log_density).max() for m in single.members]
    assert max(off) > 0.1


def test_a_mixed_step_is_exact_where_steps_are_linear():
    """Steps −A (g − end), of which some would overshoot threefold, from as many points as A has."""
    rng = np.random.default_rng(3)
    A, end = np.diag([0.1, 1.0, 3.0]), rng.normal(size=3)
    steps = [(g, A @ (end - g)) for g in rng.normal(size=(4, 3))]
    np.testing.assert_allclose(steps[-1][0] + density._mixed(steps), end, atol=1e-9)
