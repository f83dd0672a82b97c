"""Kernels in one line: what is read, what is refused and where, and that printing is undone."""

import contextlib
import json
import math

import numpy as np
import pytest
from command_line import PLAN, people, run
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk
from sklearn.gaussian_process.kernels import RBF, Kernel

from cloakgp.app.tables.files import to_csv
from cloakgp.errors import CommandError
from cloakgp.gp.kernels.grammar import kernel_string, parse_kernel
from cloakgp.kernels import Blend, Gibbs, KDELengthscale, Logistic


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("900*RBF(25)", 900 * RBF(25)),
        ("RBF(length_scale=3)", RBF(3)),
        (" ( 2 * 3 * RBF( 1e0 ) ) ", 6 * RBF(1)),
        ("RBF(1) + 2", RBF(1) + 2),
    ],
)
def test_kernels_mean_what_they_say(text, same):
    X = np.array([[0.0], [0.7], [2.0]])
    np.testing.assert_allclose(parse_kernel(text)(X), same(X))


def test_kernels_of_every_name_can_be_written_and_nothing_is_free():
    text = (
        "900*RBF([25, 15]) + 10*Matern(5, nu=1.5) + RationalQuadratic(2, alpha=3) + White(1)"
        " + ExpSineSquared(2, periodicity=7) + DotProduct(0) * Constant(4) + Gibbs([2,3])"
    )
    kernel = parse_kernel(text)
    assert kernel.n_dims == 0
    assert kernel(np.ones((2, 2))).shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("900*", 5),
        ("900*RBF(25", 11),
        ("RBF(25))", 8),
        ("RBF(0)", 5),
        ("Foo(1)", 1),
        ("RBF(1) - 2", 8),
        ("RBF([1,)", 8),
        ("RBF(1, 2)", 8),
        ("Matern(1, mu=2)", 11),
        ("RationalQuadratic([1,2])", 19),
        ("RBF(1) RBF(2)", 8),
        ("", 1),
        ("5", 1),
        ("(" * 40, 21),
    ],
)
def test_a_fault_in_a_kernel_is_pointed_at(text, position):
    with pytest.raises(CommandError, match=f"position {position}:") as caught:
        parse_kernel(text)
    *_, pointer = str(caught.value).splitlines()
    assert pointer.index("^") == position - 1 + 2


