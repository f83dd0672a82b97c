"""Nothing of y stays behind: not in objects, pickles, files, texts, errors, logs or warnings.

The outputs are recognisable numbers. Whatever a fit leaves is searched for their bytes and digits,
for the scaled and quantised values, and for sums that have no noise yet. Chance finds of eight
given bytes among the random ones of a release are rarer than one in 10^12.
"""

import functools
import gc
import io
import logging
import pickle
import re
import struct
import sys
import traceback
import types
import warnings
import weakref
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reference import release_counts, release_labels
from reference import release_numbers as release_sketch
from sklearn.gaussian_process.kernels import RBF

import cloakgp
from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor
from cloakgp.privacy import Budget, Noise
from cloakgp.privacy.mechanism import release as core

pytestmark = pytest.mark.usefixtures("few_settings")

N = 40
X = np.random.default_rng(0).uniform(0, 10, (N, 2))
POINTS = np.random.default_rng(1).uniform(0, 10, (6, 2))
LO, HI = 0.0, 1.0e7
#: Irrational-looking numbers, and whole ones of seven digits.
FLOATS = 1.0e6 * np.sqrt(np.random.default_rng(2).uniform(2, 90, N))
WHOLE = np.round(FLOATS).astype(np.int64)


#: Sums are searched on the grid of the release that they are from.
BUDGET = Budget(1.0, 1e-05)
SILENT = Noise(rehearsal=lambda scale, count: np.zeros(count, dtype=np.int64))


# --- what to look for


def needles(y, sketch=None, budget=BUDGET):
    """Return (what, bytes) for everything that would betray y, a vector of outputs."""
    y = np.asarray(y)
    values = y.astype(np.float64)
    u = (values - LO) / (HI - LO)
    middle = 0.5 * (LO + HI)
    found = []

    def numbers(what, array):
        for v in np.ravel(array):
            found.append((what, struct.pack("<d", v)))
            found.append((what, struct.pack(">d", v)))  # as pickle writes a Python float

    numbers("an output", values)
    numbers("a scaled output", u)
    numbers("a centred output", values - middle)
    numbers("a statistic", [values.sum(), values.mean(), values.std(), values.var(), u.sum()])
    numbers("an extreme", [values.min(), values.max()])
    # Four given bytes are met by chance once in some hundred runs; eight are not.
    pairs = pairwise(values)
    found += [("single-precision outputs", struct.pack("<2f", *pair)) for pair in pairs]
    for bits in (16, 20, 24, 30, 32, 33, 36, 40):
        steps = np.rint(u * 2.0**bits).astype(np.int64)
        # Few bytes and many zeros are met by chance where a 1.0 follows any number: two in a row
        # are not.
        runs = [[v] for v in steps] if bits > 24 else pairwise(steps)
        packed = [struct.pack(f"<{len(run)}q", *run) for run in map(list, runs)]
        found += [(f"outputs in steps of 2^-{bits}", run) for run in packed]
    if y.dtype.kind == "i":
        found += [("a whole output", struct.pack("<q", v)) for v in y.tolist()]
        found += [("a pickled whole output", b"J" + struct.pack("<i", v)) for v in y.tolist()]
    digits = [str(v) if y.dtype.kind == "i" else repr(v)[:10] for v in y.tolist()]
    found += [("the digits of an output", text.encode()) for text in digits]
    found += [("the digits of a scaled output", repr(v)[:12].encode()) for v in u.tolist()]
    if sketch is not None:
        T = sketch.rounded
        numbers("a sum without noise", np.concatenate([T @ u, T @ values, T @ (values - middle)]))
        bare = release_sketch(
            sketch,
            values,
            (LO, HI),
            budget,
            noise=SILENT,
        )
        found += [("a whole sum without noise", struct.pack("<q", v)) for v in bare.values.tolist()]
    return found


def search(data, wanted):
    """Return what was found in some bytes or text."""
    data = data.encode() if isinstance(data, str) else bytes(data)
    needles = {needle for _, needle in wanted}
    # A needle can only lie where its first bytes do, and few of those are met.
    begun = runs(data, {needle[:8] for needle in needles if len(needle) >= 8}, 8)
    begun |= runs(data, {needle[:4] for needle in needles if 4 <= len(needle) < 8}, 4)
    likely = {n for n in needles if len(n) < 4 or n[: 8 if len(n) >= 8 else 4] in begun}
    found = {needle for needle in likely if _occurs(needle, data)}
    return sorted({what for what, needle in wanted if needle in found})


