"""From the settings of an estimator to its prior: a model to design for, a family to learn from.

Every default comes from X and public bounds alone; no y comes here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from cloakgp.estimators.people import MOST_EXACT
from cloakgp.gp.defaults import Belief, Scales, default_family, default_kernel, design_kernel
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.family import Family
from cloakgp.gp.free import free_family
from cloakgp.gp.inducing import place_inducing
from cloakgp.gp.kernels.stretch import stretched
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.matrices import has_white_noise
from cloakgp.gp.sparse import Approximation, SparseModel
from cloakgp.gp.surrogate import Surrogate
from cloakgp.plan.request import Request
from cloakgp.plan.rows import points_of

#: Priors that expect f further away than this many times the range of the outputs are mistakes.
FURTHEST = 1e12
#: Without noise there is a number for everybody to weigh settings by: up to this many people.
MOST_TO_LEARN_FROM = 1000


class Settings(Protocol):
    """The settings of an estimator that say what its prior is."""

    kernel: Any
    learn: Any
    inducing: Any
    approximation: Approximation
    decode: str


class Fixed(NamedTuple):
    """The default prior if it is not learnt, as standard deviations in units of the outputs."""

    std: float  # of f
    noise: float  # of outputs around f


def prior_of(
    settings: Settings,
    request: Request,
    scales: Scales,
    unit: float,
    fixed: Fixed,
    *,
    noisy: bool,
    noise: float | None = None,
) -> tuple[LinearModel, Family | None]:
    """Return the model to design for, and the family to learn from, if any.

    ``unit`` is how far outputs, or latent values, can be expected to lie from each other;
    ``noisy`` says whether a release adds noise, ``noise`` is the variance of outputs around f
    if it was given.
    """
    _check_model(settings)
    X, counts, spreads = request.X, request.counts, request.spreads
    belief: Belief = scales.noise if noise is None else ((math.sqrt(noise) / unit, 1.0),)
    if not _learns(settings, len(X), noisy):
        kernel = stretched(settings.kernel, request.widths)
        if kernel is None:
            kernel = default_kernel(X, fixed.std * unit, counts, spreads)
        std = fixed.noise * unit if noise is None else math.sqrt(noise)
        return _model(settings, request, clone(kernel), std**2, unit), None
    if settings.kernel is None:
        family = default_family(X, replace(scales, noise=belief), unit, counts, spreads)
        kernel = design_kernel(X, scales, unit, counts, spreads)
    else:
        given = stretched(settings.kernel, request.widths)
        family = free_family(given, tuple((s * unit, w) for s, w in belief))
        kernel = family.mean_kernel()
    variance = (scales.design[1] * unit) ** 2 if noise is None else noise
    return _model(settings, request, kernel, variance, unit, for_design=noisy), family


def check_inducing(inducing: Any) -> None:
    """Refuse words that say nothing about inducing inputs."""
    if isinstance(inducing, str) and inducing != "auto":
        raise ValueError(f'inducing must be "auto", None, a number or a table, got {inducing!r}')


def _learns(settings: Settings, people: int, noisy: bool) -> bool:
    """Tell whether hyperparameters are learnt from what is published."""
    learn, automatic = settings.learn, isinstance(settings.learn, str) and settings.learn == "auto"
    if not (automatic or isinstance(learn, bool | np.bool_)):
        raise ValueError(f'learn must be "auto", True or False, got {learn!r}')
    if settings.decode == "direct":
        if not automatic and learn:
            raise ValueError(
                "learn=True cannot be combined with decode='direct', which estimates what the "
                "given kernel predicts without privacy; use decode='bayes' or learn=False"
            )
        return False
    if automatic:
        return settings.kernel is None and (noisy or people <= MOST_TO_LEARN_FROM)
    return bool(learn)


def _check_model(settings: Settings) -> None:
    """Refuse what no model can be made from."""
    if settings.approximation not in get_args(Approximation):
        raise ValueError(
            f"approximation must be one of {get_args(Approximation)}, "
            f"got {settings.approximation!r}"
        )
    if not (settings.kernel is None or isinstance(settings.kernel, Kernel)):
        raise ValueError(
            f"kernel must be a scikit-learn kernel object such as RBF(3.0), got {settings.kernel!r}"
        )


def _model(
    settings: Settings,
    request: Request,
    kernel: Any,
    noise: float,
    scale: float,
    for_design: bool = False,
) -> LinearModel:
    """Build the model of one kernel.

    ``scale`` is how far outputs, or latent values, can be expected to lie from each other;
    ``for_design`` says that only a sketch is designed for it.
    """
    X, counts = request.X, request.counts
    with np.errstate(all="ignore"):
        largest = float(np.max(kernel.diag(X)))
    if largest > (FURTHEST * scale) ** 2:
        raise ValueError(
            f"kernel has a standard deviation of {np.sqrt(largest):.3g} at some inputs, more "
            f"than {FURTHEST:g} times the range of the outputs ({scale:g}); check its "
            "parameters"
        )
    if counts is not None and has_white_noise(kernel, X):
        raise ValueError(
            "a kernel with a WhiteKernel part cannot be combined with people who are gathered "
            "at places; put the noise into noise_variance instead"
        )
    if settings.inducing is None or isinstance(settings.inducing, str):
        if len(X) > MOST_EXACT:
            raise ValueError(
                f"an exact Gaussian process on {len(X)} people takes minutes to plan (the "
                f"limit is {MOST_EXACT}); give a number of inducing inputs, for instance "
                "inducing=50"
            )
        model = Surrogate if for_design else ExactModel
        return model(kernel, X, noise, counts)
    wanted = settings.inducing
    if np.ndim(wanted) > 0:
        given = points_of(wanted, request.inputs, request.names, X.shape[1], "inducing")
        wanted = np.asarray(given)
    inducing = place_inducing(X, wanted, counts)
    return SparseModel(kernel, X, noise, inducing, settings.approximation, counts)
