import contextlib
import json
import math
import struct
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernels import json as parameters
from cloakgp.gp.kernels.json import check_writable, kernel_from_json, kernel_to_json
from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic
from cloakgp.release.file.archive import read_archive, write_archive

X = np.random.default_rng(0).normal(size=(50, 2))
PAIR = {"tuple": [1e-05, 100000.0]}


def through_text(kernel):
    """Write a kernel, turn the JSON into text and back as a file does, and read it."""
    spec, arrays = kernel_to_json(kernel)
    return kernel_from_json(json.loads(json.dumps(spec, allow_nan=False)), arrays)


def bits(value):
    """A value with every float as its bits, every container by its type, kernels as params."""
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, list | tuple):
        return type(value).__name__, [bits(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    params = value.get_params(deep=False) if hasattr(value, "get_params") else value.params()
    return type(value).__name__, {name: bits(item) for name, item in params.items()}


positive = st.floats(1e-150, 1e150)
pairs = st.tuples(st.floats(0.0), st.floats(0.0))
bounds = st.just("fixed") | pairs | pairs.map(list) | pairs.map(np.array)


@st.composite
def with_scales(draw, build, name="length_scale"):
    """A kernel with one lengthscale or several, in any container, and bounds that fit."""
    scales = draw(st.lists(positive, min_size=1, max_size=80))
    values = draw(st.sampled_from([scales[0], scales, tuple(scales), np.array(scales)]))
    each = draw(st.lists(pairs, min_size=len(scales), max_size=len(scales)))
    many = st.sampled_from([each, tuple(each), np.array(each)])
    fitting = bounds if isinstance(values, float) else bounds | many
    return build(**{name: values, f"{name}_bounds": draw(fitting)})


tables = st.integers(1, 40).map(lambda rows: np.random.default_rng(rows).normal(size=(rows, 2)))
functions = st.one_of(
    st.builds(KDELengthscale, tables, positive, positive, st.floats(1e-3, 1e3)),
    st.builds(KDELengthscaleNearby, tables, positive, positive, st.floats(1, 9), st.floats(0, 9)),
    st.builds(
        Logistic, st.floats(-1e9, 1e9), st.floats(allow_nan=False, min_value=1e-9, max_value=1e9)
    ),
)
leaves = st.one_of(
    st.builds(ConstantKernel, st.just(0.0) | positive, bounds),
    st.builds(WhiteKernel, positive, bounds),
    with_scales(RBF),
    with_scales(lambda **p: Matern(**p, nu=2.5)),
    st.builds(Matern, positive, bounds, nu=positive | st.just(math.inf)),
    st.builds(RationalQuadratic, positive, positive, bounds, bounds),
    st.builds(ExpSineSquared, positive, positive, bounds, bounds),
    st.builds(DotProduct, positive | st.integers(1, 1 << 53), bounds),
    with_scales(Gibbs, "lengthscale"),
    st.builds(Gibbs, functions),
)
kernels = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(Exponentiation, inner, st.integers(1, 3) | st.floats(-9, 9)),
        st.builds(Blend, inner, inner, functions),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(kernels)
def test_every_kernel_comes_back_bit_for_bit(kernel):
    assert bits(through_text(kernel)) == bits(kernel)


def examples():
    near = KDELengthscaleNearby(X, 3.0, 5.0, radius=0.5)
    return [
        ConstantKernel(2.0, "fixed") * RBF([0.1, 0.3]) + WhiteKernel(0.1, (0.0, math.inf)),
        Matern(np.array([1.0, 2.0]), nu=math.inf) * ExpSineSquared() + DotProduct(),
        RationalQuadratic(0.1, 0.7) ** 2,
        Blend(Gibbs(near), Gibbs(KDELengthscale(X, 3.0, 5.0)) * 2.0, Logistic(0.3, -2.0, 1)),
        Gibbs(np.array([1, 2], dtype=np.int64)),
    ]


@pytest.mark.parametrize("kernel", examples(), ids=str)
def test_a_kernel_through_a_release_file_computes_the_same_numbers(tmp_path, kernel):
    spec, arrays = kernel_to_json(kernel)
    write_archive(tmp_path / "release", {"kernel": spec}, {**arrays, "other": np.zeros(3)})
    manifest, arrays = read_archive(tmp_path / "release")
    copy = kernel_from_json(manifest["kernel"], arrays)
    assert copy == kernel
    np.testing.assert_array_equal(copy(X), kernel(X))
    np.testing.assert_array_equal(copy.theta, kernel.theta)


def test_a_kernel_with_learned_parameters_can_be_written():
    kernel = (RBF([1.0, 2.0]) * 3.0).clone_with_theta(np.log([0.1, 0.2, 0.3]))
    copy = through_text(kernel)
    assert copy == kernel
    assert copy.theta.tobytes() == kernel.theta.tobytes()


def test_small_arrays_stay_in_the_json_and_large_ones_leave_it():
    spec, arrays = kernel_to_json(RBF(np.full(64, 0.1)))
    assert arrays == {}
    assert spec["params"]["length_scale"]["values"] == [0.1] * 64
    spec, arrays = kernel_to_json(RBF(np.full(65, 0.1)), prefix="prior")
    assert spec["params"]["length_scale"] == {"array": "prior_0"}
    assert arrays.keys() == {"prior_0"}
    assert spec["params"]["length_scale_bounds"] == PAIR


def test_an_array_with_two_uses_is_written_once():
    scale = KDELengthscale(X, 3.0, 5.0)
    other = KDELengthscale(X + 1, 3.0, 5.0)
    spec, arrays = kernel_to_json(Gibbs(scale) + Gibbs(other) * Gibbs(scale))
    assert arrays.keys() == {"kernel_0", "kernel_1"}
    assert kernel_from_json(spec, arrays).k2.k2.lengthscale == scale


def test_infinite_bounds_stay_in_the_json_since_arrays_of_a_release_are_finite():
    bounds = np.column_stack([np.zeros(70), np.full(70, math.inf)])
    spec, arrays = kernel_to_json(RBF(np.ones(70), bounds))
    assert arrays.keys() == {"kernel_0"}
    copy = kernel_from_json(json.loads(json.dumps(spec, allow_nan=False)), arrays)
    np.testing.assert_array_equal(copy.length_scale_bounds, bounds)


def test_narrow_arrays_and_numpy_scalars_keep_their_numbers():
    kernel = through_text(RBF(np.array([0.1, 0.3], dtype=np.float32)) * np.float64(0.1))
    assert kernel.k1.length_scale.tolist() == np.array([0.1, 0.3], dtype=np.float32).tolist()
    assert kernel.k2.constant_value == 0.1
    assert through_text(Gibbs(np.float32(0.1))).lengthscale == float(np.float32(0.1))


# ---------------------------------------------------------------------------- refused when writing


class MyRBF(RBF):
    pass


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (Gibbs(lambda x: x[:, 0]), r"kernel.lengthscale is the function or class .*<lambda>.*KDE"),
        (Blend(RBF(), RBF(), np.sin), "kernel.weight is .*sin.*Logistic"),
        (RBF() + PairwiseKernel(metric="rbf"), "kernel.k2 is a PairwiseKernel; .* RBF"),
        (PairwiseKernel(metric=lambda a, b: 1.0), "PairwiseKernel"),
        (CompoundKernel([RBF()]), "CompoundKernel"),
        (MyRBF(), "MyRBF"),
        (RBF, "the function or class RBF"),
        (None, "NoneType"),
        ("RBF", "a str"),
        (Blend(RBF(), Logistic(0, 1), Logistic(0, 1)), "kernel.k_g is a Logistic; .* RBF"),
        (RBF(-1.0), "length_scale must be"),
        (RBF(math.nan), "length_scale must be"),
        (RBF(True), "does not hold numbers"),
        (RBF("1"), "does not hold numbers"),
        (RBF([[1.0]]), "length_scale must be"),
        (RBF([[1.0], [1.0, 2.0]]), "different lengths"),
        (RBF([]), "length_scale must be"),
        (RBF(10**400), "does not hold numbers"),
        (RBF((1 << 53) + 1), "use plain numbers"),
        (RBF(np.longdouble(1) / 3), "use plain numbers"),
        (RBF(np.array([1.0, 2.0], dtype=np.longdouble)), "use float64"),
        (RBF(np.ma.masked_array([1.0, 2.0], [True, False])), "MaskedArray"),
        (RBF([1.0, 2.0], [np.ones(2), np.ones(2)]), "use plain numbers"),
        (RBF(1.0, "free"), "does not hold numbers"),
        (RBF(1.0, (1.0, 2.0, 3.0)), 'must be "fixed"'),
        (RBF(1.0, (math.nan, 2.0)), 'must be "fixed"'),
        (RBF([1.0, 2.0], np.ones((3, 2))), 'must be "fixed"'),
        (RBF(1.0, np.ones((1, 2, 2))), 'must be "fixed"'),
        (Matern(nu=-0.5), "nu must be"),
        (Matern(nu=[1.5]), "nu must be"),
        (DotProduct(1e200), "sigma_0 must be"),
        (RationalQuadratic([1.0]), "length_scale must be"),
        (ConstantKernel(-1.0), "constant_value must be"),
        (RBF() ** math.nan, "exponent must be"),
        (Gibbs(KDELengthscaleNearby(np.ones((2, 257)), 1.0, 1.0, radius=0)), "X must be"),
    ],
)
@pytest.mark.parametrize("write", [kernel_to_json, check_writable])
def test_kernels_that_cannot_be_saved_are_refused_with_what_can(kernel, reason, write):
    with pytest.raises(ReleaseFileError, match=reason):
        write(kernel)