@given(st.text(alphabet="RBFMaternCo(),[]=+*. 0123456789e_'-", max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_kernel_or_an_error_and_never_code(text):
    with contextlib.suppress(CommandError):
        assert isinstance(parse_kernel(text), Kernel)


def test_nothing_in_a_kernel_is_evaluated(tmp_path):
    mark = tmp_path / "mark"
    for text in (f"open('{mark}','w')", f"RBF(__import__('os').mkdir('{mark}'))"):
        with pytest.raises(CommandError):
            parse_kernel(text)
    assert not mark.exists()


# ---------------------------------------------------------------------------------------- printing

X = np.random.default_rng(0).normal(size=(6, 2))
WRITTEN = [
    RBF(20.0, "fixed"),
    sk.ConstantKernel(900.0, "fixed") * RBF([25.0, 1.0 / 3.0], "fixed"),
    sk.Matern(0.1 + 0.2, "fixed", nu=2.5),
    sk.Matern([3.0, 4.0], "fixed", nu=math.inf),
    sk.RationalQuadratic(2.0, 1e-7, "fixed", "fixed"),
    sk.ExpSineSquared(2.0, 7.3, "fixed", "fixed"),
    sk.DotProduct(0.0, "fixed") ** 2,
    sk.ConstantKernel(2.0, "fixed") * (RBF(1.0, "fixed") + sk.WhiteKernel(0.5, "fixed")),
    sk.ConstantKernel(2.0, "fixed") * sk.ConstantKernel(3.0, "fixed"),
    sk.ConstantKernel(2.0, "fixed") * (sk.ConstantKernel(3.0, "fixed") * RBF(1.0, "fixed")),
    (sk.ConstantKernel(2.0, "fixed") + sk.ConstantKernel(3.0, "fixed")) * RBF(1.0, "fixed"),
    RBF(1.0, "fixed") + (RBF(2.0, "fixed") + sk.ConstantKernel(1e-9, "fixed")),
    (RBF(1.0, "fixed") * RBF(2.0, "fixed")) ** 1.5,
    sk.ConstantKernel(2.0, "fixed") ** 2 * RBF(1.0, "fixed"),
    sk.ConstantKernel(5.0, "fixed"),
    RBF(1.0, "fixed") + sk.WhiteKernel(0.0, "fixed"),
    Gibbs(1.7, "fixed"),
    Gibbs(np.array([2.0, 3.0]), "fixed"),
    4.0 * Gibbs(1e5 / 3.0, "fixed"),
    Blend(RBF(1.0, "fixed"), sk.ConstantKernel(2.0, "fixed"), Logistic(-1.5, -0.3, 1)),
    3.0 * Blend(RBF(1.0, "fixed") + 1.0, Gibbs(2.0, "fixed"), Logistic(0.0, 2.0)),
]


def with_fixed_bounds(kernel):
    """A kernel that arithmetic has given free constants, as the command line has it."""
    names = [name for name in kernel.get_params() if name.endswith("_bounds")]
    return kernel.set_params(**dict.fromkeys(names, "fixed"))


@pytest.mark.parametrize("kernel", WRITTEN, ids=str)
def test_a_printed_kernel_is_read_as_the_same_kernel_to_the_last_digit(kernel):
    kernel = with_fixed_bounds(kernel)
    text = kernel_string(kernel)
    again = parse_kernel(text)
    assert again == kernel, text
    assert kernel_string(again) == text
    np.testing.assert_array_equal(again(X), kernel(X))


SCALES = st.floats(1e-3, 1e6)
LEAVES = st.one_of(
    st.builds(lambda v: RBF(v, "fixed"), SCALES),
    st.builds(lambda v: RBF(np.array(v), "fixed"), st.lists(SCALES, min_size=2, max_size=2)),
    st.builds(lambda v, nu: sk.Matern(v, "fixed", nu=nu), SCALES, st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(lambda v: sk.ConstantKernel(v, "fixed"), st.just(0.0) | SCALES),
    st.builds(lambda v: sk.WhiteKernel(v, "fixed"), SCALES),
    st.builds(lambda v: Gibbs(v, "fixed"), SCALES),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(sk.Sum, inner, inner),
        st.builds(sk.Product, inner, inner),
        st.builds(sk.Exponentiation, inner, st.floats(0.5, 4.0)),
        st.builds(Blend, inner, inner, st.builds(Logistic, st.floats(-9, 9), st.floats(0.1, 9))),
    ),
    max_leaves=8,
)


@given(TREES)
@settings(max_examples=300, deadline=None)
def test_any_tree_of_kernels_survives_printing(kernel):
    assert parse_kernel(kernel_string(kernel)) == kernel


@pytest.mark.parametrize("kernel", [*WRITTEN[:7], WRITTEN[11]], ids=str)
def test_what_scikit_learn_prints_can_be_read_too(kernel):
    """To the three digits that it prints, and where it leaves no brackets out."""
    size = kernel.diag(X).max()
    np.testing.assert_allclose(parse_kernel(str(kernel))(X), kernel(X), atol=0.02 * size)


def test_a_kernel_without_a_line_says_so():
    for kernel in (Gibbs(KDELengthscale(X, 5, 9)), sk.PairwiseKernel(), type("Own", (RBF,), {})()):
        with pytest.raises(ValueError, match="cannot be written in one line"):
            kernel_string(kernel)


@pytest.mark.parametrize("text", ["RBF(１０)", "RBF(1_0)", "１０*RBF(1)", "RBF(inf)", "RBF(nan)"])
def test_a_kernel_takes_plain_digits_only(text):
    with pytest.raises(CommandError, match="kernel, position"):
        parse_kernel(text)


@pytest.mark.parametrize("text", ["1e150*1e150*RBF(1)", "10**400*RBF(1)", "0**5*RBF(1)*1e-150*0"])
def test_numbers_that_overflow_together_are_refused_or_used_but_never_crash(text):
    with contextlib.suppress(CommandError):
        assert np.isfinite(parse_kernel(text)(X)).all()


def test_the_kernel_that_a_plan_prints_gives_the_same_plan(tmp_path):
    """Also one whose numbers have many digits."""
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    words = ("plan", path, "--inputs", "age,weight", "--bounds", "40,200", "--no-compare", "--json")
    option = ("--kernel", "900.123456789012345*RBF([0.33333333333333331, 7.000000000000001])")
    planned = json.loads(run(*words, *option).stdout)
    pasted = json.loads(run(*words, "--kernel", planned["kernel"]).stdout)
    assert pasted["kernel"] == planned["kernel"]
    assert pasted["points"] == planned["points"]
    assert pasted["settings"] == 1
    shown = run(*words[:-1], *option).stdout
    assert f"Kernel: {planned['kernel']}" in " ".join(shown.split())


def test_a_plan_says_that_its_kernel_is_learnt(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    words = ("plan", path, "--inputs", "age,weight", "--bounds", "40,200", "--no-compare")
    planned = json.loads(run(*words, "--json").stdout)
    assert planned["kernel"] is None
    assert planned["settings"] > 1
    shown = " ".join(run(*words).stdout.split())
    assert f"Kernel: learnt, from {planned['settings']} settings of " in shown


def test_the_candidates_that_a_search_prints_can_be_pasted(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    tried = ("900*RBF(5.00001)", "900*RBF(5.00004)")
    words = ("--try", "kernel=" + "|".join(tried), "--folds", "2", "--plan-only")
    shown = run("select", path, *PLAN, *words).stdout
    for text in tried:
        assert text in shown
