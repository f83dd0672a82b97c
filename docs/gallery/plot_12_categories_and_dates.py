"""
Categories and dates as inputs
==============================

How long do patients wait for an appointment? A health service knows the region and the week of
6,000 requests, which are public, and how many days each patient waited, which is private. Regions
and dates need not be turned into numbers first: say what the columns are, and ask the release in
the same words. The patients are made up.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import PrivateGPRegressor
from cloakgp.columns import Category, Date

rng = np.random.default_rng(12)
regions = ["north", "south", "west"]
weeks = pd.date_range("2024-01-01", "2024-12-23", freq="7D")


def true_wait(region, week):
    """Return the mean waiting time in days."""
    usual = region.map({"north": 14.0, "south": 22.0, "west": 17.0}).astype(float)
    winter = 6.0 * np.cos(2.0 * np.pi * (week - weeks[0]).dt.days / 365.0)
    return usual + winter


requests = pd.DataFrame(
    {"region": rng.choice(regions, 6000, p=(0.5, 0.3, 0.2)), "week": rng.choice(weeks, 6000)}
)
waits = true_wait(requests["region"], requests["week"]) * rng.gamma(6.0, 1 / 6.0, size=6000)
print(requests.head(3).to_string(index=False))

# %%
# The public facts
# ----------------
# Levels of a category are public, so state all that there are, and not those that happen to occur.
# The islands joined the service this year and have had no requests yet; they can be asked about
# all the same. Dates count as days from an origin. Waits from 0 to 60 days are told apart.
columns = {"region": Category([*regions, "islands"]), "week": Date("2024-01-01")}
model = PrivateGPRegressor(bounds=(0, 60), columns=columns, epsilon=1.0)

# %%
# The plan
# --------
# Weeks and regions repeat, so the 6,000 are gathered where they are, and nothing is lost.
plan = model.plan(requests)
print(plan)

# %%
# The release
# -----------
# What the columns are is part of the release, so its pictures have levels and dates on their axes.
# The column of the islands is pale: nobody is there.
model.fit(requests, waits.rename("days"), plan=plan)
release = model.release_
release.plot()

# %%
# What a reader may conclude
# --------------------------
# How waiting times differ between regions, and how they change over the year. The regions share
# what they have in common, so the west learns from the north.
colours = dict(zip(regions, ("#0072B2", "#D55E00", "#009E73"), strict=True))
drawn, ax = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
for region, colour in colours.items():
    asked = pd.DataFrame({"region": region, "week": weeks})
    low, high = release.predict_interval(asked)
    ax.fill_between(weeks, low, high, color=colour, alpha=0.18, lw=0)
    ax.plot(weeks, release.predict(asked), color=colour, lw=2, label=region)
    ax.plot(weeks, true_wait(asked["region"], asked["week"]), "--", color=colour, lw=1)
ax.plot([], [], "--", color="#222222", lw=1, label="truth (made up)")
ax.set(ylabel="mean waiting time, days", ylim=(0, 40))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, ncols=4, loc="upper center")
plt.show()

# %%
# About the islands the release knows only what regions have in common, and its interval says so.
# A reader may take it for a guess, not for a finding. An unknown level is refused by name.
asked = pd.DataFrame({"region": ["north", "islands"], "week": ["2024-07-01", "2024-07-01"]})
for region, low, high in zip(asked["region"], *release.predict_interval(asked), strict=True):
    print(f"{region:8}: {low:4.1f} to {high:4.1f} days in July")
try:
    release.predict(asked.replace("islands", "east"))
except ValueError as refusal:
    print(refusal)

# %%
# What if regions were simply numbered?
# -------------------------------------
# Codes such as 0, 1, 2 are numbers to a model, and it would believe that region 1 lies between 0
# and 2, and that the islands, as 3, are like the west. Nothing in a plan can tell you that this is
# wrong: its noise is about the same. So strings are categories, numbers are numbers, and codes are
# what you state: ``Category([0, 1, 2, 3])``.
numbered = requests.assign(region=requests["region"].map(regions.index))
as_numbers = PrivateGPRegressor(bounds=(0, 60), epsilon=1.0).plan(numbered)
for name, each in (("categories", plan), ("numbers", as_numbers)):
    print(f"regions as {name}: noise of {each.forecast_rmse:.2f} days, typically")