def test_a_check_passes_what_can_be_saved_and_lists_no_large_array():
    for kernel in examples():
        check_writable(kernel)
    check_writable(RBF(np.full(65, 0.1, dtype=np.float32)))
    with pytest.raises(ReleaseFileError, match="use float64 or int64"):
        check_writable(RBF(np.full(65, 0.1, dtype=np.longdouble)))


def test_the_deepest_kernel_is_read_again_and_a_deeper_one_refused(tmp_path):
    deepest = reduce(lambda a, b: a + b, [RBF()] * parameters.MAX_DEPTH)
    spec, arrays = kernel_to_json(deepest)
    write_archive(tmp_path / "release", {"model": {"prior": {"kernel": spec}}}, arrays)
    manifest, arrays = read_archive(tmp_path / "release")
    assert bits(kernel_from_json(manifest["model"]["prior"]["kernel"], arrays)) == bits(deepest)
    with pytest.raises(ReleaseFileError, match="nested more than 64 levels"):
        kernel_to_json(deepest + RBF())
    deeper = {"class": "Sum", "params": {"k1": spec, "k2": kernel_to_json(RBF())[0]}}
    with pytest.raises(ReleaseFileError, match="nested more than 64 levels"):
        kernel_from_json(deeper, {})


def test_a_kernel_that_doubles_at_each_level_is_refused():
    kernel, spec = RBF(), kernel_to_json(RBF())[0]
    for _ in range(40):
        kernel = kernel + kernel
        spec = {"class": "Sum", "params": {"k1": spec, "k2": spec}}
    with pytest.raises(ReleaseFileError, match="more than 1000 parts"):
        kernel_to_json(kernel)
    with pytest.raises(ReleaseFileError, match="more than 1000 parts"):
        kernel_from_json(spec, {})


