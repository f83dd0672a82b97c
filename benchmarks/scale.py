"""What many people cost: time and memory of plans, fits and predictions, and of rows from files.

    python benchmarks/scale.py [--quick] [--append FILE]

Every case runs in a process of its own, which makes its data first, so that what is measured is
above them.  Seconds are those of processors, of all processes of a case together.  What was
measured is kept in build/bench, so that an interrupted run goes on.  ``--append`` adds
the tables to a Markdown file, that of ``designs.py``.  Needs the extras parquet and dask; DuckDB
and Polars are measured beside where they are installed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from kept import busy, kept
from kept import in_a_process as kept_apart
from rich.console import Console
from tables import Table, duration, exponent, verdict

from cloakgp import PrivateGPClassifier, PrivateGPRegressor, scan
from cloakgp.data.blocks.progress import watched

#: What is asked of a million people with one input, and of predictions.
CPU_SECONDS, MEGABYTES, PREDICT_SECONDS, ROWS_A_SECOND = 60.0, 1000.0, 0.1, 15e6
POINTS = 1000
BUDGET = {"epsilon": 1.0, "delta": 1e-9}
#: Rows of a file, and of its row groups.
FILE_ROWS = 1_000_000
#: Seconds between two looks at the memory of all processes of a case.
LOOK = 0.02
#: On paper: rows, and machines like this one.
ROWS, MACHINES = (10**8, 10**10), (1, 100)


@dataclass(frozen=True)
class Effort:
    """How much to run."""

    people: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    rows: tuple[int, int] = (2_000_000, 20_000_000)


QUICK = Effort((10_000,), (200_000, 400_000))


# --------------------------------------------------------------------------------------- measuring


@dataclass
class Meter:
    """What a piece of work took, the processes that it started included."""

    cpu: float = 0.0
    wall: float = 0.0
    peak: float = 0.0  # MB, of all processes
    above: float = 0.0  # MB, above what there was when it began


def processes() -> list[psutil.Process]:
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def total(of: Callable[[psutil.Process], float]) -> float:
    """Return a sum over this process and all that it started."""
    found = 0.0
    for process in processes():
        with contextlib.suppress(psutil.Error):
            found += of(process)
    return found


#: CPU seconds of each thread that has looked at the memory, one after another.
watching: list[float] = []


def cpu_seconds() -> float:
    """Return the CPU time of all processes, but for that of looking at their memory."""
    return total(lambda process: sum(process.cpu_times()[:2])) - sum(watching)


def megabytes() -> float:
    """Return the memory of all processes, their libraries included, each as if it were alone."""
    return total(lambda process: process.memory_info().rss) / 1e6


class PassMeter:
    """The CPU time of passes over rows, apart from what is done in between."""

    def __init__(self) -> None:
        self.cpu = 0.0

    def __call__(self, name: str, rows: int) -> Callable[[int], None]:
        start, left = cpu_seconds(), rows

        def done(more: int) -> None:
            nonlocal left
            left -= more
            if left == 0:
                self.cpu += cpu_seconds() - start

        return done


@contextlib.contextmanager
def measured() -> Iterator[Meter]:
    """Measure what is done inside; memory is looked at again and again."""
    meter, done, number = Meter(), threading.Event(), len(watching)
    watching.append(0.0)
    before, cpu, wall = megabytes(), cpu_seconds(), time.perf_counter()

    def watch() -> None:
        while not done.wait(LOOK):
            meter.peak = max(meter.peak, megabytes())
            watching[number] = time.thread_time()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield meter
    finally:
        done.set()
        watcher.join()
        meter.cpu, meter.wall = cpu_seconds() - cpu, time.perf_counter() - wall
        meter.peak = max(meter.peak, megabytes())
        meter.above = meter.peak - before


def in_a_process(task: dict[str, Any], **where: Any) -> dict[str, Any]:
    """Run a case in a process of its own, or return what an earlier run has kept of it."""
    return kept(task, lambda: kept_apart(__file__, {**task, **where}) or {})


# ------------------------------------------------------------------------------ people in memory


def make_people(people: int, inputs: int, classes: bool) -> tuple[Any, Any]:
    """Return inputs from 0 to 90, and an output that rises and falls with them."""
    rng = np.random.default_rng(people + inputs)
    X = rng.uniform(0.0, 90.0, size=(people, inputs))
    f = np.sin(X / 15.0).mean(axis=1)
    if classes:
        return X, rng.random(people) < 1.0 / (1.0 + np.exp(-f))
    return X, 50.0 + 20.0 * f + rng.normal(0.0, 10.0, people)


def of_people(people: int, inputs: int, classes: bool) -> dict[str, Any]:
    """Measure a plan, a fit and predictions with default settings."""
    X, y = make_people(people, inputs, classes)
    model: Any = PrivateGPRegressor(bounds=(0, 100), **BUDGET)
    if classes:
        model = PrivateGPClassifier(classes=[False, True], **BUDGET)
    at = np.random.default_rng(0).uniform(0.0, 90.0, size=(POINTS, inputs))
    predict = model.predict_proba if classes else lambda at: model.predict(at, return_std=True)
    with measured() as whole:
        with measured() as planning:
            plan = model.plan(X)
        with measured() as fitting:
            model.fit(X, y, plan=plan)
        with measured() as first:
            predict(at)
        with measured() as again:
            predict(at)
    return {
        "plan": planning.cpu,
        "fit": fitting.cpu,
        "first": first.cpu,
        "predict": again.cpu,
        "cpu": whole.cpu,
        "above": whole.above,
        "gap": plan.gap,
        "places": len(plan.spec.partition.counts),
    }


def measure_people(effort: Effort, results: Results, say: Callable[[str], None]) -> None:
    table = Table(
        "Many people in memory",
        (
            *("people, inputs, outputs", "plan", "fit", "predict", "again", "together"),
            *("exponent", "memory", "gap", "places"),
        ),
        (
            "Default settings, ε = 1, δ = 1e-9. CPU time; predict: 1,000 points with their "
            "uncertainty, and the same once more. Together: plan, fit and predict; exponent: of "
            "that, from fewer people.",
            "Memory: peak above the data, of the plan, the fit and the predictions.",
        ),
    )
    results.tables.append(table)
    for inputs in (1, 2):
        for classes in (False, True):
            before: tuple[int, float] | None = None
            for people in effort.people:
                name = f"{people:,}, {inputs}, {'classes' if classes else 'numbers'}"
                say(name)
                found = in_a_process({"people": people, "inputs": inputs, "classes": classes})
                results.people[people, inputs, classes] = found
                times = [duration(found[key]) for key in ("plan", "fit", "first", "predict")]
                whole, power = found["plan"] + found["fit"] + found["first"], ""
                if before is not None:
                    power = exponent(whole, before[1], people / before[0])
                before = people, whole
                gap = "" if np.isnan(found["gap"]) else f"{found['gap']:.0e}"  # cells have none
                rest = (f"{found['above']:.0f} MB", gap, f"{found['places']}")
                table.rows.append((name, *times, duration(whole), power, *rest))


# ------------------------------------------------------------------------------- rows from files


def write_rows(folder: Path, rows: int) -> None:
    """Write a folder of Parquet files: ages as fractions and as whole numbers, and incomes."""
    rng = np.random.default_rng(0)
    for number in range(0, rows, FILE_ROWS):
        count = min(FILE_ROWS, rows - number)
        age = rng.uniform(18.0, 90.0, count)
        income = 20_000.0 + 500.0 * age + rng.normal(0.0, 8_000.0, count)
        path = folder / f"part-{number // FILE_ROWS:04}.parquet"
        columns = {"age": age, "years": np.floor(age).astype(np.int64), "income": income}
        pq.write_table(pa.table(columns), path)


def plain_pass(folder: Path) -> None:
    """Only read two columns, a batch at a time."""
    for path in sorted(folder.iterdir()):
        file = pq.ParquetFile(path, pre_buffer=False)
        for batch in file.iter_batches(1 << 16, columns=["age", "income"], use_threads=False):
            assert batch.num_rows


def sums_by_pyarrow(folder: Path) -> None:
    """Sum incomes by whole years, file by file, on one thread."""
    for path in sorted(folder.iterdir()):
        table = pq.read_table(path, columns=["years", "income"], use_threads=False)
        sums = table.group_by("years", use_threads=False).aggregate([("income", "sum")])
        assert sums.num_rows


def sums_by_duckdb(folder: Path) -> None:
    import duckdb

    query = f"SELECT years, sum(income) FROM read_parquet('{folder}/*.parquet') GROUP BY years"
    assert duckdb.connect(config={"threads": 1}).execute(query).fetchall()


def sums_by_polars(folder: Path) -> None:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars

    rows = polars.scan_parquet(folder / "*.parquet").group_by("years")
    assert rows.agg(polars.col("income").sum()).collect().height


#: What reads the same rows and does less: the physical limit.
LIMITS: dict[str, Callable[[Path], None]] = {
    "plain": plain_pass,
    "pyarrow": sums_by_pyarrow,
    "duckdb": sums_by_duckdb,
    "polars": sums_by_polars,
}


@contextlib.contextmanager
def workers(kind: str) -> Iterator[None]:
    """Run joblib's work on as many threads, processes or Dask workers as there are processors."""
    count = joblib.cpu_count()
    if kind == "cluster":
        import distributed

        options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
        with (
            distributed.LocalCluster(**options, silence_logs=50) as cluster,
            distributed.Client(cluster) as client,
            joblib.parallel_config("dask", client=client),
        ):
            yield
        return
    with joblib.parallel_config({"threads": "threading", "processes": "loky"}[kind], n_jobs=count):
        yield


