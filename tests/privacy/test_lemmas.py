"""Small lemmas of the proofs, checked by machine for all numbers there are: z3 finds no exception.

Each says which code it is about, with a fingerprint as on the pages of the proofs: if the code
changes, read the lemma again, and then write down what the failing test prints.  Sums are proven
step by step: a lemma is the step from some terms to one more.  Each also finds the exception to a
claim that is a little too bold, so that its words are known to mean something.
"""

from pathlib import Path

import pytest
from privacy.fingerprints import Core

import cloakgp.privacy

z3 = pytest.importorskip("z3", reason="z3 is not installed: pip install z3-solver")

CORE = Core(Path(cloakgp.privacy.__file__).parent)
ABOUT = {}  # lemma -> fingerprint, names


def about(fingerprint, *names):
    """Tie a lemma to code, named as path::name."""

    def tie(test):
        ABOUT[test.__name__] = fingerprint, [tuple(name.split("::")) for name in names]
        return test

    return tie


def holds(claim, *given):
    """Tell whether a claim follows for all numbers."""
    solver = z3.Solver()
    solver.set("timeout", 10_000)
    solver.add(*given, z3.Not(claim))
    found = solver.check()
    assert found != z3.unknown, solver.reason_unknown()
    return found == z3.unsat


def size(x):
    return z3.If(x >= 0, x, -x)


@about(
    "c003baf432dd4650",
    "mechanism/release.py::release",
    "mechanism/release.py::_sum_rows",
    "mechanism/release.py::value_bits_for",
    "mechanism/release.py::_largest_sum",
)
def test_no_sum_leaves_int64():
    """|Σ t u| ≤ m Σ|t| for 0 ≤ u ≤ m, and with the noise beside it that is at most 2^61."""
    total, t, u, most, sizes, noise = z3.Reals("total t u most sizes noise")
    terms = [size(total) <= most * sizes, u >= 0, u <= most]
    assert holds(size(total + t * u) <= most * (sizes + size(t)), *terms)
    assert not holds(size(total + t * u) <= most * sizes, *terms)
    reach = z3.Int("reach")
    for length in range(62):  # of reach − 1 in bits
        given = [reach >= 1, reach - 1 < 2**length]
        assert holds(reach * 2 ** (61 - length) <= 2**61, *given)
        assert not holds((reach + 1) * 2 ** (61 - length) <= 2**61, *given)
    # w ≤ 2^k steps of a whole grid need no more room than 2^k do
    fine, whole = z3.Reals("fine whole")
    room = [(sizes + noise) * fine <= 2**61, sizes >= 0, noise >= 0, whole > 0, whole <= fine]
    assert holds(z3.And(sizes * whole <= 2**61, (sizes + noise) * whole < 2**63), *room)


@about(
    "f347e77a28e1fe35",
    "mechanism/sensitivity.py::_checked",
    "mechanism/sensitivity.py::_squared_columns",
    "mechanism/sensitivity.py::absolute_sensitivity",
)
def test_lengths_of_columns_fit_into_int64():
    """r entries of at most 2^b in size: their sum and the sum of their squares."""
    rows = z3.Int("rows")
    for bits in range(31):
        given = [rows >= 0, rows * 4**bits < 2**62]
        assert holds(z3.And(rows * 2**bits < 2**63, rows * 4**bits < 2**63), *given)


@about("f8aa9b01683ef93f", "mechanism/sensitivity.py::quantise")
def test_rounding_toward_zero_lengthens_no_column():
    x, a, b, before, after = z3.Reals("x a b before after")
    toward_zero = z3.If(x >= 0, z3.ToReal(z3.ToInt(x)), -z3.ToReal(z3.ToInt(-x)))
    assert holds(size(toward_zero) <= size(x))
    nearest = z3.ToReal(z3.ToInt(x + z3.Q(1, 2)))
    assert not holds(size(nearest) <= size(x))
    # one more entry, from b to a, in the 1-norm and in the square of the 2-norm
    given = [size(a) <= size(b), after <= before]
    assert holds(
        z3.And(after + size(a) <= before + size(b), after + a * a <= before + b * b), *given
    )


