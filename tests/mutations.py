"""Edits of the contents of a release file, as somebody who can recompute its hashes would make.

``mutate`` returns a changed copy of a manifest and its arrays and says what it changed.  Every edit
follows from the generator that is given, so that a file can be made again from its number.
"""

from __future__ import annotations

import copy
import math

import numpy as np

#: Values that no field expects, or that only few do.
STRANGE = [
    None, True, False, 0, 1, 2, 3, -1, 20, 31, 62, 63, 1000,
    0.0, -0.0, 0.5, 1.5, -0.5, 1e-5, 1e-12, 5e-324, 1e-310, 1e-160, 1e-140, 1e-30,
    1e30, 1e70, 1e149, -1e149, 1e160, 1e300, 1e308, -1e308, 1.7976931348623157e308,
    2**31, 2**53 + 1, 2**62, 2**63, 2**64, 10**30, -(10**30), 10**400,
    "", "0", "inf", "-inf", "nan", "1e3", "x", "\x00", "\x1b[31m\n", "\u202e", "é", "y" * 5000,
    [], {}, [0], [1.0], [0.0, 1.0], [None], [[1]], ["a", "a"], ["x", 1],
    {"a": 1}, {"tuple": [1, 2]}, {"array": "X"},
    {"class": "RBF", "params": {"length_scale": 1.0, "length_scale_bounds": "fixed"}},
]  # fmt: skip
#: Values that are right somewhere: nearly everything that a manifest may say.
KNOWN = [
    "regression", "classification", "counts", "analytic", "hall", "bayes", "direct", "total",
    "worst", "volume", "points", "latents", "exact", "fitc", "dtc", "exponential",
    "permute-and-flip", "absolute", "squared", "RBF", "Matern", "ConstantKernel", "WhiteKernel",
    "DotProduct", "Sum", "Product", "Exponentiation", "Gibbs", "ExpSineSquared",
    "RationalQuadratic", "fixed", "0.1.0", "99.0", "same inputs, one person's outputs replaced",
]  # fmt: skip
#: Numbers that an array may hold, or may not.
ENTRIES = [
    0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-310, 1e-30, 1e30, 1e75, 1e149, -1e149, 1e155, 1e200,
    1e308, -1e308, 2.0**31 - 1, -(2.0**31), 2.0**20, 2.0**53, 2.0**62, 2.0**63 - 1024, -(2.0**63),
]  # fmt: skip
DTYPES = ["float64", "int64", "int32", "bool"]
KERNEL, FAMILY = ("prior", "kernel"), ("prior", "family")


def mutate(manifest, arrays, rng, most=3):
    """Return a copy with one to ``most`` edits, and what they were."""
    manifest, arrays, story = copy.deepcopy(manifest), dict(arrays), []
    # Most files with several edits are refused for the first of them.
    for _ in range(1 if rng.random() < 0.6 else int(rng.integers(2, most + 1))):
        edit = _edit_manifest if rng.random() < 0.65 else _edit_array
        story.append(edit(manifest, arrays, rng))
    return manifest, arrays, "; ".join(story)


def with_family(manifest, arrays):
    """Return a copy of a release whose prior is learnt: smoother, as it is, rougher, or both."""
    manifest = copy.deepcopy(manifest)
    prior = manifest["prior"]
    shapes = [
        {"class": "RBF", "params": {"length_scale": length, "length_scale_bounds": "fixed"}}
        for length in (40.0, 20.0, 5.0)
    ]
    variance, noise = (900.0, 25.0) if manifest["task"] == "regression" else (2.0, 0.0)
    settings = [
        {"variances": [[0, variance]], "level": variance, "noise_variance": noise, "weight": 0.25},
        {"variances": [[1, variance]], "level": 0.0, "noise_variance": noise, "weight": 0.5},
        {
            "variances": [[1, variance], [2, 0.1 * variance]],
            "level": 0.0,
            "noise_variance": 0.25 * variance,
            "weight": 0.25,
        },
    ]
    prior["family"] = {"kernels": shapes, "settings": settings}
    return manifest, arrays


def pick(rng, things):
    """Return one of the things."""
    return things[int(rng.integers(len(things)))]