def get_ready() -> None:
    """Load what a block needs, and take long enough for the other workers to get ready, too."""
    import pyarrow.parquet  # noqa: F401

    import cloakgp.data.batches  # noqa: F401

    time.sleep(1.0)


def of_rows(folder: str, kind: str, rows: int, column: str = "age") -> dict[str, Any]:
    """Measure a plan and a fit of rows that come in blocks, workers having been started before."""
    if kind in LIMITS:
        with measured() as meter:
            LIMITS[kind](Path(folder))
        peak = {"peak": meter.peak, "above": meter.above}
        return {"cpu": meter.cpu, "passes": meter.cpu, "wall": meter.wall, **peak}
    X, y = scan(folder, inputs=[column], output="income")
    model = PrivateGPRegressor(bounds=(0, 100_000), **BUDGET)
    with workers(kind):
        # What is loaded at the first use is loaded now, by every worker.
        joblib.Parallel()(joblib.delayed(get_ready)() for _ in range(2 * joblib.cpu_count()))
        model.plan(np.arange(10.0)[:, None])
        reading = PassMeter()
        with measured() as whole, watched(reading):
            model.fit(X, y, plan=model.plan(X))
    assert model.release_.spec.people == rows
    return {
        "cpu": whole.cpu,
        "passes": reading.cpu,
        "wall": whole.wall,
        "peak": whole.peak,
        "above": whole.above,
    }


