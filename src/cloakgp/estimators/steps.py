"""From a plan to a release: the last checks, the noise, and a sketch for each Newton step.

For classes and counts, a step from public latent values f₀ is a regression on pseudo-outputs, so a
plan of one step is a plan like any other.  Each further step starts where the release so far ends,
which is public.  All calls of the core that publish y are here; y is handed to it and not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cloakgp.data.blocks.progress import passes
from cloakgp.data.checks import as_float, shape_of, target_names
from cloakgp.data.table import Table, batches
from cloakgp.errors import NotPrivateWarning, ParameterError, warn_user
from cloakgp.estimators.bounds import choice_facts, unrecorded
from cloakgp.estimators.spending import SAME_BOX, open_account, warn_if_repeated
from cloakgp.gp.kernels.json import check_writable
from cloakgp.privacy import (
    Batch,
    Bins,
    Bounded,
    Budget,
    Counted,
    Labelled,
    Noise,
    NoisySketch,
    Query,
    Rows,
    Sketch,
    WholeRows,
    epsilon_from_gdp,
    epsilon_from_zcdp,
    release,
)
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.privacy.mechanism.outputs import Kind
from cloakgp.release.bounds_plan import cached_total
from cloakgp.release.decode import latents_at_people
from cloakgp.release.outputs import Counts, Labels
from cloakgp.release.plan import Plan
from cloakgp.release.privacy_unit import PERSON
from cloakgp.release.release import Release
from cloakgp.release.spec import (
    MOST_ITERATIONS,
    MOST_LATENTS,
    DesignName,
    Part,
    ReleaseSpec,
    restarted,
)

#: A function of the core that holds y: it takes a sketch and the noise.
Publish = Callable[..., NoisySketch]

#: What ε is if nobody says anything else.
DEFAULT_EPSILON = 1.0
TARGETS = ("auto", "points", "latents")
MECHANISMS = ("auto", "laplace", "gaussian")
#: Latent values further out than this tell nothing more.
FURTHEST = 30.0


def checked_steps(iterations: Any) -> int:
    """Return the number of Newton steps, or refuse it."""
    whole = isinstance(iterations, Integral) and not isinstance(iterations, bool)
    if not (whole and 1 <= iterations <= MOST_ITERATIONS):
        raise ParameterError(
            "{iterations} must be a whole number from 1 to {}, got {!r}",
            MOST_ITERATIONS,
            iterations,
        )
    return int(iterations)


class Releaser(Protocol):
    """The settings of an estimator that say which noise it adds."""

    mechanism: str
    design: str
    decode: str
    calibration: str
    iterations: int
    epsilon: float
    delta: float
    rho: float | None
    mu: float | None


def mechanisms_for(settings: Releaser) -> tuple[Mechanism, ...]:
    """Return the mechanisms that come into question; "auto" compares them."""
    mechanism = settings.mechanism
    if mechanism not in MECHANISMS:
        raise ParameterError("{mechanism} must be one of {}, got {!r}", MECHANISMS, mechanism)
    if mechanism != "auto":
        return (mechanism,)  # type: ignore[return-value]
    # What was made for Gaussian noise, and a trial without any.
    cells = settings.design in ("auto", "cells") and settings.decode == "bayes"
    if not cells or settings.calibration != "analytic" or settings.epsilon == math.inf:
        return ("gaussian",)
    # Without a δ there is no Gaussian noise.
    return ("laplace",) if settings.delta == 0 else ("laplace", "gaussian")


def budgets_for(settings: Releaser) -> tuple[Budget, ...]:
    """Return what a fit spends, by each of its mechanisms: ε and δ become numbers here, once."""
    delta = as_float("delta", settings.delta)
    epsilon_for = _converted(settings, delta)
    parts = checked_steps(settings.iterations)

    def budget(mechanism: Mechanism) -> Budget:
        epsilon = epsilon_for(mechanism)
        if mechanism == "laplace":
            if not 0.0 <= delta < 1.0:  # which it does not need, but somebody has mistyped
                raise ParameterError("{delta} must be at least 0 and below 1, got {!r}", delta)
            return Budget(epsilon, 0.0, parts=parts, mechanism="laplace")
        return Budget(epsilon, delta, settings.calibration, parts)  # type: ignore[arg-type]

    return tuple(map(budget, mechanisms_for(settings)))


def _converted(settings: Releaser, delta: float) -> Callable[[Mechanism], float]:
    """Return what ε is for a mechanism: as it is given, or as it follows from ρ or μ."""
    epsilon = as_float("epsilon", settings.epsilon)
    if settings.rho is None and settings.mu is None:
        return lambda mechanism: epsilon
    if (settings.rho is not None and settings.mu is not None) or epsilon != DEFAULT_EPSILON:
        raise ParameterError("give one of {epsilon}, {rho} and {mu}: each is the whole budget")
    if settings.calibration != "analytic":
        raise ParameterError(
            "{rho} and {mu} state the noise themselves, so they need {calibration:'analytic'}; "
            "give {epsilon} for another calibration"
        )
    if settings.rho is not None:
        rho = as_float("rho", settings.rho)
        return lambda mechanism: epsilon_from_zcdp(rho, delta, mechanism)
    mu = as_float("mu", settings.mu)
    return lambda mechanism: epsilon_from_gdp(mu, delta, mechanism)


def refuse_conversion(settings: Releaser, shared: bool, what: str) -> None:
    """Refuse a budget in ρ or μ that would have to be ``shared`` with something else."""
    if shared and (settings.rho is not None or settings.mu is not None):
        raise ParameterError(
            "{rho} and {mu} are budgets of a release alone, and {} shares one; give {epsilon} "
            "and {delta}",
            what,
        )


def design_for(design: str, mechanism: Mechanism) -> DesignName:
    """Return which design is meant; "auto" is the best one for the mechanism."""
    if design != "auto":
        return design  # type: ignore[return-value]
    return "cells" if mechanism == "laplace" else "bayes"


def draw_plan(specs: Sequence[ReleaseSpec], target: str) -> Plan:
    """Plan the first step: the better mechanism, and of "auto" the better target."""
    if target not in TARGETS:
        raise ParameterError("{target} must be one of {}, got {!r}", TARGETS, target)
    if target != "auto":
        specs = [replace(spec, target=target) for spec in specs]  # type: ignore[arg-type]
    if len(specs) > 1:
        return Plan.draw_best(specs)
    (spec,) = specs
    plan = Plan.draw(spec)
    if target != "auto":
        return plan
    # The design "bayes" is the best for the points already, as its certificate says.
    if spec.design in ("bayes", "cells") or spec.noise_std == 0.0 or len(spec.X) > MOST_LATENTS:
        return plan
    other = Plan.draw(replace(spec, target="latents"))
    return min(plan, other, key=lambda drawn: drawn.forecast_rmse)


def check_columns(spec: ReleaseSpec, y: Any, rows: int) -> None:
    """Refuse numbers in more or fewer columns than were planned."""
    shape = shape_of(y, rows)
    columns = shape[1] if len(shape) == 2 else 1
    if not isinstance(spec.outcome, Labels | Counts) and len(spec.lo) != columns:
        raise ValueError(
            f"plan was made for {len(spec.lo)} output column(s), but y has {columns}; give "
            "bounds a pair for each column and plan again, or leave the plan out"
        )


class Spender(Protocol):
    """The settings of an estimator that say how it spends."""

    delta: float
    ledger: Any
    dataset: str | None
    random_state: Any
    bounds: Any  # if they were chosen before, the ledger is to know


def noise_for(spender: Spender, plan: Plan, identity: Any, release_id: str) -> Noise:
    """Make the last checks, and return how the core is to draw the noise and record the spend.

    By ``identity`` people are known again; of whole rows it is None, since inputs are private.
    """
    # Each is read once: a parameter that changes now changes nothing.
    account, seed = open_account(spender.ledger, spender.dataset), spender.random_state
    bounds = spender.bounds
    _warn_if_unsavable(plan)
    if seed is not None or math.isinf(plan.epsilon):
        if account is not None:
            raise ParameterError(
                "a release that is not private (random_state, or {epsilon:inf}) cannot be recorded "
                "in a ledger; leave {ledger} and {dataset} out for a trial"
            )
        return Noise(rehearsal=_rehearsal(plan, seed))
    spends = list(plan.spends)
    if account is None:
        if plan.spec.rows is None:
            warn_if_repeated(identity, spends, spender.delta)
        else:
            warn_if_repeated(plan.spec.rows.box.codes, spends, spender.delta, SAME_BOX)
        return Noise()
    ledger, dataset = account
    spec, before = plan.spec, unrecorded(bounds, ledger, dataset)
    spends = [*before, *spends]
    stated = plan.epsilon if plan.choice is None else plan.choice.total_epsilon
    if before:
        stated = cached_total(tuple(spends), plan.delta)
    parameters = {
        "task": spec.task,
        "design": spec.design,
        "decode": spec.decode,
        "mechanism": spec.mechanism,
        "calibration": spec.budget.calibration,
        "people": spec.people,
        "published_values": plan.published_values,
        "sigma": spec.budget.sigma,
        **choice_facts(bounds),
    }
    if spec.privacy_unit != PERSON:
        parameters["unit"] = spec.privacy_unit.one
    if spec.rows is not None:
        parameters |= {
            "protects": "whole rows",
            "neighbours": spec.rows.neighbours,
            "max_rows": spec.rows.max_rows,
        }
    if plan.choice is not None:
        parameters |= plan.choice.parameters
    return Noise(
        commit=partial(
            ledger.spend,
            dataset,
            spends,
            what=f"{type(spender).__name__}.fit",
            parameters=parameters,
            release_id=release_id,
            inputs=identity,
            stated=(stated, plan.delta),
        )
    )


def _rehearsal(plan: Plan, seed: Any) -> Any:
    """Warn that this is not private, and return repeatable noise if it was asked for."""
    if math.isinf(plan.epsilon):
        warn_user("epsilon=inf adds no noise: the result is not private", NotPrivateWarning)
        return None
    warn_user(
        "random_state makes the noise repeatable, so the result is NOT private; use "
        "random_state=None for a real release",
        NotPrivateWarning,
    )
    rng = check_random_state(seed)
    if plan.spec.budget.mechanism == "laplace":
        return lambda scale, count: _discrete_laplace(rng, scale, count)
    return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)


def _discrete_laplace(rng: Any, scale: float, count: int) -> NDArray[np.int64]:
    """Return whole numbers with P(x) ∝ e^(−|x|/scale): differences of two geometric ones."""
    up, down = np.floor(scale * rng.standard_exponential((2, count))).astype(np.int64)
    return np.asarray(up - down)


def _warn_if_unsavable(plan: Plan) -> None:
    """Say before anything is spent that a kernel cannot be written to a file."""
    try:
        check_writable(plan.spec.kernel)
    except ValueError as error:
        warn_user(f"this release will work but cannot be saved: {error}")


def publish(plan: Plan, table: Table, y: Any, noise: Noise, release_id: str) -> Release:
    """Release a plan: y goes to the core, and what the core publishes comes back."""
    return release_plan(plan, core_for(plan.spec, table, y), noise, target_names(y), release_id)


def core_for(spec: ReleaseSpec, table: Table, y: Any) -> Publish:
    """Return the function that gives y to the core and publishes a sketch of it."""
    kind = _kind(spec, flat=len(shape_of(y, len(table))) == 1)
    people: Rows | Bins = Rows(y, spec.groups)
    if spec.partition is not None:
        done = passes(spec.partition.people, "Summing the private column at places")
        people = Bins(spec.partition.counts, batches(table, y), done)

    def core(sketch: Sketch, *, noise: Noise) -> NoisySketch:
        squares = spec.squares and len(sketch.matrix) > 0
        return release(Query(sketch, kind, people, squares), spec.budget, noise=noise)

    return core


def core_for_rows(spec: ReleaseSpec, blocks: Sequence[Batch], groups: Any) -> Publish:
    """Return the same for whole rows, whose bins the core finds itself."""
    rows, kind = spec.rows, _kind(spec, flat=True)
    assert rows is not None
    people = WholeRows(spec.columns, blocks, rows.neighbours, rows.max_rows, groups)

    def core(sketch: Sketch, *, noise: Noise) -> NoisySketch:
        return release(Query(sketch, kind, people), spec.budget, noise=noise)

    return core


def _kind(spec: ReleaseSpec, flat: bool) -> Kind:
    """Return what the core is told of the outputs: bounds, classes or a cap, all public."""
    if isinstance(spec.outcome, Labels):
        return Labelled(spec.outcome.classes)
    if isinstance(spec.outcome, Counts):
        return Counted(float(spec.hi[0]))
    return Bounded(spec.lo, spec.hi, flat=flat)


def release_plan(
    plan: Plan, core: Publish, noise: Noise, names: tuple[str, ...] | None, release_id: str
) -> Release:
    """Publish every step of a plan by the function of the ``core`` that holds y.

    The spend of all steps is committed with the first.
    """
    spec = plan.spec
    published = Release.of(
        spec=spec,
        sketch=plan.sketch,
        noisy=core(plan.sketch, noise=noise),
        gap=plan.gap,
        status=plan.design.status,
        target_names=names,
        release_id=release_id,
    )
    for _ in range(1, spec.iterations):
        f = latents_at_people(published)
        step = Plan.draw(restarted(spec, np.clip(f, -FURTHEST, FURTHEST)))
        part = Part(step.sketch, core(step.sketch, noise=replace(noise, commit=None)))
        published = replace(published, later=(*published.later, part))
    return published
