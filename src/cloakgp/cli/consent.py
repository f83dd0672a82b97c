"""Consent: nothing is spent before somebody has seen the plan and agreed, here or by ``--yes``.

Whose the rows are is asked, too, where a column seems to say it and the settings do not.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import numpy as np

from cloakgp.app.job import Job
from cloakgp.app.settings import Settings
from cloakgp.app.tables.owners import NO_OWNERS, RepeatedOwner
from cloakgp.cli.terminal import ask, confirm
from cloakgp.errors import CommandError
from cloakgp.privacy import Spend
from cloakgp.release.meaning import in_other_units, relation, what_it_costs
from cloakgp.release.plan import Plan
from cloakgp.release.privacy_unit import PERSON, PrivacyUnit
from cloakgp.release.search_plan import SearchPlan


def check_consent(yes: bool) -> None:
    """Refuse to spend if nobody can be asked and nobody agreed in advance."""
    if not (yes or sys.stdin.isatty()):
        raise CommandError(
            "a release spends privacy budget for good, so it asks first, but there is no terminal "
            "to ask on; look at `cloakgp plan`, then give --yes to agree in advance."
        )


def agrees_to_spend(plan: Plan | SearchPlan, left: str = "") -> bool:
    """Ask whether what was planned may be spent; ``left`` says what the ledger has."""
    if isinstance(plan, SearchPlan):
        rows, owners = len(plan.X), plan.groups
        people = rows if owners is None else len(np.unique(owners))
    else:
        owners, people = plan.spec.groups, plan.spec.people
    whose = f"{people} people"
    if owners is None:
        whose = f"the people behind {people:,} rows, each taken to be another person's"
    before = f"{left}\n" if left else ""
    rows_of, spends = (plan.spec.rows if isinstance(plan, Plan) else None), plan.spends
    if isinstance(plan, Plan) and rows_of is not None:
        spends = (Spend.of(plan.spec.budget),)  # for these neighbours, whatever a ledger counts
        whose = f"everybody in the table, for {relation(rows_of)}"
    unit = plan.spec.privacy_unit if isinstance(plan, Plan) else plan.privacy_unit
    question = (
        f"This spends {what_it_costs(plan.total_epsilon, plan.delta)} "
        f"({in_other_units(spends)}) of the privacy of {unit.told(whose)}. What is published "
        f"cannot be taken back.\n{before}Release now?"
    )
    return confirm(question)


def ask_owners(job: Job, yes: bool, plan_only: bool = False, **how: bool) -> tuple[Job, Settings]:
    """Ask whose the rows are if a column seems to say it and the settings do not.

    Whoever has agreed in advance is not asked, and has to say it in the settings.  Where nothing is
    spent it is only noted.
    """
    found = job.repeated_owner()
    if found is None:
        return job, job.settings
    unit = job.settings.privacy_unit
    settings = replace(job.settings, groups=owners_answer(found, yes, plan_only, unit))
    return Job.read(job.data, settings, **how), settings


def owners_answer(
    found: RepeatedOwner, yes: bool, plan_only: bool = False, unit: PrivacyUnit = PERSON
) -> str:
    """Return the answer to whether a column names the owners of rows: its name, or "none"."""
    options = unit.told(found.options, [found.name])
    if plan_only:
        warnings.warn(f"{found}. {options}", stacklevel=1)
        return NO_OWNERS
    if yes or not sys.stdin.isatty():
        raise CommandError(f"{found}. {options}")
    asked = unit.told("Do these rows belong to the same people?")
    answer = ask(f"{found}. {asked} [y/n] ")
    if answer not in ("y", "yes", "n", "no"):
        raise CommandError(f"that is neither y nor n. {options}")
    return found.name if answer.startswith("y") else NO_OWNERS
