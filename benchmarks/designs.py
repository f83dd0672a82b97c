"""How fast and how good the designs are: ours, the paper's gradient descent, and CVXPY.

    python benchmarks/designs.py [--quick] [--markdown FILE]

Seconds are those of processors, with one thread; what was measured is kept in build/bench, so that
an interrupted run goes on.  All methods get one workload, and one function measures what each of
them reaches: its sketch T is scaled until its longest column is 1, and M = A Aᵀ with A = C T⁺ is
the noise it leaves.  The paper's data come from CLOAKGP_DATA or a download.  CVXPY is optional: it
is in the extra bench.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gradient_descent
import numpy as np
from kept import busy, in_a_process, kept
from numpy.typing import NDArray
from rich.console import Console
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from tables import Table, duration, exponent, verdict
from threadpoolctl import threadpool_limits

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import fetch_kung
from cloakgp.design import Design, Prior, bayes, total, volume, worst
from cloakgp.design.bayes.blocks import columns_of
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.lbfgs import solve_lbfgs
from cloakgp.design.bayes.problem import BlockedPrior, DenseProblem
from cloakgp.design.workload import row_space
from cloakgp.privacy.mechanism.calibration import gaussian_sigma

Array = NDArray[np.float64]

# The paper's first experiment: lengthscale (years), noise variance, budget, and bounds: 100 cm
# wide, on heights that are in units of their standard deviation, 27.6 cm.
LENGTHSCALE, NOISE, EPSILON, DELTA, BOUNDS_CM, UNIT_CM = 25.0, 0.3, 1.0, 0.01, 100.0, 27.6
WIDTH = BOUNDS_CM / UNIT_CM
#: The synthetic crowd: lengthscale, inducing and workload points, oldest age.
CROWD_LENGTHSCALE, INDUCING, POINTS, OLDEST = 20.0, 20, 20, 100.0
#: Inducing inputs of short lengthscales, and of plans for more people than MOST_EXACT.
MANY_INDUCING, MOST_EXACT = 50, 1000
#: A budget under which little noise is added: short lengthscales are tried with it, too.
LOUD = 50.0

DESIGNS: dict[str, Callable[..., Design]] = {"volume": volume, "total": total, "worst": worst}
FASTER_THAN_CVXPY, FASTER_THAN_DESCENT, QUIETER_THAN_VOLUME = 10.0, 500.0, 2.0
#: Processor seconds to load libraries and make a problem.
START_SECONDS = 60.0
#: Short runs are repeated for so many seconds and timed together.
IN_A_ROW = 0.1
#: Objectives closer than this, the certificate asked for, count as equal.
EQUAL = 1e-6


@dataclass(frozen=True)
class Effort:
    """How much to run."""

    workloads: tuple[str, ...] = ("20 ages", "100 ages", "random 30 × 300")
    people: tuple[int, ...] = (300, 30_000, 1_000_000)
    growing: tuple[str, ...] = ("volume", "total", "worst", "bayes")
    epsilons: tuple[float, ...] = (0.1, 3.0, 50.0)  # 1 is in the growth table
    lengthscales: tuple[float, ...] = (2.0, 5.0, 10.0)
    crowds: tuple[int, ...] = (300, 30_000)  # of the short lengthscales
    planned: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)  # plans with default settings
    descended: tuple[int, ...] = (300, 3_000, 30_000)  # crowds for the solver of 0.1.0
    repeats: int = 25
    repeat_seconds: float = 1.0  # no more repeats after this
    pairs: int = 15  # of ours and Clarabel, one after the other
    pair_seconds: float = 4.0  # no more pairs after this
    clarabel_seconds: float = 300.0
    descent_seconds: float = 60.0
    growth_seconds: float = 400.0
    timed_iterations: int = 50


QUICK = Effort(
    workloads=("20 ages",),
    people=(300,),
    growing=("total", "bayes"),
    epsilons=(10.0,),
    lengthscales=(10.0,),
    crowds=(300,),
    planned=(1_000,),
    descended=(300,),
    repeats=5,
    repeat_seconds=0.3,
    pairs=3,
    pair_seconds=1.0,
    clarabel_seconds=20.0,
    descent_seconds=2.0,
    growth_seconds=20.0,
    timed_iterations=10,
)


# ------------------------------------------------------------------------------------- workloads


@dataclass(frozen=True)
class Workload:
    """A workload C = U diag(size) V; V (r, N) has orthonormal rows."""

    name: str
    C: Array

    @cached_property
    def reduced(self) -> tuple[Array, Array]:
        _, size, V = row_space(self.C)
        return size, V

    @cached_property
    def distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return one person for each distinct column, and who is like whom."""
        keys = np.round(self.C.T / np.abs(self.C).max(), 10) + 0.0
        _, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first, member.ravel()

    def noise_root(self, T: Array) -> Array:
        """Return R (r, r) with M = U R Rᵀ Uᵀ, the noise of the sketch T made feasible."""
        size, V = self.reduced
        T = T / np.sqrt(np.einsum("ri,ri->i", T, T).max())
        # T⁺ = Q R⁻ᵀ with Tᵀ = Q R, so that A = C T⁺ = U diag(size) V Q R⁻ᵀ.
        Q, R = np.linalg.qr(T.T)
        return size[:, None] * solve_triangular(R, (V @ Q).T).T

    def objective(self, name: str, T: Array) -> float:
        """Return what T reaches: log det M on the range of C, or Σ_j M_jj."""
        root = self.noise_root(T)
        if name == "volume":
            # Rows differ by ten orders of magnitude: take their scale out of the determinant.
            scale = np.linalg.norm(root, axis=1)
            log_det = np.linalg.slogdet(root / scale[:, None])[1] + np.log(scale).sum()
            return float(2.0 * log_det)
        return float(np.sum(root**2))


