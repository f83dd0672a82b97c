"""The cross-validated loss and its sensitivity against obvious references, to the last digit."""

import itertools
import math
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest

from cloakgp.privacy import Choice, Fold, Noise, select, select_labels, utility_sensitivity
from cloakgp.privacy.choice import folds as folding
from cloakgp.privacy.choice import losses
from cloakgp.privacy.choice import utility as core

LOSSES = ("absolute", "squared")
#: What the proof gives to evaluation of one loss, and in proportion to a sensitivity.
EVALUATION, RELATIVE = 2.0**-36, 1e-9


def mean_of_clamp(p, tau):
    """E clamp(p + τz) into [0, 1], in long arithmetic."""
    if tau == 0:
        return min(max(mp.mpf(p), 0), 1)
    with mp.workdps(30):
        p, tau = mp.mpf(p), mp.mpf(tau)

        def J(x):
            return x * mp.ncdf(x / tau) + tau * mp.npdf(x / tau)

        return J(p) - J(p - 1)


def least(tau):
    return max(mean_of_clamp(0, tau) - EVALUATION, 0)


def move(h, tau, loss):
    h = min(h, 1)
    inside = 2 * mp.ncdf(0.5 / mp.mpf(tau)) - 1 if tau else 1
    a = min(2 * mean_of_clamp(0.5 + 0.5 * h, tau) - 1 + EVALUATION, h * inside, 1)
    if loss == "absolute":
        return a
    m = 1
    if tau:
        x = 1 / mp.mpf(tau)
        m = 1 - (mp.npdf(0) - mp.npdf(x)) / x / (0.5 - mp.ncdf(-x))
    return a * min(2 - a, 2 * m)


TAUS = (0.0, 1e-3, 0.05, 0.4, 3.0, 64.0)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_for_one_row_are_those_of_the_proof(tau, loss):
    taus = np.array([tau])
    A = least(tau)
    own, whole = (1 - 2 * A, 1 - 2 * A) if loss == "absolute" else ((1 - A) ** 2, 1 - A)
    assert losses.own_move(taus, loss)[0] == pytest.approx(float(own), abs=1e-12)
    assert losses.any_move(taus, loss)[0] == pytest.approx(float(whole), abs=1e-12)
    for h in (0.0, 1e-6, 0.1, 0.5, 1.0, 7.0):
        found = losses.prediction_move(np.array([h]), taus, loss)[0]
        assert found == pytest.approx(float(move(h, tau, loss)), abs=1e-12)


def mean_loss(p, u, tau, loss):
    """E|clamp(p + τz) − u| or its square, by Gauss's rule between the kinks."""
    kinks = [(x - p) / tau for x in (0.0, u, 1.0)]
    marks = [-12.0, *sorted(min(max(z, -12.0), 12.0) for z in kinks), 12.0]
    nodes, weights = np.polynomial.legendre.leggauss(80)
    total = 0.0
    for a, b in itertools.pairwise(marks):
        z = a + (b - a) * (nodes + 1) / 2
        error = np.abs(np.clip(p + tau * z, 0, 1) - u) ** (1 if loss == "absolute" else 2)
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        total += (b - a) / 2 * (weights @ (error * density))
    return total


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_single_rows_agree_with_a_quadrature(loss):
    for p, u, tau in itertools.product((0.0, 0.2, 0.9, 1.0), (0.0, 0.3, 1.0), (0.05, 0.4, 3.0)):
        [found] = losses.row_losses(np.array([p]), np.array([u]), np.array([tau]), loss)
        assert found == pytest.approx(mean_loss(p, u, tau, loss), abs=1e-13)


