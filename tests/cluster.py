"""A Dask cluster of real processes on this machine, on which joblib's work is run."""

import contextlib

import joblib
import pytest


@contextlib.contextmanager
def cluster(workers=2):
    """Run what joblib is given inside on processes of Dask's; gives its client.

    The processes find the modules of the tests, as they are started with the same path.
    """
    distributed = pytest.importorskip("distributed", reason="pip install 'cloakgp[dask]'")
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(**options, **quiet, host="127.0.0.1") as local,
        distributed.Client(local) as client,
        joblib.parallel_config("dask", client=client),
    ):
        yield client
