"""
A private search among kernels: when it is worth it
===================================================

A shop would like to publish what customers spend, by day, over eight weeks. Days are public,
purchases are private. The default prior is learnt for free, but it knows only curves that are more
or less smooth. If there is a weekly rhythm, a kernel that knows about weeks would do better; if
there is none, it would do worse. Looking at the purchases to decide would leak. A private search
looks on your behalf, and charges for it. Is it worth the price? The customers are made up.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared

from cloakgp import PrivateGPRegressor, PrivateGridSearch

rng = np.random.default_rng(13)


def true_spending(day):
    """Return what customers spend on average: little on weekdays, much on Saturdays."""
    return 30.0 + 0.1 * day + 35.0 * np.exp(3.0 * (np.cos(2.0 * np.pi * (day - 5.5) / 7) - 1.0))


def purchases(first):
    """Return when 1,200 customers came, which is public, and what they spent, which is not."""
    days = pd.DataFrame({"day": rng.integers(first, first + 56, size=1200)})
    euros = true_spending(days["day"]) + rng.normal(0.0, 8.0, size=1200)
    return days, euros.rename("euros")


days, euros = purchases(0)

# %%
# The public facts
# ----------------
# Purchases from 0 to 100 euros are told apart. The candidates come from knowledge of shops, not
# from the data: spending drifts slowly, or it goes up and down within days, or it has a rhythm of
# seven days.
candidates = [
    15.0**2 * RBF(20.0),
    15.0**2 * RBF(3.0),
    10.0**2 * RBF(20.0) + 15.0**2 * ExpSineSquared(1.0, periodicity=7.0),
]
model = PrivateGPRegressor(bounds=(0, 100), noise_variance=8.0**2)
search = PrivateGridSearch(model, {"kernel": candidates}, epsilon=2.0, split=0.3)

# %%
# The plan
# --------
# Thirty per cent of epsilon go to the choice, all that is left to the release. The plan makes up
# outputs as if each candidate in turn were true, and says how often the choice would be right. Its
# last line compares with a model that spends everything on a learnt prior and chooses nothing.
plan = search.plan(days)
print(plan)

# %%
# The release
# -----------
# One guarantee covers the choice and the release.
search.fit(days, euros, plan=plan)
print("chosen:", search.best_params_["kernel"])
print(f"total epsilon: {search.total_epsilon_:.3g}")

# %%
# For the next eight weeks, with other customers, the shop does without a search and spends all of
# epsilon on the default.
other_days, other_euros = purchases(56)
default = PrivateGPRegressor(bounds=(0, 100), epsilon=2.0)
default.fit(other_days, other_euros, plan=default.plan(other_days))

drawn, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), layout="constrained", sharey=True)
for ax, release, title, first in (
    (axes[0], search.best_estimator_.release_, "kernel chosen privately", 0),
    (axes[1], default.release_, "learnt prior, whole budget", 56),
):
    grid = np.linspace(first, first + 55, 276)[:, None]
    low, high = release.predict_interval(grid)
    ax.fill_between(grid[:, 0], low, high, color="#C9E4F5", label="95 % band")
    ax.plot(grid, release.predict(grid), color="#0072B2", lw=1.8, label="release")
    ax.plot(grid, true_spending(grid), "--", color="#222222", lw=1, label="truth (made up)")
    ax.set(title=title, xlabel="day", xticks=range(first, first + 57, 7), ylim=(10, 95))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("euros a purchase")
axes[1].legend(frameon=False, ncols=3, loc="upper center")
plt.show()

# %%
# What a reader may conclude
# --------------------------
# If the kernel of weeks was chosen, every Saturday counts towards all of them, and the curve on the
# left is the sharper one. The learnt prior has never heard of weeks; its band is meant for curves
# like those of its family, and Saturdays are not among them. The choice is random, though, and a
# reader is told which kernel was chosen, not that it is the right one; ``check`` says, for free,
# whether the published numbers contradict it.
print(search.best_estimator_.release_.check())

# %%
# What if there were fewer customers?
# -----------------------------------
# A hundred purchases cannot carry the choice: its chance of being right is not far above that of a
# blind one, and what the search is expected to gain shrinks to next to nothing. Most data sets have
# no secret rhythm, and a prior that learns is enough for them.
print(search.plan(days.head(100)))