@about(
    "64b5af904c38199b",
    "mechanism/sensitivity.py::absolute_sensitivity",
    "mechanism/outputs.py::Kind",
    "mechanism/outputs.py::Labelled",
    "mechanism/outputs.py::as_steps",
)
def test_an_owner_moves_no_entry_further_than_its_rows_do_together():
    """|Σ a t| ≤ Σ|t| for |a| ≤ 1, a row more; and |t d| = |t| |d| for an outer product."""
    moved, bound, a, t, d = z3.Reals("moved bound a t d")
    given = [size(moved) <= bound, size(a) <= 1]
    assert holds(size(moved + a * t) <= bound + size(t), *given)
    assert not holds(size(moved + a * t) <= bound, *given)
    assert holds(size(t * d) == size(t) * size(d))
    u, v, most = z3.Ints("u v most")  # of one person, on a grid of 0..most
    assert holds(size(u - v) <= most, u >= 0, u <= most, v >= 0, v <= most)


@about(
    "14718eaaba6a5dbc",
    "mechanism/laplace.py::add_discrete_laplace",
    "mechanism/laplace.py::laplace_scale",
)
def test_the_triangle_inequality_behind_laplace_noise():
    """An outcome z is nearer to one sum than to the other by no more than these are apart."""
    z, q, other = z3.Ints("z q other")
    assert holds(size(z - other) - size(z - q) <= size(q - other))
    assert not holds(size(z - other) - size(z - q) < size(q - other))
    # |move| ≤ Δ and Δ k ≤ ε S: the loss |move|/S of one of k parts is at most ε/k
    move, most, epsilon, scale, parts = z3.Reals("move most epsilon scale parts")
    given = [move >= 0, move <= most, most * parts <= epsilon * scale, scale > 0, parts >= 1]
    assert holds(move * parts <= epsilon * scale, *given)


@about("cf08db8d1e72d8b5", "mechanism/bins.py::Bins")
def test_sums_on_another_grid_move_by_one_person_at_most():
    """⌊U m'/m⌋ moves by at most m' if U moves by at most m: whole numbers, so m' + 1 is too far."""
    here, there, U, move, m, new = z3.Reals("here there U move m new")
    floors = [here * m <= U * new, U * new < (here + 1) * m]
    floors += [there * m <= (U + move) * new, (U + move) * new < (there + 1) * m]
    given = [m >= 1, new >= 1, move <= m, -m <= move, *floors]
    assert holds(there < here + new + 1, *given)
    assert holds(there > here - new - 1, *given)
    assert not holds(there < here + new, *given)


@about("9425b8d21dba3243", "mechanism/outputs.py::squares")
def test_a_number_and_its_square_move_by_less_than_one_step_more():
    """Q = ⌊u²/M⌋ − u + M/4: |u − u'| + |Q − Q'| < M + 1, so whole numbers move by at most M."""
    u, v, m, here, there = z3.Reals("u v m here there")
    floors = [here * m <= u * u, u * u < (here + 1) * m]
    floors += [there * m <= v * v, v * v < (there + 1) * m]
    given = [m >= 4, v >= 0, v <= u, u <= m, *floors]  # u and v may change places
    for sign in (1, -1):
        assert holds((u - v) + sign * ((here - u) - (there - v)) < m + 1, *given)
    assert not holds((u - v) + 2 * ((here - u) - (there - v)) < m + 1, *given)
    # Without the rounding: a b/M is what the square moves by, and a + b is at most M.
    assert holds((u - v) * size(u + v - m) <= (m - size(u + v - m)) * m, v >= 0, v <= u, u <= m)
    # Squares lie between 0 and M/4, since u²/M − u + M/4 = (2u − M)²/(4M) does.
    assert holds(u * u - u * m + m * m / 4 >= 0)
    assert holds(u * u - u * m <= 0, u >= 0, u <= m)


