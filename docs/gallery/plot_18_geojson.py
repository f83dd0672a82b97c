"""
A map for other people's maps: GeoJSON
======================================

A water company has tested the tap water of 3,000 homes for lead. Which homes were tested is public,
what was found is not. The health office does not want a picture: it wants a layer for its own map.
A release writes one, with the noise in it. The homes are made up.
"""

# sphinx_gallery_thumbnail_number = 1
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection

from cloakgp import PrivateGPRegressor

rng = np.random.default_rng(18)
homes = pd.DataFrame(
    {
        "lat": (48.40 + 0.02 * rng.normal(size=3000)).round(3),
        "lon": (9.99 + 0.03 * rng.normal(size=3000)).round(3),
    }
)


def true_lead(lat, lon):
    """Return the micrograms of lead in a litre that are usual at a place: most in old pipes."""
    return 2.0 + 9.0 * np.exp(-(((lat - 48.41) / 0.012) ** 2) - ((lon - 9.98) / 0.018) ** 2)


lead = pd.Series(true_lead(homes["lat"], homes["lon"]) * rng.gamma(4.0, 0.25, 3000), name="lead")

# %%
# The public facts
# ----------------
# Up to 25 micrograms are told apart, which is far above the limit of the law. Homes are protected
# here, not people, so that every sentence says so. Inputs called ``lat`` and ``lon`` are degrees:
# pictures have north up and the right aspect.
model = PrivateGPRegressor(bounds=(0, 25), epsilon=1.0, unit="home")

# %%
# The plan
# --------
# It needs the places and no result.
plan = model.plan(homes)
print(plan)

# %%
# The release
# -----------
model.fit(homes, lead, plan=plan)
release = model.release_
release.plot()

# %%
# The layer is a dictionary, as ``json.dump`` and every program for maps take it: squares with the
# prediction, its 95 % interval and the part of the noise. With GeoPandas, ``to_geopandas`` gives a
# frame instead.
layer = release.to_geojson(clip="bounds")
one = layer["features"][len(layer["features"]) // 2]
print(f"{len(layer['features'])} squares; {len(json.dumps(layer)) // 1000} kB; one of them:")
print(json.dumps(one["properties"], indent=1))

# %%
# What a reader may conclude
# --------------------------
# Where the *lower* end of the interval is above a limit, the water there is bad, noise and chance
# taken into account; where only the prediction is, more has to be measured. Any program can draw
# that, here in three lines.
limit = 5.0
squares = [np.array(each["geometry"]["coordinates"][0]) for each in layer["features"]]
low = np.array([each["properties"]["lead_low95"] for each in layer["features"]])
high = np.array([each["properties"]["lead_high95"] for each in layer["features"]])
colours = np.where(low > limit, "#D55E00", np.where(high < limit, "#C9E4F5", "#EEEEEE"))
drawn, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
ax.add_collection(PolyCollection(squares, facecolors=colours, edgecolors="none"))
for name, colour in (("above", "#D55E00"), ("below", "#C9E4F5"), ("not known", "#EEEEEE")):
    ax.plot([], [], "s", color=colour, label=name)
ax.set(xlabel="lon", ylabel="lat", aspect=1.0 / np.cos(np.radians(48.4)))
ax.autoscale_view()
ax.legend(title=f"{limit:g} µg in a litre", loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %%
# What a reader may not conclude is how much lead one home has.
#
# What if only some places matter?
# --------------------------------
# Give them, and the layer has a point for each, at no cost: they are predictions.
schools = pd.DataFrame({"lat": [48.41, 48.38], "lon": [9.98, 10.02]})
for point in release.to_geojson(schools)["features"]:
    found = point["properties"]
    print(f"{found['lead']:.1f} µg ({found['lead_low95']:.1f} to {found['lead_high95']:.1f})")
