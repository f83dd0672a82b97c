"""What one thread of linear algebra is worth on a busy machine.

    python benchmarks/threads.py [people]

Other processes keep every core busy.  Beside them, a release is loaded, a plan is drawn and
predictions are made with as many threads as there are cores, as the environment is told here:
first as the library does it, with one thread inside, and then with ``one_thread`` out of the way.
Printed are processor seconds, of all threads together, and their ratio.
"""

import os

CORES = os.cpu_count() or 1
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(max(2, CORES))  # before the libraries are loaded

import contextlib  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402

from cloakgp import PrivateGPRegressor, Release, threads  # noqa: E402

GUARD = threads.one_thread
BUSY = "import time\nwhile time.process_time() < 300: pass"  # and never for ever


@contextlib.contextmanager
def busy_cores():
    """Keep every core busy with another process; they end with this block."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(CORES)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def seconds(job):
    """Return the processor seconds of a job."""
    start = time.process_time()
    job()
    return time.process_time() - start


def main(people):
    matplotlib.use("agg")
    X = np.random.default_rng(0).uniform(0.0, 80.0, (people, 1))
    model = PrivateGPRegressor(bounds=(40, 200))
    release = model.fit(X, 100.0 + X[:, 0] / 2).release_
    with tempfile.TemporaryDirectory() as folder, busy_cores():
        path = Path(folder) / "release.cloakgp"
        release.save(path)
        jobs = {
            "load a release": lambda: Release.load(path),
            "draw a plan": lambda: model.plan(X).plot(),
            "predict": lambda: Release.load(path, check=False).predict(X, return_std=True),
        }
        print(f"{people} people, {CORES} cores kept busy; processor seconds")
        print(f"{'':16}{'one thread':>12}{'as told':>12}{'ratio':>8}")
        for name, job in jobs.items():
            threads.one_thread = GUARD
            job()  # once for what is loaded or made only once
            one = seconds(job)
            threads.one_thread = contextlib.nullcontext
            many = seconds(job)
            print(f"{name:16}{one:12.2f}{many:12.2f}{many / one:8.1f}", flush=True)
    threads.one_thread = GUARD


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 80)