@cache
def kung_ages() -> Array:
    return fetch_kung()["age"].to_numpy(dtype=np.float64)


def exponentiated_quadratic(a: Array, b: Array, lengthscale: float) -> Array:
    return np.exp(-0.5 * ((a[:, None] - b[None]) / lengthscale) ** 2)


def kung_model(points: int) -> tuple[Array, Array, Array]:
    """Return C, the kernel matrix K of the women, and the posterior variance at the points."""
    age = kung_ages()
    at = np.linspace(0.0, age.max(), points)
    K = exponentiated_quadratic(age, age, LENGTHSCALE)
    cross = exponentiated_quadratic(at, age, LENGTHSCALE)
    C = cho_solve(cho_factor(K + NOISE * np.eye(len(age))), cross.T).T
    return C, K, 1.0 - np.einsum("pi,pi->p", C, cross)


def make_workload(name: str) -> Workload:
    if name.startswith("random"):
        points, people = map(int, name.removeprefix("random ").split(" × "))
        return Workload(name, np.random.default_rng(0).standard_normal((points, people)))
    return Workload(name, kung_model(int(name.split()[0]))[0])


def kung_prior(points: int) -> Prior:
    """Return the prior of u = (y − lo)/d for the women."""
    C, K, posterior = kung_model(points)
    e, Q = np.linalg.eigh(K)
    keep = e > 1e-12 * e[-1]
    factor = Q[:, keep] * np.sqrt(e[keep]) / WIDTH
    diagonal = np.full(len(K), NOISE / WIDTH**2)
    floor = float(posterior.sum()) / WIDTH**2
    return Prior(C, diagonal, factor, gaussian_sigma(EPSILON, DELTA), floor=floor)


def crowd_prior(
    people: int,
    epsilon: float = EPSILON,
    lengthscale: float = CROWD_LENGTHSCALE,
    inducing: int = INDUCING,
) -> Prior:
    """Return a FITC prior on made-up people, never forming anything of size N × N."""
    rng = np.random.default_rng(people)
    age = np.minimum(rng.gamma(2.0, 12.0, size=people), OLDEST)
    known = np.linspace(0.0, OLDEST, inducing)
    e, Q = np.linalg.eigh(exponentiated_quadratic(known, known, lengthscale))
    keep = e > 1e-10 * e[-1]
    root = Q[:, keep] / np.sqrt(e[keep])
    # K ≈ Λ + Φ Φᵀ, and with D = Λ + σ² I:  C = Φ_* (I + Φᵀ D⁻¹ Φ)⁻¹ Φᵀ D⁻¹.
    Phi = exponentiated_quadratic(age, known, lengthscale) @ root
    at = np.linspace(0.0, OLDEST, POINTS)
    Phi_at = exponentiated_quadratic(at, known, lengthscale) @ root
    D = np.maximum(1.0 - np.einsum("iq,iq->i", Phi, Phi), 0.0) + NOISE
    gram = (Phi.T / D) @ Phi
    gram.flat[:: len(gram) + 1] += 1.0
    posterior = cho_solve(cho_factor(gram), Phi_at.T).T
    C = posterior @ (Phi.T / D)
    left = 1.0 - np.sum(Phi_at**2, axis=1) + np.sum(posterior * Phi_at, axis=1)
    floor = float(np.maximum(left, 0.0).sum()) / WIDTH**2
    return Prior(C, D / WIDTH**2, Phi / WIDTH, gaussian_sigma(epsilon, DELTA), floor=floor)