def random_folds(people, seed, *, tau=0.3, cover=True):
    """Unit folds; with ``cover`` everybody is tested, else the last third is not."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(people)
    tested = order if cover else order[: 2 * people // 3]
    folds = []
    for test in np.array_split(tested, 3):
        train = rng.permutation(np.setdiff1d(order, test))[: people - len(test) - 1]
        G = rng.normal(scale=0.4, size=(len(test), len(train)))
        offset = rng.normal(size=len(test))
        folds.append(Fold(test, train, offset, G, rng.uniform(0, tau, len(test))))
    return folding.unit_folds(folds, people, 0.0, 1.0)


def slow_sensitivity(folds, people, loss, owners, *, alone):
    """Person by person, row by row; then the room for rounding, as in the proof."""
    moved = dict.fromkeys(owners, 0.0)
    errors, rows = 0.0, 0
    for fold in folds:
        for owner in moved:
            mine = [k for k, j in enumerate(fold.train) if owners[j] == owner]
            for i, person in enumerate(fold.test):
                tau = fold.tau[i : i + 1]
                own = losses.own_move(tau, loss)[0] if owners[person] == owner else 0.0
                if not mine:
                    moved[owner] += own
                    continue
                reach = sum(abs(fold.G[i, k]) for k in mine)
                total = losses.prediction_move(np.array([reach]), tau, loss)[0] + own
                if own and not alone:
                    total = min(total, losses.any_move(tau, loss)[0])
                moved[owner] += total
        sizes = np.abs(fold.offset).sum() + np.abs(fold.G).sum()
        slope = 1 if loss == "absolute" else 2
        errors += slope * (len(fold.train) + 4) * 2.0**-52 * sizes + EVALUATION * len(fold.test)
        rows += len(fold.test)
    largest = max(moved.values()) * (1 + RELATIVE) + 2 * errors
    return math.ceil(largest * 2.0**32) + rows + 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_the_sensitivity_is_that_of_a_slow_reference(seed, loss):
    people = 9
    folds = random_folds(people, seed, cover=seed > 0)
    alone = list(range(people))
    expected = slow_sensitivity(folds, people, loss, alone, alone=True)
    assert core._sensitivity(folds, people, loss, None) == expected
    groups = [0, 0, 1, 2, 2, 2, 3, 4, 0]
    expected = slow_sensitivity(folds, people, loss, groups, alone=False)
    assert core._sensitivity(folds, people, loss, np.array(groups)) == expected


@pytest.mark.parametrize(("loss", "slope"), [("absolute", 1), ("squared", 2)])
def test_errors_of_evaluation_are_those_of_the_proof(loss, slope):
    """(m + 4) 2^−52 (|offset| + Σ|g|) for each row, where it outweighs 2^−36 by far."""
    G = np.array([[3e8, -4e8, 5e8], [1e8, 2e8, -1e8]])
    fold = Fold([0, 1], [2, 3, 4], [-9e8, 8e8], G, [0.1, 0.2])
    [unit] = folding.unit_folds([fold], 5, 0.0, 1.0)
    sizes = (9e8 + 12e8) + (8e8 + 4e8)
    expected = slope * 7 * 2.0**-52 * sizes + 2 * EVALUATION
    assert core._evaluation_errors(unit, loss) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("loss", "slope"), [("absolute", 1), ("squared", 2)])
def test_room_for_large_offsets_depends_on_the_loss(loss, slope):
    folds = folding.unit_folds([Fold([0], [], [9e8], np.zeros((1, 0)), [3.0])], 1, 0.0, 1.0)
    own = float(losses.own_move(np.array([3.0]), loss)[0])  # below 1
    errors = slope * 4 * 2.0**-52 * 9e8 + EVALUATION
    expected = math.ceil((own * (1 + RELATIVE) + 2 * errors) * 2.0**32) + 2
    assert core._sensitivity(folds, 1, loss, None) == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_an_owner_who_does_not_train_here_moves_their_own_row_beside_one_who_does(loss):
    """Rows 0 and 2 are one owner, tested with much noise; row 1 is another, tested without."""
    fold = Fold([0, 1], [2], [0.5, 0.5], np.zeros((2, 1)), [3.0, 0.0])
    folds = folding.unit_folds([fold], 3, 0.0, 1.0)
    steps = core._sensitivity(folds, 3, loss, np.array([0, 1, 0]))
    assert 2**32 < steps < 2**32 + 100


def test_rounding_has_its_room_when_nobody_moves_anything_else():
    """One person alone: own = 1, two errors of evaluation, one row, one step."""
    folds = folding.unit_folds([Fold([0], [], [0.25], np.zeros((1, 0)), [0.0])], 1, 0.0, 1.0)
    errors = 4 * 2.0**-52 * 0.25 + EVALUATION
    expected = math.ceil((1 + RELATIVE + 2 * errors) * 2.0**32) + 2
    assert core._sensitivity(folds, 1, "absolute", None) == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_one_person_moves_rounded_losses_by_no_more_than_the_sensitivity(loss):
    """Many rows that only just round the other way: the room for rows is needed."""
    people = 60
    others = np.arange(1, people)
    tiny = 2.0**-33
    folds = [
        Fold(
            others,
            [0],
            np.full(people - 1, 0.5 + 0.5 * tiny),
            np.full((people - 1, 1), tiny),
            np.zeros(people - 1),
        ),
    ]
    unit = folding.unit_folds(folds, people, 0.0, 1.0)
    steps = core._sensitivity(unit, people, loss, None)
    u = np.zeros(people)
    other = u.copy()
    other[0] = 1.0
    moved = abs(core._total_loss(unit, u, loss) - core._total_loss(unit, other, loss))
    plain = (people - 1) * tiny * 2.0**32  # what exact losses would move, in steps
    assert plain < moved <= steps


def test_the_total_loss_counts_whole_steps_of_each_row():
    folds = random_folds(9, 5)
    u = np.random.default_rng(5).uniform(0, 1, 9)
    for loss in LOSSES:
        expected = 0
        for fold in folds:
            for i, person in enumerate(fold.test):
                mean = fold.offset[i] + sum(
                    g * u[j] for g, j in zip(fold.G[i], fold.train, strict=True)
                )
                mean = np.array([min(max(mean, 0.0), 1.0)])
                row = losses.row_losses(mean, u[person : person + 1], fold.tau[i : i + 1], loss)
                expected += round(row[0] * 2**32)
        assert core._total_loss(folds, u, loss) == expected


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("beyond", "end"), [(1.7, 1.0), (-0.7, 0.0)])
def test_predictions_beyond_the_bounds_count_as_the_bounds(beyond, end, loss):
    def total(offset):
        test, train = np.array([1]), np.array([0])
        fold = folding.UnitFold(
            test, train, np.array([offset]), np.zeros((1, 1)), tau=np.array([0.5])
        )
        return core._total_loss([fold], np.array([0.0, 0.4]), loss)

    assert total(beyond) == total(end)


def test_sums_of_losses_that_floats_could_not_hold_are_exact():
    rows = 3 * 2**20 + 1
    people, mean = np.arange(1, rows + 1), np.full(rows, 1.0 - 2.0**-32)
    fold = folding.UnitFold(people, np.array([0]), mean, np.zeros((rows, 1)), np.zeros(rows))
    total = core._total_loss([fold], np.zeros(rows + 1), "absolute")
    assert total == rows * (2**32 - 1)
    assert int(float(total)) != total


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_stay_between_zero_and_one(loss):
    """At the last τ, far beyond the largest that is used, rounding alone would lead to 3."""
    p, u = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
    for tau in (0.0, 1e-17, 1e-9, 64.0, 1e8):
        rows = losses.row_losses(p, u, np.full_like(p, tau), loss)
        assert rows.min() >= 0.0
        assert rows.max() <= 1.0


# --- scaling


def test_outputs_are_clipped_and_scaled_to_the_unit_interval():
    y = [-5.0, 2.0, 4.5, 7.0, 99.0]
    assert core._unit_outputs(y, 2.0, 5.0).tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    column = np.array(y)[:, None]
    assert core._unit_outputs(column, 2.0, 5.0).tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    with pytest.raises(ValueError, match="y must be one column of numbers"):
        core._unit_outputs(np.zeros((5, 2)), 2.0, 5.0)
    with pytest.raises(ValueError, match="y must be one column of numbers"):
        core._unit_outputs(np.zeros((1, 1, 1)), 2.0, 5.0)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="y holds NaN or infinite entries; decide in public"):
            core._unit_outputs([1.0, bad], 2.0, 5.0)


def test_outputs_far_outside_of_narrow_bounds_are_clipped_before_they_are_scaled():
    with np.errstate(all="raise"):
        assert core._unit_outputs([1e300, -1e300, 0.0], 0.0, 1e-100).tolist() == [1.0, 0.0, 0.0]


def test_too_many_people_for_the_sum_of_losses_are_refused(monkeypatch):
    monkeypatch.setattr(core, "own_floats", lambda y: y)  # its copy would fill the memory
    with pytest.raises(ValueError, match="y must be one column"):
        core._unit_outputs(np.broadcast_to(0.5, (1 << 28,)), 0.0, 1.0)


def test_whatever_rounding_does_a_scaled_output_is_at_most_one():
    """Bounds for which (hi − lo)/width is computed as more than 1: they exist."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(2000):
        lo, width = rng.uniform(-1, 1), rng.uniform(0.1, 3)
        found += ((lo + width) - lo) / width > 1
        assert core._unit_outputs([lo + width, 9.0, -9.0], lo, width).max() <= 1.0
    assert found > 50