@about(
    "a0715b5da6172612",
    "mechanism/whole_rows.py::WholeRows",
    "mechanism/whole_rows.py::_read_shares",
    "mechanism/whole_rows.py::share_groups",
    "mechanism/whole_rows.py::check_no_negative_entries",
    "mechanism/whole_rows.py::rows_sensitivity",
)
def test_rows_without_negative_entries_are_never_opposite():
    """‖x − x'‖² ≤ ‖x‖² + ‖x'‖² for x, x' ≥ 0, an entry more; ‖x − x'‖₁ ≤ ‖x‖₁ + ‖x'‖₁ anyway."""
    x, other, apart, sizes = z3.Reals("x other apart sizes")
    given = [apart <= sizes, x >= 0, other >= 0]
    assert holds(apart + (x - other) ** 2 <= sizes + x**2 + other**2, *given)
    assert holds(apart + size(x - other) <= sizes + size(x) + size(other), *given)
    assert not holds(apart + (x - other) ** 2 <= sizes + x**2 + other**2, apart <= sizes)
    # Shares: none is negative, and they add up to m; so their squares add up to m² at most.
    u, m = z3.Reals("u m")
    assert holds(z3.And(m - u >= 0, u**2 + (m - u) ** 2 <= m**2), u >= 0, u <= m)
    # Those of one output more: in sum m more, and m² more of squares at most.
    summed, squares, outputs = z3.Reals("summed squares outputs")
    given = [u >= 0, u <= m, outputs >= 0, summed == outputs * m, squares <= outputs * m**2]
    assert holds(summed + u + (m - u) == (outputs + 1) * m, *given)
    assert holds(squares + u**2 + (m - u) ** 2 <= (outputs + 1) * m**2, *given)
    assert not holds(squares + u**2 + (m - u) ** 2 <= (outputs + 1) * m**2, *given[2:])


@about("d714b85493916d76", "mechanism/whole_rows.py::_add_up")
def test_so_many_shares_add_up_in_floating_point():
    """A row more: where at most ⌊2^53/m⌋ are summed, every partial sum is in 0..2^53."""
    rows, total, share, m, most = z3.Ints("rows total share m most")
    given = [m >= 1, m <= 2**53, most >= 1, most * m <= 2**53, rows >= 0, rows + 1 <= most]
    given += [total >= 0, total <= rows * m, share >= 0, share <= m]
    # (rows + 1) m is linear in rows, so that it is largest for the most rows.
    step = (rows + 1) * m <= most * m
    assert holds(step, *given)
    assert holds(z3.And(total + share >= 0, total + share <= 2**53), *given, step)
    assert not holds(total + share <= 2**53, *given[:3], *given[4:])


@about("c01c4a1b78f37866", "mechanism/whole_rows.py::multiply")
def test_cutting_off_brings_no_two_numbers_further_apart():
    x, y, end = z3.Ints("x y end")

    def cut(number):
        return z3.If(number > end, end, z3.If(number < -end, -end, number))

    assert holds(size(cut(x) - cut(y)) <= size(x - y), end >= 0)


@about("3e88a447e87f1536", "accounting/totals.py::fits_purely", "accounting/totals.py::pure_total")
def test_shares_that_add_up_on_paper_are_off_by_their_last_digits_alone():
    """Each float is off by a share of 2^-53; a share more, and the cap itself."""
    exact, rounded, share, off, cap = z3.Reals("exact rounded share off cap")
    last = z3.Q(1, 2**53)
    given = [rounded <= (1 + last) * exact, share > 0, size(off) <= last]
    assert holds(rounded + share * (1 + off) <= (1 + last) * (exact + share), *given)
    sums = [rounded <= (1 + last) * exact, cap >= (1 - last) * exact, exact > 0]
    assert holds(rounded <= (1 + z3.Q(1, 2**51)) * cap, *sums)
    assert not holds(rounded <= (1 + last) * cap, *sums)


@pytest.mark.parametrize("lemma", ABOUT)
def test_the_lemma_is_about_the_code_as_it_is(lemma):
    recorded, names = ABOUT[lemma]
    right = CORE.fingerprint(names)
    assert recorded == right, f"read {lemma} again, then record this with it: {right}"