def default_plan(people: int, inputs: int, learn: bool) -> Design:
    """Return the design of a plan with default settings; of many people, with inducing inputs."""
    X = np.random.default_rng(people).uniform(size=(people, inputs))
    inducing = MANY_INDUCING if people > MOST_EXACT else "auto"
    model = PrivateGPRegressor(
        bounds=(0.0, 1.0), inducing=inducing, learn="auto" if learn else False
    )
    return model.plan(X).design


def seconds_each(run: Callable[[], Any]) -> tuple[float, Any]:
    """Time several runs in a row, as clocks are too coarse for a short one; return what one takes.

    And what the last of them returned.
    """
    start, runs = time.process_time(), 0
    while runs == 0 or time.process_time() - start < IN_A_ROW:
        result = run()
        runs += 1
    return (time.process_time() - start) / runs, result


# ----------------------------------------------------------------------------------------- CVXPY


def clarabel(
    objective: str, work: Workload, seconds: float, pairs: int, pair_seconds: float
) -> dict[str, Any]:
    """Solve the reduced problem on distinct people with CVXPY and Clarabel at its defaults.

    Ours and Clarabel run in turn, and each is timed: whatever else the machine does, both have it.

    Of the formulations tried, these are the fastest: symmetric matrices with ``log_det`` take two
    to four times as long for ``volume``, one Schur complement for each person a hundred times as
    long for ``total``.
    """
    import cvxpy as cp

    size, V = work.reduced
    first, member = work.distinct
    r, n = V[:, first].shape
    if objective == "volume":
        # max log det L over lower triangular L with ‖L v_i‖ ≤ 1; M = (Lᵀ L)⁻¹ in the basis V.
        rows, columns = np.tril_indices(r)
        place = np.zeros((r * r, len(rows)))
        place[rows * r + columns, np.arange(len(rows))] = 1.0
        L = cp.reshape(place @ cp.Variable(len(rows)), (r, r), order="C")
        lengths = cp.norm(L @ V[:, first], 2, axis=0)
        problem = cp.Problem(cp.Maximize(cp.sum(cp.log(cp.diag(L)))), [lengths <= 1.0])
    else:
        # The dual: max tr S^(1/2), S = Σ λ_i c_i c_iᵀ, Σλ = 1; tr S^(1/2) is the largest tr X with
        # [[S, X], [X, I]] ⪰ 0.
        C = (size / size[0])[:, None] * V[:, first]
        lam, X = cp.Variable(n, nonneg=True), cp.Variable((r, r), symmetric=True)
        S = cp.reshape((C[:, None] * C[None]).reshape(r * r, n) @ lam, (r, r), order="C")
        block = cp.bmat([[S, X], [X, np.eye(r)]])
        problem = cp.Problem(cp.Maximize(cp.trace(X)), [block >> 0, cp.sum(lam) == 1.0])
    start = time.process_time()
    options = {"time_limit": 10.0 * seconds}  # the cap is on processor time
    data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts=options)
    found: dict[str, Any] = {"compiling": time.process_time() - start}
    solver = partial(
        chain.solver.solve_via_data, data, warm_start=False, verbose=False, solver_opts=options
    )
    design = partial(DESIGNS[objective], work.C)
    design()  # loads what is loaded once
    theirs, ours = [], []
    begin = time.process_time()
    while len(ours) < pairs and time.process_time() - begin < pair_seconds:
        ours.append(seconds_each(design)[0])
        each, raw = seconds_each(solver)
        theirs.append(each)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution shows in its status
        problem.unpack_results(raw, chain, inverse)
    found |= {
        "status": problem.status,
        "seconds": float(np.median(theirs)),
        "ours": float(np.median(ours)),
        "ratio": float(np.median(np.divide(theirs, ours))),
        "pairs": len(ours),
    }
    if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        if objective == "volume":
            T = L.value @ V[:, first]
        else:
            root = C * np.sqrt(np.maximum(lam.value, 0.0))
            U, d, _ = np.linalg.svd(root, full_matrices=False)
            T = (U / np.sqrt(d)).T @ C
        found["T"] = T[:, member].tolist()
    return found


