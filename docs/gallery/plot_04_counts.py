"""
Counts with exposure: claims of drivers
=======================================

An insurer would like to show how often drivers of different ages have an accident. For each of
6,000 policies the age of the driver is public, and so is how many years the policy has run. How
many claims there were is private. A driver who was insured for four years has had four times the
opportunity of one who was insured for a single year, so claims have to be counted *per year*: the
years are the exposure. The drivers are made up.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import PrivateGPCountRegressor

rng = np.random.default_rng(4)


def true_rate(age):
    """Return the claims per year of drivers of an age."""
    return 0.12 + 0.38 * np.exp(-(age - 18.0) / 7.0) + 0.2 / (1.0 + np.exp(-(age - 78.0) / 3.0))


age = rng.integers(18, 86, size=6000)
drivers = pd.DataFrame({"age": age})
years = rng.integers(1, 6, size=6000)
claims = pd.Series(rng.poisson(years * true_rate(age)), name="claims")

# %%
# The public facts
# ----------------
# The cap is the largest number of claims that is told apart. A driver with more counts as having
# five, and the model allows for that. A published statistic of the whole country says that there
# is about one claim in six years; ``prior_mean`` is the logarithm of that rate.
model = PrivateGPCountRegressor(cap=5, prior_mean=np.log(1 / 6), epsilon=1.0)

# %%
# The plan
# --------
# Ages and years are all that a plan needs.
plan = model.plan(drivers, exposure=years)
print(plan)

# %%
# Its noise is in log rates: 0.1 is about ten per cent of the rate.
plan.plot()

# %%
# The release
# -----------
# This line spends, once.
model.fit(drivers, claims, exposure=years, plan=plan)
release = model.release_
release.plot()

# %%
# What a reader may conclude
# --------------------------
# Rates are for an exposure of one year; for another, say so. The interval ``of="person"`` is for
# the claims of single drivers, which chance scatters much more than their rate.
asked = pd.DataFrame({"age": [18, 30, 50, 80]})
rate = release.predict(asked)
low, high = release.predict_interval(asked)
_, most = release.predict_interval(asked, of="person", exposure=5.0)
for age, r, a, b, claims_most in zip(asked["age"], rate, low, high, most, strict=True):
    print(
        f"at {age}: {r:.2f} claims a year (95 %: {a:.2f} to {b:.2f}); "
        f"in five years hardly anybody has more than {claims_most:.0f}"
    )

# %%
# The curve does not say whether a certain driver of 80 has ever had an accident. And it is no proof
# that age *causes* accidents: a private curve is as easily misread as any other.
#
# Beside the truth, which is known for made-up drivers:
grid = pd.DataFrame({"age": np.arange(18, 86)})
low, high = release.predict_interval(grid)
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
ax.fill_between(grid["age"], low, high, color="#C9E4F5", label="95 % band of the release")
ax.plot(grid["age"], release.predict(grid), color="#0072B2", lw=2, label="release")
ax.plot(grid["age"], true_rate(grid["age"]), "--", color="#222222", lw=1.2, label="truth (made up)")
ax.set(xlabel="age of the driver", ylabel="claims per year", xlim=(18, 85), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper center")
plt.show()

# %%
# What if the cap were higher?
# ----------------------------
# The noise has to hide the largest count that anybody may have, so a cap that nobody comes near is
# paid for by all. A cap that many exceed loses information instead. Take what is usual elsewhere.
for cap in (3, 5, 20):
    other = PrivateGPCountRegressor(cap=cap, prior_mean=np.log(1 / 6), epsilon=1.0)
    noise = other.plan(drivers, exposure=years).forecast_rmse
    print(
        f"cap {cap:2d}: noise of {noise:.2f} in log rates, about {np.expm1(noise):.0%} of the rate"
    )