def _occurs(needle, data):
    """Seven digits are met by chance within longer numbers; a number of its own is not."""
    if not needle.isdigit():
        return needle in data
    return re.search(rb"(?<![\d.])" + needle + rb"(?!\d)", data) is not None


def runs(data, wanted, size):
    """Return which runs of four or eight bytes occur in the data, wherever they begin."""
    keys = np.frombuffer(b"".join(sorted(wanted)), dtype=f"<u{size}")
    possible = np.zeros(1 << 16, dtype=bool)
    possible[_folded(keys)] = True
    found = set()
    for start in range(min(size, len(data))):
        end = start + (len(data) - start) // size * size
        words = np.frombuffer(data[start:end], dtype=f"<u{size}")
        found |= {word.tobytes() for word in np.intersect1d(words[possible[_folded(words)]], keys)}
    return found


def _folded(words):
    """Return sixteen bits of each word, which are the same for the same word."""
    half = words ^ (words >> 16)
    return (half ^ (half >> 32) if words.itemsize == 8 else half) & 0xFFFF


@pytest.mark.parametrize("size", [4, 8])
def test_the_search_finds_runs_of_bytes_wherever_they_begin(size):
    data = np.random.default_rng(4).bytes(1000)
    there = {data[start : start + size] for start in range(1001 - size)}
    assert runs(data, there | {b"not here"[:size]}, size) == there
    assert runs(data[: size - 1], there, size) == runs(b"", there, size) == set()
    assert runs(data, set(), size) == set()


def test_the_search_finds_needles_of_every_length_and_no_others():
    data = np.random.default_rng(5).integers(0, 4, 3000, dtype=np.uint8).tobytes()
    there = [data[start : start + size] for size in range(1, 25) for start in (0, 999, 3000 - size)]
    near = [needle[:-1] + b"x" for needle in there] + [needle + b"x" for needle in there]
    for needle in there:
        assert search(data, [("it", needle), ("not it", b"nowhere"), ("nor", b"nowhere at all")])
    assert search(data, [("near it", needle) for needle in near]) == []


# --- where to look


def reachable(*roots):
    """Yield every object that can be reached from the roots, classes and modules left out."""
    seen, waiting = set(), list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type | types.ModuleType | types.FrameType):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, types.FunctionType):
            # Its globals are the whole world; what it closes over is its own.
            waiting += [*(item.__closure__ or ()), item.__defaults__, item.__kwdefaults__]
            waiting.append(item.__dict__)
        elif isinstance(item, np.ndarray):
            waiting.append(item.base)
            waiting += item.ravel().tolist() if item.dtype == object else []
            waiting.append(getattr(item, "__dict__", None))
        else:
            waiting += gc.get_referents(item)
            waiting.append(getattr(item, "__dict__", None))


def contents(*roots):
    """Return the raw bytes of all numbers, arrays and texts that can be reached."""
    out = io.BytesIO()
    for item in reachable(*roots):
        if isinstance(item, np.ndarray | np.generic) and item.dtype != object:
            out.write(item.tobytes())
        elif isinstance(item, bytes | bytearray):
            out.write(item)
        elif isinstance(item, str):
            out.write(item.encode("utf-8", "replace"))
        elif isinstance(item, float):
            out.write(struct.pack("<d", item))
        elif isinstance(item, int) and abs(item) < 1 << 62:
            out.write(struct.pack("<q", item))
    return out.getvalue()


def pickled(item):
    """Pickle, with functions that cannot be pickled left out."""
    try:
        return pickle.dumps(item)
    except (AttributeError, TypeError, pickle.PicklingError):
        return b""