# ------------------------------------------------------- work that is done in a process of its own


def run_worker(task: dict[str, Any], seconds: float) -> dict[str, Any] | None:
    """Run ``task`` in a fresh process; return what it found, or None if it took too long."""
    # Loading, and what comes before the solver, are not held against it.
    found = kept(
        task, lambda: {"it": in_a_process(__file__, task, seconds + START_SECONDS), "cap": seconds}
    )
    return found["it"]  # type: ignore[no-any-return]


def work_on(task: dict[str, Any]) -> dict[str, Any]:
    if task["do"] == "clarabel":
        limits = (task["seconds"], task["pairs"], task["pair_seconds"])
        return clarabel(task["objective"], make_workload(task["workload"]), *limits)
    if task["do"] == "descent":
        return time_descent(task["people"])
    run = crowd_runner(task["design"])
    run(crowd_prior(300))  # loads what is loaded once
    before = peak_memory()
    prior = crowd_prior(task["people"])
    start = time.process_time()
    design = run(prior)
    elapsed = time.process_time() - start
    return {
        "seconds": elapsed,
        "MiB": peak_memory() - before,
        "C_MiB": prior.C.nbytes / 2**20,
        "gap": design.gap,
        "rank": design.rank,
    }


def time_descent(people: int) -> dict[str, Any]:
    """Time the solver of version 0.1.0, L-BFGS on the sketch itself, with today's certificate."""
    problem = BlockedPrior.from_prior(crowd_prior(people))
    assert problem is not None
    start = time.process_time()
    T, steps, _ = solve_lbfgs(DenseProblem.from_population(problem), EQUAL)
    found = certify(problem, columns_of(T), gap=EQUAL)
    return {"seconds": time.process_time() - start, "gap": found.gap, "steps": steps}


def time_bayes(task: dict[str, Any]) -> dict[str, Any]:
    """Time one design of ``bayes``, or a plan with default settings."""
    if "plan" in task:
        run = partial(default_plan, **task["plan"])
    else:
        run = partial(bayes, crowd_prior(**task["crowd"]))
    start = time.process_time()
    design = run()
    elapsed = time.process_time() - start
    return {"seconds": elapsed, "gap": design.gap, "rank": design.rank}


def crowd_runner(name: str) -> Callable[[Prior], Design]:
    return bayes if name == "bayes" else lambda prior: DESIGNS[name](prior.C)


def peak_memory() -> float:
    """Return the peak memory of this process in MiB."""
    try:
        # On Linux ru_maxrss starts at the size of the process that started this one; VmHWM at 0.
        status = Path("/proc/self/status").read_text()
        return next(int(x.split()[1]) for x in status.splitlines() if x.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 2**10)


# ---------------------------------------------------------------------------------- measurements


@dataclass
class Results:
    """Tables to print, and the numbers that the targets ask for."""

    tables: list[Table] = field(default_factory=list)
    cvxpy: list[tuple[str, float, float]] = field(default_factory=list)  # times, objective gain
    descent: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    quieter: list[tuple[str, float]] = field(default_factory=list)
    gaps: list[tuple[str, float]] = field(default_factory=list)  # of bayes; inf: out of time


def median_seconds(what: str, run: Callable[[], Any], effort: Effort) -> float:
    """Return the time of one run, or what an earlier measurement has kept of it."""

    def measure() -> dict[str, Any]:
        run()
        times: list[float] = []
        while len(times) < effort.repeats and sum(times) < effort.repeat_seconds:
            times.append(seconds_each(run)[0])
        return {"seconds": float(np.median(times))}

    task = {"do": "median", "what": what, "repeats": effort.repeats}
    return float(kept(task, measure)["seconds"])


