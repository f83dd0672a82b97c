"""Linear algebra has one thread inside of every public entry, and as many as before outside."""

import functools
import inspect
import os
import random
import subprocess
import sys
import threading
from importlib import import_module

import matplotlib
import numpy as np
import pytest
from combine_cases import KERNEL, POINTS, heights, labels
from test_docstrings import PUBLIC, members
from threadpoolctl import ThreadpoolController, threadpool_info
from typer.testing import CliRunner

from cloakgp import PrivateGPRegressor, PrivateGridSearch, Release, private_bounds, threads
from cloakgp.cli.app import app
from cloakgp.errors import ReleaseFileError
from cloakgp.estimators.search.folds import plan_candidate
from cloakgp.gp import exact
from cloakgp.gp import linear as matrices
from cloakgp.threads import LARGE, one_thread, single_threaded, threads_for

matplotlib.use("agg")

MANY = 2
#: Public classes without linear algebra: what an entry is given, or returns to be looked at.
RESULTS = {"Check", "FitCheck", "Forecast", "PrivateBounds", "SignatureCheck"}
RESULTS |= {"Uncertainty", "VerificationReport", "Design", "Prior"}


@pytest.fixture(autouse=True)
def _many():
    """Set all libraries, whichever Python thread has set them before: some heed the first alone."""
    libraries = ThreadpoolController().lib_controllers
    before = [(library, library.num_threads) for library in libraries]
    for library in libraries:
        threads._set_threads(library, MANY)
    yield
    for library, number in before:
        threads._set_threads(library, number)


def numbers(api=None):
    """Return the numbers of threads that the loaded libraries would use."""
    pools = [pool for pool in threadpool_info() if api in (None, pool["user_api"])]
    # Some libraries bring an OpenBLAS that never has a second thread.
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") != "disabled"}


def family(cls):
    """Return a class and all that are made from it."""
    return {cls}.union(*(family(kind) for kind in cls.__subclasses__()))


def function_of(member):
    """Return the function behind a method or a property."""
    parts = (getattr(member, name, None) for name in ("fget", "func", "__func__", "fn"))
    return next((part for part in parts if part is not None), member)


def entries():
    """Return every public function, method and property that may do linear algebra, by name."""
    rooms = ("cloakgp.estimators.", "cloakgp.release.", "cloakgp.design.")
    public = [value for value in PUBLIC.values() if value.__module__.startswith(rooms)]
    classes = [value for value in public if isinstance(value, type)]
    found = {value.__name__: value for value in (*public, plan_candidate) if value not in classes}
    for cls in set().union(*map(family, classes)):
        for name in members(cls) if cls.__name__ not in RESULTS else ():
            function = function_of(inspect.getattr_static(cls, name))
            found[inspect.unwrap(function).__qualname__] = function
    return found


ENTRIES = entries()


class Reached(Exception):
    """The body of an entry is about to begin."""


