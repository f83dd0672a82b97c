"""
Private bounds: when nobody knows the scale
===========================================

A platform for craftspeople would like to publish what they earn, by years of experience. Nobody
has done so before, so nobody knows what is usual: 300 euros a month, or 30,000? Bounds that are far
too wide drown the curve in noise, and the largest income in the data is a private fact. The way out
is to have the bounds chosen privately, from public candidates, out of the same budget. The people
are made up.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import BoundsGrid, PrivateGPRegressor

rng = np.random.default_rng(9)
experience = pd.DataFrame({"years": rng.integers(0, 41, size=6000)})
mean = 1500 + 2200 * (1.0 - np.exp(-experience["years"] / 10.0))
earnings = (mean * rng.lognormal(-0.06, 0.35, size=6000)).rename("euros_a_month")

# %%
# The public facts
# ----------------
# All we are sure of is that nobody earns less than nothing or more than 50,000 euros a month.
# Between these ends, 26 candidates are plenty; fewer choose better.
grid = BoundsGrid(np.linspace(0, 50_000, 26))
model = PrivateGPRegressor(bounds=grid, epsilon=1.0)

# %%
# The plan
# --------
# Choice and release share one budget. The plan says what each gets, and how well the choice can be
# made if the values fill all of the grid, a third of it, or a tenth.
plan = model.plan(experience)
print(plan.choice)

# %%
# The release
# -----------
# First the bounds are chosen, then the curve is released with them: one spend, one guarantee.
model.fit(experience, earnings, plan=plan)
release = model.release_
lo, hi = release.spec.lo[0], release.spec.hi[0]
print(f"bounds chosen: {lo:,.0f} to {hi:,.0f} euros; total epsilon {release.total_epsilon:.3g}")

# %%
release.plot()

# %%
# What a reader may conclude
# --------------------------
# That nearly all earnings lie within the bounds, as far as a noisy choice can tell: by its plan,
# about one per cent may lie outside at either end, and count as the bound. The choice was paid for,
# so the bounds can be published with the curve. A reader may not conclude that anybody earns as
# much as the upper bound: no single income can make any choice of bounds much more likely.
#
# Was it worth it? Here is the noise with the ends of the grid as bounds, which cost nothing; with
# the bounds that were chosen, and what was left of the budget; and with good bounds, had anybody
# known them.
ends = PrivateGPRegressor(bounds=(0, 50_000), epsilon=1.0).plan(experience)
left = PrivateGPRegressor(bounds=(lo, hi), epsilon=plan.epsilon).plan(experience)
known = PrivateGPRegressor(bounds=(0, 7_000), epsilon=1.0).plan(experience)
years = np.arange(0.0, 41.0)
drawn, ax = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
for name, each, colour, line in (
    ("ends of the grid", ends, "#D55E00", "--"),
    ("chosen privately", left, "#0072B2", "-"),
    ("good bounds, had they been known", known, "#009E73", "-."),
):
    noise, _ = each.forecast(years[:, None])
    ax.plot(years, noise, color=colour, ls=line, lw=2, label=name)
ax.set(xlabel="years of experience", ylabel="noise for privacy, euros a month", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# What if there were only 150 people?
# -----------------------------------
# Then the choice takes a much larger share of the budget, less is left for the release (the last
# line), and still a bound may be off by a third of all people. Below about 200 people, take the
# ends of the grid, or ask somebody who knows.
print(model.plan(experience.head(150)).choice)