def test_many_copies_of_one_large_table_are_refused(monkeypatch):
    monkeypatch.setattr(parameters, "MAX_TABLE_ENTRIES", 3 * X.size)
    spec, arrays = kernel_to_json(Gibbs(KDELengthscale(X, 1.0, 1.0)))
    twice = {"class": "Sum", "params": {"k1": spec, "k2": spec}}
    kernel = kernel_from_json(twice, arrays)
    with pytest.raises(ReleaseFileError, match="tables of more than"):
        kernel_from_json({"class": "Sum", "params": {"k1": twice, "k2": twice}}, arrays)
    with pytest.raises(ReleaseFileError, match="tables of more than"):
        kernel_to_json(kernel + kernel)


# ---------------------------------------------------------------------------- refused when reading


def rbf(length_scale=1.0, bounds=PAIR):
    return {
        "class": "RBF",
        "params": {"length_scale": length_scale, "length_scale_bounds": bounds},
    }


def small(values, shape, dtype="float64"):
    return {"dtype": dtype, "shape": shape, "values": values}


def gibbs(lengthscale):
    params = {"lengthscale": lengthscale, "lengthscale_bounds": PAIR}
    return {"class": "Gibbs", "params": params}


def kde(name="KDELengthscale", **params):
    table = {"X": small([1.0, 2.0], [2, 1]), "n": 1.0, "m": 1.0, "bandwidth": 1.0}
    return gibbs({"class": name, "params": {**table, **params}})


