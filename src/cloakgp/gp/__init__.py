"""The public mathematics of the model: kernels, exact and sparse priors, inducing inputs, Laplace.

Everything in this folder is computed from public inputs X; no function here is ever given y.
"""