def measure_rows(effort: Effort, results: Results, say: Callable[[str], None]) -> None:
    table = Table(
        "Rows from Parquet files",
        (
            *("rows, read by", "passes", "÷ plain", "rows per CPU second", "the rest"),
            *("peak memory", "added"),
        ),
        (
            "One input and one output, two columns of 8 bytes. Plain: pyarrow reads both columns "
            "once and does nothing with them; pyarrow, DuckDB and Polars: they sum the output by "
            "the whole numbers of the input, on one thread, which is the least that anybody has to "
            "do.",
            "The others plan and fit, on all processors. Of fractions that takes three passes: two "
            "find places, one sums the private column; of whole numbers two, since one finds "
            "places. CPU time of all passes together, and of the rest, which is mostly the search "
            "for the best sketch.",
            "Peak memory: of all processes together, libraries included; added: above what they "
            "had when they were ready.",
        ),
    )
    results.tables.append(table)
    few, many = effort.rows
    limits = [kind for kind in LIMITS if kind == "plain" or importlib.util.find_spec(kind)]
    for rows, kinds in ((few, ("plain", "threads")), (many, (*limits, "threads", WHOLE, *OTHERS))):
        with tempfile.TemporaryDirectory() as folder:
            say(f"writing {rows:,} rows")
            write_rows(Path(folder), rows)
            plain = 0.0
            for kind in kinds:
                say(f"{rows:,} rows, {kind}")
                work = {"kind": kind, "rows": rows}
                if kind == WHOLE:
                    work |= {"kind": "threads", "column": "years"}
                found = in_a_process(work, folder=folder)
                results.rows[rows, kind] = found
                plain = plain or found["passes"]
                table.rows.append(
                    (
                        f"{rows:,}, {kind}",
                        duration(found["passes"]),
                        f"{found['passes'] / plain:.1f}",
                        f"{rows / found['passes']:,.0f}",
                        duration(found["cpu"] - found["passes"]),
                        f"{found['peak']:.0f} MB",
                        f"{found['above']:.0f} MB",
                    )
                )
    results.tables.append(on_paper(results, effort))


OTHERS = ("processes", "cluster")
WHOLE = "threads, whole numbers"


