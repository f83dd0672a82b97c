"""
Two hospitals, combined
=======================

Two hospitals have measured how much air their patients can breathe out in a second. The one in the
north sees children and young adults, the one in the south everybody from 25 on. Neither may give
its data to the other, and there is nobody whom both would trust with them. So each publishes a
release of its own, and anybody who has the two files can read them as one. All patients are made
up.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import PrivateGPRegressor, Release

rng = np.random.default_rng(10)


def true_volume(age):
    """Return the mean volume at an age, in litres."""
    return np.where(age < 22, 1.0 + 3.0 * np.sin(np.pi * (age - 5) / 34), 4.0 - 0.03 * (age - 22))


def patients(youngest, oldest):
    """Return the public ages of 5,000 patients and what they breathe out, which is private."""
    ages = pd.DataFrame({"age": rng.uniform(youngest, oldest, size=5000)})
    volume = true_volume(ages["age"].to_numpy()) + rng.normal(0.0, 0.5, size=5000)
    return ages, pd.Series(volume, name="litres")


north, south = patients(5.0, 45.0), patients(25.0, 85.0)

# %%
# The public facts
# ----------------
# The hospitals have to agree on names: both call the input *age* and the output *litres*. Bounds,
# budgets and everything else may differ.
young = PrivateGPRegressor(bounds=(0, 7), epsilon=1.0)
adult = PrivateGPRegressor(bounds=(0, 8), epsilon=0.8)

# %%
# Two plans, two releases
# -----------------------
# Each plans and publishes alone. What is handed on is a file.
folder = tempfile.TemporaryDirectory()
for name, model, (ages, litres) in (("north", young, north), ("south", adult, south)):
    plan = model.plan(ages)
    print(f"{name}: privacy would add {plan.forecast_rmse:.2f} litres to the error, typically")
    model.fit(ages, litres, plan=plan).release_.save(Path(folder.name) / f"{name}.cloakgp")

# %%
# Anybody: read both as one
# -------------------------
# The two sketches are decoded together, exactly and at no cost. What is learnt about the curve, for
# instance how smooth it is, is learnt from both.
first, second = (Release.load(Path(folder.name) / f"{name}.cloakgp") for name in ("north", "south"))
both = Release.combine([first, second], people="disjoint")
print(both)

drawn, axes = plt.subplots(1, 3, figsize=(11.0, 3.8), layout="constrained", sharey=True)
panels = (("north", first, 5, 45), ("south", second, 25, 85), ("both, read as one", both, 5, 85))
for ax, (title, release, youngest, oldest) in zip(axes, panels, strict=True):
    seen = np.linspace(youngest, oldest, 161)[:, None]
    low, high = release.predict_interval(seen)
    ax.fill_between(seen[:, 0], low, high, color="#9CCDEB", label="95 % band")
    ax.plot(seen, release.predict(seen), color="#0072B2", lw=1.6, label="release")
    ax.plot(seen, true_volume(seen), "--", color="#222222", lw=1.0, label="truth (made up)")
    ax.set(title=title, xlabel="age", xlim=(5, 85), ylim=(0.5, 5.0))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("litres in a second")
axes[2].legend(frameon=False, loc="lower right")
plt.show()

# %%
# What a reader may conclude
# --------------------------
# Each hospital speaks for the ages that it sees, and is drawn there alone: elsewhere a curve shows
# what the model expects, not what anybody has measured. The combination covers all ages, and where
# the two overlap it knows more than either.
ages = np.array([[10.0], [35.0], [70.0]])
spreads = [release.predict(ages, return_std=True)[1] for release in (first, second, both)]
table = pd.DataFrame(1.96 * np.array(spreads).T, columns=["north ±", "south ±", "both ±"])
print(table.set_axis(["age 10", "age 35", "age 70"]).round(2).to_string())

# %%
# What a patient is promised depends on who is in which file, and nobody can tell that from the
# files. Here we said ``people="disjoint"``: nobody is in both, and everybody is protected as their
# own hospital promised. Unless you know that, leave it out. Then the total is what holds for a
# patient who is in both.
print(f"nobody is in both: epsilon = {both.total_epsilon:.2f} for everybody")
overlapping = Release.combine([first, second])
print(f"somebody may be:   epsilon = {overlapping.total_epsilon:.2f} for everybody")

# %%
# What if they had pooled their data?
# -----------------------------------
# A trusted third party with all patients would add noise once instead of twice. That makes no
# difference at ages that only one hospital sees. In between, two releases that each know half of
# the patients are about as good as one with √2 times the noise. Plans tell what is at stake:
pooled = pd.concat([north[0], south[0]], ignore_index=True)
plans = (young.plan(north[0]), adult.plan(south[0]), adult.set_params(epsilon=1.0).plan(pooled))
for name, plan in zip(("north alone", "south alone", "pooled data"), plans, strict=True):
    print(f"{name}: noise of {plan.forecast(np.array([[35.0]]))[0][0]:.2f} litres at the age of 35")
folder.cleanup()