def test_bounds_from_tiny_to_huge_are_taken():
    assert core._checked_bounds((2, 7)) == (2.0, 5.0)
    assert core._checked_bounds((0.0, 1e149)) == (0.0, 1e149)
    for bounds in ((0.0, 1e-150), (0.0, 1e150), (-math.inf, 0.0), (0.0, math.nan), (1.0, 1.0)):
        with pytest.raises(ValueError, match=r"bounds must be finite with lo < hi, got lo="):
            core._checked_bounds(bounds)
    assert core._checked_bounds((0.0, 1.1e-150))[1] == 1.1e-150
    for bounds in (("a", 1.0), (0.0, "b")):
        with pytest.raises(ValueError, match=r"^bounds must be a number, got '[ab]'"):
            core._checked_bounds(bounds)


def test_one_step_is_the_unit_of_the_loss():
    assert core._unit(5.0, "absolute") == 5.0 / 2**32
    assert core._unit(5.0, "squared") == 25.0 / 2**32


def test_kept_candidates_are_named_by_their_place():
    assert core._kept(None, 3) == [0, 1, 2]
    assert core._kept([False, True, True], 3) == [1, 2]
    for keep in ([False] * 3, [True] * 2, [1, 1, 1]):
        with pytest.raises(ValueError, match="keep must be true or false for each of the 3 cand"):
            core._kept(keep, 3)