def logistic(**params):
    weight = {"class": "Logistic", "params": {"center": 0.0, "width": 1.0, "dimension": 0} | params}
    return {"class": "Blend", "params": {"k_f": rbf(), "k_g": rbf(), "weight": weight}}


def test_the_specs_that_are_spoiled_below_are_good():
    assert kernel_from_json(rbf(), {}) == RBF()
    assert kernel_from_json(rbf(small([1.0], [1])), {}) == RBF(np.array([1.0]))
    assert kernel_from_json(kde(), {}).lengthscale.X.tolist() == [[1.0], [2.0]]
    assert kernel_from_json(kde("KDELengthscaleNearby", radius=0), {}).lengthscale.radius == 0.0
    assert kernel_from_json(logistic(), {}).weight == Logistic(0.0, 1.0)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (None, "fields 'class' and 'params'"),
        ([], "fields 'class' and 'params'"),
        ("RBF", "fields 'class' and 'params'"),
        ({"class": "RBF"}, "fields 'class' and 'params'"),
        ({**rbf(), "more": 1}, "fields 'class' and 'params'"),
        ({"class": "os.system", "params": {}}, "class 'os.system'; .*RBF"),
        ({"class": "Kernel", "params": {}}, "class 'Kernel'"),
        ({"class": "PairwiseKernel", "params": {}}, "class 'PairwiseKernel'"),
        ({"class": "Logistic", "params": {}}, "class 'Logistic'"),
        ({"class": ["RBF"], "params": {}}, r"class \['RBF'\]"),
        ({"class": "RBF", "params": []}, "params that are not an object"),
        ({"class": "RBF", "params": {}}, "instead of"),
        ({"class": "RBF", "params": {**rbf()["params"], "__class__": 1}}, "instead of"),
        ({"class": "Sum", "params": {"k1": rbf(), "k2": 1.0}}, "kernel.k2 must be an object"),
        (rbf(None), "holds a NoneType"),
        (rbf(True), "holds a bool"),
        (rbf("1.0"), "holds a str"),
        (rbf("fixed"), "holds a str"),
        (rbf("nan"), "holds a str"),
        (rbf("inf"), "length_scale must be"),
        (rbf(math.nan), "holds a float"),
        (rbf(10**5000), "holds a int"),
        (rbf(0), "length_scale must be"),
        (rbf(1e-200), "length_scale must be"),
        (rbf([]), "length_scale must be"),
        (rbf([[1.0]]), "length_scale must be"),
        (rbf([[[1.0]]]), "holds a list"),
        (rbf([1.0, [2.0]]), "different lengths"),
        (rbf([{"tuple": 1.0}]), "holds a dict"),
        (rbf({}), "must be a number, a list"),
        (rbf({"tuple": "ab"}), "must be a number, a list"),
        (rbf({"class": "Logistic", "params": {}}), "must be a number, a list"),
        (rbf({"array": "missing"}), "array 'missing', which the file does not have"),
        (rbf({"array": ["a"]}), "which the file does not have"),
        (rbf({"array": "flags"}), "does not hold numbers"),
        (rbf({"array": "empty"}), "length_scale must be"),
        (rbf(small([1.0], [1], "object")), "must be float64"),
        (rbf(small([1.0], [1], ["float64"])), "must be float64"),
        (rbf(small({}, [1])), "values are not a list"),
        (rbf(small([1], [1])), "holds other numbers"),
        (rbf(small([1.0], [1], "int64")), "holds other numbers"),
        (rbf(small([1.0], [2])), "shape does not fit"),
        (rbf(small([1.0], [-1, -1])), "shape does not fit"),
        (rbf(small([1.0], [1, 1, 1])), "shape does not fit"),
        (rbf(small([1.0], [True])), "shape does not fit"),
        (rbf(small([], [0, 1 << 62])), "shape does not fit"),
        (rbf(small([1.0], "1")), "shape does not fit"),
        (rbf(1.0, "free"), "holds a str"),
        (rbf(1.0, {"tuple": [1.0]}), 'must be "fixed"'),
        (rbf(1.0, [[1.0, 2.0]] * 3), 'must be "fixed"'),
        (rbf(1.0, [-1.0, 2.0]), 'must be "fixed"'),
        (gibbs({"class": "RBF", "params": {}}), "a function can be one of: KDELengthscale"),
        (kde(X=1.0), "X must be"),
        (kde(X=small([1.0], [1])), "X must be"),
        (kde(X=small(["inf"], [1, 1])), "X must be"),
        (kde(X={"array": "wide"}), "X must be .* 256 columns"),
        (kde(X={"array": "empty"}), "X must be"),
        (kde(n=0.0), "n must be"),
        (kde(bandwidth=None), "holds a NoneType"),
        (kde(bandwidth=1e200), "bandwidth must be"),
        (kde("KDELengthscaleNearby"), "instead of"),
        (kde("KDELengthscaleNearby", radius=-1.0), "radius must be"),
        (logistic(width=0.0), "cannot be built: width=0.0"),
        (logistic(dimension=-1), "dimension must be"),
        (logistic(dimension=1.0), "dimension must be"),
        (logistic(dimension=[1]), "dimension must be"),
    ],
)
def test_hostile_specs_are_refused(spec, reason):
    arrays = {
        "flags": np.array([True]),
        "empty": np.zeros((0, 2)),
        "wide": np.zeros((1, 257)),
    }
    with pytest.raises(ReleaseFileError, match=reason):
        kernel_from_json(spec, arrays)


