"""Many people: a small saddle point on cells, tilted until it is everybody's.

In turn: everybody answers the present state, which gives a sketch, its certificate and the slopes
of everybody's saddle point; then cells of people who answer alike, with linear terms that make
their slopes agree with everybody's, are solved for the next state.  Two turns are usual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cloakgp.design.bayes.answer import TINY, State, answer
from cloakgp.design.bayes.cells import Cells, Features, gather
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.few import ROUGH_GAP, rough_sketch
from cloakgp.design.bayes.frame import (
    Frame,
    larger_frame,
    state_of,
    strong_coupling,
    whole_frame,
)
from cloakgp.design.bayes.path import Care, follow
from cloakgp.design.bayes.people import Block, People, columns_of
from cloakgp.design.bayes.problem import Problem
from cloakgp.design.bayes.saddle import Place, Saddle
from cloakgp.design.bayes.sweeps import sweep
from cloakgp.design.result import Array


@dataclass(frozen=True)
class Effort:
    """How much work goes where."""

    everybody: int = 1500  # up to so many people, each is a cell
    first: int = 256  # cells of people who are alike, for a start
    cells: int = 1024  # cells of people who answer alike; twice as many where that is too few …
    most_cells: int = 8192  # … but no more than this
    rounds: int = 12  # passes over everybody, at most
    progress: float = 0.2  # a round that leaves more of the gap than this has to try harder
    blamed: float = 10.0  # levels: smoothing may cost this much; a larger gap asks for more cells
    finer: float = 0.1  # times the last level, where smoothing is to blame
    stalled: float = 0.9  # if each person is a cell, a round that leaves more than this is the last
    last_level: float = 1e-7  # of the value: how much is smoothed in the end …
    rough_level: float = 1e-3  # … and on the first cells
    restart: float = 30.0  # times the gap: the level from which a round starts …
    highest: float = 1e-2  # … at most this share of the value
    small: int = 900  # unknowns, up to which all directions take part from the start
    largest: int = 60_000  # unknowns of a saddle point
    remains: float = 1e-4  # the value is taken to be at least this share of the prior variance


EFFORT = Effort()


@dataclass(frozen=True)
class Solution:
    """A sketch, its value, and a bound on the value of any."""

    T: Array
    value: float
    bound: float
    steps: int

    @property
    def gap(self) -> float:
        """The relative distance of the value from the bound."""
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else np.inf


def is_small(people: People, effort: Effort = EFFORT) -> bool:
    """Tell whether the saddle point is cheap, with all directions taking part."""
    return whole_frame(people, strong_coupling(people)).unknowns <= effort.small


def solve_many(
    people: People, gap: float, start: Array | None = None, effort: Effort = EFFORT
) -> Solution | None:
    """Return a sketch of everybody, or None if the saddle point is too large.

    ``start`` is a sketch to begin with.
    """
    VL, N = people.totals.VL, people.count
    level = effort.rough_level * max(people.floor, effort.remains * people.totals.scale)
    each = effort.everybody >= N
    coupling = strong_coupling(people)
    cells = gather(people, _nature(people, coupling), N if each else effort.first, coupling)
    whole = whole_frame(people, coupling)
    if start is None and is_small(people, effort):
        frame, place, steps = whole, *_first_path(people, whole, cells, level)
    else:
        if start is not None:
            state = state_of(people, start)
        else:
            state = _rough_state(people, coupling, effort.first)
        frame, steps = Frame(state.basis, coupling), 0
        if frame.unknowns > effort.largest:
            return None
        place = frame.place(state, level / people.sigma**2)
    now = Turn(frame, place, VL, level)
    best = good = None  # the turn of the least value, and that of the least gap of its own
    value, bound, gap_of_good = np.inf, -np.inf, np.inf
    size, last_level = effort.cells, effort.last_level
    T: Array | None = None
    before: Frame | None = None
    for number in range(effort.rounds):
        state = now.state(N)
        heard = listen(people, state, T)
        T = heard.T
        found = certify(people, columns_of(T), gap=gap, prices=state.P)
        bound = max(bound, found.bound)
        if found.value < value:
            best, value = now, found.value
        if value - bound <= gap * value or number == effort.rounds - 1:
            break
        own = found.value - found.bound
        if each and now.frame is before and own > effort.stalled * gap_of_good:
            break
        before = now.frame
        if each and number > 0:
            last_level *= effort.finer  # nothing else is to blame
        elif own > effort.progress * gap_of_good:
            if own <= effort.blamed * last_level * value:
                last_level *= effort.finer
            else:
                size = min(2 * size, effort.most_cells)
        if good is not None and own > gap_of_good:
            # Cells led astray: back to where it was better, with more of them.
            now, T = good, None
            state = now.state(N)
            heard = listen(people, state, None)
            found = certify(people, columns_of(heard.T), gap=np.inf, prices=state.P)
        if not each:
            cells = gather(people, _response(people, state, heard), size, coupling)
        good, gap_of_good = now, min(own, gap_of_good)
        larger = larger_frame(now.frame, state, found.Omega) if now.frame is not whole else None
        end = last_level * value
        begin = float(np.clip(effort.restart * (value - bound), 10.0 * end, effort.highest * value))
        if larger is not None and larger.unknowns <= effort.largest:
            # New directions start where the path does: nearer to zero, P could hardly turn.
            place = larger.place(state, begin / people.sigma**2)
            now, T = Turn(larger, place, state.Y, begin), None
            state = now.state(N)
            heard = listen(people, state, None, keep=False)
        saddle = tilted(people, cells, now, heard)
        path = follow(saddle, now.place, max(begin, end), end, Care())
        now = Turn(now.frame, path.place, VL - state.basis @ heard.xL, end)
        steps += path.steps
    assert best is not None
    if T is None or best is not now:
        T = listen(people, best.state(N), T).T
    return Solution(T, value, bound, steps)


@dataclass(frozen=True)
class Turn:
    """Where the search is: a place in a frame, Y outside of the frame, and the level it is for."""

    frame: Frame
    place: Place
    rest: Array  # (p, q)
    level: float

    def state(self, people: int) -> State:
        """Return the state that people are asked to answer."""
        return self.frame.state(self.place, self.rest, self.level / people)


@dataclass(frozen=True)
class Heard:
    """Sums over everybody's answers, in the eigenbasis of P."""

    T: Array  # (k, N)
    zz: Array  # Σ μ z zᵀ, (k, k)
    xL: Array  # Σ x lᵀ, (k, q)
    mu: float  # root mean square of μ


