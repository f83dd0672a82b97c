"""
People with several rows: blood pressure at every visit
=======================================================

A practice has recorded the blood pressure of 800 patients at every visit. Some came once, some came
a dozen times. The guarantee should be for *patients*, with all their visits together: it is of
little use to hide one of twelve readings if the other eleven give the patient away. So the practice
says who owns which row. The patients are made up.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor

rng = np.random.default_rng(6)
often = 1 + rng.negative_binomial(1, 0.22, size=800).clip(max=11)  # visits of each patient
owner = np.repeat(np.arange(800), often)
first = rng.integers(25, 80, size=800)[owner]
visits = pd.DataFrame({"age": first + rng.integers(0, 6, size=len(owner))})
usual = 108 + 0.5 * visits["age"] + rng.normal(0.0, 9.0, size=800)[owner]
pressure = (usual + rng.normal(0.0, 6.0, size=len(owner))).rename("systolic")
print(f"{len(visits)} visits of {len(often)} patients, up to {often.max()} each")

# %%
# The public facts
# ----------------
# Ages at the visits are public here, and so is who came when: ``groups`` names the owner of each
# row. Systolic pressures from 80 to 200 are told apart. Studies that were published elsewhere say
# that the mean changes slowly, over some 25 years, and by 20 mmHg or so, and that people scatter
# around it by about 12.
model = PrivateGPRegressor(
    20.0**2 * RBF(25.0), noise_variance=12.0**2, bounds=(80, 200), epsilon=1.0
)

# %%
# The plan, and how many rows to keep
# -----------------------------------
# A patient with twelve rows has no more weight than a patient with one, so the twelve have to share
# it. ``max_contributions`` can keep fewer of them and leave the others unread, which wastes data
# but may save noise. Which rows stay follows from public facts alone. Whether that is worth it can
# be told in advance; the last column is what counts.
limits = model.compare_max_contributions(visits, groups=owner, limits=(1, 2, 4, None))
print(limits.drop(columns="rows_left_out").round(2).to_string(index=False))

# %%
# There is not much between them, because the default design finds good weights for any number of
# rows. Two rows of each patient are as good as any other number, and easy to explain.
plan = model.plan(visits, groups=owner, max_contributions=2)
print(plan)

# %%
# The release
# -----------
# ``fit`` is given the same owners and the same limit as the plan, and refuses anything else.
model.fit(visits, pressure, groups=owner, max_contributions=2, plan=plan)
release = model.release_
release.plot()

# %%
# What a reader may conclude
# --------------------------
# How blood pressure goes with age among those who *visit*: people who come often have more rows,
# here as in any analysis by visits. The statement of the release says who is protected, and that
# it is all rows of a person:
print(next(line for line in release.statement().splitlines() if line.startswith("Each person")))

# %%
# A reader may not conclude that a patient with many visits has high blood pressure, although a
# doctor might guess so. How often somebody came is public here; make sure that it may be.
#
# What if every visit were a person?
# ----------------------------------
# Leaving ``groups`` out looks like a bargain: the same epsilon, less noise. But it is another
# guarantee, for one reading instead of one patient, and against somebody who looks at all rows of a
# patient it can be weaker by as many times as there are rows. The difference in noise is the price
# of the promise that patients probably think they were given.
ages = np.arange(25, 86)
kinds = {
    "each patient is protected, two rows at most": plan,
    "each patient is protected, all rows": model.plan(visits, groups=owner),
    "only each reading is protected": model.plan(visits),
}
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
styles = zip(kinds.items(), ("#0072B2", "#009E73", "#D55E00"), ("-", "-.", "--"), strict=True)
for (name, each), colour, line in styles:
    noise, _ = each.forecast(ages[:, None].astype(float))
    ax.plot(ages, noise, color=colour, ls=line, lw=2, label=name)
ax.set(xlabel="age", ylabel="noise for privacy, mmHg", ylim=(0, None), xlim=(25, 85))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper center")
plt.show()
