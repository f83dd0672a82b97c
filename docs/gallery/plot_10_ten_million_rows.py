"""
Ten million rows
================

A tax office has a folder of Parquet files with ten million people in it. It does not fit into the
memory of the machine at hand, and need not: the folder is read in blocks, and everybody is gathered
at a few hundred places, of which a plan, a release and a check make sums. All it takes is
``pip install 'cloakgp[parquet]'``. The folder here is made up, in a temporary place, and thrown
away at the end.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cloakgp import PrivateGPRegressor, Release, scan

ROWS, FILES = 10_000_000, 10
rng = np.random.default_rng(11)


def true_income(age):
    """Return the mean income at an age, in euros a year."""
    return 18_000 + 26_000 * np.exp(-(((age - 48.0) / 20.0) ** 2))


folder = tempfile.TemporaryDirectory()
people = Path(folder.name) / "people"
people.mkdir()
for number in range(FILES):
    age = 18.0 + 72.0 * rng.random(ROWS // FILES, dtype=np.float32)
    income = true_income(age) * rng.standard_gamma(4.0, ROWS // FILES, dtype=np.float32) / 4.0
    pq.write_table(pa.table({"age": age, "income": income}), people / f"{number:02d}.parquet")
size = sum(file.stat().st_size for file in people.iterdir())
print(f"{ROWS:,} rows in {FILES} files, {size / 1e6:.0f} MB")

# %%
# The public facts
# ----------------
# ``scan`` looks at the footers of the files and opens no column. Ages are public, incomes are
# private; incomes above 150,000 count as 150,000. Should Gaussian noise be chosen, delta has to be
# far below one in ten million.
X, y = scan(people, inputs=["age"], output="income")
model = PrivateGPRegressor(bounds=(0, 150_000), epsilon=0.1, delta=1e-10)

# %%
# The plan
# --------
# A plan passes over the ages twice: once to find places, once to count who is where. Of the incomes
# it opens nothing. With so many people a tenth of the usual epsilon is plenty, and the plan shows
# it.
start = time.perf_counter()
plan = model.plan(X)
taken = time.perf_counter() - start
print(plan)
print(f"planned in {taken:.1f} s: {ROWS / taken / 1e6:.1f} million rows a second")

# %%
# The release
# -----------
# One pass sees that the ages are still those of the plan, one reads ages and incomes together.
# Sums of blocks are exact integers, so they are the same in any order, on one machine or many.
start = time.perf_counter()
model.fit(X, y, plan=plan)
taken = time.perf_counter() - start
print(f"released in {taken:.1f} s: {ROWS / taken / 1e6:.1f} million rows a second")

# %%
model.release_.plot()

# %%
# What goes out is small, however many people went in, and anybody can check it. Whoever has the
# folder can also check that the release was made from these very people.
file = Path(folder.name) / "incomes.cloakgp"
model.release_.save(file)
print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
report = Release.load(file).verify(inputs=X)
print("everything holds" if report else report)

# %%
# What a reader may conclude
# --------------------------
# With ten million people, privacy costs next to nothing: the band is hardly wider than the line.
# Compare with the truth, which is known since we made it up:
asked = np.array([[20.0], [48.0], [85.0]])
mean, std = model.release_.predict(asked, return_std=True)
for (age,), m, s in zip(asked, mean, std, strict=True):
    print(f"at {age:.0f}: {m:6.0f} ± {1.96 * s:3.0f} euros, in truth {true_income(age):6.0f}")

# %%
# The curve is of *clipped* incomes. Whatever the few above 150,000 earn beyond that is missing from
# it, and no number of people makes up for bounds that are too narrow. Nor does the size of the data
# excuse a large epsilon: each of the ten million is one person.
#
# What if the budget were ten times smaller still?
# ------------------------------------------------
# Looking at another budget needs no further pass: the places are known.
for epsilon in (0.1, 0.01, 0.001):
    noise = plan.at_epsilon(epsilon).forecast_rmse
    print(f"epsilon = {epsilon:<5g}: privacy adds {noise:6.0f} euros to the error, typically")
folder.cleanup()
