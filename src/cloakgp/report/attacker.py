"""How often the best attacker guesses right: the number, and its picture of a hundred squares.

An attacker who has narrowed one person down to two equally likely values, and knows everybody
else's, guesses right with the probability drawn here, at most; a coin is right half of the time.
"""

from __future__ import annotations

import math

from cloakgp.privacy.accounting.profiles import total_mu
from cloakgp.release.meaning import best_guess, guess_within
from cloakgp.release.release import Release
from cloakgp.report.html import Html, element
from cloakgp.report.svg import PlotFrame, drawing

#: Squares in a row, the distance from one to the next, and the side of a square.
ROW, STEP, SIDE = 20, 17.0, 13.0


def best_guess_rate(release: Release) -> float:
    """Return how often the best attacker is right, from 0.5 to 1.

    Exact for Gaussian mechanisms alone: together they have noise σ with 1/σ² = Σ 1/σ_i².  With a
    private choice of settings or bounds among them the bound of any (ε, δ) guarantee holds for all
    together.
    """
    if not all(part.noisy.sigma > 0.0 for part in release.parts):
        return 1.0
    if any(spend.kind != "gaussian" for spends in release.cases for spend in spends):
        return guess_within(release.total_epsilon, release.delta)
    return max(best_guess(1.0 / total_mu(spends)) for spends in release.cases)


def percent(chance: float) -> str:
    """Return a chance in per cent, rounded up to a tenth: "at most" holds for what is printed."""
    return f"{min(math.ceil(1000.0 * chance - 1e-9) / 10.0, 100.0):g} %"


def attacker(chance: float) -> Html:
    """Return a hundred squares: right by tossing a coin, right thanks to the release, and wrong."""
    squares = []
    for number in range(100):
        row, column = divmod(number, ROW)
        x, y = column * STEP, row * STEP
        squares.append(_square(x, y, SIDE, "cell-coin" if number < 50 else "cell"))
        more = min(max(100.0 * chance - number, 0.0), 1.0)
        if number >= 50 and more > 0.0:
            squares.append(_square(x, y, SIDE * more, "cell-extra"))
    frame = PlotFrame(ROW * STEP - (STEP - SIDE), 100 // ROW * STEP - (STEP - SIDE), (0, 1), (0, 1))
    words = f"Of 100 guesses the best attacker gets at most {100 * chance:.1f} right; a coin, 50"
    return drawing(frame, *squares, title=words)


def _square(x: float, y: float, width: float, kind: str) -> Html:
    return element("rect", x=f"{x:g}", y=f"{y:g}", width=f"{width:.3g}", height=SIDE, class_=kind)