def listen(people: People, state: State, buffer: Array | None, *, keep: bool = True) -> Heard:
    """Let everybody answer; their columns go to ``buffer``, if it fits."""
    k, N = len(state.sizes), people.count
    T = np.zeros((k, 0))
    if keep:
        T = buffer if buffer is not None and buffer.shape == (k, N) else np.empty((k, N))
    zz, tL, mu2 = np.zeros((k, k)), np.zeros((k, state.Y.shape[1])), 0.0
    for block in people.blocks():
        t, mu = answer(state.pull(block), state.sizes, block.a, state.tau)
        if keep:
            T[:, block.place] = t
        zz += (t * mu) @ t.T
        tL += t @ block.L
        mu2 += float(mu @ mu)
    root = np.sqrt(state.sizes)[:, None]
    return Heard(T, zz / root / root.T, root * tL, float(np.sqrt(mu2 / N)))


def tilted(people: People, cells: Cells, now: Turn, heard: Heard) -> Saddle:
    """Return the cells' saddle point with linear terms that give it everybody's slopes here."""
    frame, place, level = now.frame, now.place, now.level
    plain = frame.saddle(people, cells)
    here = plain.slopes(place, level)
    k = len(place.e)
    # Everybody's slopes are those of the formulas in ``Saddle``, with sums over everybody.
    by_P = np.diag(people.sigma**2 - level / k / place.e) - heard.zz
    by_Y = place.U.T @ (plain.VL - place.Y) - heard.xL @ frame.coupling
    tilt_P = place.U @ (by_P - here.by_P) @ place.U.T
    return Saddle(
        plain.cells,
        plain.VL,
        plain.sigma,
        0.5 * (tilt_P + tilt_P.T),
        place.U @ (by_Y - here.by_Y),
    )


def _first_path(people: People, frame: Frame, cells: Cells, level: float) -> tuple[Place, int]:
    """Return where the path through the first cells leads, from anywhere."""
    k, scale = frame.basis.shape[1], people.totals.scale
    saddle = frame.saddle(people, cells)
    place = Place(np.full(k, 0.1 * scale / (people.sigma**2 * k)), np.eye(k), 0.5 * saddle.VL)
    path = follow(saddle, place, 0.3 * scale, level, Care(last=1.0))
    return path.place, path.steps


def _rough_state(people: People, coupling: Array, size: int) -> State:
    """Return the state of a rough sketch of a few cells, found without any saddle point."""
    cells = gather(people, _nature(people, coupling), size, coupling)
    problem = Problem(
        cells.V, cells.a * cells.w, cells.L * cells.w[:, None], people.sigma, people.floor
    )
    # Sweeps drop the directions that are not worth telling, often four of five.
    state = state_of(problem, sweep(problem, rough_sketch(problem), ROUGH_GAP))
    return replace(state, Y=state.Y @ coupling.T)


def _nature(people: People, coupling: Array) -> Features:
    """Tell people apart by what they are."""
    totals, N = people.totals, people.count
    typical = max(totals.variance / N, TINY)
    # v in units in which the variance a‖v‖² is that of the typical person, l likewise.
    asked = max(float(np.sqrt(np.diag(totals.own).max() / (N * typical))), TINY)
    strength = np.diag(coupling.T @ totals.shared @ coupling).max(initial=0.0)
    common = max(float(np.sqrt(strength / N)), TINY)

    def features(block: Block) -> Array:
        return np.vstack(
            [block.V / asked, (block.L @ coupling).T / common, block.a[None] / typical]
        )

    return features


def _response(people: People, state: State, heard: Heard) -> Features:
    """Tell people apart by what they answer, and by what they would like to answer."""
    typical = max(people.totals.variance / people.count, TINY)
    root = np.sqrt(state.sizes)[:, None]

    def features(block: Block) -> Array:
        # √e h = (a e + μ) t, in units of μ: how far from the kink at which μ becomes 0
        pull = root * state.pull(block)
        t = answer(pull / root, state.sizes, block.a, state.tau)[0]
        return np.vstack([t, pull / heard.mu, block.a[None] / typical])

    return features
