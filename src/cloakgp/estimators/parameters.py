"""Parameters that the estimators share: described here, once, and filled into their docstrings.

A docstring lists what is its own, and ``{shared}`` stands for the rest: ``documented`` puts all of
them in the order of the signature, with its defaults.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from cloakgp.errors import warn_user

_Entry = TypeVar("_Entry", bound=Callable[..., Any])

_SETTINGS = """
epsilon : float
    The ε of the guarantee.  ``inf`` adds no noise and is not private.
delta : float
    The δ of the guarantee with Gaussian noise, well below one over the number of people.  Laplace
    noise needs none; 0 rules Gaussian noise out.
rho : float
    The budget as ρ of zero-concentrated DP, in place of ``epsilon``, which follows from it, the
    noise and ``delta``.
mu : float
    The same as μ of Gaussian DP.
learn : {"auto", True, False}
    Whether hyperparameters are learnt from the published sketch, which costs no budget: a
    public family of priors is averaged by how well each explains what was published.  "auto"
    learns if no ``kernel`` is given.  True also learns the free hyperparameters (not "fixed")
    of a kernel that is given, False uses it as it is.
iterations : int
    Newton steps, each with a sketch of its own; they share (ε, δ).  With ``decode="bayes"``
    the steps after the last sketch are free, so 1 is nearly always enough.
inducing : "auto", int, array of shape (M, L) or None
    How many people are told apart.  "auto": all of up to 4,000; more are gathered at up to 300
    public places, which stand for the inputs of everybody near them.  A number or a table:
    that many inducing inputs (placed by k-means of X), or these.  None: the exact model, for
    up to 4,000 people.
approximation : {"fitc", "dtc"}
    The sparse model, if ``inducing`` is a number or a table.
mechanism : {"auto", "laplace", "gaussian"}
    Which noise hides a person.  "laplace" is purely ε-private, without any δ, and best where people
    speak in few numbers; "gaussian" is for large δ, many outputs or many releases.  "auto" takes
    the one with the better forecast, before anything is read.
design : {"auto", "cells", "bayes", "total", "worst", "volume"}
    Which sketch is published: sums over cells of people (for Laplace noise), the sketch with the
    least posterior variance over the workload, the least total noise, the least largest noise, or
    the paper's.  "auto": cells for Laplace noise, else "bayes".  See ``cloakgp.design``.
target : {"auto", "points", "latents"}
    Whether the design cares for the points ``at`` or, as in the paper, for the latent values
    at the training inputs.  "auto" takes what the plan forecasts to be better at the points.
decode : {"bayes", "direct"}
    How predictions are made from the sketch: by the posterior of f, or by the paper's unbiased
    estimate of the prediction without privacy.
calibration : {"analytic", "hall"}
    How σ follows from (ε, δ): the least noise there is, or the paper's formula (for ε up to 1).
rank : int
    Publish at most this many values for each output.  None: as many as the design asks for.
columns : mapping of names to columns
    What columns of X are: ``Category``, ``Date``, ``Boolean`` or ``Number`` of
    ``cloakgp.columns``, by name.  Columns that are not named are known by their types:
    categories, dates, booleans and strings need no encoding.
protect : {"outputs", "rows"}
    What of each person is protected: outputs, where inputs are public; or whole rows, inputs
    included: then X is private, too, and a plan needs none.
box : mapping or list
    For ``protect="rows"``: the public range of each number or date among the inputs, as a pair, and
    the public levels of each category, as a list; ``bool`` for yes or no.  By name, or in order.
    One to ten inputs; of more than three, name those first that matter most.  What lies outside is
    clipped, and other levels become "other".
neighbours : {"replace", "add-remove"}
    For ``protect="rows"``, what the guarantee compares: one person's rows with any others, so that
    the number of rows is public; or with none, so that it is private, too.
unit : str or pair of str
    What sentences and pictures call those who are protected, such as "home", or the word and its
    plural.  It changes words alone: ``groups`` says whose each row is.
ledger : Ledger, path or address
    A budget ledger: a ``Ledger``, its file, or its ``postgresql://`` address.  The spend is
    recorded there before noise is drawn, and a fit that would exceed the cap is refused.
dataset : str
    The name of the data set in the ledger.
random_state : int or RandomState
    Anything but None makes the noise repeatable and therefore **not private**.
"""
_DATA = """
X : array, data frame or blocks of shape (N, L)
    Public inputs, one row for each output.
at : array or data frame of shape (P, L)
    The points that matter (the workload).  None: a summary of X, weighted by people.
groups : array of shape (N,)
    The owner of each row, if people own several: their rows are protected together.
    None: every row is another person.
exposure : float, array of shape (N,) or blocks
    Public: how long or how large each row was watched.  None: 1 for all.
plan : Plan
    What ``plan`` returned for the same inputs and settings: it is released as it is.  None:
    a plan is made.
people : int
    For ``protect="rows"``: how many rows to plan for, a public number or a guess.  None: with
    ``neighbours="replace"`` the rows of X are counted.
max_contributions : int
    Contribution bounding: at most this many rows of each owner count, chosen without their
    outputs; less noise for all.  None: all rows.  ``compare_max_contributions`` helps to
    decide.
"""
_PARAMETERS = "Parameters\n----------\n"
_MARK = "{shared}"


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section of a docstring by their names."""
    found = re.findall(r"^\S.*(?:\n[ ]+.*)*", section, re.M)
    return {re.split(r"\s*:\s", entry, maxsplit=1)[0]: entry for entry in found}


SHARED = _entries(_SETTINGS + _DATA)


def documented(entry: _Entry) -> _Entry:
    """Fill ``{shared}`` in the docstring of a class or a method; without docstrings do nothing."""
    head, _, rest = inspect.cleandoc(entry.__doc__ or "").partition(_PARAMETERS)
    section, gap, tail = rest.partition("\n\n")
    if _MARK not in section:
        return entry
    own, told = _entries(section.replace(_MARK, "")), []
    for parameter in inspect.signature(entry).parameters.values():
        name = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        if name in own:
            told.append(own[name])
        elif name != "self":
            told.append(_with_default(SHARED[name], parameter.default))
    entry.__doc__ = head + _PARAMETERS + "\n".join(told) + gap + tail
    return entry


def _with_default(entry: str, default: Any) -> str:
    if default is inspect.Parameter.empty:
        return entry
    first, rest = entry.split("\n", 1)
    stated = f'"{default}"' if isinstance(default, str) else repr(default)
    return f"{first}, default={stated}\n{rest}"


def accepts_max_rows(method: _Entry) -> _Entry:
    """Take ``max_rows``, as ``max_contributions`` was called up to version 0.2, and say so.

    ``sample_weight``, which other estimators have, is refused with the reason.
    """

    @wraps(method)
    def run(*args: Any, **options: Any) -> Any:
        if options.pop("sample_weight", None) is not None:
            raise TypeError(
                "sample_weight is not taken: the more a row counts, the more noise would have to "
                "hide its person, and weights that come from private values would give them away. "
                "Leave it out; of counts, say exposure= for how long each row was watched"
            )
        if "max_rows" in options:
            if "max_contributions" in options:
                raise TypeError("max_rows is the old name of max_contributions; give one of them")
            warn_user(
                "max_rows is now called max_contributions; the old name goes in 0.4", FutureWarning
            )
            options["max_contributions"] = options.pop("max_rows")
        return method(*args, **options)

    return run  # type: ignore[return-value]
