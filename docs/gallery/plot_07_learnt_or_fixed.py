"""
A learnt prior against a fixed one
==================================

Two survey institutes publish incomes by age, each from 20,000 people of its own. Incomes rise, and
drop at 65, when people retire. One institute lets the release learn how smooth the curve is. The
other *knows* that incomes change slowly with age, and says so with a kernel. The second is wrong
about retirement, and this is what that looks like. All people are made up.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor

rng = np.random.default_rng(8)


def true_income(age):
    """Return the mean monthly income at an age, in euros."""
    return np.where(age < 65, 1400 + 2600 * (1.0 - np.exp(-(age - 20.0) / 15.0)), 1900.0)


def survey():
    """Return the public ages of 20,000 people and their private incomes."""
    ages = pd.DataFrame({"age": rng.uniform(20.0, 90.0, size=20_000)})
    incomes = true_income(ages["age"]) * rng.lognormal(-0.08, 0.4, size=20_000)
    return ages, pd.Series(incomes, name="income")


# %%
# The public facts
# ----------------
# Incomes from 0 to 10,000 euros are told apart. The first model gives no kernel, which is the
# default: settings from smooth to rough are averaged, and each counts by how well it explains the
# numbers that were published anyway. That costs no budget. The second has a lengthscale of 40
# years, and insists on it.
facts = {"bounds": (0, 10_000), "epsilon": 1.0}
learning = PrivateGPRegressor(**facts)
fixed = PrivateGPRegressor(2000.0**2 * RBF(40.0), noise_variance=1500.0**2, **facts)

# %%
# The plans
# ---------
# Judged by its plan, the fixed kernel is the better deal: it promises less noise and smaller
# errors. A plan can only promise what its prior believes. The plan of the learning model says as
# much: its error depends on whether the truth is smooth or rough, and it does not claim to know.
ages, incomes = survey()
other_ages, other_incomes = survey()
plan, fixed_plan = learning.plan(ages), fixed.plan(other_ages)
print(plan.outlook.round({"share": 2, "noise_std": 0, "error_std": 0}).to_string(index=False))
print(f"fixed RBF(40): error of {fixed_plan.total_std.mean():.0f} euros, it says")

# %%
# The releases
# ------------
# Each person is in one survey only, so each is protected at epsilon = 1.
learnt = learning.fit(ages, incomes, plan=plan).release_
stiff = fixed.fit(other_ages, other_incomes, plan=fixed_plan).release_
grid = np.arange(20.0, 89.5, 0.5)[:, None]
drawn, axes = plt.subplots(1, 2, figsize=(9.4, 4.0), layout="constrained", sharey=True)
for ax, release, title in ((axes[0], learnt, "learnt prior"), (axes[1], stiff, "fixed RBF(40)")):
    low, high = release.predict_interval(grid)
    ax.fill_between(grid[:, 0], low, high, color="#C9E4F5", label="95 % band")
    ax.plot(grid, release.predict(grid), color="#0072B2", lw=2, label="release")
    ax.plot(grid, true_income(grid), "--", color="#222222", lw=1.2, label="truth (made up)")
    ax.set(title=title, xlabel="age", xlim=(20, 89))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("mean income, euros a month")
axes[0].legend(frameon=False, loc="lower left")
plt.show()

# %%
# What a reader may conclude
# --------------------------
# On the left, the band is wide and about true: it cannot rule out some waves, but it has found the
# drop. On the right it is narrow and wrong, and glides past retirement as if nothing happened. No
# reader of the right-hand picture could see that. But everybody can ask, at no cost, whether the
# published numbers are as the model expects:
print("learnt prior: ", learnt.check())
print("fixed RBF(40):", stiff.check())

# %%
# The alarm is raised when fewer than one release in twenty would look as odd if its prior were
# right. So a right one is under suspicion now and then, and a p-value far below 0.05 leaves no
# doubt. Then the bands must not be believed. The guarantee of privacy stands, since it never
# depended on the kernel. What the first release has learnt can be looked up:
weights = learnt.hyperparameters.groupby("kernel")["weight"].sum()
print(weights.nlargest(4).round(3).to_string())

# %%
# What if the kernel had been right?
# ----------------------------------
# A kernel that happens to fit gives narrower bands than a learnt one, which has to allow for all
# the others. If you know the lengthscale from *public* data, say so: these plans show what knowing
# is worth. If you only hope, let it be learnt.
for name, each in (("learnt", learning), ("RBF(8)", fixed.set_params(kernel=2000.0**2 * RBF(8.0)))):
    print(f"{name}: noise of {each.plan(ages).forecast_rmse:.0f} euros, typically")
