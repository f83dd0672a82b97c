"""The prior and the workload of a plan: from settings and public inputs to a model, a family of
priors, and the points that matter.

Every default comes from X and from what is declared of the outputs, never from y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from cloakgp.data.rows import points_of
from cloakgp.data.table import MOST_EXACT, Table
from cloakgp.errors import ParameterError
from cloakgp.gp.defaults import (
    Belief,
    Scales,
    default_family,
    default_kernel,
    design_kernel,
)
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.family import Family, family_around
from cloakgp.gp.inducing import place_inducing, summarise
from cloakgp.gp.linear import LinearModel, has_white_noise
from cloakgp.gp.sparse import Approximation, SparseModel, Surrogate

Array = NDArray[np.float64]

#: Priors that expect f further away than this many times the range of the outputs are mistakes.
FURTHEST = 1e12
#: Without noise there is a number for everybody to weigh settings by: up to this many people.
MOST_TO_LEARN_FROM = 1000
#: Points of the default workload.
WORKLOAD = 100


class PriorSettings(Protocol):
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


def choose_prior(
    settings: PriorSettings,
    table: Table,
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
    X, counts, spreads = table.model_rows, table.counts, table.spreads
    belief: Belief = scales.noise if noise is None else ((math.sqrt(noise) / unit, 1.0),)
    if not _learns(settings, len(X), noisy):
        kernel = stretched(settings.kernel, table.widths)
        if kernel is None:
            kernel = default_kernel(X, fixed.std * unit, counts, spreads)
        std = fixed.noise * unit if noise is None else math.sqrt(noise)
        return _model(settings, table, clone(kernel), std**2, unit), None
    if settings.kernel is None:
        if table.protected is not None and table.protected.box.coarse:
            scales = replace(scales, additive=True)
        family = default_family(X, replace(scales, noise=belief), unit, counts, spreads)
        kernel = design_kernel(X, scales, unit, counts, spreads)
    else:
        given = stretched(settings.kernel, table.widths)
        family = family_around(given, tuple((s * unit, w) for s, w in belief))
        kernel = family.mean_kernel()
    variance = (scales.design[1] * unit) ** 2 if noise is None else noise
    return _model(settings, table, kernel, variance, unit, for_design=noisy), family


def stretched(kernel: Any, widths: Sequence[int] | None) -> Any:
    """Return a kernel whose lists of lengthscales have one for each column of the model.

    Given are lists with one for each input, as people count inputs: all levels of a category share
    that of their input.  ``widths`` says how many columns each input takes; None: one.
    """
    if kernel is None or widths is None or sum(widths) == len(widths):
        return kernel
    inputs = len(widths)
    changed = {}
    for name, value in kernel.get_params().items():
        ends = name.endswith(("length_scale", "length_scale_bounds"))
        if ends and np.ndim(value) >= 1 and not isinstance(value, str):
            lengths = np.asarray(value)
            # Bounds of all lengthscales are one pair, which needs no stretching.
            if len(lengths) == inputs and lengths.ndim == 1 + name.endswith("_bounds"):
                changed[name] = np.repeat(lengths, widths, axis=0)
    return clone(kernel).set_params(**changed) if changed else kernel


def check_inducing(inducing: Any) -> None:
    """Refuse words that say nothing about inducing inputs."""
    if isinstance(inducing, str) and inducing != "auto":
        raise ParameterError(
            '{inducing} must be "auto", None, a number or a table, got {!r}', inducing
        )


def _learns(settings: PriorSettings, people: int, noisy: bool) -> bool:
    """Tell whether hyperparameters are learnt from what is published."""
    learn, automatic = settings.learn, isinstance(settings.learn, str) and settings.learn == "auto"
    if not (automatic or isinstance(learn, bool | np.bool_)):
        raise ParameterError('{learn} must be "auto", True or False, got {!r}', learn)
    if settings.decode == "direct":
        if not automatic and learn:
            raise ParameterError(
                "{learn:True} cannot be combined with {decode:'direct'}, which estimates what the "
                "given kernel predicts without privacy; use {decode:'bayes'} or {learn:False}"
            )
        return False
    if automatic:
        return settings.kernel is None and (noisy or people <= MOST_TO_LEARN_FROM)
    return bool(learn)


def _check_model(settings: PriorSettings) -> None:
    """Refuse what no model can be made from."""
    if settings.approximation not in get_args(Approximation):
        raise ParameterError(
            "{approximation} must be one of {}, got {!r}",
            get_args(Approximation),
            settings.approximation,
        )
    if not (settings.kernel is None or isinstance(settings.kernel, Kernel)):
        raise ParameterError(
            "{kernel} must be a scikit-learn kernel object such as RBF(3.0), got {!r}",
            settings.kernel,
        )


def _model(
    settings: PriorSettings,
    table: Table,
    kernel: Any,
    noise: float,
    scale: float,
    for_design: bool = False,
) -> LinearModel:
    """Build the model of one kernel.

    ``scale`` is how far outputs, or latent values, can be expected to lie from each other;
    ``for_design`` says that only a sketch is designed for it.
    """
    X, counts = table.model_rows, table.counts
    with np.errstate(all="ignore"):
        largest = float(np.max(kernel.diag(X)))
    if largest > (FURTHEST * scale) ** 2:
        raise ParameterError(
            "{kernel} has a standard deviation of {:.3g} at some inputs, more than {:g} times the "
            "range of the outputs ({:g}); check its parameters",
            np.sqrt(largest),
            FURTHEST,
            scale,
        )
    if counts is not None and has_white_noise(kernel, X):
        raise ParameterError(
            "a kernel with a WhiteKernel part cannot be combined with people who are gathered at "
            "places; put the noise into {noise_variance} instead"
        )
    if settings.inducing is None or isinstance(settings.inducing, str):
        if len(X) > MOST_EXACT:
            raise ParameterError(
                "an exact Gaussian process on {} people takes minutes to plan (the limit is {}); "
                "give a number of inducing inputs, for instance {inducing:50}",
                len(X),
                MOST_EXACT,
            )
        model = Surrogate if for_design else ExactModel
        return model(kernel, X, noise, counts)
    wanted = settings.inducing
    if np.ndim(wanted) > 0:
        given = points_of(wanted, table.columns, table.names, X.shape[1], "inducing")
        wanted = np.asarray(given)
    inducing = place_inducing(X, wanted, counts)
    return SparseModel(kernel, X, noise, inducing, settings.approximation, counts)


def workload(table: Table) -> tuple[Array, Array]:
    """Return the points that matter and their weights."""
    if table.at is None:
        return summarise_rows(table)
    return table.at, np.full(len(table.at), 1.0 / len(table.at))


def summarise_rows(table: Table) -> tuple[Array, Array]:
    """Return points that stand for everybody, and their weights."""
    rows = table.model_rows
    points, weights = summarise(rows, WORKLOAD, table.counts)
    # Means of people have shares of levels; a point that matters has a level.
    if table.columns is not None:
        points = table.columns.snap(points, rows)
    return points, weights
