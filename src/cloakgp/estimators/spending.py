"""How a fit spends: the last checks, then what records the spend and where the noise comes from.

Nothing is drawn here, and no y comes here: the core calls what is returned.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from cloakgp.errors import NotPrivateWarning
from cloakgp.estimators.accounts import open_account
from cloakgp.estimators.people import People
from cloakgp.estimators.repeats import warn_if_repeated
from cloakgp.gp.kernels.to_json import check_writable
from cloakgp.plan.plan import Plan
from cloakgp.privacy import Noise


class Spender(Protocol):
    """The settings of an estimator that say how it spends."""

    ledger: Any
    dataset: str | None
    random_state: Any


def noise_of(spender: Spender, plan: Plan, people: People, release_id: str) -> Noise:
    """Make the last checks, and return how the core is to draw the noise."""
    # Each is read once: a parameter that changes now changes nothing.
    account, seed = open_account(spender.ledger, spender.dataset), spender.random_state
    _warn_if_unsavable(plan)
    if seed is not None or math.isinf(plan.epsilon):
        if account is not None:
            raise ValueError(
                "a release that is not private (random_state, or epsilon=inf) cannot be "
                "recorded in a ledger; leave ledger and dataset out for a trial"
            )
        return Noise(rehearsal=_rehearsal(plan, seed))
    spends = list(plan.spends)
    inputs = people.identity
    if account is None:
        warn_if_repeated(inputs, spends, plan.delta)
        return Noise()
    ledger, dataset = account
    facts = plan.facts
    parameters = {
        "task": facts.task,
        "design": facts.design,
        "decode": facts.decode,
        "calibration": facts.budget.calibration,
        "people": facts.people,
        "published_values": plan.published_values,
        "sigma": facts.budget.sigma,
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
            inputs=inputs,
            stated=(plan.total_epsilon, plan.delta),
        )
    )


def _rehearsal(plan: Plan, seed: Any) -> Any:
    """Warn that this is not private, and return repeatable noise if it was asked for."""
    if math.isinf(plan.epsilon):
        warnings.warn(
            "epsilon=inf adds no noise: the result is not private", NotPrivateWarning, stacklevel=4
        )
        return None
    warnings.warn(
        "random_state makes the noise repeatable, so the result is NOT private; use "
        "random_state=None for a real release",
        NotPrivateWarning,
        stacklevel=4,
    )
    rng = check_random_state(seed)
    return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)


def _warn_if_unsavable(plan: Plan) -> None:
    """Say before anything is spent that a kernel cannot be written to a file."""
    try:
        check_writable(plan.facts.kernel)
    except ValueError as error:
        warnings.warn(
            f"this release will work but cannot be saved: {error}", UserWarning, stacklevel=4
        )
