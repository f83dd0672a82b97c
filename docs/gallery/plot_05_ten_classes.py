"""
Ten classes: what volunteers read
=================================

An archive has shown pictures of handwritten digits to volunteers and asked each of them for one
digit. The pictures are public: anybody may look at them. The answers are private, since bad
handwriting makes for bad guesses, and some people do not want theirs to be known. Can a model be
published that reads digits, without giving away what any volunteer has answered?

The pictures are the 1,797 digits that scikit-learn brings, 8 by 8 pixels each.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPClassifier

digits = load_digits()
order = np.random.default_rng(5).permutation(len(digits.target))
asked, kept = order[:1500], order[1500:]  # answers for these are private; those are ours

# %%
# The public facts
# ----------------
# There are ten classes, 0 to 9, whoever answers what. Since the pictures are public, we may do with
# them what we like: here 64 pixels become eight principal components, because noise has less to
# spoil in eight dimensions. A step that looked at the answers would not be allowed.
#
# Each component has a spread of 1, so pictures that are 3 apart are rather different: that is the
# lengthscale. Log-odds of ±3 are fairly sure answers: that is the standard deviation. Sixty
# inducing inputs make the model sparse, which is a matter of speed.
components = PCA(8, whiten=True).fit(digits.data[asked])
pictures = components.transform(digits.data[asked])
model = PrivateGPClassifier(3.0**2 * RBF(3.0), classes=range(10), inducing=60, epsilon=1.0)

# %%
# The plan
# --------
# All ten classes share one sketch. Changing one answer moves two of them, the old class and the
# new, which costs a factor of √2 and not of ten.
plan = model.plan(pictures)
print(plan)

# %%
# The release
# -----------
# One spend, for all ten classes.
model.fit(pictures, digits.target[asked], plan=plan)
ours = components.transform(digits.data[kept])
chance = model.release_.predict_proba(ours)
right = chance.argmax(axis=1) == digits.target[kept]
print(
    f"{right.mean():.0%} of {len(kept)} digits of our own are read correctly; guessing gives 10 %"
)

# %%
# What a reader may conclude
# --------------------------
# The score above is honest, and free, because the digits that we scored are ours. A score on the
# volunteers' own answers would have been a second, unprotected release about them.
#
# A model that has been given noisy answers should know what it does not know. Here are digits of
# ours with the probability of the most probable class.
drawn, axes = plt.subplots(2, 8, figsize=(9.0, 3.0), layout="constrained")
for ax, which in zip(axes.ravel(), range(16), strict=True):
    ax.imshow(digits.images[kept[which]], cmap="Greys")
    colour = "#0072B2" if right[which] else "#D55E00"
    label = f"{chance[which].argmax()}  ({chance[which].max():.0%})"
    ax.set_title(label, fontsize=11, color=colour)
    ax.set_axis_off()
drawn.suptitle("read correctly (blue) and wrongly (orange)", fontsize=10, x=0.01, ha="left")
plt.show()

# %%
# And here is which digits are taken for which. Each row is a digit, and its dark squares are the
# classes that get the probability.
mixed = np.array([chance[digits.target[kept] == digit].mean(axis=0) for digit in range(10)])
drawn, ax = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
image = ax.imshow(mixed, cmap="Blues", vmin=0.0, vmax=mixed.max())
ax.set(xticks=range(10), yticks=range(10), xlabel="class", ylabel="true digit")
drawn.colorbar(image, label="mean probability")
plt.show()

# %%
# What a reader may not conclude is what any of the 1,500 answered for their picture. The model may
# well read that picture correctly. So it reads pictures that nobody was asked about.
#
# What if there were fewer volunteers?
# ------------------------------------
# The plan has the answer, and needs only pictures for it. In log-odds, 3 is a fairly sure answer
# and 0 an open question; noise is what moves one towards the other.
for count in (300, 750, 1500):
    noise = model.plan(pictures[:count]).forecast_rmse
    print(f"{count:4d} volunteers: noise of {noise:.2f} in log-odds, typically")