def everything(model, folder):
    """Yield (place, bytes or text) for all that a fitted estimator leaves behind."""
    release = model.release_
    release.save(folder / "release.zip")
    release.latent(POINTS, return_cov=True)
    table = release.to_frame(POINTS)
    modules = [m for name, m in sys.modules.items() if name.split(".")[0] == "cloakgp"]
    yield "objects", contents(model)
    yield "pickle of the estimator", pickled(model)
    yield "pickle of the release", pickled(release)
    yield "pickle of the noisy sketch", pickled(release.noisy)
    texts = [repr(model), str(model), repr(release), release.verify(), vars(release)]
    yield "texts", "".join(map(str, texts))
    yield "statement", release.statement()
    yield "what was learnt", release.hyperparameters.to_csv(float_format="%.17g")
    yield "check", repr(release.check()) if release.facts.decode == "bayes" else ""
    yield "html", model._repr_html_()
    yield "file", (folder / "release.zip").read_bytes()
    yield "table", table.to_csv(float_format="%.17g")
    drawn = release.predict(POINTS), release.sample_y(POINTS, 3), table.values
    yield "predictions", contents(*drawn)
    ends = (release.predict_interval(POINTS, of=of) for of in ("curve", "person"))
    yield "intervals", contents(*ends)
    yield "modules", contents(*(vars(m) for m in modules))


def found_in(places, wanted):
    """Yield every (place, what) that is found, as soon as it is."""
    return ((place, what) for place, data in places for what in search(data, wanted))


def all_leaks(model, y, folder):
    """Yield every (place, what) in which y was found."""
    wanted = needles(y, model.release_.sketch, model.release_.spec.budget)
    return found_in(everything(model, folder), wanted)


def leaks(model, y, folder):
    """Return every (place, what) in which y was found."""
    return list(all_leaks(model, y, folder))