def numbers_at(function):
    """Return the numbers of threads when the body of a function begins, which is then left."""
    body, found = inspect.unwrap(function).__code__, set()

    def watch(frame, event, _):
        if event == "call" and frame.f_code is body:
            found.update(numbers())
            raise Reached

    kinds = inspect.Parameter
    given = [p for p in inspect.signature(function).parameters.values() if p.default is kinds.empty]
    words = [None for p in given if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = {p.name: None for p in given if p.kind is kinds.KEYWORD_ONLY}
    sys.setprofile(watch)
    try:
        with pytest.raises(Reached):
            function(*words, **named)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_public_entry_has_one_thread_and_gives_the_others_back_even_if_it_fails(name):
    assert numbers() == {MANY}
    assert numbers_at(ENTRIES[name]) == {1}
    assert numbers() == {MANY}


def test_the_entries_are_found_and_one_that_is_not_guarded_is_caught():
    known = "Release.load PostProcessing.predict Plan.plot Plan.noise_std "
    known += "Plan.lost_within_places PrivateGP.fit PrivateGP.uncertainty "
    known += "PrivateGridSearch.fit PrivateGridSearch.plan "
    known += "PrivateGridSearch.predict_proba LabelRelease.predict_proba Combination.checked "
    known += "SearchPlan.chance bayes cells volume total worst"
    assert set(known.split()) <= set(ENTRIES)
    assert len(ENTRIES) > 100
    assert numbers_at(lambda self: None) == {MANY}


def test_a_class_is_guarded_whatever_its_members_are():
    @single_threaded
    class Thing:
        plain = 7
        kind = ValueError

        def method(self):
            return numbers()

        @classmethod
        def of_class(cls):
            return cls, numbers()

        @staticmethod
        def static():
            return numbers()

        @property
        def fact(self):
            """Say something."""
            return numbers()

        @threads.cached_property
        def kept(self):
            return numbers()

        def _inner(self):
            return numbers()

    thing = Thing()
    assert (thing.plain, thing.kind, Thing.fact.__doc__) == (7, ValueError, "Say something.")
    assert Thing.of_class() == (Thing, {1})
    assert thing.method() == Thing.static() == thing.fact == thing.kept == {1}
    assert vars(thing) == {"kept": {1}}
    assert thing._inner() == {MANY}


def story(folder):
    """Plan, search, release, save, load, read, draw, report, check and combine."""
    X = np.random.default_rng(0).uniform(0.0, 80.0, (40, 1))
    y = 100.0 + X[:, 0] / 2
    model = PrivateGPRegressor(bounds=(40, 200), inducing=8)
    private_bounds(y, [0.0, 50.0, 150.0, 200.0], epsilon=1.0)
    plan = model.plan(X)
    plan.plot()
    plan.required_epsilon(60.0)
    model.fit(X, y, plan=plan).predict(X, return_std=True)
    grid = {"inducing": [4, 8]}
    PrivateGridSearch(model, grid, epsilon=0.5, cv=2).fit(X, y).predict(X)
    for release in (heights(1, n=30), labels(1, n=30)):
        path = folder / f"{release.release_id}.cloakgp"
        release.save(path)
        loaded = Release.load(path)
        loaded.verify()
        loaded.predict_interval(X[:5])
        loaded.uncertainty(X[:5])
        loaded.check()
        assert len(loaded.hyperparameters)
        loaded.plot()
        loaded.report(folder / "page.html")
    release.predict_proba(X[:5])
    both = Release.combine([heights(1, n=30), heights(2, n=30)])
    both.sample_y(X[:5], 2)


@pytest.mark.slow
@pytest.mark.usefixtures("few_settings", "one_start")
def test_no_factor_and_no_k_means_of_a_whole_story_has_a_second_thread(tmp_path):
    libraries, found = ThreadpoolController().lib_controllers, {}
    inner = [os.path.dirname(inspect.getfile(import_module(name))) for name in ALGEBRA]
    inner.append(matrices.__file__)
    inside = functools.cache(lambda path: path in inner or os.path.dirname(path) in inner)

    def watch(frame, event, _):
        if event == "call" and inside(frame.f_code.co_filename):
            found.setdefault(frame.f_code.co_name, set()).update(
                library.num_threads for library in libraries
            )

    sys.setprofile(watch)
    try:
        story(tmp_path)
    finally:
        sys.setprofile(None)
    assert {"cholesky_solve", "cholesky", "eigh", "_kmeans_single_lloyd"} <= set(found)
    assert {name: threads for name, threads in found.items() if threads != {1}} == {}
    assert numbers() == {MANY}


def test_a_command_has_one_thread_whatever_it_does(tmp_path, monkeypatch):
    path = tmp_path / "heights.cloakgp"
    heights(1).save(path)
    seen = []

    def load(*args, **kwargs):
        seen.append(numbers())
        raise ReleaseFileError("enough")

    monkeypatch.setattr(Release, "load", load)
    assert "enough" in CliRunner().invoke(app, ["verify", str(path)]).output
    assert seen == [{1}]
    assert numbers() == {MANY}


ALGEBRA = ("numpy.linalg", "scipy.linalg", "sklearn.cluster._kmeans")


def test_entries_within_entries_set_and_lift_no_limit_and_look_for_no_library(monkeypatch):
    made = []

    class Counted(ThreadpoolController):
        def _load_libraries(self):
            made.append("scan")
            super()._load_libraries()

    def counted(library, number, change=threads._set_threads):
        made.append(number)
        change(library, number)

    monkeypatch.setattr(threads, "ThreadpoolController", Counted)
    monkeypatch.setattr(threads, "_found", None)
    monkeypatch.setattr(threads, "_set_threads", counted)
    libraries = len(ThreadpoolController().select(user_api="blas").lib_controllers)
    with one_thread():
        assert made == ["scan", *[1] * libraries]
        for _ in range(3):
            with one_thread():
                assert numbers() == {1}
            assert numbers() == {1}
        assert made == ["scan", *[1] * libraries]
    made.clear()
    with one_thread():
        pass
    lifted = [number for number in made[libraries:] if number != 1]  # some never have a second
    assert made[:libraries] == [1] * libraries
    assert len(made) == 2 * libraries
    assert set(lifted) == {MANY}
    assert numbers() == {MANY}


def _interrupted(right):
    raise KeyboardInterrupt if right else AssertionError


def test_a_large_matrix_has_the_threads_of_the_user_and_a_small_one_has_not():
    with threads_for(LARGE):
        assert numbers("blas") == {MANY}
    with one_thread():
        with threads_for(LARGE - 1):
            assert numbers("blas") == {1}
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt), threads_for(LARGE):
                _interrupted(numbers("blas") == {MANY})
            assert numbers() == {1}
    assert numbers() == {MANY}


