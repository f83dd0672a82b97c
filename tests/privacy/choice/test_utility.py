"""The cross-validated loss and its sensitivity: closed forms, brute force, what never leaves."""

import itertools
import pickle

import mpmath as mp
import numpy as np
import pytest

from cloakgp.privacy import Choice, Fold, Noise, select, select_labels, utility_sensitivity
from cloakgp.privacy.choice import folds as folding
from cloakgp.privacy.choice import losses
from cloakgp.privacy.choice import utility as core

LOSSES = ("absolute", "squared")


def candidate(people, folds=3, *, weight=0.3, tau=0.1, seed=0, width=1.0):
    """Random weights, kernel-like or not, on a random split."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(people)
    made = []
    for test in np.array_split(order, folds):
        train = np.setdiff1d(order, test)
        G = weight * rng.normal(size=(len(test), len(train)))
        offset = rng.uniform(0, width, len(test))
        made.append(Fold(test, train, offset, G, np.full(len(test), tau * width)))
    return made


def loss_of(folds, y, bounds, loss):
    """The total loss as ``select`` computes it, in the units of y."""
    lo, width = core._checked_bounds(bounds)
    u = core._unit_outputs(y, lo, width)
    return core._total_loss(folding.unit_folds(folds, len(u), lo, width), u, loss) * core._unit(
        width, loss
    )


def plain_bound(folds, people, width, loss):
    """Δ = max_j [own + Σ move(d|g|)] with own = d or d² and moves without regard to noise."""
    moved = np.zeros(people)
    for fold in folds:
        h = np.minimum(width * np.abs(fold.G), width)
        moved[fold.train] += (h if loss == "absolute" else 2 * width * h - h**2).sum(axis=0)
        moved[fold.test] += width if loss == "absolute" else width**2
    return moved.max()


def clamped_quadrature(p, u, tau, loss):
    """E|clamp(p + τz) − u| or its square, by quadrature in 30 digits."""
    with mp.workdps(30):
        p, u, tau = mp.mpf(p), mp.mpf(u), mp.mpf(tau)
        power = 1 if loss == "absolute" else 2

        def inside(v):
            return abs(v - u) ** power * mp.npdf(v, p, tau)

        # pieces of a few standard deviations, so that no peak is overlooked
        marks = sorted({mp.mpf(0), mp.mpf(1), u, *(p + k * tau for k in range(-12, 13, 3))})
        marks = [m for m in marks if 0 <= m <= 1]
        below, above = mp.ncdf(-p / tau), mp.ncdf((p - 1) / tau)
        return mp.quad(inside, marks) + below * u**power + above * (1 - u) ** power


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tau", [1e-3, 0.05, 0.4, 3.0, 64.0])
def test_expected_losses_agree_with_quadrature(tau, loss):
    for p, u in itertools.product((0.0, 0.03, 0.5, 0.9, 1.0), (0.0, 0.3, 1.0)):
        exact = clamped_quadrature(p, u, tau, loss)
        found = losses.row_losses(np.array([p]), np.array([u]), np.array([tau]), loss)[0]
        assert abs(found - exact) < losses.EVALUATION_ERROR / 4


@pytest.mark.parametrize("loss", LOSSES)
def test_without_noise_the_loss_is_the_plain_one(loss):
    rng = np.random.default_rng(0)
    p, u = rng.uniform(0, 1, 50), rng.uniform(0, 1, 50)
    for tau in (0.0, 1e-320, 1e-14):
        found = losses.row_losses(p, u, np.full(50, tau), loss)
        assert np.allclose(found, np.abs(p - u) ** (1 if loss == "absolute" else 2), atol=1e-13)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tau", [0.0, 0.02, 0.3, 2.0, 64.0])
def test_bounds_for_one_row_hold_everywhere_and_are_reached(tau, loss):
    """All p, p', u, u' on a grid: own, move and range."""
    grid = np.linspace(0, 1, 41)
    g = losses.row_losses(grid[:, None], grid, np.full((1, 1), tau), loss)  # (p, u)
    taus = np.array([tau])
    own = losses.own_move(taus, loss)[0]
    slack = 1e-9
    by_u = g.max(axis=1) - g.min(axis=1)
    assert by_u.max() <= own + slack
    assert by_u.max() >= 0.95 * own
    assert g.max() - g.min() <= losses.any_move(taus, loss)[0] + slack
    for shift in (1, 2, 10, 25, 40):
        move = losses.prediction_move(np.array([grid[shift]]), taus, loss)[0]
        largest = np.abs(g[shift:] - g[:-shift]).max()
        assert largest <= move + slack
        # exact for absolute loss; for squared loss the proof gives a little away to the noise
        assert largest >= (0.97 if loss == "absolute" or tau == 0 else 0.7) * move
        h = grid[shift]
        assert move <= (h if loss == "absolute" else 2 * h - h * h) + slack


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tau", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_no_neighbour_among_all_corners_exceeds_the_sensitivity(seed, tau, loss):
    people, bounds = 6, (-2.0, 3.0)
    folds = candidate(people, tau=tau, seed=seed, width=5.0)
    bound = utility_sensitivity(folds, bounds, loss)
    corners = np.array(list(itertools.product(bounds, repeat=people)))
    values = {tuple(y): loss_of(folds, y, bounds, loss) for y in corners}
    for y in corners:
        for j in range(people):
            other = y.copy()
            other[j] = sum(bounds) - y[j]
            assert abs(values[tuple(y)] - values[tuple(other)]) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_no_random_neighbour_exceeds_the_sensitivity(seed, loss):
    rng = np.random.default_rng(seed)
    people, bounds = 12, (0.0, 10.0)
    folds = candidate(people, 4, weight=0.2, tau=rng.uniform(0, 0.5), seed=seed, width=10.0)
    bound = utility_sensitivity(folds, bounds, loss)
    for _ in range(300):
        y = rng.choice([0.0, 10.0, rng.uniform(0, 10)], people)
        other = y.copy()
        j = rng.integers(people)
        other[j] = rng.choice([0.0, 10.0, rng.uniform(0, 10)])
        assert abs(loss_of(folds, y, bounds, loss) - loss_of(folds, other, bounds, loss)) <= bound


def steps_of(folds, people, groups=None):
    return core._sensitivity(
        folding.unit_folds(folds, people, 0.0, 1.0), people, "absolute", groups
    )


def moved_steps(folds, u, v):
    """How far the integer losses of two outputs in [0, 1] lie apart."""
    unit = folding.unit_folds(folds, len(u), 0.0, 1.0)
    return abs(core._total_loss(unit, u, "absolute") - core._total_loss(unit, v, "absolute"))


def test_rounding_of_every_row_is_paid_for():
    """One person moves 100 predictions by a hundredth of a step, and every one is rounded anew."""
    n, step = 100, 2.0**-32
    rest = np.arange(1, n + 1)
    start = np.full(n, (1000 + 0.495) * step)
    folds = [
        Fold(rest, [0], start, np.full((n, 1), 0.01 * step), np.zeros(n)),
        Fold([0], rest, [0.0], np.zeros((1, n)), [0.0]),
    ]
    u = np.zeros(n + 1)
    moved = moved_steps(folds, u, np.eye(n + 1)[0])
    assert moved == 2**32 + n  # their own loss, and a step for each of the others
    # 1 step for the predictions, 5 for 1e-9, and 2 · 2^-36 for the evaluation of each row
    assert moved <= steps_of(folds, n + 1) <= moved + 1 + 5 + n / 8 + 3


def test_evaluation_errors_are_paid_for_twice(monkeypatch):
    """One of each of two neighbours."""
    folds = candidate(9, 3)
    monkeypatch.setattr(core, "_evaluation_errors", lambda *_: 0.0)
    bare = steps_of(folds, 9)
    monkeypatch.setattr(core, "_evaluation_errors", lambda *_: 1.0)
    assert steps_of(folds, 9) - bare == 3 * 2 * 2**32


def test_weights_that_cancel_do_not_move_a_loss_beyond_its_sensitivity():
    """Beside 10^9 − 10^9, a weight of 0.6 units in the last place is rounded to a whole one."""
    n, ulp = 50, float(np.spacing(1e9))
    seen = 0
    for order in itertools.permutations(range(3)):
        G = np.tile(np.array([0.6 * ulp, 1e9, -1e9])[list(order)], (n, 1))
        test, place = np.arange(3, n + 3), order.index(0)
        folds = [Fold(test, [0, 1, 2], np.full(n, 0.25), G, np.zeros(n))]
        u = np.r_[np.ones(3), np.zeros(n)]
        v = u.copy()
        v[place] = 0.0
        moved = moved_steps(folds, u, v)
        assert moved <= steps_of(folds, n + 3)
        seen = max(seen, moved)
    assert seen > 1.5 * 0.6 * ulp * n * 2**32  # far more than without rounding


def test_outputs_never_leave_the_unit_interval():
    """Not even for a width with which 1 + width, rounded, is 1.3 widths above 1."""
    width = 1.5 * 2.0**-53
    assert ((1.0 + width) - 1.0) / width > 1.3
    assert core._unit_outputs([0.0, 1.0, 2.0], 1.0, width).tolist() == [0.0, 0.0, 1.0]
    assert core._unit_outputs([0.0, 3.0, 4.0, 9.0], 2.0, 4.0).tolist() == [0.0, 0.25, 0.5, 1.0]


def test_a_commit_cannot_change_the_folds_that_were_checked(monkeypatch):
    """Sensitivities of weights that are small, and losses of others, would not be private."""
    folds, y = candidate(12, weight=0.01), np.linspace(0, 1, 12)
    seen = []

    def attack():
        for fold in folds:
            for array in (fold.G, fold.offset, fold.tau, fold.test, fold.train, y):
                array[...] = 0

    monkeypatch.setattr(core, "choose", lambda *numbers, **_: seen.append(numbers) or 0)
    for commit in (None, attack):
        select([folds], y, (0, 1), Choice(1.0, "permute-and-flip"), noise=Noise(commit=commit))
    assert seen[0] == seen[1]
    assert not folds[0].G.any()


def worst_case(tau, loss, weight=0.4):
    """Person 0 alone moves the predictions of all others, in a way that every move is the worst."""
    people = 5
    h = weight  # in units of the bounds [0, 1]
    # absolute: centred where noise lets most through; squared: up to the far bound, from y = 0
    start = (1 - h) / 2 if loss == "absolute" else 1 - h
    rest = np.arange(1, people)
    folds = [
        Fold(rest, [0], np.full(people - 1, start), np.full((people - 1, 1), h), [tau] * 4),
        Fold([0], rest, [0.0], np.zeros((1, people - 1)), [tau]),
    ]
    return folds, np.zeros(people)


@pytest.mark.parametrize(
    ("tau", "loss"),
    [(0.0, "absolute"), (0.02, "absolute"), (0.3, "absolute"), (0.0, "squared"), (0.02, "squared")],
)
def test_the_worst_case_comes_within_five_percent(tau, loss):
    """With much noise the bound for squared loss is not as tight."""
    folds, y = worst_case(tau, loss)
    other = y.copy()
    other[0] = 1.0
    moved = abs(loss_of(folds, y, (0, 1), loss) - loss_of(folds, other, (0, 1), loss))
    bound = utility_sensitivity(folds, (0, 1), loss)
    assert 0.95 * bound <= moved <= bound


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tau", [0.0, 0.1, 1.0, 5.0])
def test_the_sensitivity_is_at_most_the_plain_one(tau, loss):
    folds = candidate(20, 5, weight=0.1, tau=tau, seed=3, width=50.0)
    plain = plain_bound(folds, 20, 50.0, loss)
    found = utility_sensitivity(folds, (0.0, 50.0), loss)
    assert found <= plain * (1 + 1e-7)
    assert found == pytest.approx(plain, rel=1e-7) if tau == 0 else found < 0.99 * plain


@pytest.mark.parametrize("loss", LOSSES)
def test_groups_without_company_change_nothing(loss):
    folds = candidate(9, tau=0.2, seed=5)
    alone = utility_sensitivity(folds, (0, 1), loss)
    named = utility_sensitivity(folds, (0, 1), loss, groups=list("abcdefghi"))
    assert named == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tau", [0.0, 0.25])
@pytest.mark.parametrize("groups", [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2], [3] * 6])
def test_no_group_among_all_corners_exceeds_its_sensitivity(groups, tau, loss):
    people, groups = 6, np.array(groups)
    folds = candidate(people, tau=tau, seed=7)
    bound = utility_sensitivity(folds, (0, 1), loss, groups)
    assert bound >= utility_sensitivity(folds, (0, 1), loss)
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=people)))
    values = np.array([loss_of(folds, y, (0, 1), loss) for y in corners])
    largest = 0.0
    for owner in set(groups.tolist()):
        others = corners[:, groups != owner] @ (2.0 ** np.arange((groups != owner).sum()))
        for same in np.unique(others):
            largest = max(largest, np.ptp(values[others == same]))
    assert largest <= bound
    assert largest > 0.3 * bound


def test_the_bound_printed_in_the_paper_is_exceeded():
    """SSE of predictions that one person moves by v: 2 r·v + ‖v‖², not ‖v‖² (here r = d)."""
    d, people = 1.0, 41
    rest = np.arange(1, people)
    weight = 0.2  # every other person's prediction follows person 0 a little
    folds = [
        Fold(rest[:20], np.r_[0, rest[20:]], np.full(20, 0.8), _first(20, 21, weight), [0.0] * 20),
        Fold(rest[20:], np.r_[0, rest[:20]], np.full(20, 0.8), _first(20, 21, weight), [0.0] * 20),
        Fold([0], rest, [0.0], np.zeros((1, 40)), [0.0]),
    ]
    y = np.zeros(people)
    other = y.copy()
    other[0] = 1.0
    moved = abs(loss_of(folds, y, (0, d), "squared") - loss_of(folds, other, (0, d), "squared"))
    # d² max_j ‖c_jk‖² for each training fold, and 9 d² for the fold in which person 0 is tested
    squares = [d**2 * np.square(fold.G).sum(axis=0).max() for fold in folds]
    printed = sum(sorted(squares)[1:]) + 9 * d**2
    assert moved > 1.2 * printed
    assert moved <= utility_sensitivity(folds, (0, d), "squared")


def _first(rows, columns, weight):
    G = np.zeros((rows, columns))
    G[:, 0] = weight
    return G


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_a_slow_reference(loss):
    folds = candidate(15, 5, tau=0.3, seed=2, width=10.0)
    y = np.random.default_rng(0).uniform(2, 12, 15)
    total = mp.mpf(0)
    for fold in folds:
        mean = fold.offset + fold.G @ y[fold.train]
        for p, i, tau in zip(mean, fold.test, fold.tau, strict=True):
            unit = min(max((p - 2) / 10, 0), 1)
            total += clamped_quadrature(unit, (y[i] - 2) / 10, tau / 10, loss)
    total *= 10 if loss == "absolute" else 100
    assert loss_of(folds, y, (2.0, 12.0), loss) == pytest.approx(float(total), rel=1e-8)


@pytest.mark.slow
def test_the_better_candidate_is_chosen():
    """People whose neighbours know their output: a predictor that listens against one that errs."""
    people = 400
    y = np.tile([0.0, 1.0], people // 2)
    order = np.arange(people)
    candidates = []
    for sign in (-1.0, 1.0):
        folds = []
        for k in range(4):
            test, train = order[order % 8 // 2 == k], order[order % 8 // 2 != k]
            same = (test[:, None] % 2 == train % 2) / (len(train) / 2)
            G, offset = sign * same, np.full(len(test), 0.0 if sign > 0 else 1.0)
            folds.append(Fold(test, train, offset, G, np.full(len(test), 0.05)))
        candidates.append(folds)
    for mechanism in ("exponential", "permute-and-flip", "generalised"):
        chosen = [select(candidates, y, (0, 1), Choice(2.0, mechanism)).index for _ in range(10)]
        assert chosen == [1] * 10
    labels = 2 * y - 1  # the same as classes ±1
    scaled = [
        [Fold(f.test, f.train, 2 * f.offset - 1 + f.G.sum(axis=1), f.G, 2 * f.tau) for f in folds]
        for folds in candidates
    ]
    for loss in LOSSES:
        result = select(scaled, labels, (-1, 1), Choice(5.0, "permute-and-flip"), loss=loss)
        assert result.index == 1
        assert result.sensitivities == pytest.approx(
            [
                utility_sensitivity(f, (0, 1), loss) * (2 if loss == "absolute" else 4)
                for f in candidates
            ]
        )


def test_candidates_left_out_are_never_chosen_and_do_not_count():
    wild = candidate(12, weight=100.0, seed=1)
    tame = [candidate(12, weight=0.01, tau=1.0, seed=s) for s in (2, 3)]
    y = np.linspace(0, 1, 12)
    seen = []

    def noise(scale, count):
        seen.append(scale)
        return np.zeros(count)

    for keep in (None, [False, True, True]):
        result = select(
            [wild, *tame],
            y,
            (0, 1),
            Choice(1.0, "permute-and-flip"),
            keep=keep,
            noise=Noise(rehearsal=noise),
        )
        assert len(result.sensitivities) == 3
    assert result.index in (1, 2)
    assert seen[1] < 0.5 * seen[0]


def test_a_rehearsal_is_stamped_and_a_choice_is_not():
    folds, y = candidate(6), np.zeros(6)
    assert select([folds], y, (0, 1), Choice(1.0, "permute-and-flip")).private
    rehearsed = select(
        [folds],
        y,
        (0, 1),
        Choice(1.0, "permute-and-flip"),
        noise=Noise(rehearsal=lambda s, n: np.zeros(n)),
    )
    assert not rehearsed.private


def test_the_result_holds_no_loss_and_no_trace_of_y():
    folds = [candidate(30, 5, seed=s) for s in range(4)]
    y = np.full(30, 0.123456789)
    result = select(folds, y, (0, 1), Choice(1.0, "permute-and-flip"))
    data = pickle.dumps(result)
    assert y[:1].tobytes() not in data
    for one in folds:
        unit = folding.unit_folds(one, 30, 0.0, 1.0)
        total = core._total_loss(unit, y, "absolute")
        assert np.float64(loss_of(one, y, (0, 1), "absolute")).tobytes() not in data
        assert total.to_bytes(8, "little") not in data
    assert set(vars(result)) == {"index", "epsilon", "mechanism", "sensitivities", "private"}


@pytest.mark.parametrize(
    "y",
    [
        ["1.5", "secret 4711.25"],
        [4711.25, np.nan],
        [4711.25, np.inf],
        [[4711.25, 0.5], [1.0, 0.5]],
        [4711.25],
    ],
)
def test_no_error_names_a_value(y):
    folds = [Fold([0], [1], [0.0], [[0.1]], [0.1]), Fold([1], [0], [0.0], [[0.1]], [0.1])]
    with pytest.raises(ValueError, match=r"y |row numbers") as caught:
        select([folds], y, (0, 1), Choice(1.0, "permute-and-flip"))
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


GOOD = {"test": [0], "train": [1], "offset": [0.0], "G": [[0.1]], "tau": [0.1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": [2]}, "^test must hold row numbers from 0 to 1"),
        ({"test": [-1]}, "row numbers from 0 to 1"),
        ({"test": [0.5]}, "list of row numbers"),
        ({"test": [1]}, "tested in one fold only"),
        ({"train": [1, 1], "G": [[0.1, 0.1]]}, "^train names a row twice"),
        ({"G": [[0.1, 0.2]]}, "G must be finite and of shape"),
        ({"G": [[np.nan]]}, "G must be finite"),
        ({"G": [[1e12]]}, "must stay below"),
        ({"offset": [np.inf]}, "offset must be finite"),
        ({"tau": [-0.1]}, "tau must not be negative"),
        ({"tau": [np.inf]}, "tau must be finite"),
    ],
)
def test_a_bad_fold_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        select([[Fold(**{**GOOD, **change})]], [0.0, 1.0], (0, 1), Choice(1.0, "permute-and-flip"))


def test_other_bad_input_is_refused():
    fold, y = [Fold(**GOOD)], [0.0, 1.0]
    for bounds in ((1, 0), (0, np.inf), (np.nan, 1), (0, 0)):
        with pytest.raises(ValueError, match="bounds must be"):
            select([fold], y, bounds, Choice(1.0, "permute-and-flip"))
    for keep in ([False], [True, True], [1]):
        with pytest.raises(ValueError, match="keep must be"):
            select([fold], y, (0, 1), Choice(1.0, "permute-and-flip"), keep=keep)
    with pytest.raises(ValueError, match="loss must be"):
        select([fold], y, (0, 1), Choice(1.0, "permute-and-flip"), loss="cubed")
    with pytest.raises(ValueError, match="tested in one fold only"):
        select([fold * 2], y, (0, 1), Choice(1.0, "permute-and-flip"))
    with pytest.raises(ValueError, match="at least one fold"):
        select([[]], y, (0, 1), Choice(1.0, "permute-and-flip"))
    with pytest.raises(ValueError, match="owner of each of the 2 rows"):
        select([fold], y, (0, 1), Choice(1.0, "permute-and-flip"), groups=[1])
    with pytest.raises(ValueError, match="epsilon must lie"):
        select([fold], y, (0, 1), Choice(-1.0, "permute-and-flip"))


# --- labels


def still(scale, count):
    return np.zeros(count)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [False, True]], ids=str)
def test_labels_are_chosen_for_as_minus_one_and_one(labels, loss):
    candidates = [candidate(12, weight=0.4, tau=0.1, seed=s, width=2.0) for s in range(5)]
    options = {"choice": Choice(1.0), "loss": loss, "noise": Noise(rehearsal=still)}
    chosen = set()
    for seed in range(8):
        codes = np.random.default_rng(seed).integers(0, 2, 12)
        given = np.array(labels)[codes]
        for shaped in (given, given[:, None], given.tolist()):
            found = select_labels(candidates, shaped, labels, **options)
            assert found == select(candidates, 2.0 * codes - 1.0, (-1.0, 1.0), **options)
        losses = [loss_of(folds, 2.0 * codes - 1.0, (-1, 1), loss) for folds in candidates]
        assert found.index == np.argmin(losses)
        chosen.add(found.index)
    assert len(chosen) > 1


def test_labels_that_are_not_among_two_classes_are_refused_without_naming_them():
    folds = [candidate(3)]
    with pytest.raises(ValueError, match="two classes, got 3"):
        select_labels(folds, ["a", "b", "c"], ["a", "b", "c"], Choice(1.0, "permute-and-flip"))
    for labels in (["a", "b", "SECRET"], ["a", "b", None], ["a", "b", 3.5], ["a", "b", np.nan]):
        with pytest.raises(ValueError, match="not among the public classes") as caught:
            select_labels(folds, labels, ["a", "b"], Choice(1.0, "permute-and-flip"))
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


# --- the commit


@pytest.mark.parametrize("labels", [False, True])
def test_a_choice_is_made_after_its_commit_and_not_without_it(labels, monkeypatch):
    order = []
    choose = core.choose
    monkeypatch.setattr(core, "choose", lambda *a, **k: order.append("choice") or choose(*a, **k))

    def act(y, commit):
        folds = [candidate(4, 2)]
        if labels:
            return select_labels(
                folds, y, [0.0, 1.0], Choice(1.0, "permute-and-flip"), noise=Noise(commit=commit)
            )
        return select(
            folds, y, (0.0, 1.0), Choice(1.0, "permute-and-flip"), noise=Noise(commit=commit)
        )

    act([0.0, 1.0, 0.0, 1.0], lambda: order.append("commit"))
    assert order == ["commit", "choice"]

    def refuse():
        raise RuntimeError("over the cap")

    with pytest.raises(RuntimeError, match="over the cap"):
        act([0.0, 1.0, 0.0, 1.0], refuse)
    for bad in ([0.0, 1.0, 0.0, np.nan], [0.0, 1.0, 0.0], ["x"] * 4):
        with pytest.raises(ValueError, match=r"y |row numbers"):
            act(bad, lambda: order.append("commit"))
    assert order == ["commit", "choice"]