CASES = {
    "floats": ({}, FLOATS, {}),
    "fixed": ({"learn": False}, FLOATS, {}),
    "free": ({"kernel": 1e12 * RBF(3.0), "learn": True}, FLOATS, {}),
    "sparse": ({"inducing": 5}, FLOATS, {}),
    "dtc": ({"inducing": 5, "approximation": "dtc", "learn": False}, FLOATS, {}),
    "paper": ({"design": "volume", "decode": "direct", "calibration": "hall"}, FLOATS, {}),
    "total": ({"design": "total"}, FLOATS, {"at": POINTS}),
    "worst": ({"design": "worst", "kernel": 1e12 * RBF(3.0)}, WHOLE, {}),
    "groups": ({}, FLOATS, {"groups": np.arange(N) // 4}),
    "most budget": ({"epsilon": 50.0}, FLOATS, {}),
    "least budget": ({"epsilon": 1e-4}, FLOATS, {}),
}
#: What is learnt comes from s alone, whatever y came in: these have a fixed prior, a smaller heap.
CONTAINERS = {
    "whole numbers": WHOLE,
    "a list": FLOATS.tolist(),
    "whole numbers in a list": WHOLE.tolist(),
    "single precision": FLOATS.astype(np.float32),
    "pandas": pd.Series(FLOATS, name="income"),
    "pandas with labels": pd.Series(FLOATS, index=["name", "columns", *range(N - 2)]),
    "polars": pl.Series("income", FLOATS),
    "arrow": pa.chunked_array([FLOATS]),
}
CASES |= {name: ({"learn": False}, y, {}) for name, y in CONTAINERS.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_leaves_nothing_of_its_outputs(case, tmp_path):
    options, y, data = CASES[case]
    model = PrivateGPRegressor(bounds=(LO, HI), **options).fit(X, y, **data)
    assert model.release_.private
    assert leaks(model, np.asarray(y), tmp_path) == []


TABLES = {
    "numpy": lambda table: table,
    "pandas": lambda table: pd.DataFrame(table, columns=["income", "rent"]),
    "polars": lambda table: pl.DataFrame(table, schema=["income", "rent"]),
    "arrow": lambda table: pa.table({"income": table[:, 0], "rent": table[:, 1]}),
    "lists": lambda table: table.tolist(),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("whole", [False, True])
def test_a_fit_of_several_outputs_leaves_nothing_of_them(kind, whole, tmp_path):
    table = np.column_stack([FLOATS, FLOATS[::-1]])
    table = np.round(table).astype(np.int64) if whole else table
    learn = "auto" if kind == "numpy" and not whole else False
    model = PrivateGPRegressor(bounds=(LO, HI), learn=learn).fit(X, TABLES[kind](table))
    places = list(everything(model, tmp_path))
    for column in table.T:
        wanted = needles(column, model.release_.sketch, model.release_.spec.budget)
        assert list(found_in(places, wanted)) == []


@pytest.mark.parametrize("name", ["columns", "column_names", "name", "shape_", "dtypes_"])
def test_a_column_with_an_awkward_name_is_not_taken_for_names(name, tmp_path):
    table = pd.DataFrame({name: [repr(v) for v in FLOATS.tolist()], "rent": FLOATS[::-1]})
    for frame in (table, table[[name]]):
        model = PrivateGPRegressor(bounds=(LO, HI), learn=False).fit(X, frame)
        assert leaks(model, FLOATS, tmp_path) == []


def test_planning_beside_a_fit_leaves_nothing(tmp_path):
    model = PrivateGPRegressor(bounds=(LO, HI)).fit(X, FLOATS)
    plan = model.plan(X)
    wanted = needles(FLOATS, plan.sketch, plan.spec.budget)
    texts = f"{plan} {plan!r} {plan.to_dict()} {plan.to_frame().to_csv()}"
    for data in (contents(plan), pickled(plan), texts):
        assert search(data, wanted) == []


# --- the search finds what is planted


def quantised(y):
    return np.rint((y - LO) / (HI - LO) * 2.0**32).astype(np.int64)


PLANTED = {
    "an attribute": lambda m, y: setattr(m, "secret_", y.copy()),
    "one value": lambda m, y: setattr(m, "secret_", float(y[7])),
    "a list": lambda m, y: setattr(m, "secret_", y.tolist()),
    "a view": lambda m, y: setattr(m, "secret_", y[:3][:0]),
    "deep inside": lambda m, y: setattr(m.release_.facts.model, "cache", {"u": [(y,)]}),
    "scaled": lambda m, y: setattr(m, "secret_", (y - LO) / (HI - LO)),
    "centred": lambda m, y: setattr(m, "secret_", y - 0.5 * (LO + HI)),
    "quantised": lambda m, y: setattr(m, "secret_", quantised(y)),
    "half precision": lambda m, y: setattr(m, "secret_", y.astype(np.float32)),
    "a closure": lambda m, y: setattr(m, "hook", lambda: y),
    "a default": lambda m, y: setattr(m, "hook", lambda value=y: value),
    "a partial": lambda m, y: setattr(m, "hook", functools.partial(len, y)),
    "an object array": lambda m, y: setattr(m, "secret_", np.array([y, None], dtype=object)),
    "the mean": lambda m, y: setattr(m, "secret_", float(y.mean())),
    "the largest": lambda m, y: setattr(m, "secret_", float(y.max())),
    "a text": lambda m, y: setattr(m, "secret_", f"fitted on {y[3]}"),
    "sums without noise": lambda m, y: setattr(
        m, "secret_", m.release_.sketch.rounded @ ((y - LO) / (HI - LO))
    ),
    "a name of an output": lambda m, y: object.__setattr__(
        m.release_, "target_names", (str(y[5]),)
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_the_search_finds_a_planted_leak(case, tmp_path):
    y = FLOATS.copy()
    model = PrivateGPRegressor(bounds=(LO, HI), learn=False).fit(X, y)
    PLANTED[case](model, y)
    assert any(all_leaks(model, FLOATS, tmp_path))  # one is enough


@pytest.mark.parametrize(
    "plant",
    [
        lambda m, y: object.__setattr__(m.release_, "target_names", (str(y[5]),)),
        lambda m, y: object.__setattr__(m.release_, "status", f"certified at {y[5]}"),
        lambda m, y: object.__setattr__(m.release_, "gap", float(y[5])),
    ],
)
def test_the_search_finds_a_planted_leak_in_the_file(plant, tmp_path):
    model = PrivateGPRegressor(bounds=(LO, HI)).fit(X, WHOLE)
    plant(model, WHOLE)
    model.release_.save(tmp_path / "release.zip")
    assert search((tmp_path / "release.zip").read_bytes(), needles(WHOLE))


def test_the_search_finds_a_planted_leak_in_a_module(monkeypatch, tmp_path):
    model = PrivateGPRegressor(bounds=(LO, HI)).fit(X, FLOATS)
    monkeypatch.setattr(cloakgp.release.plan, "CACHE", {1: FLOATS}, raising=False)
    assert ("modules", "an output") in leaks(model, FLOATS, tmp_path)


# --- errors, logs and warnings


def with_hole(hole):
    y = FLOATS.copy()
    y[11] = hole
    return y


class Stubborn:
    """Outputs whose conversion fails with an error that quotes them."""

    shape = (N,)

    def __array__(self, dtype=None, copy=None):
        raise ValueError(f"cannot convert {FLOATS.tolist()}")


BAD_OUTPUTS = {
    "missing": with_hole(np.nan),
    "infinite": with_hole(np.inf),
    "text": [f"{v!r} euro" for v in FLOATS.tolist()],
    "text among numbers": [*FLOATS.tolist()[:-1], "unknown"],
    "nothing among numbers": [*FLOATS.tolist()[:-1], None],
    "too few": FLOATS[:-1],
    "too many": np.append(FLOATS, FLOATS[:3]),
    "a row": FLOATS[None, :],
    "ragged": [[v] * (1 + i % 2) for i, v in enumerate(FLOATS.tolist())],
    "a cube": FLOATS.reshape(N, 1, 1),
    "a mapping": dict(enumerate(FLOATS.tolist())),
    "missing in pandas": pd.Series([*WHOLE[:-1].tolist(), None], dtype="Int64"),
    "missing in polars": pl.Series("income", [*FLOATS.tolist()[:-1], None]),
    "missing in arrow": pa.array([*FLOATS.tolist()[:-1], None]),
    "text in a frame": pd.DataFrame({"income": [f"{v!r}" for v in FLOATS[:-1].tolist()] + ["?"]}),
    "stubborn": Stubborn(),
    "categories": pd.Categorical([f"{v!r} euro" for v in FLOATS.tolist()]),
    "dates": pd.to_datetime(WHOLE, unit="s").astype(object),
    "complex text": np.array([f"{v!r}+0j?" for v in FLOATS.tolist()], dtype=object),
}


def chain(error):
    """Return an error with everything that hangs on it."""
    found = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def words_of(error):
    """Return all that an error can show: its whole chain as text, its arguments, its notes."""
    texts = ["".join(traceback.format_exception(error))]
    for one in chain(error):
        texts += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ""))]
    return "".join(texts)


@pytest.mark.parametrize("case", BAD_OUTPUTS)
def test_no_error_log_or_warning_shows_an_output(case, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    model = PrivateGPRegressor(bounds=(LO, HI))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError)) as caught:
            model.fit(X, BAD_OUTPUTS[case])
    wanted = needles(FLOATS) + needles(WHOLE)
    printed = "".join(capfd.readouterr())
    for text in (words_of(caught.value), caplog.text, printed, "".join(map(str, warned))):
        assert search(text, wanted) == []
    assert not hasattr(model, "release_")
    assert search(contents(model), wanted) == []


@pytest.fixture
def broken(monkeypatch):
    """OpenDP fails, and quotes what it was given."""

    def make(*args, **kwargs):
        def measure(values):
            raise RuntimeError(f"overflow in {values}")

        return measure

    monkeypatch.setattr("cloakgp.privacy.mechanism.noise.make_gaussian", make)
    monkeypatch.setattr("cloakgp.privacy.mechanism.laplace.make_laplace", make)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_an_error_inside_the_core_shows_no_output(mechanism):
    model = PrivateGPRegressor(bounds=(LO, HI), mechanism=mechanism)
    plan = model.plan(X)
    with pytest.raises(RuntimeError, match="nothing was released") as caught:
        model.fit(X, FLOATS)
    wanted = needles(FLOATS, plan.sketch, plan.spec.budget)
    assert search(words_of(caught.value), wanted) == []
    assert not hasattr(model, "release_")


def test_a_good_fit_logs_prints_and_warns_of_nothing(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PrivateGPRegressor(bounds=(LO, HI)).fit(X, FLOATS)
        model.predict(X)
    assert caplog.records == []
    assert "".join(capfd.readouterr()) == ""


def test_a_rehearsal_warns_without_showing_an_output():
    model = PrivateGPRegressor(bounds=(LO, HI), random_state=0)
    with pytest.warns(cloakgp.NotPrivateWarning) as warned:
        model.fit(X, FLOATS)
    assert search("".join(str(w.message) for w in warned), needles(FLOATS)) == []


@pytest.mark.parametrize(
    "raiser",
    [
        lambda v: ValueError(f"bad output {v!r}"),
        lambda v: KeyError(v),
    ],
)
def test_the_search_finds_an_output_in_the_chain_of_an_error(raiser):
    wanted = needles(FLOATS)

    def fail(hide):
        try:
            raise raiser(float(FLOATS[4]))
        except (ValueError, KeyError):
            if hide:
                raise ValueError("y is bad") from None
            raise ValueError("y is bad")  # noqa: B904

    for hide in (False, True):  # "from None" hides the context from print, not from a debugger
        with pytest.raises(ValueError, match="y is bad") as caught:
            fail(hide)
        assert search(words_of(caught.value), wanted)


# --- nobody holds on to y


class Watched(np.ndarray):
    """An array that can be watched as it disappears."""


@pytest.mark.parametrize("options", [{}, {"inducing": 5}, {"decode": "direct"}], ids=str)
def test_no_object_refers_to_the_outputs_after_a_fit(options):
    y = FLOATS.copy().view(Watched)
    watch = weakref.ref(y)
    model = PrivateGPRegressor(bounds=(LO, HI), **options).fit(X, y)
    assert not any(item is y for item in reachable(model))
    del y
    gc.collect()
    assert watch() is None
    assert model.predict(POINTS).shape == (6,)


def test_a_reference_that_is_kept_is_noticed():
    y = FLOATS.copy().view(Watched)
    watch = weakref.ref(y)
    model = PrivateGPRegressor(bounds=(LO, HI)).fit(X, y)
    model.secret_ = [y[:5]]
    assert any(item is y for item in reachable(model))
    del y
    gc.collect()
    assert watch() is not None


def test_outputs_are_read_once_and_by_the_core_alone():
    core = Path(cloakgp.__file__).parent / "privacy" / "mechanism"
    readers = []

    class Recorded:
        """Outputs that note which file of the library reads them."""

        shape, ndim = (N,), 1

        def __array__(self, dtype=None, copy=None):
            frame, package = sys._getframe(1), str(Path(cloakgp.__file__).parent)
            while frame is not None and not frame.f_code.co_filename.startswith(package):
                frame = frame.f_back
            readers.append(frame.f_code.co_filename if frame else "somebody else")
            return np.asarray(FLOATS, dtype=dtype)

    model = PrivateGPRegressor(bounds=(LO, HI)).fit(X, Recorded())
    assert model.release_.private
    assert [Path(reader).parent for reader in readers] == [core]


def test_outputs_are_not_changed_by_a_fit():
    y = FLOATS.copy()
    PrivateGPRegressor(bounds=(LO, HI)).fit(X, y)
    np.testing.assert_array_equal(y, FLOATS)


# --- labels and counts

#: What each person's label is, is private; which labels there are is not.
CODES = np.random.default_rng(3).integers(0, 3, N)
NAMES = np.array(["low", "middle", "high"])


def label_needles(codes, names, sketch=None, budget=BUDGET):
    """Return (what, bytes) for everything that would betray labels, in whatever order."""
    found = []
    halves = (codes, codes[: N // 2], codes[N // 2 :])
    for kind in ("i1", "i2", "<i4", "<i8", "<f4", "<f8"):
        found += [("codes of labels", np.asarray(run, dtype=kind).tobytes()) for run in halves]
        for c in range(len(names)):
            runs = [np.asarray(run == c, dtype=kind) for run in halves]
            found += [("an indicator", run.tobytes()) for run in runs]
    labels = names[codes]
    found += [("labels", names[run].tobytes()) for run in halves]
    for between in ("", ",", ", ", "', '", "\\n", "\n"):
        found.append(("labels as text", between.join(map(str, labels[:12])).encode()))
    if sketch is not None:
        bare = release_labels(
            sketch,
            labels,
            names,
            budget,
            noise=SILENT,
        )
        # Sums of 0 and 1 times multiples of 2^-20 have three bytes that tell something, and so may
        # be met by chance; two of them beside each other are not.  Numbers of people are small:
        # as many of them as there are cells are not.
        steps = (1 << sketch.bits) // np.gcd.reduce(sketch.matrix, axis=None)
        size = 2 if steps > 1000 else len(bare.s)
        for order in "CF":
            for what, sums in (("a sum", bare.s), ("a whole sum", bare.values)):
                flat = sums.ravel(order)
                begun = [flat[i : i + size] for i in range(max(len(flat) - size + 1, 1))]
                told = [run for run in begun if size > 2 or np.all(run)]
                found += [(f"{what} without noise", run.tobytes()) for run in told]
    return found


def all_label_leaks(model, codes, names, folder):
    sketches, budget = [part.sketch for part in model.release_.parts], model.release_.spec.budget
    wanted = [n for sketch in sketches for n in label_needles(codes, names, sketch, budget)]
    return found_in(everything(model, folder), wanted)


def label_leaks(model, codes, names, folder):
    return list(all_label_leaks(model, codes, names, folder))


@pytest.fixture
def never_zero(monkeypatch):
    """Noise on numbers of people is often 0; here it is not, so that no sum is met by chance."""

    def add(total, scale, draw=core.add_discrete_laplace):
        return total + 1 + np.abs(draw(0 * total, scale))

    monkeypatch.setattr(core, "add_discrete_laplace", add)


LABEL_CASES = {
    "three": ({}, lambda y: y, {}),
    "gaussian": ({"mechanism": "gaussian"}, lambda y: y, {}),
    "iterations": ({"iterations": 3}, lambda y: y, {}),
    "public": ({"classes": "public"}, lambda y: y, {}),
    "sparse": ({"inducing": 5, "design": "total"}, lambda y: y, {"at": POINTS}),
    "groups": ({}, lambda y: y, {"groups": np.arange(N) // 4}),
    "a list": ({}, list, {}),
    "objects": ({}, lambda y: y.astype(object), {}),
    "pandas": ({}, lambda y: pd.Series(y, name="grade"), {}),
    "categories": ({}, lambda y: pd.Series(y, dtype="category"), {}),
    "polars": ({}, lambda y: pl.Series("grade", y), {}),
}


@pytest.mark.usefixtures("never_zero")
@pytest.mark.parametrize(
    ("case", "count"), [*((case, 3) for case in LABEL_CASES), ("iterations", 2), ("public", 2)]
)
def test_a_fit_leaves_nothing_of_its_labels(case, count, tmp_path):
    options, container, data = LABEL_CASES[case]
    names, codes = np.sort(NAMES[:count]), CODES % count
    options = {"classes": names.tolist(), **options}
    model = PrivateGPClassifier(16.0 * RBF(3.0), **options).fit(X, container(names[codes]), **data)
    assert model.release_.private
    assert label_leaks(model, codes, names, tmp_path) == []


def test_a_fit_of_the_papers_steps_leaves_nothing_of_its_labels(tmp_path):
    names, codes = np.array(["no", "yes"]), CODES % 2
    model = PrivateGPClassifier(
        16.0 * RBF(3.0),
        classes=["no", "yes"],
        design="volume",
        decode="direct",
        target="latents",
        calibration="hall",
        iterations=2,
    ).fit(X, names[codes])
    assert label_leaks(model, codes, names, tmp_path) == []


PLANTED_LABELS = {
    "labels": lambda m, codes, names: setattr(m, "secret_", names[codes]),
    "codes": lambda m, codes, names: setattr(m, "secret_", codes.copy()),
    "one column of them": lambda m, codes, names: setattr(m, "secret_", (codes == 1) * 1.0),
    "bools": lambda m, codes, names: setattr(m, "secret_", codes == 2),
    "a text": lambda m, codes, names: setattr(m, "secret_", f"fitted on {names[codes].tolist()}"),
    "sums": lambda m, codes, names: setattr(
        m, "secret_", m.release_.sketch.rounded @ np.eye(3)[codes]
    ),
    "a name": lambda m, codes, names: object.__setattr__(
        m.release_, "target_names", ("".join(names[codes]),)
    ),
}


@pytest.mark.usefixtures("never_zero")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("case", PLANTED_LABELS)
def test_the_search_finds_planted_labels(case, mechanism, tmp_path):
    names = np.sort(NAMES)
    model = PrivateGPClassifier(16.0 * RBF(3.0), classes=names.tolist(), mechanism=mechanism)
    model.fit(X, names[CODES])
    if case == "labels":  # the same fit in all cases
        assert label_leaks(model, CODES, names, tmp_path) == []
    PLANTED_LABELS[case](model, CODES, names)
    assert any(all_label_leaks(model, CODES, names, tmp_path))


COUNT_CASES = {
    "plain": ({}, WHOLE, {}),
    "iterations": ({"iterations": 2}, WHOLE, {}),
    "exposure": ({"inducing": 5}, WHOLE, {"exposure": np.linspace(1.0, 3.0, N)}),
    "groups": ({}, WHOLE, {"groups": np.arange(N) // 4}),
    "a list": ({}, WHOLE.tolist(), {}),
    "pandas": ({}, pd.Series(WHOLE, name="incidents"), {}),
    "polars": ({}, pl.Series("incidents", WHOLE), {}),
}


def count_needles(counts, sketch, budget):
    """Return the sums of counts on the grid of their release: whole numbers, if cells are hard."""
    bare = release_counts(sketch, counts, HI, budget, noise=SILENT)
    return [("a whole sum without noise", struct.pack("<q", v)) for v in bare.values.tolist()]


@pytest.mark.parametrize("case", COUNT_CASES)
def test_a_fit_leaves_nothing_of_its_counts(case, tmp_path):
    options, y, data = COUNT_CASES[case]
    model = PrivateGPCountRegressor(1.0 * RBF(3.0), cap=HI, **options).fit(X, y, **data)
    assert model.release_.private
    places = list(everything(model, tmp_path))
    for part in model.release_.parts:
        wanted = needles(WHOLE, part.sketch)
        wanted += count_needles(WHOLE, part.sketch, model.release_.spec.budget)
        assert list(found_in(places, wanted)) == []


SECRETS = [f"secret{v}" for v in WHOLE.tolist()]
BAD_LABELS = {
    "unknown": SECRETS,
    "one unknown": [*NAMES[CODES[:-1]].tolist(), SECRETS[0]],
    "one missing": [*SECRETS[:-1], None],
    "numbers": WHOLE,
    "mixed": [*SECRETS[:-1], 3],
    "too few": SECRETS[:-1],
    "a table": np.column_stack([SECRETS, SECRETS]),
    "ragged": [[label] * (1 + i % 2) for i, label in enumerate(SECRETS)],
    "stubborn": Stubborn(),
    "categories": pd.Categorical(SECRETS),
    "polars": pl.Series("grade", SECRETS),
    "bytes": np.array(SECRETS, dtype="S"),
    "dates": pd.to_datetime(WHOLE, unit="s"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_no_error_log_or_warning_shows_a_label_or_count(case, kind, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    y = BAD_LABELS[case]
    if kind == "counts" and case in ("numbers", "dates"):  # these are counts, if large ones
        y = -WHOLE if case == "numbers" else y.astype(object)
    model = (
        PrivateGPClassifier(classes=NAMES.tolist())
        if kind == "labels"
        else PrivateGPCountRegressor(cap=1000)
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises((ValueError, TypeError)) as caught:
            model.fit(X, y)
    wanted = [("a label", label.encode()) for label in SECRETS] + needles(WHOLE) + needles(FLOATS)
    printed = "".join(capfd.readouterr())
    for text in (words_of(caught.value), caplog.text, printed, "".join(map(str, warned))):
        assert search(text, wanted) == []
    assert not hasattr(model, "release_")
    assert search(contents(model), wanted) == []


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_an_error_inside_the_core_shows_no_label_or_count(kind, mechanism):
    names = np.sort(NAMES)
    model, y = (
        (PrivateGPClassifier(classes=names.tolist(), mechanism=mechanism), names[CODES])
        if kind == "labels"
        else (PrivateGPCountRegressor(cap=HI, mechanism=mechanism), WHOLE)
    )
    plan = model.plan(X)
    sketch, budget = plan.sketch, plan.spec.budget
    wanted = (
        label_needles(CODES, names, sketch, budget)
        if kind == "labels"
        else needles(WHOLE, sketch) + count_needles(WHOLE, sketch, budget)
    )
    with pytest.raises(RuntimeError, match="nothing was released") as caught:
        model.fit(X, y)
    assert search(words_of(caught.value), wanted) == []
    assert not hasattr(model, "release_")


@pytest.mark.parametrize("iterations", [1, 2])
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_no_object_refers_to_labels_or_counts_after_a_fit(kind, iterations):
    y = (CODES.copy() if kind == "labels" else WHOLE.copy()).view(Watched)
    watch = weakref.ref(y)
    model = (
        PrivateGPClassifier(classes=[0, 1, 2], iterations=iterations)
        if kind == "labels"
        else PrivateGPCountRegressor(cap=HI, iterations=iterations)
    ).fit(X, y)
    model.predict(POINTS)
    assert not any(item is y for item in reachable(model))
    del y
    gc.collect()
    assert watch() is None
