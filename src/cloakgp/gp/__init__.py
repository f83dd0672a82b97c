"""The public mathematics of the model: Gaussian processes with their inputs fixed.

Start with ``linear``: what every model says of y and f, given X.  ``exact`` and ``sparse`` are such
models, on ``inducing`` inputs; ``family`` and ``defaults`` are priors to learn from, ``pairs`` and
``kernel_features`` what their settings share; ``likelihoods`` are those of classes and counts, and
``kernels`` has our kernels and the registry of all.  Everything here is computed from public inputs
X and public bounds; no function is ever given y.
"""