def compare(effort: Effort, results: Results, progress: Progress) -> None:
    """Fill the table of ours, gradient descent and CVXPY, for ``volume`` and ``total``."""
    table = Table(
        "Side by side",
        ("objective, workload, method", "time", "÷ ours", "reached", "worse by", "remark"),
        (
            "reached: log det M (volume), Σ_j M_jj (total) of the feasible sketch; less is better. "
            "Worse by: in the unit of the gap, a difference for each dimension (volume) or a share "
            "(total).",
            "CPU time of one thread. ours: median of many runs, checks and certificate included.",
            f"gradient descent: step {gradient_descent.STEP:g}, {gradient_descent.RESTARTS} "
            f"restarts of {gradient_descent.ITERATIONS:,} iterations, fewer where λ stands still; "
            "given the orthonormal row space of C, as M is singular on C itself. As printed: one "
            "person at a time, a part timed and scaled up; it reaches what the other form does.",
            "CVXPY: Clarabel alone, without CVXPY's compilation, and identical people only once; "
            "ours and Clarabel run in turn in one process, and ÷ ours is the median of the pairs' "
            "ratios.",
        ),
    )
    for name in effort.workloads:
        work = make_workload(name)
        for objective in ("volume", "total"):
            progress(f"{objective}, {name}")
            ours = DESIGNS[objective](work.C)
            run = partial(DESIGNS[objective], work.C)
            seconds = median_seconds(f"{objective}, {name}", run, effort)
            reached = work.objective(objective, ours.T)
            add = Comparison(table, f"{objective}, {name}", objective, work, seconds, reached)
            add.row("ours", seconds, ours.T, f"gap {ours.gap:.0e}, rank {ours.rank}")
            if objective == "volume":
                compare_with_descent(add, effort, results)
            compare_with_cvxpy(add, effort, results)
    results.tables.append(table)


@dataclass(frozen=True)
class Comparison:
    """Adds the rows of one objective on one workload."""

    table: Table
    label: str
    objective: str
    work: Workload
    our_seconds: float
    our_objective: float

    def row(
        self,
        method: str,
        seconds: float,
        T: Array | None,
        remark: str,
        *,
        more: str = "",
        ratio: float | None = None,
    ) -> None:
        reached = "—" if T is None else f"{self.work.objective(self.objective, T):.7g}"
        beyond = "—" if T is None else f"{self.excess(T):+.1e}"
        if method == "ours":
            beyond = ""
        ratio = seconds / self.our_seconds if ratio is None else ratio
        cells = (f"{more}{duration(seconds)}", f"{more}{ratio:,.{0 if ratio >= 10 else 1}f}")
        self.table.rows.append((f"{self.label}: {method}", *cells, reached, beyond, remark))

    def excess(self, T: Array) -> float:
        """Return how much worse than ours T is, in the unit of the objective's gap."""
        beyond = self.work.objective(self.objective, T) - self.our_objective
        return beyond / (T.shape[0] if self.objective == "volume" else self.our_objective)


def compare_with_descent(add: Comparison, effort: Effort, results: Results) -> None:
    task = {"do": "gradients", "workload": add.work.name, "timed": effort.timed_iterations}
    found = kept(task, lambda: gradients(add.work, effort))
    T = np.array(found["T"])
    for form, (spent, remark) in found["forms"].items():
        add.row(f"gradient descent, {form}", spent, T, remark)
        results.descent.setdefault(form, []).append((add.work.name, spent / add.our_seconds))


def gradients(work: Workload, effort: Effort) -> dict[str, Any]:
    """Return what the paper's gradient descent takes, in both forms, and where it ends."""
    _, V = work.reduced
    with threadpool_limits(limits=1, user_api="blas"):
        each = {
            form.__name__: seconds_per_iteration(form, V, effort.timed_iterations)
            for form in (gradient_descent.as_printed, gradient_descent.vectorised)
        }
        most = gradient_descent.RESTARTS * gradient_descent.ITERATIONS
        in_full = each["vectorised"] * most <= effort.descent_seconds
        restarts = gradient_descent.RESTARTS if in_full else 1
        start = time.process_time()
        found = gradient_descent.descend(V, restarts)
        elapsed = time.process_time() - start
    iterations = found.iterations * gradient_descent.RESTARTS // restarts
    timed = effort.timed_iterations
    forms = {
        "as printed": (
            each["as_printed"] * iterations,
            f"{timed} iterations × {iterations / timed:.0f}",
        ),
        "vectorised": (
            elapsed * gradient_descent.RESTARTS / restarts,
            f"{iterations} iterations" if in_full else "one restart × 7",
        ),
    }
    return {"forms": forms, "T": found.T.tolist()}


