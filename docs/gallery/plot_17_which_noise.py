"""
Which noise? Let the forecast choose
====================================

There are two kinds of noise. Laplace noise needs no delta and is small where each person speaks in
one number, as in sums over cells. Gaussian noise pays for its delta, but can be spread over many
numbers. Which is better depends on public facts alone: on the budget, on the inputs, and on how
many outputs and rows each person has. So a plan can find out.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import make_heights

people = make_heights(1000, random_state=17)
ages, heights = people[["age"]], people["height_cm"]

# %%
# The public facts
# ----------------
# As always: bounds, and a budget. ``mechanism="auto"`` is the default. The delta is an offer: it is
# spent only if Gaussian noise is chosen.
model = PrivateGPRegressor(bounds=(40, 200), epsilon=1.0, delta=1e-5)

# %%
# The plan
# --------
# One line says which noise was chosen, and why.
plan = model.plan(ages)
print(next(line for line in str(plan).splitlines() if "was chosen" in line))
plan.plot(target_names=["height in cm"])

# %%
# The release
# -----------
# Its statement has no delta: with Laplace noise nothing is left to chance.
release = model.fit(ages, heights, plan=plan).release_
print(f"epsilon = {release.total_epsilon:g}, delta = {release.delta:g}")

# %%
# What a reader may conclude
# --------------------------
# That of the two the better noise *for this budget* was taken. The choice saw no height, so it
# costs nothing and says nothing about anybody. To see both, plan both, here for a range of budgets.
# A prior that does not learn is quicker to forecast with: what privacy adds, typically.
budgets = np.array([0.1, 0.3, 1.0, 3.0])
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
for delta, mechanism, colour, style in (
    (1e-5, "laplace", "#0072B2", "o-"),
    (1e-5, "gaussian", "#D55E00", "s--"),
    (1e-2, "gaussian", "#E69F00", "^:"),
):
    fixed = {"learn": False, "mechanism": mechanism, "delta": delta}
    each = PrivateGPRegressor(bounds=(40, 200), **fixed).plan(ages)
    error = [each.at_epsilon(epsilon).forecast_rmse for epsilon in budgets]
    name = "Laplace" if mechanism == "laplace" else f"Gaussian, delta = {delta:g}"
    ax.loglog(budgets, error, style, color=colour, label=name)
ax.set(xlabel="epsilon", ylabel="what privacy adds, cm", xticks=budgets)
ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
ax.xaxis.set_minor_locator(plt.NullLocator())
ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
ax.yaxis.set_minor_formatter(lambda value, _: "")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# What if each person had six private columns?
# --------------------------------------------
# A person then moves six numbers at once. Laplace noise grows with their number, Gaussian noise
# with its square root; at some point the forecasts change places, and the choice with them.
for columns in (1, 2, 4, 6):
    several = PrivateGPRegressor(bounds=[(40, 200)] * columns, learn=False).plan(ages)
    print(f"private columns: {columns}; noise: {several.spec.mechanism}")
