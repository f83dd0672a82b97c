"""People in blocks for workers of every kind, and blocks whose readers are killed."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from block_cases import write

from cloakgp import Ledger, PrivateGPRegressor, scan
from cloakgp.privacy import total_guarantee
from cloakgp.privacy.mechanism import bins as core

N = 6000
RNG = np.random.default_rng(1)
CROWD = pd.DataFrame({"age": RNG.uniform(0.0, 90.0, N), "height": RNG.uniform(30.0, 210.0, N)})


def crowd_in(folder, cuts=(0, 1500, 1501, 4000, N), group=400):
    """Return X and y of the crowd, written as Parquet files of these rows and row groups."""
    return scan(write(folder, CROWD, cuts, group), inputs=["age"], output="height")


def integers_of(X, y, **settings):
    """Return the numbers that a release without noise publishes, in whole steps of its grid."""
    model = PrivateGPRegressor(bounds=(40, 200), epsilon=np.inf, learn=False, **settings)
    return model.fit(X, y).release_.noisy.values.tolist()


@dataclass(frozen=True)
class Fatal:
    """Outputs whose reader is killed, so many times; how often it was is kept in a folder."""

    part: Any
    folder: str
    times: int
    maker: int = field(default_factory=os.getpid)  # which is not to be killed

    @property
    def rows(self):
        return self.part.rows

    def read(self):
        assert os.getpid() != self.maker, "a block was read where the test runs, not by a worker"
        for time in range(self.times):
            try:
                (Path(self.folder) / str(time)).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return self.part.read()


def check_nothing_is_spent(folder, X, y, fatal, monkeypatch):
    """Check that ``fatal`` outputs spend nothing, and that good ones are spent once afterwards."""
    book = Ledger(folder / "budget.ledger").open("people", 1.0, 1e-5, create=True)
    model = PrivateGPRegressor(
        bounds=(40, 200), epsilon=1.0, learn=False, ledger=book, dataset="people"
    )
    plan = model.plan(X)
    with monkeypatch.context() as patch:
        patch.setattr(core, "PATIENCE", 6.0)
        # joblib may try the block itself in the end, which the block of this test refuses.
        with pytest.raises(ValueError, match=r"killed|could not be read"):
            model.fit(X, fatal, plan=plan)
    assert book.spent("people") == 0.0
    assert [entry.facts["event"] for entry in book.history()] == ["created", "opened"]
    assert not hasattr(model, "release_")
    assert model.fit(X, y, plan=plan).release_.private
    assert book.spent("people") == total_guarantee(plan.spends, 1e-5) > 0.9999
    assert [entry.facts["event"] for entry in book.history()][2:] == ["spent"]