def seconds_per_iteration(gradient: Callable[..., Array], V: Array, iterations: int) -> float:
    lam = np.random.default_rng(1).uniform(size=V.shape[1])
    gradient_descent.iterate(gradient, V, lam, 3)
    start = time.process_time()
    done = gradient_descent.iterate(gradient, V, lam, iterations)
    return (time.process_time() - start) / done


def compare_with_cvxpy(add: Comparison, effort: Effort, results: Results) -> None:
    if installed("cvxpy") is None:
        return
    cap = effort.clarabel_seconds
    task = {"do": "clarabel", "objective": add.objective, "workload": add.work.name}
    task |= {"seconds": cap, "pairs": effort.pairs, "pair_seconds": effort.pair_seconds}
    found = run_worker(task, cap)
    method = "CVXPY + Clarabel"
    if found is None or "T" not in found:
        status = "killed" if found is None else found["status"]
        remark = f"no solution within {cap:g} s ({status})"
        add.row(method, cap, None, remark, more="> ")
        results.cvxpy.append((add.label, cap / add.our_seconds, np.inf))
        return
    T, ratio = np.array(found["T"]), found["ratio"]
    remark = (
        f"{found['status']}; {found['pairs']} pairs, ours {duration(found['ours'])}; + "
        f"{duration(found['compiling'])} to compile"
    )
    add.row(method, found["seconds"], T, remark, ratio=ratio)
    results.cvxpy.append((add.label, ratio, add.excess(T)))


def compare_noise(effort: Effort, results: Results, progress: Progress) -> None:
    """Fill the table of total squared noise, ``volume`` against the others."""
    sigma = gaussian_sigma(EPSILON, DELTA)
    table = Table(
        "Noise on the paper's ages",
        ("workload, design", "Σ_j M_jj", "rms noise", "largest", "÷ volume"),
        (
            f"rms and largest standard deviation of the noise over the workload, d = "
            f"{BOUNDS_CM:g} cm, ε = {EPSILON:g}, δ = {DELTA:g}, σ = {sigma:.3f} (analytic).",
            "÷ volume: total squared noise relative to that of the paper's objective.",
        ),
    )
    for name in (name for name in effort.workloads if name.endswith("ages")):
        progress(f"noise, {name}")
        work = make_workload(name)
        U = row_space(work.C)[0]
        squared: dict[str, float] = {}
        for design, solve in DESIGNS.items():
            variance = np.sum((U @ work.noise_root(solve(work.C).T)) ** 2, axis=1)
            squared[design] = float(variance.sum())
            rms, largest = (BOUNDS_CM * sigma * np.sqrt(f(variance)) for f in (np.mean, np.max))
            share = squared[design] / squared["volume"]
            cells = (f"{squared[design]:.4g}", f"{rms:.1f} cm", f"{largest:.1f} cm", f"{share:.3f}")
            table.rows.append((f"{name}, {design}", *cells))
        results.quieter.append((name, squared["volume"] / squared["total"]))
    results.tables.append(table)


def measure_bayes(effort: Effort, results: Results, progress: Progress) -> None:
    points = int(effort.workloads[-1].split()[0]) if len(effort.workloads) == 1 else 100
    progress(f"bayes, {points} ages")
    prior = kung_prior(points)
    design = bayes(prior)
    seconds = median_seconds(f"bayes, {points} ages", partial(bayes, prior), effort)
    rms = {
        "posterior": design.value,
        "without privacy": prior.floor,
        "without data": float(prior.floor + np.sum(prior_variance(prior))),
    }
    cells = (f"{BOUNDS_CM * np.sqrt(value / points):.2f} cm" for value in rms.values())
    table = Table(
        "The default design, bayes",
        ("workload", "time", "gap", "rank", *(f"rms sd, {what}" for what in rms)),
        (f"prior of the paper's women; d = {BOUNDS_CM:g} cm, ε = {EPSILON:g}, δ = {DELTA:g}.",),
        [(f"{points} ages", duration(seconds), f"{design.gap:.0e}", str(design.rank), *cells)],
    )
    results.tables.append(table)


def prior_variance(prior: Prior) -> Array:
    """Return the prior variance of C u, for each workload point."""
    return np.sum(prior.C**2 * prior.diagonal, axis=1) + np.sum(
        (prior.C @ prior.factor) ** 2, axis=1
    )


