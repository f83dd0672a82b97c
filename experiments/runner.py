"""Items side by side, each in a process of its own."""

from __future__ import annotations

import multiprocessing as mp
import queue
import signal
import time
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from experiments import registry, store
from experiments.item import Item, Run


def run_all(
    due: list[Item], results: Path, quick: bool, jobs: int, console: Console
) -> dict[str, str]:
    """Run items side by side, each in a process of its own; return why any failed."""
    spawn = mp.get_context("spawn")
    news: Any = spawn.Queue()
    waiting = sorted(due, key=lambda item: -item.seconds)
    running: dict[str, Any] = {}
    failed: dict[str, str] = {}
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=console) as progress:
        bars = {i.name: progress.add_task(i.name, total=None, start=False, now="") for i in waiting}
        try:
            while waiting or running:
                while waiting and len(running) < max(1, jobs):
                    name = waiting.pop(0).name
                    process = spawn.Process(target=work, args=(name, results, quick, news))
                    process.start()
                    running[name] = process
                    progress.start_task(bars[name])
                try:
                    name, kind, text = news.get(timeout=0.2)
                except queue.Empty:
                    # A process that died without a word, such as one that was killed.
                    for name, process in list(running.items()):
                        if not process.is_alive() and news.empty():
                            failed[name] = f"ended with code {process.exitcode}"
                            del running[name]
                    continue
                if kind == "now":
                    progress.update(bars[name], now=text[:70])
                    continue
                running.pop(name).join()
                progress.update(bars[name], total=1, completed=1, now=text.splitlines()[-1][:70])
                progress.stop_task(bars[name])
                if kind == "failed":
                    failed[name] = text
        finally:
            for process in running.values():
                process.terminate()
                process.join()
    return failed


def work(name: str, results: Path, quick: bool, news: Any) -> None:
    """Run one item and store it: the whole life of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    start = time.perf_counter()
    try:
        item = registry.find()[name]
        made_from = store.fingerprint(item)
        run = Run(quick, store.checkpoints(item, quick), say=lambda t: news.put((name, "now", t)))
        result = item.compute(run)
        seconds = time.perf_counter() - start
        store.write(item, result, results, quick, seconds, made_from)
        news.put((name, "done", f"done in {seconds:.0f} s"))
    except Exception:
        news.put((name, "failed", traceback.format_exc()))
