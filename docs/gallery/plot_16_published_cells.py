"""
What is published: cells and their means
========================================

An employer of 1,500 people wants to show how many days of illness there are by age. The works
council asks which numbers exactly will leave the building. With Laplace noise the answer is a short
table: noisy sums over cells of people of similar age. The people are made up.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import PrivateGPRegressor

rng = np.random.default_rng(16)
staff = pd.DataFrame({"age": rng.integers(18, 66, size=1500)})


def true_days(age):
    """Return the mean days of illness in a year."""
    return 7.0 + 0.004 * (age - 30.0) ** 2


days = pd.Series(true_days(staff["age"]) * rng.gamma(2.0, 0.5, size=1500), name="days")

# %%
# The public facts
# ----------------
# Ages are known in the house. From 0 to 40 days are told apart; whoever was ill for longer counts
# as 40.
model = PrivateGPRegressor(bounds=(0, 40), epsilon=1.0)

# %%
# The plan
# --------
# It says how many numbers will be published: a sum for each cell, and one more that tells how
# widely people scatter. Cells follow from the ages alone.
plan = model.plan(staff)
print(f"{plan.published_values} numbers with {plan.spec.mechanism} noise")

# %%
# The release
# -----------
# Dots are the noisy means of the cells, with bars for 95 % of their noise; the curve goes through
# what is probable between them.
model.fit(staff, days, plan=plan)
release = model.release_
release.plot()

# %%
# Here is what was published, cell by cell. The noise of a sum has the same size in every cell, so
# the mean of a large cell is more certain. Borders may be soft: then a person near one counts
# partly in either cell, and the people in a cell are no whole number.
cells = release.published()
print(cells.round(1).to_string(index=False))

# %%
# What a reader may conclude
# --------------------------
# The mean of a cell is what it is: a mean with noise. It may be compared with a table that somebody
# makes by other means, and it needs no belief in a Gaussian process. The curve needs one, and gives
# more for it: something for each age, with a band that knows of the neighbouring cells.
grid = np.arange(18.0, 66.0)[:, None]
low, high = release.predict_interval(grid)
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
ax.fill_between(grid[:, 0], low, high, color="#C9E4F5", label="95 % band of the curve")
ax.plot(grid, true_days(grid), "--", color="#222222", lw=1.2, label="truth (made up)")
ax.plot(grid, release.predict(grid), color="#0072B2", lw=2, label="curve")
ax.set(xlabel="age", ylabel="days of illness in a year", xlim=(18, 65), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# What if the budget were smaller?
# --------------------------------
# Then there would be fewer and larger cells: noise would drown the means of small ones.
for epsilon in (0.1, 0.3, 1.0, 3.0):
    print(f"epsilon = {epsilon}: {plan.at_epsilon(epsilon).published_values} numbers")
