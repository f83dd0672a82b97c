"""The public mathematics of the model: Gaussian processes with their inputs fixed.

Kernels (``kernels/``), exact and sparse models (``linear``, ``exact``, ``sparse``, ``inducing``),
families of priors and what their settings share (``family``, ``defaults``, ``kernel_features``),
likelihoods of classes and counts (``likelihoods``).  Everything here is computed from public inputs
X and public bounds; no function is ever given y.
"""
