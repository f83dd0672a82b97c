"""What is checked of each of the programs in ``design/dual``."""

import numpy as np


def check_derivatives(program, extras):
    """Compare gradient and curvature with differences, on some of the people."""
    rng = np.random.default_rng(7)
    people = np.arange(program.people - 1)
    theta = rng.uniform(0.5, 2.0, size=len(people) + extras)
    here = program.evaluate(people, theta)

    def at(change, step=1e-5):
        return [program.evaluate(people, theta + sign * step * change) for sign in (1, -1)]

    d = rng.uniform(0.5, 2.0, size=len(theta))
    scaled, wide = here.curvature(d, False), here.curvature(d, True)
    np.testing.assert_allclose(scaled @ scaled.T, wide, atol=1e-12)
    assert scaled.shape == (len(theta), here.features)
    H = here.curvature(np.ones(len(theta)), True)
    for change in np.eye(len(theta)):
        there, back = at(change)
        np.testing.assert_allclose((there.value - back.value) / 2e-5, here.gradient @ change, 1e-6)
        difference = (there.gradient - back.gradient) / 2e-5
        np.testing.assert_allclose(difference, -H @ change, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        program.prices(people, theta)[people], here.gradient[: len(people)], rtol=1e-9
    )
