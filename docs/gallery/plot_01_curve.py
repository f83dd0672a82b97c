"""
A curve: heights by age
=======================

A county has measured 2,000 people and would like to publish how height goes with age, as a growth
chart does. Anybody may know who was measured and how old they are. How tall they are is nobody's
business.

This is the whole way from the question to the published curve: state the public facts, look at the
plan, spend the budget once, and read the result for what it is. The people are made up, which has
one advantage: in the end we can compare with the truth.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import make_heights

people = make_heights(2000)
ages, heights = people[["age"]], people["height_cm"]  # public, private
print(f"{len(ages)} people aged {ages['age'].min()} to {ages['age'].max()}")

# %%
# The public facts
# ----------------
# Two decisions come first, and neither may look at the heights. People are between 40 and 200 cm
# tall; that is common knowledge, and anybody taller counts as 200 cm. Epsilon is the guarantee: at
# epsilon = 1, an attacker who is torn between two possible heights of one person, and knows the
# heights of everybody else, guesses right at most 73 % of the time, where a coin gives 50 %.
model = PrivateGPRegressor(bounds=(40, 200), epsilon=1.0)

# %%
# The plan
# --------
# A plan needs the ages alone. It spends nothing, so make as many as you like.
plan = model.plan(ages)
print(plan)

# %%
# The picture on the left has the noise that privacy would add at each age, beside the uncertainty
# that 2,000 people leave even without any privacy. Where people are few, as at high ages, it takes
# more noise to hide each of them. On the right is what other budgets would give.
plan.plot(target_names=["height in cm"])

# %%
# The release
# -----------
# ``fit`` publishes a few noisy sums of the heights and forgets the rest. This is the only line that
# spends; predictions are free for ever after. We give it the plan that we have just looked at, so
# what was shown is what is released.
model.fit(ages, heights, plan=plan)
release = model.release_
release.plot()

# %%
# What a reader may conclude
# --------------------------
# The band holds the mean height at an age with a probability of 95 %, noise included. It is
# not a band for single people: they scatter around the mean, and have a wider interval of their
# own, which follows from one more published number, the noisy sum of squares.
asked = [[5.0], [12.0], [30.0], [60.0]]
mean = release.predict(asked)
low, high = release.predict_interval(asked)
least, most = release.predict_interval(asked, of="person")
for (age,), m, a, b, c, d in zip(asked, mean, low, high, least, most, strict=True):
    print(
        f"age {age:2.0f}: mean {m:3.0f} cm (95 %: {a:3.0f} to {b:3.0f}); "
        f"most people {c:3.0f} to {d:3.0f} cm"
    )

# %%
# What a reader may *not* conclude is anything about one of the 2,000. The curve says that
# thirty-year-olds are taller than five-year-olds, and that is true of everybody, measured or not;
# that Anna, who is 30 and in the data, is small, it does not say.
#
# Since these people are made up, we can ask the same machine for 100,000 others and draw their mean
# heights beside the release. With real data there is no such line, and the band is all one has.
others = make_heights(100_000, random_state=1).groupby("age")["height_cm"].mean()
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
grid = [[float(age)] for age in range(91)]
low, high = release.predict_interval(grid, clip="bounds")
ax.fill_between(range(91), low, high, color="#C9E4F5", label="95 % band of the release")
ax.plot(range(91), release.predict(grid, clip="bounds"), color="#0072B2", lw=2, label="release")
ax.plot(others.index, others, color="#222222", lw=1.2, ls="--", label="truth (made up)")
ax.set(xlabel="age", ylabel="mean height in cm", xlim=(0, 90))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# What if there were more people?
# -------------------------------
# The published sums get the same noise whether they are of 500 people or of 8,000; among more
# people it weighs less. No private
# value is needed to see what that buys: plan for as many people as there would be.
for count in (500, 2000, 8000):
    more = make_heights(count)[["age"]]
    typical = model.plan(more, at=grid[:81:8]).forecast_rmse
    print(f"{count:5d} people: privacy adds about {typical:4.1f} cm to the error, ages 0 to 80")
