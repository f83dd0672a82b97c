"""
A diagnosis: probabilities of two classes
=========================================

A health insurer knows of 1,000 people how old they are and whether they were diagnosed with a
certain illness. How does the risk grow with age? Ages are public, diagnoses are about as private
as data can be. The people are made up.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np

from cloakgp import PrivateGPClassifier
from cloakgp.datasets import make_diagnoses

patients = make_diagnoses(1000)
ages, diagnoses = patients[["age"]], patients["diagnosis"]

# %%
# The public facts
# ----------------
# Every label that could occur has to be named. Taking the labels from the data would leak: if only
# one person had a rare diagnosis, its name alone would tell that the person is there.
model = PrivateGPClassifier(classes=["no", "yes"], epsilon=1.0)

# %%
# The plan
# --------
# It needs the ages and no diagnosis.
plan = model.plan(ages)
print(plan)

# %%
# Noise of probabilities is measured in log-odds, on which the model works. Near a probability of
# 50 %, 0.4 in log-odds is ten percentage points; near 5 % it is two.
plan.plot()

# %%
# The release
# -----------
# This line spends, once. The dashed line in the picture is where both classes are as likely.
model.fit(ages, diagnoses, plan=plan)
release = model.release_
release.plot()

# %%
# What a reader may conclude
# --------------------------
# ``predict_proba`` is for people: the probability that somebody of this age is diagnosed, averaged
# over all that is uncertain. ``predict_interval`` is for the curve: where the true probability
# lies, 19 times out of 20.
asked = np.array([[30.0], [50.0], [70.0], [85.0]])
chance = release.predict_proba(asked)[:, 1]
low, high = release.predict_interval(asked)
for age, p, least, most in zip(asked[:, 0], chance, low, high, strict=True):
    print(f"at {age:.0f}: {p:5.1%} have the diagnosis, between {least:5.1%} and {most:5.1%}")

# %%
# With made-up people, the truth is known and can be drawn.
grid = np.arange(20.0, 91.0)
low, high = release.predict_interval(grid[:, None])
truth = 0.03 + 0.62 / (1.0 + np.exp(-(grid - 62.0) / 7.0))
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
ax.fill_between(grid, low, high, color="#C9E4F5", label="95 % band of the release")
ax.plot(grid, release.predict_proba(grid[:, None])[:, 1], color="#0072B2", lw=2, label="release")
ax.plot(grid, truth, color="#222222", lw=1.2, ls="--", label="truth (made up)")
ax.set(xlabel="age", ylabel="probability of a diagnosis", xlim=(20, 90), ylim=(0, 1))
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# A reader may not conclude that a person of 85 who is in the data has the illness. That the old are
# at risk is a fact about age, which anybody could have found out from other people. What the
# release could add about one of the 1,000 is limited, whatever the method. Its statement says by
# how much:
print(next(line for line in release.statement().splitlines() if "guesses right" in line))

# %%
# What if the budget were smaller?
# --------------------------------
# Somebody will ask whether a tenth would do. The plan answers without opening the diagnoses: at a
# small epsilon, noise drowns the curve, and at a large one the number of people is what limits it.
table = plan.compare_epsilons((0.1, 0.3, 1.0, 3.0))
print(table[["epsilon", "typical_noise_std", "published_values"]].round(2).to_string(index=False))
print(f"without any privacy, the uncertainty is {plan.floor_std.mean():.2f} in log-odds")