def measure_growth(effort: Effort, results: Results, progress: Progress) -> None:
    table = Table(
        "Growth with the number of people",
        ("people, design", "time", "exponent", "peak memory", "of which C", "gap", "rank"),
        (
            f"{POINTS} workload points, {INDUCING} inducing points (FITC), gamma-distributed ages, "
            f"lengthscale {CROWD_LENGTHSCALE:g}.",
            "Each in a fresh process, one run, CPU time; peak memory above that of a run with 300 "
            "people, the problem itself included. Exponent: of time, from fewer people.",
        ),
    )
    before: dict[str, tuple[int, float]] = {}
    for people in effort.people:
        for design in effort.growing:
            progress(f"{design}, {people:,} people")
            task = {"do": "growth", "design": design, "people": people}
            found = run_worker(task, effort.growth_seconds)
            if found is None:
                row = (f"{people:,}, {design}", f"> {duration(effort.growth_seconds)}")
                table.rows.append((*row, *["—"] * 5))
                if design == "bayes":
                    results.gaps.append((f"{people:,} people", np.inf))
                continue
            power = ""
            if design in before:
                fewer, took = before[design]
                power = exponent(found["seconds"], took, people / fewer)
            before[design] = people, found["seconds"]
            cells = (
                duration(found["seconds"]),
                power,
                f"{found['MiB']:.0f} MiB",
                f"{found['C_MiB']:.1f} MiB",
            )
            more = (f"{found['gap']:.0e}", str(found["rank"]))
            table.rows.append((f"{people:,}, {design}", *cells, *more))
            if design == "bayes":
                results.gaps.append((f"{people:,} people", found["gap"]))
    results.tables.append(table)


def compare_solvers(effort: Effort, results: Results, progress: Progress) -> None:
    """Fill the table of the solver of version 0.1.0 beside today's."""
    table = Table(
        "Old and new solver of bayes",
        ("people", "L-BFGS on the sketch", "its gap", "bayes", "its gap", "÷ bayes"),
        (
            "The crowd of the growth table. L-BFGS is the solver of version 0.1.0, still used for "
            "few people, judged by today's certificate; its own was looser. CPU time.",
        ),
    )
    for people in effort.descended:
        progress(f"old solver, {people:,} people")
        task = {"do": "descent", "people": people}
        old = run_worker(task, effort.growth_seconds)
        case = {"crowd": {"people": people, "epsilon": EPSILON}}
        new = kept({"do": "bayes", **case}, lambda case=case: time_bayes(case))
        cells = (f"> {duration(effort.growth_seconds)}", "—")
        ratio = f"> {effort.growth_seconds / new['seconds']:.0f}"
        if old is not None:
            cells = (duration(old["seconds"]), f"{old['gap']:.0e}")
            ratio = f"{old['seconds'] / new['seconds']:.1f}"
        rest = (duration(new["seconds"]), f"{new['gap']:.0e}", ratio)
        table.rows.append((f"{people:,}", *cells, *rest))
    results.tables.append(table)


def bayes_cases(effort: Effort) -> dict[str, dict[str, Any]]:
    """Return the tasks of ``measure_certificates``, by what they are called."""
    cases: dict[str, dict[str, Any]] = {}
    for people in effort.people:
        for epsilon in effort.epsilons:
            cases[f"{people:,} people, ε = {epsilon:g}"] = {
                "crowd": {"people": people, "epsilon": epsilon}
            }
    for people in effort.crowds:
        for lengthscale in effort.lengthscales:
            cases[f"{people:,} people, lengthscale {lengthscale:g}"] = {
                "crowd": {
                    "people": people,
                    "lengthscale": lengthscale,
                    "inducing": MANY_INDUCING,
                }
            }
            cases[f"{people:,} people, lengthscale {lengthscale:g}, ε = {LOUD:g}"] = {
                "crowd": {
                    "people": people,
                    "epsilon": LOUD,
                    "lengthscale": lengthscale,
                    "inducing": MANY_INDUCING,
                }
            }
    for people in effort.planned:
        for inputs in (1, 2):
            for learn in (False, True):
                prior = "learnt prior" if learn else "fixed prior"
                cases[f"plan, {people:,} people, {inputs}-D, {prior}"] = {
                    "plan": {"people": people, "inputs": inputs, "learn": learn}
                }
    return cases