def places(value, path=()):
    """Yield every place in a JSON value, as the keys that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def _parent(manifest, path):
    for key in path[:-1]:
        manifest = manifest[key]
    return manifest


def _edit_manifest(manifest, arrays, rng):
    paths = list(places(manifest))
    if not paths:
        return "nothing left to edit"
    if rng.random() < 0.2:  # kernels are deep, so that most paths would lie in them
        paths = [path for path in paths if path[:2] in (KERNEL, FAMILY)] or paths
    elif rng.random() < 0.8:
        paths = [path for path in paths if path[:2] not in (KERNEL, FAMILY)] or paths
    path = pick(rng, paths)
    home, key = _parent(manifest, path), path[-1]
    edit = pick(rng, _FIELD_EDITS)
    return f"{edit.__name__[1:]} {'.'.join(map(str, path))} {edit(manifest, home, key, rng)}"


def _put_strange(manifest, home, key, rng):
    home[key] = copy.deepcopy(pick(rng, STRANGE))
    return repr(home[key])[:60]


def _put_known(manifest, home, key, rng):
    home[key] = pick(rng, KNOWN)
    return repr(home[key])


def _nudge(manifest, home, key, rng):
    value = home[key]
    if isinstance(value, bool):
        home[key] = not value
    elif isinstance(value, int | float):
        number = float(value) if abs(value) < 1e300 else 1.0
        home[key] = pick(
            rng,
            [-value, value + 1, value - 1, 2 * value, number / 2, 0.999 * number, 1.001 * number,
             math.nextafter(number, 0.0), float(number), int(number), str(value), number * 1e100,
             number * 1e-100, [value]],
        )  # fmt: skip
    elif isinstance(value, str):
        home[key] = pick(rng, [value.upper(), value + " ", value[:-1], value * 2, [value], 0])
    elif isinstance(value, list):
        home[key] = pick(
            rng, [value[:-1], value[::-1], value * 2, value[:1], [value], tuple(value)]
        )
    elif isinstance(value, dict):
        home[key] = pick(rng, [[value], list(value), dict.fromkeys(value, 1.0)])
    else:
        home[key] = pick(rng, [0, "", [], {}])
    return repr(home[key])[:60]


def _delete(manifest, home, key, rng):
    del home[key]
    return ""


def _rename(manifest, home, key, rng):
    if isinstance(home, dict):
        home[pick(rng, ["remark", str(key).upper(), f"{key}_2", f"{key} ", ""])] = home.pop(key)
    else:
        home.insert(0, home.pop(key))
    return ""


def _duplicate(manifest, home, key, rng):
    if isinstance(home, list):
        home.insert(key, copy.deepcopy(home[key]))
    else:
        home[f"{key}_copy"] = copy.deepcopy(home[key])
    return ""


def _move(manifest, home, key, rng):
    """Copy what is elsewhere in the manifest."""
    source = pick(rng, list(places(manifest)))
    home[key] = copy.deepcopy(_parent(manifest, source)[source[-1]])
    return f"from {'.'.join(map(str, source))}"


def _swap(manifest, home, key, rng):
    source = pick(rng, list(places(manifest)))
    there = _parent(manifest, source)
    ours, theirs = copy.deepcopy(home[key]), copy.deepcopy(there[source[-1]])
    there[source[-1]] = ours
    home[key] = theirs
    return f"with {'.'.join(map(str, source))}"


_FIELD_EDITS = [
    _put_strange, _put_strange, _put_strange, _put_known, _nudge, _nudge, _nudge,
    _delete, _rename, _duplicate, _move, _swap,
]  # fmt: skip


def _edit_array(manifest, arrays, rng):
    if not arrays:
        arrays["X"] = np.zeros((1, 1))
    name = pick(rng, sorted(arrays))
    edit = pick(rng, _ARRAY_EDITS)
    before = arrays[name].shape
    story = edit(arrays, name, rng)
    return f"{edit.__name__[1:]} array {name} {before} {story}"


def _cast(arrays, name, rng):
    dtype = pick(rng, DTYPES)
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(dtype)
    return dtype


def _reshape(arrays, name, rng):
    array = arrays[name]
    if array.ndim == 0:
        arrays[name] = array[None].copy()
        return "to (1,)"
    shapes = [
        array.ravel(), array[None], array[..., None], array.T, array[:0], array[..., :0],
        array.ravel()[:1], array.ravel()[:1].reshape(() if array.size else (0,)),
        array[:1], array[:-1], array[..., 1:],
        np.concatenate([array, array]), np.concatenate([array, array], axis=-1),
        np.zeros((0, 0), array.dtype), np.zeros((3, 0), array.dtype),
        np.zeros((1,) * 8, array.dtype),
    ]  # fmt: skip
    arrays[name] = np.array(pick(rng, shapes))
    return str(arrays[name].shape)


def _poke(arrays, name, rng):
    """Set a few entries to numbers of all sizes."""
    array = arrays[name].copy()
    for _ in range(int(rng.integers(1, 4))):
        if array.size:
            array.flat[int(rng.integers(array.size))] = _entry(array.dtype, rng)
    arrays[name] = array
    return ""


def _fill(arrays, name, rng):
    number = _entry(arrays[name].dtype, rng)
    arrays[name] = np.full(arrays[name].shape, number, arrays[name].dtype)
    return str(number)


def _entry(dtype, rng):
    number = pick(rng, ENTRIES)
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return int(min(max(int(number), limits.min), limits.max))
    return bool(number) if dtype.kind == "b" else number


def _scale(arrays, name, rng):
    array = arrays[name]
    if array.dtype.kind == "f":
        factor = pick(rng, [-1.0, 0.0, 0.5, 2.0, 1.001, 1e-100, 1e100, 1e-310])
        with np.errstate(all="ignore"):
            arrays[name] = np.nan_to_num(array * factor)
    elif array.dtype.kind == "i":
        factor = pick(rng, [-1, 0, 2, 3, 1 << 10])
        arrays[name] = array * np.array(factor, array.dtype)
    else:
        factor = "not"
        arrays[name] = ~array
    return f"by {factor}"


def _shuffle(arrays, name, rng):
    array = arrays[name]
    if array.ndim:
        arrays[name] = rng.permutation(array, axis=int(rng.integers(array.ndim)))
    return ""


def _drop(arrays, name, rng):
    del arrays[name]
    return ""


def _copy(arrays, name, rng):
    """Put an array where another is, or where none should be."""
    names = ["X", "points", "weights", "sketch", "noisy", "inducing", "groups", "exposure"]
    other = pick(rng, [*names, "sketch_2", "noisy_2", "sketch_0", "kernel_0", "kernel_9", "y"])
    arrays[other] = arrays[name]
    return f"to {other}"


def _exchange(arrays, name, rng):
    other = pick(rng, sorted(arrays))
    arrays[name], arrays[other] = arrays[other], arrays[name]
    return f"and {other}"


_ARRAY_EDITS = [
    _cast, _reshape, _reshape, _poke, _poke, _fill, _scale, _shuffle, _drop, _copy, _exchange,
]  # fmt: skip