def places(spec, path=()):
    """Paths of everything inside a spec."""
    yield path
    inside = {dict: dict.items, list: enumerate}.get(type(spec), lambda _: ())
    for key, item in inside(spec):
        yield from places(item, (*path, key))


def replaced(spec, path, value):
    if not path:
        return value
    copy = spec.copy()
    copy[path[0]] = replaced(spec[path[0]], path[1:], value)
    return copy


WRITTEN = [kernel_to_json(kernel) for kernel in examples()]
SPOTS = [(index, path) for index, (spec, _) in enumerate(WRITTEN) for path in places(spec)]
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    # Words that mean something in a spec reach deeper than random text.
    | st.sampled_from(["inf", "fixed", "float64", "kernel_0", "RBF", "Logistic", 1e308, 1 << 53]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["class", "params", "tuple", "array", "dtype", "shape", "values", "X"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=5,
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(SPOTS), junk)
def test_a_spec_with_junk_in_any_place_gives_a_usable_kernel_or_a_refusal(spot, value):
    index, path = spot
    spec, arrays = WRITTEN[index]
    try:
        kernel = kernel_from_json(replaced(spec, path, value), arrays)
    except ReleaseFileError:
        return
    with np.errstate(all="ignore"):
        assert kernel.theta.shape == (len(kernel.bounds),)
        # It may ask for other columns than X has, which kernels say with a ValueError.
        with contextlib.suppress(ValueError):
            kernel(X)
    assert bits(through_text(kernel)) == bits(kernel)