def measure_certificates(effort: Effort, results: Results, progress: Progress) -> None:
    """Fill the table of gaps that ``bayes`` reaches, by budget, lengthscale and settings."""
    table = Table(
        "Certificates of bayes",
        ("problem", "time", "gap", "rank"),
        (
            f"the crowd of the growth table with other budgets, and with short lengthscales and "
            f"{MANY_INDUCING} inducing points; whole plans with default settings and "
            f"{MANY_INDUCING} inducing inputs (up to {MOST_EXACT:,} people: none) on uniform "
            "inputs, for a fixed prior and for the mean of the default family. CPU time.",
        ),
    )
    for label, case in bayes_cases(effort).items():
        progress(f"bayes, {label}")
        found = kept({"do": "bayes", **case}, lambda case=case: time_bayes(case))
        cells = (duration(found["seconds"]), f"{found['gap']:.0e}", str(found["rank"]))
        table.rows.append((label, *cells))
        results.gaps.append((label, found["gap"]))
    results.tables.append(table)


# --------------------------------------------------------------------------------------- printing

Progress = Callable[[str], None]


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def header() -> str:
    names = ("numpy", "scipy", "pyarrow", "joblib", "distributed", "cvxpy", "clarabel")
    versions = ", ".join(f"{name} {installed(name) or 'not installed'}" for name in names)
    return (
        f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores, "
        f"{platform.machine()} {platform.system()}"
    )


def target_lines(results: Results) -> list[str]:
    def listed(pairs: Iterable[tuple[str, float]]) -> str:
        return "; ".join(f"{name} {ratio:,.{0 if ratio >= 10 else 1}f}×" for name, ratio in pairs)

    met = [ratio >= FASTER_THAN_CVXPY and gain >= -EQUAL for _, ratio, gain in results.cvxpy]
    lines = [
        f"≥ {FASTER_THAN_CVXPY:g} times faster than CVXPY at an equal or better objective: "
        f"{verdict(met)} ({listed((n, ratio) for n, ratio, _ in results.cvxpy) or 'no CVXPY'})"
    ]
    for form, pairs in results.descent.items():
        met = [ratio >= FASTER_THAN_DESCENT for _, ratio in pairs]
        lines.append(
            f"≥ {FASTER_THAN_DESCENT:g} times faster than gradient descent, {form}: "
            f"{verdict(met)} ({listed(pairs)})"
        )
    met = [ratio >= QUIETER_THAN_VOLUME for _, ratio in results.quieter]
    lines.append(
        f"total leaves ≥ {QUIETER_THAN_VOLUME:g} times less total squared noise than volume: "
        f"{verdict(met)} ({listed(results.quieter)})"
    )
    short = [f"{name} {gap:.0e}" for name, gap in results.gaps if gap > EQUAL]
    lines.append(
        f"bayes reaches a relative gap of {EQUAL:.0e}: "
        f"{verdict(gap <= EQUAL for _, gap in results.gaps)} "
        f"({'; '.join(short) or f'all {len(results.gaps)} problems'})"
    )
    return lines


PARTS = (
    compare,
    compare_noise,
    measure_bayes,
    compare_solvers,
    measure_growth,
    measure_certificates,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test of under 20 seconds")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables here too")
    parser.add_argument("--worker", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        task, path = options.worker
        Path(path).write_text(json.dumps(work_on(json.loads(task))))
        return
    try:
        kung_ages()
    except (OSError, ValueError) as error:
        sys.exit(f"the paper's data set is needed, but {error}")

    console = Console(width=None if sys.stdout.isatty() else 140)
    effort = QUICK if options.quick else Effort()
    title, results = header(), Results()
    console.print(title, highlight=False)
    if installed("cvxpy") is None:
        console.print("CVXPY is not installed, so it is left out: pip install 'cloakgp[bench]'")
    console.print()

    start = time.perf_counter()
    with console.status("") as status:
        for part in PARTS:
            part(effort, results, lambda what: status.update(f"{what} …"))
            results.tables[-1].print(console)
    console.print("Targets", style="bold")
    for line in target_lines(results):
        console.print(f"  {line}", highlight=False)
    took = duration(time.perf_counter() - start)
    console.print(f"\n{took} altogether, {busy()}", style="dim")
    if options.markdown:
        targets = "\n".join(f"- {line}" for line in target_lines(results))
        tables = "\n".join(table.markdown() for table in results.tables)
        text = f"# Benchmarks of the designs\n\n{title}; {busy()}\n\n{tables}\n"
        text += f"## Targets\n\n{targets}\n"
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