def test_the_sensitivity_is_in_the_units_of_the_loss_and_knows_how_many_people_there_are():
    rng = np.random.default_rng(1)
    # the last person only trains, so that tested rows do not tell the number of people
    folds = [
        Fold([0, 1], [2, 3, 4], [3.0, 5.0], 0.3 * rng.normal(size=(2, 3)), [1.0, 0.0]),
        Fold([2, 3], [0, 1], [3.0, 5.0], 0.3 * rng.normal(size=(2, 2)), [0.5, 0.2]),
    ]
    unit = folding.unit_folds(folds, 5, 2.0, 5.0)
    for loss, size in (("absolute", 5.0), ("squared", 25.0)):
        steps = core._sensitivity(unit, 5, loss, None)
        assert utility_sensitivity(folds, (2.0, 7.0), loss) == steps * size / 2**32
        groups = [0, 0, 1, 1, 2]
        steps = core._sensitivity(unit, 5, loss, np.array(groups))
        assert utility_sensitivity(folds, (2.0, 7.0), loss, groups) == steps * size / 2**32
    absolute = utility_sensitivity(folds, (2.0, 7.0), "absolute")
    assert utility_sensitivity(folds, (2.0, 7.0)) == absolute
    # more people than the folds name: groups tell how many
    groups = [0, 0, 1, 1, 2, 0]
    steps = core._sensitivity(
        folding.unit_folds(folds, 6, 2.0, 5.0), 6, "absolute", np.array(groups)
    )
    assert utility_sensitivity(folds, (2.0, 7.0), "absolute", groups) == steps * 5.0 / 2**32


def test_people_are_counted_whether_they_train_or_are_tested():
    nobody = Fold([], [0], [], np.zeros((0, 1)), [])
    untrained = Fold([0], [], [0.0], np.zeros((1, 0)), [0.0])
    last_is_tested = Fold([1, 5], [2, 3], [0.1, 0.2], np.full((2, 2), 0.3), [0.1, 0.1])
    last_trains = Fold([4], [2, 6], [0.1], np.full((1, 2), 0.3), [0.1])
    for folds, people in (
        ([nobody, untrained, last_is_tested], 6),
        ([last_trains, nobody, untrained, last_is_tested], 7),
    ):
        steps = core._sensitivity(
            folding.unit_folds(folds, people, 0.0, 1.0), people, "absolute", None
        )
        assert utility_sensitivity(folds, (0.0, 1.0)) == steps / 2**32
    with pytest.raises(ValueError, match="a candidate must have at least one fold"):
        utility_sensitivity([], (0.0, 1.0))


# --- what reaches the choice


@pytest.fixture
def chosen(monkeypatch):
    """Everything that ``choose`` is called with; it takes the last candidate."""
    seen = []

    def choose(losses, sensitivities, choice, rehearsal):
        seen.append((losses, sensitivities, choice, rehearsal))
        return len(losses) - 1

    monkeypatch.setattr(core, "choose", choose)
    return seen