def test_factors_of_large_matrices_and_draws_at_many_points_have_the_threads_of_the_user(
    monkeypatch,
):
    """Let a matrix of 40 rows be large: that of 60 people is, that of their sketch is not."""
    monkeypatch.setattr(threads, "LARGE", 40)
    seen = set()

    def watched(name, function):
        def run(K, *args, **kwargs):
            seen.update((name, len(K) >= 40, count) for count in numbers("blas"))
            return function(K, *args, **kwargs)

        return run

    for module, name in ((matrices, "cholesky"), (exact, "pivoted_cholesky"), (np.linalg, "eigh")):
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    release = heights(3, KERNEL, inducing=None)
    release.sample_y(np.linspace(0.0, 80.0, 40)[:, None], 2)
    release.sample_y(POINTS, 2)
    assert {(name, True, MANY) for name in ("cholesky", "pivoted_cholesky", "eigh")} <= seen
    assert {("cholesky", False, 1), ("eigh", False, 1)} == {each for each in seen if not each[1]}
    assert numbers() == {MANY}


def test_another_python_thread_that_is_inside_keeps_one_thread_even_beside_a_large_matrix():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_thread():
            inside.set()
            leave.wait(60)

    beside = threading.Thread(target=other)
    with one_thread():
        beside.start()
        assert inside.wait(60)
        with threads_for(LARGE):
            assert numbers("blas") == {1}
            leave.set()
            beside.join(60)
            assert numbers("blas") == {MANY}
        assert numbers() == {1}
    assert numbers() == {MANY}


def test_an_error_far_inside_gives_the_threads_back():
    @single_threaded
    def outer(depth):
        if not depth:
            raise KeyboardInterrupt
        outer(depth - 1)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            outer(3)
        assert numbers() == {MANY}


def test_the_last_python_thread_out_gives_blas_its_threads_back():
    """The first one in leaves first: were each to restore what it saw, one thread would stay."""
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def second():
        with ThreadpoolController().select(user_api="openmp").limit(limits=MANY):  # its own
            with one_thread():
                seen.append(numbers())
                inside.set()
                leave.wait(60)
                seen.append(numbers())
            seen.append(numbers("openmp"))

    other = threading.Thread(target=second)
    with one_thread():
        other.start()
        assert inside.wait(60)
    assert (numbers("blas"), numbers("openmp")) == ({1}, {MANY})
    leave.set()
    other.join(60)
    assert seen == [{1}, {1}, {MANY}]
    assert numbers() == {MANY}


def test_many_python_threads_that_come_and_go_leave_the_number_as_it_was():
    wrong = []

    def come_and_go(seed):
        rng, blas = random.Random(seed), ThreadpoolController().select(user_api="blas")
        for _ in range(50):
            with one_thread():
                os.sched_yield() if rng.random() < 0.5 else None
                wrong.extend(pool for pool in blas.info() if pool["num_threads"] != 1)

    crowd = [threading.Thread(target=come_and_go, args=(seed,)) for seed in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(60)
    assert wrong == []
    assert numbers() == {MANY}


LATER = """
import sys, numpy
from threadpoolctl import threadpool_info
from cloakgp.threads import one_thread
with one_thread():
    pass
before = len(threadpool_info())
assert not {"scipy", "sklearn"} & set(sys.modules)
with one_thread():
    import scipy.linalg, sklearn.cluster
    with one_thread():
        print({pool["num_threads"] for pool in threadpool_info()})
with one_thread():
    print(before < len(threadpool_info()), {pool["num_threads"] for pool in threadpool_info()})
print({pool["num_threads"] for pool in threadpool_info()})
"""


def test_libraries_that_are_loaded_later_and_whatever_the_environment_says_have_one_thread():
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(MANY))}
    done = subprocess.run(
        [sys.executable, "-c", LATER], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["{1}", "True {1}", f"{{{MANY}}}"]