def on_paper(results: Results, effort: Effort) -> Table:
    """Return what more rows would take: the same time for each, and the rest once."""
    many = effort.rows[1]
    found = results.rows[many, "threads"]
    each, once = found["passes"] / many, found["cpu"] - found["passes"]
    cores = joblib.cpu_count()
    table = Table(
        "On paper: more rows, more machines",
        ("rows, machines", "CPU hours", "time", "to be read by each"),
        (
            f"From the threads and {many:,} rows above: {1e6 * each:.2f} CPU seconds for a million "
            f"rows, and {once:.1f} once, on one core, for the rest; {cores} cores in each machine, "
            "all of them busy, and files that are read as quickly as they are needed. Not "
            "measured.",
        ),
    )
    for rows in ROWS:
        for machines in MACHINES:
            cpu = each * rows
            seconds = once + cpu / (cores * machines)
            # Two passes over the input, one over both columns.
            rate = rows * (3 * 8 + 8) / machines / seconds / 1e6
            table.rows.append(
                (f"{rows:,}, {machines}", f"{cpu / 3600:.2f}", hours(seconds), f"{rate:.0f} MB/s")
            )
    return table


def hours(seconds: float) -> str:
    return duration(seconds) if seconds < 7200 else f"{seconds / 3600:.1f} h"


# ----------------------------------------------------------------------------------------- report


@dataclass
class Results:
    """Tables to print, and the numbers that the targets ask for."""

    tables: list[Table] = field(default_factory=list)
    people: dict[tuple[int, int, bool], dict[str, Any]] = field(default_factory=dict)
    rows: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)


def target_lines(results: Results, effort: Effort) -> list[str]:
    most = max(effort.people)
    found = {name: results.people[most, 1, classes] for classes, name in NAMES.items()}
    cpu = ", ".join(f"{name} {each['cpu']:.1f} s" for name, each in found.items())
    memory = ", ".join(f"{name} {each['above']:.0f} MB" for name, each in found.items())
    times = ", ".join(
        f"{name} {duration(each['first'])}, again {duration(each['predict'])}"
        for name, each in found.items()
    )
    small, large = (results.rows[rows, "threads"] for rows in effort.rows)
    fast = {kind: effort.rows[1] / results.rows[effort.rows[1], kind]["passes"] for kind in FAST}
    ratio = effort.rows[1] / effort.rows[0]
    kinds = ("threads", *OTHERS)
    peaks = {kind: results.rows[effort.rows[1], kind]["peak"] for kind in kinds}
    return [
        f"{most:,} people, one input: plan, fit and predict within {CPU_SECONDS:.0f} CPU seconds: "
        f"{verdict(each['cpu'] <= CPU_SECONDS for each in found.values())} ({cpu})",
        f"and within {MEGABYTES:.0f} MB above the data: "
        f"{verdict(each['above'] <= MEGABYTES for each in found.values())} ({memory})",
        f"predictions at {POINTS:,} points within {PREDICT_SECONDS:g} s: "
        f"{verdict(each['first'] <= PREDICT_SECONDS for each in found.values())} ({times})",
        f"{effort.rows[1]:,} rows from files within {MEGABYTES:.0f} MB, all processes and their "
        f"libraries together: {verdict(peak <= MEGABYTES for peak in peaks.values())} "
        f"({', '.join(f'{kind} {peak:.0f} MB' for kind, peak in peaks.items())})",
        f"{ROWS_A_SECOND:,.0f} rows from files for each CPU second: "
        f"{verdict(rate >= ROWS_A_SECOND for rate in fast.values())} "
        f"({', '.join(f'{kind} {rate:,.0f}' for kind, rate in fast.items())})",
        f"{ratio:.0f} times as many rows from files: {large['passes'] / small['passes']:.1f} times "
        f"the CPU time of passes (exponent {exponent(large['passes'], small['passes'], ratio)}), "
        f"{large['peak'] / small['peak']:.2f} times the memory "
        f"(exponent {exponent(large['peak'], small['peak'], ratio)})",
    ]


NAMES = {False: "numbers", True: "classes"}
FAST = ("threads", WHOLE)


def work_on(task: dict[str, Any]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    return of_rows(**task) if "folder" in task else of_people(**task)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test with few people")
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the tables to this file")
    parser.add_argument("--worker", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        task, path = options.worker
        Path(path).write_text(json.dumps(work_on(json.loads(task))))
        return
    console = Console(width=None if sys.stdout.isatty() else 140)
    effort, results = QUICK if options.quick else Effort(), Results()
    with console.status("") as status:
        for part in (measure_people, measure_rows):
            part(effort, results, lambda what: status.update(f"{what} …"))
    for table in results.tables:
        table.print(console)
    lines = target_lines(results, effort)
    for line in lines:
        console.print(f"  {line}", highlight=False)
    if options.append:
        tables = "\n".join(table.markdown() for table in results.tables)
        targets = "\n".join(f"- {line}" for line in lines)
        with options.append.open("a") as file:
            file.write(
                f"\n{tables}\n## Targets for many people\n\n{targets}\n\nMeasured at a {busy()}.\n"
            )


if __name__ == "__main__":
    main()