def candidates(people=8):
    rng = np.random.default_rng(3)
    order = rng.permutation(people)
    return [
        [
            Fold(
                test,
                np.setdiff1d(order, test),
                rng.uniform(0, 9, len(test)),
                0.2 * rng.normal(size=(len(test), people - len(test))),
                np.full(len(test), tau),
            )
            for test in np.array_split(order, 4)
        ]
        for tau in (0.1, 0.5, 2.0)
    ]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 2, 3, 4, 5]])
def test_the_choice_gets_the_losses_and_the_sensitivities_of_the_kept(chosen, loss, groups):
    y, bounds = np.linspace(-1, 9, 8), (0.0, 8.0)

    def noise(scale, count):
        return np.zeros(count)

    found = select(
        candidates(),
        y,
        bounds,
        Choice(np.float64(0.7), "exponential"),
        loss=loss,
        groups=groups,
        keep=[True, False, True],
        noise=Noise(rehearsal=noise),
    )
    [(losses, sensitivities, choice, rehearsal)] = chosen
    unit = [folding.unit_folds(folds, 8, 0.0, 8.0) for folds in candidates()]
    u = np.clip(y, 0, 8) / 8
    assert losses == [core._total_loss(unit[i], u, loss) for i in (0, 2)]
    owners = None if groups is None else np.array(groups)
    steps = [core._sensitivity(folds, 8, loss, owners) for folds in unit]
    assert sensitivities == [steps[0], steps[2]]
    assert (choice, rehearsal) == (Choice(0.7, "exponential"), noise)
    size = 8.0 if loss == "absolute" else 64.0
    assert found.sensitivities == tuple(step * size / 2**32 for step in steps)
    assert (found.index, found.epsilon, found.mechanism, found.private) == (
        2,
        0.7,
        "exponential",
        False,
    )
    assert type(found.epsilon) is float


def test_absolute_loss_and_the_exponential_mechanism_are_what_is_used_unless_told(chosen):
    y = np.linspace(0, 8, 8)
    found = select(candidates(), y, (0.0, 8.0), Choice(1.0))
    labels = select_labels(candidates(), y > 4, [False, True], Choice(1.0))
    same = select(candidates(), 2.0 * (y > 4) - 1, (-1.0, 1.0), Choice(1.0), loss="absolute")
    for result, (_, _, choice, rehearsal) in zip((found, labels, same), chosen, strict=True):
        assert result.mechanism == choice.mechanism == "exponential"
        assert rehearsal is None
        assert result.private
    assert labels == same
    assert chosen[1] == chosen[2]
    unit = folding.unit_folds(candidates()[0], 8, 0.0, 8.0)
    assert chosen[0][0][0] == core._total_loss(unit, y / 8, "absolute")


def test_labels_hand_on_all_that_they_are_told(monkeypatch):
    seen = {}
    monkeypatch.setattr(core, "select", lambda *values, **options: seen.update(v=values, **options))

    def noise(scale, count):
        return np.zeros(count)

    def commit():
        return None

    options = {
        "loss": "squared",
        "groups": [1, 1, 2],
        "keep": [True],
        "noise": Noise(noise, commit),
    }
    folds, choice = object(), Choice(0.3, "generalised")
    select_labels(folds, ["b", "a", "b"], ["a", "b"], choice, **options)
    values = seen.pop("v")
    assert values[0] is folds
    assert values[1].tolist() == [1.0, -1.0, 1.0]
    assert values[2:] == ((-1.0, 1.0), choice)
    assert seen == options


def test_everything_is_checked_before_the_commit(monkeypatch):
    """Nothing may fail after a spend was recorded but the choice itself."""
    monkeypatch.setattr(core, "choose", lambda *_, **__: 0)
    spent = []
    y = np.linspace(0, 8, 8)
    good = {"choice": Choice(1.0), "noise": Noise(commit=lambda: spent.append(1))}
    for change in (
        {"choice": SimpleNamespace(epsilon=-1.0, mechanism="exponential")},
        {"choice": SimpleNamespace(epsilon=1.0, mechanism="laplace")},
        {"loss": "cubed"},
        {"keep": [True]},
        {"groups": [1]},
    ):
        with pytest.raises(ValueError, match="must"):
            select(candidates(), y, (0.0, 8.0), **{**good, **change})
    with pytest.raises(ValueError, match="bounds must be"):
        select(candidates(), y, (8.0, 0.0), **good)
    assert spent == []
    select(candidates(), y, (0.0, 8.0), **good)
    assert spent == [1]
