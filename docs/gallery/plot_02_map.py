"""
A map: rents across a town
==========================

A statistics office has asked 6,000 tenants what they pay. In which square of 500 metres each
of them lives is public, the rents are private, and the town hall would like a map. With two inputs
everything is as with one; only the pictures change. The town is made up: it is expensive around
the centre and at a lake in the north-east.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from cloakgp import PrivateGPRegressor

rng = np.random.default_rng(7)


def true_rent(east, north):
    """Return the rent per square metre that is usual at a place."""
    centre = 6.0 * np.exp(-((east - 2.8) ** 2 + (north - 2.8) ** 2) / 2.0)
    lake = 5.0 * np.exp(-((east - 6.3) ** 2) / 1.5 - (north - 5.6) ** 2 / 4.0)
    return 9.0 + centre + lake


squares = 0.5 * np.floor(14.0 * rng.beta(2.2, 2.2, size=(6000, 2))) + 0.25
homes = pd.DataFrame(squares, columns=["east_km", "north_km"])
rents = pd.Series(true_rent(*squares.T) + rng.normal(0.0, 1.5, len(homes)), name="rent")

# %%
# The public facts
# ----------------
# Nobody in this town pays less than 5 or more than 25 euros per square metre, says the published
# index of the whole country. Narrow bounds are worth a thought: the noise is proportional to their
# width. One tenant is one row.
model = PrivateGPRegressor(bounds=(5, 25), epsilon=1.0)

# %%
# The plan
# --------
# It needs the squares and no rent.
plan = model.plan(homes)
print(plan)

# %%
# All three maps have one scale: what privacy adds, what 6,000 answers leave open anyway, and both
# together. Colours fade where nobody lives, since a map has nothing to say there.
plan.plot(target_names=["rent"])

# %%
# The release
# -----------
# One fit, one spend. The map on the right is as important as the one on the left: it says how far
# the first may be off.
model.fit(homes, rents, plan=plan)
release = model.release_
release.plot()

# %%
# What a reader may conclude
# --------------------------
# Where the band is narrow, the map tells dear neighbourhoods from cheap ones. Whether two places
# really differ is a question of the uncertainty of their difference, which is less than that of
# both added up, because places share some of their error. The covariance of a prediction has it.
places = pd.DataFrame({"east_km": [2.8, 2.8], "north_km": [2.8, 5.6]})
mean, covariance = release.predict(places, return_cov=True)
difference = mean[0] - mean[1]
spread = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
print(f"the centre is dearer than the north by {difference:.1f} ± {1.96 * spread:.1f} euros")

# %%
# It does not say what the tenants at one address pay. Nor does it tell two streets apart that are
# a few hundred metres from each other: the noise would have to be much smaller for that.
#
# This town is made up, so the true map can stand beside the published one.
side = np.linspace(0.25, 6.75, 53)
east, north = np.meshgrid(side, side)
grid = pd.DataFrame({"east_km": east.ravel(), "north_km": north.ravel()})
drawn, axes = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained", sharey=True)
for ax, title, values in (
    (axes[0], "truth (made up)", true_rent(east, north)),
    (axes[1], "published", release.predict(grid, clip="bounds").reshape(east.shape)),
):
    image = ax.contourf(east, north, values, levels=np.arange(7.0, 18.1, 1.0), extend="both")
    ax.set(title=title, xlabel="east_km", aspect="equal")
axes[0].set_ylabel("north_km")
drawn.colorbar(image, ax=axes, label="rent, euros per square metre")
plt.show()

# %%
# What if the bounds were generous?
# ---------------------------------
# Bounds from 0 to 100 would be safe from any criticism, and would drown the map: the budget is the
# same, and so is the noise relative to the bounds.
generous = PrivateGPRegressor(bounds=(0, 100), epsilon=1.0).plan(homes)
for bounds, each in (("5 to 25", plan), ("0 to 100", generous)):
    print(f"rents from {bounds} euros: noise of {each.forecast_rmse:.2f} euros, typically")
