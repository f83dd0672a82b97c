"""The frame of a sketch grows where something is missing."""

import numpy as np
import pytest

from cloakgp.design.bayes.answer import State
from cloakgp.design.bayes.frame import Frame, larger_frame


@pytest.mark.parametrize(
    ("missing", "direction"),
    [
        (np.zeros((5, 5)), None),
        (np.diag([0.0, 0.0, 0.7, 0.0, 0.0]), 2),  # Ω > 1 where nothing is told
        (0.1 * (np.eye(5)[[0]].T @ np.eye(5)[[3]] + np.eye(5)[[3]].T @ np.eye(5)[[0]]), 3),
    ],
    ids=["nothing", "growth", "a turn"],
)
def test_a_frame_grows_where_omega_says_so(missing, direction):
    frame = Frame(np.eye(5)[:, :2], np.eye(1))
    state = State(frame.basis, np.array([1.0, 0.3]), np.zeros((5, 1)))
    larger = larger_frame(frame, state, np.diag([1.0, 1.0, 0.5, 0.5, 0.5]) + missing)
    if direction is None:
        assert larger is None
    else:
        assert larger.basis.shape == (5, 3)
        expected = np.eye(5)[:, [0, 1, direction]]
        np.testing.assert_allclose(larger.basis.T @ larger.basis, np.eye(3), atol=1e-12)
        assert np.linalg.matrix_rank(np.hstack([larger.basis, expected]), tol=1e-9) == 3
