"""
Whole rows: when ages are private, too
======================================

A school doctor has the heights of 3,000 children and their families, and may not even say how old
anybody is. So nothing of the table may be taken for granted: not the ages, and not how many people
there are. The people are made up.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import make_heights

people = make_heights(3000, random_state=15)

# %%
# The public facts
# ----------------
# Ages lie between 0 and 90 and heights between 40 and 200 cm: that is possible, whoever is in the
# table. ``neighbours="add-remove"`` hides whether somebody is in it at all.
model = PrivateGPRegressor(
    bounds=(40, 200),
    protect="rows",
    box={"age": (0, 90)},
    neighbours="add-remove",
    epsilon=1.0,
)

# %%
# The plan needs no table
# -----------------------
# Some 3,000 people are expected: a guess that everybody may know. With public ages the plan would
# look at them; here it cannot, and says for whom its figures are.
plan = model.plan(people=3000)
print(plan)

# %%
# The release
# -----------
# Two noisy sums for each cell of the box were published: what people have, and what they lack.
# Together they are the number of people there. So the release knows where people are, too, as far
# as the noise lets it, and draws that below the curve.
model.fit(people[["age"]], people["height_cm"], plan=plan)
release = model.release_
release.plot()

# %%
# As numbers, with their bands: how many people there are for each year of age.
print(release.density([[5], [20], [50], [80]]).round(1).to_string(index=False))

# %%
# What a reader may conclude
# --------------------------
# How height goes with age, and how many people of which age there are, within the bands. What stays
# private is everything about each of them:
print(next(line for line in release.statement().splitlines() if line.startswith("Each person")))

# %%
# What if something else were protected?
# --------------------------------------
# Plans spend nothing, so they can say what other promises would cost: that only heights are
# protected, were ages public, or that any row might be in the place of another, which at the same
# epsilon is the stronger promise.
ages = np.arange(0.0, 91.0)[:, None]
replace = PrivateGPRegressor(bounds=(40, 200), protect="rows", box={"age": (0, 90)})
kinds = {
    "whole rows, replace": replace.plan(people=3000),
    "whole rows, add or remove": plan,
    "outputs": PrivateGPRegressor(bounds=(40, 200)).plan(people[["age"]]),
}
figure, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
styles = zip(kinds.items(), ("#D55E00", "#009E73", "#0072B2"), ("--", "-.", "-"), strict=True)
for (name, each), colour, line in styles:
    noise, floor = each.forecast(ages)
    ax.plot(ages[:, 0], np.hypot(noise, floor), color=colour, ls=line, lw=2, label=name)
ax.set(xlabel="age", ylabel="expected error, cm", ylim=(0, None), xlim=(0, 90))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# Those of whole rows are for people who are spread evenly over the box, since nothing else is known
# beforehand: where there are fewer, at old age, the release itself is less sure, and says so.
