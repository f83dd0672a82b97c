"""
In a notebook: cards, pictures and tables
=========================================

A school wants to publish how well 800 pupils sleep by age, and its statistician works in a
notebook. Nothing needs ``print`` there: plans, releases and checks are cards, pictures show
themselves, and whatever is published is a data frame. This page is such a notebook; the link at its
end downloads it. The pupils are made up.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import PrivateGPRegressor

rng = np.random.default_rng(19)
pupils = pd.DataFrame({"age": rng.integers(6, 19, size=800)})
hours = pd.Series(11.0 - 0.22 * (pupils["age"] - 6) + rng.normal(0, 0.8, 800), name="hours")
pupils.head(3)

# %%
# The public facts
# ----------------
# Nobody sleeps less than 4 or more than 12 hours: so it is said in textbooks, not in this table.
model = PrivateGPRegressor(bounds=(4, 12), epsilon=1.0, unit="pupil")

# %%
# The plan
# --------
# A cell that ends with a plan shows its card. Open it for the rest.
plan = model.plan(pupils)
plan

# %%
# Its picture belongs into the next cell.
plan.plot(target_names=["hours of sleep"])

# %%
# The release
# -----------
# The cell that spends should not be run twice. If it is, ``RepeatedSpendWarning`` tells the total.
release = model.fit(pupils, hours, plan=plan).release_
release

# %%
# A picture may go into panels of your own, beside others.
figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained", width_ratios=(2, 1))
release.plot(ax=axes[0])
settings = release.hyperparameters.head(8)
axes[1].barh(range(len(settings)), settings["weight"], color="#0072B2")
axes[1].set(xlabel="weight", ylabel="settings of the prior", yticks=[])
axes[1].invert_yaxis()
plt.show()

# %%
# What was published, and predictions, are frames.
release.published().round(2)

# %%
release.to_frame(pd.DataFrame({"age": [6, 12, 18]})).round(2)

# %%
# What a reader may conclude
# --------------------------
# Whether the published numbers are as the model expects is a card, too.
release.check()

# %%
# And so is what anybody can check from the file alone.
release.verify()

# %%
# What if the notebook is shared?
# -------------------------------
# Then it must not hold the data: clear the cells that show rows of the table, such as the first one
# here, and share ``release.save("sleep.cloakgp")`` beside it.
