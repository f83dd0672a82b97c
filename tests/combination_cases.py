"""Options of a fit, how each is set, and an exact audit of whatever is fitted with them.

Nothing is sampled.  What the core hands to OpenDP is written on a tape, and OpenDP's answer is
decided here, the same for neighbouring data sets: so everything public has to be the same as well,
and what is left are integers that have moved against the scale of their noise, and the laws of
choices.  From these follows the δ at the ε that was stated, and where no δ was stated the largest
loss of all, by formulas of this module's own.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import opendp.measurements
import pandas as pd
import pytest
from scipy.special import erfc
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import (
    BoundsGrid,
    Ledger,
    NotPrivateWarning,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
    RepeatedSpendWarning,
    private_bounds,
    scan,
)
from cloakgp.columns import Category, Date
from cloakgp.estimators.spending import forget
from cloakgp.privacy import Spend, total_guarantee
from cloakgp.privacy.ledger import accounts
from cloakgp.privacy.mechanism import whole_rows

# ---------------------------------------------------------------------------------------- people

N, DELTA = 24, 1e-5
_RNG = np.random.default_rng(7)
#: All inputs differ.  Owners have up to three rows, far apart from each other and side by side.
PEOPLE = pd.DataFrame(
    {
        "age": np.round(_RNG.permutation(np.linspace(0.0, 80.0, N) + _RNG.uniform(0, 2, N)), 3),
        "region": _RNG.choice(["north", "south", "west"], N),
        "born": pd.Timestamp("1960-01-01") + pd.to_timedelta(_RNG.permutation(N) * 200, unit="D"),
        "owner": [*"aaabbbccddee", *"fghijklmnopq"],
        "years": np.round(_RNG.uniform(0.5, 2.0, N), 3),
    }
)
RAW = {"region": Category(["north", "south", "west"]), "born": Date()}
POINTS = PEOPLE.iloc[[0, 5, 11]].reset_index(drop=True)
GRID, BOUNDS_EPSILON = (0.0, 5.0, 10.0), 5.0
KERNEL = ConstantKernel(25.0, "fixed") * RBF(25.0, "fixed")


@dataclass(frozen=True)
class Task:
    """A kind of outputs: who releases it, with which settings, and its most different values."""

    estimator: type
    settings: dict
    low: tuple
    high: tuple
    middle: tuple  # two values that lie between them
    means: tuple = (0.0, 10.0)  # two settings for a search


#: The most different values lie beyond the bounds, which clip them.
TASKS = {
    "numbers": Task(
        PrivateGPRegressor,
        {"bounds": (0.0, 10.0), "noise_variance": 1e4},
        (-5.0,),
        (15.0,),
        ((2.0,), (8.0,)),
    ),
    "several outputs": Task(
        PrivateGPRegressor,
        {"bounds": [(0.0, 10.0), (0.0, 90.0)]},
        (-5.0, -9.0),
        (15.0, 99.0),
        ((2.0, 70.0), (8.0, 20.0)),
    ),
    "two classes": Task(
        PrivateGPClassifier,
        {"classes": ["no", "yes"]},
        ("no",),
        ("yes",),
        (("no",), ("yes",)),
        means=(-2.0, 2.0),
    ),
    "three classes": Task(
        PrivateGPClassifier, {"classes": ["a", "b", "c"]}, ("a",), ("c",), (("b",), ("a",))
    ),
    "counts": Task(PrivateGPCountRegressor, {"cap": 10}, (0,), (12,), ((3,), (7,))),
}

# --------------------------------------------------------------------------------------- options


@dataclass(frozen=True)
class Option:
    """One option: parameters of the constructor and of ``fit``, and what else is done for it.

    ``fits`` may name a column of PEOPLE, which comes in the order of the rows.  ``names`` are the
    parameters that ``ways`` set.
    """

    sets: dict = field(default_factory=dict)
    fits: dict = field(default_factory=dict)
    ways: dict = field(default_factory=dict)
    names: tuple = ()
    partners: tuple | None = None  # None: all


#: Partners of options that differ in the public maths of a sketch, or in what is drawn at all.
OWNED = ("groups",)
TRIED = ("private bounds", "bounds grid", "search", "ledger", "combine", "gaussian")
#: Partners of the variants of a search; "search" itself is paired with everything.
SEARCHED = ("groups", "max_contributions", "private bounds", "ledger")

#: Partners of the choice between two kinds of noise, which is made from the public inputs.
AUTO = ("groups", "several outputs", "three classes", "counts", "search", "ledger", "sorted by y")
#: Partners of whole rows: all but combinations, which are refused where both were released.
LATENT = ("several outputs", "two classes", "three classes", "counts", "iterations")
OWNED_ROWS = ("groups", "max_contributions", "blocks")
BEFORE = ("private bounds", "bounds grid", "search", "ledger")
#: What was made for Gaussian noise has it; "volume" is the design that is found soonest.
GAUSSIAN = {"mechanism": "gaussian", "design": "volume"}
#: Nothing else is set, but for a fixed kernel and Laplace noise, which nearly everybody gets.
#: A new option joins here; if one is refused, alone or in a pair, say so in REFUSED of
#: test_combinations.py.  ``partners`` keep the number of pairs small where it is safe to.
OPTIONS = {
    "groups": Option(fits={"groups": "owner"}),
    "max_contributions": Option(fits={"groups": "owner", "max_contributions": 2}),
    "private bounds": Option(ways={"bounds": {}}, names=("bounds",)),
    "bounds grid": Option(sets={"bounds": BoundsGrid(GRID, epsilon=BOUNDS_EPSILON)}),
    "several outputs": Option(ways={"task": "several outputs"}),
    "two classes": Option(ways={"task": "two classes"}, names=("classes",)),
    "three classes": Option(ways={"task": "three classes"}),
    "counts": Option(ways={"task": "counts"}, names=("cap",)),
    "iterations": Option(sets={"iterations": 2}),
    "search": Option(ways={"search": {}}, names=("estimator", "param_grid", "epsilon")),
    "blocks": Option(ways={"blocks": True}),
    "columns": Option(sets={"columns": RAW}),
    "ledger": Option(ways={"ledger": True}, names=("ledger", "dataset")),
    "combine": Option(ways={"combine": "unknown"}, names=("releases",)),
    "plan": Option(ways={"plan": True}, names=("plan",)),
    "sorted by y": Option(ways={"sorted": True}),
    "gaussian": Option(sets=GAUSSIAN),
    "whole rows": Option(
        sets={"protect": "rows", "box": {"age": (0.0, 90.0)}},
        names=("people",),
        partners=(*LATENT, *OWNED_ROWS, *BEFORE, "columns", "plan", "sorted by y", "gaussian"),
    ),
    # Variants of these.
    "bounds for single rows": Option(
        ways={"bounds": {"groups": False}}, partners=("groups", "max_contributions", "ledger")
    ),
    "bounds, recorded": Option(
        ways={"bounds": {"ledger": True}, "ledger": True}, partners=("groups", "search", "combine")
    ),
    "bounds of a trial": Option(ways={"bounds": {"random_state": 0}}, partners=()),
    "plan for single rows": Option(
        ways={"plan": True, "planned with": {"groups": None, "max_contributions": None}},
        partners=("groups", "max_contributions"),
    ),
    "exposure": Option(
        fits={"exposure": "years"}, partners=("groups", "max_contributions", "blocks")
    ),
    "search, shared": Option(
        ways={"search": {"split": 0.3, "mechanism": "permute-and-flip", "loss": "squared"}},
        names=("split", "mechanism", "loss"),
        partners=SEARCHED,
    ),
    "search, alone": Option(
        ways={"search": {"mechanism": "generalised", "max_sensitivity": 1e9, "refit": False}},
        names=("max_sensitivity", "refit"),
        partners=SEARCHED,
    ),
    # Public maths: the core measures every sketch, whoever made it.
    "bayes": Option(sets={**GAUSSIAN, "design": "bayes"}, partners=OWNED),
    "total": Option(sets={**GAUSSIAN, "design": "total"}, partners=OWNED),
    "worst": Option(sets={**GAUSSIAN, "design": "worst"}, partners=OWNED),
    "latents": Option(sets={"target": "latents"}, partners=(*OWNED, "gaussian")),
    "direct": Option(sets={**GAUSSIAN, "decode": "direct"}, partners=OWNED),
    "hall": Option(sets={**GAUSSIAN, "calibration": "hall"}, partners=(*OWNED, "bounds grid")),
    "mu": Option(
        sets={**GAUSSIAN, "epsilon": 1.0, "mu": 0.4}, partners=(*OWNED, "bounds grid", "search")
    ),
    "rho": Option(sets={"epsilon": 1.0, "rho": 0.2}, partners=(*OWNED, "whole rows", "iterations")),
    "rank": Option(sets={"rank": 2}, partners=OWNED),
    "learn": Option(sets={"kernel": None, "learn": "auto"}, partners=OWNED),
    "fitc": Option(sets={"inducing": 4, "approximation": "fitc"}, partners=OWNED),
    "dtc": Option(sets={"inducing": 4, "approximation": "dtc"}, partners=OWNED),
    "at": Option(fits={"at": POINTS}, partners=OWNED),
    "auto": Option(sets={"mechanism": "auto"}, partners=AUTO),
    # Nothing is promised.
    "random_state": Option(sets={"random_state": 0}, partners=TRIED),
    "no noise": Option(sets={"epsilon": math.inf}, partners=TRIED),
}

#: Parameters that no option sets, and why nothing has to be audited for them.
EXCUSED = {
    "X": "every case has it",
    "y": "every case has it",
    "delta": "every case states it",
    "prior_mean": "every search varies it, and the core is never told",
    "noise_variance": "part of the prior, which the core is never told",
    "cv": "every search has it",
    "n_jobs": "how many processes plan",
    "verbose": "what is shown meanwhile",
    "grid": "every choice of bounds has it",
    "quantiles": "public; which of the counts are the best",
    "inputs": "every choice of bounds has it",
    "unit": "a word for those whose rows they are",
    "neighbours": "of whole rows; others than those here are audited in test_whole_rows.py",
}


@dataclass(frozen=True)
class Case:
    """Options taken together, all of which the estimator has."""

    name: str
    task: Task
    sets: dict
    fits: dict
    ways: dict

    @property
    def owners(self):
        """Who owns each row."""
        return PEOPLE["owner"].to_numpy() if "groups" in self.fits else np.arange(N)

    @property
    def inputs(self):
        return ["age", "region", "born"] if "columns" in self.sets else ["age"]

    @property
    def stated(self):
        """Whether anything is to be promised."""
        noise = self.sets.get("epsilon", 1.0) < math.inf
        return noise and self.sets.get("random_state") is None

    def values(self, levels):
        """Return y with the largest values where levels are 1, the smallest where they are -1."""
        ends = {-1: (self.task.low,) * 2, 0: self.task.middle, 1: (self.task.high,) * 2}
        table = np.array([ends[level][row % 2] for row, level in enumerate(levels)])
        return table[:, 0] if table.shape[1] == 1 else table


def parameters(function):
    """Return the names of a function's parameters."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def case_of(*names, **ways):
    """Return options as a case, or None if they cannot be set together."""
    sets, fits, done = {}, {}, dict(ways)
    for option in (OPTIONS[name] for name in names):
        given = ((sets, option.sets), (fits, option.fits), (done, option.ways))
        for ours, theirs in given:
            if any(ours.get(key, theirs[key]) is not theirs[key] for key in theirs):
                return None
            ours.update(theirs)
    tasks = [done.pop("task")] if "task" in done else TASKS
    for task in map(TASKS.get, tasks):
        wanted = {*sets, *(["bounds"] if "bounds" in done else [])}
        known = {*parameters(task.estimator.__init__)}
        if "bounds" in done and "bounds" in sets:
            return None
        fit = PrivateGridSearch.fit if "search" in done else task.estimator.fit
        if wanted <= known and {*fits} <= {*parameters(fit)}:
            return Case(" & ".join(names), task, sets, fits, done)
    return None


#: Three that meet in one place, and not in pairs.
TRIPLES = [
    ("groups", "bounds for single rows", "search"),
    ("private bounds", "search", "ledger"),
    ("private bounds", "search", "gaussian"),
    ("groups", "three classes", "gaussian"),
    ("groups", "search", "gaussian"),
    ("three classes", "iterations", "gaussian"),
    ("ledger", "combine", "gaussian"),
]


def cases():
    """Return every option alone, every two that can be set together, and some three, by name."""
    names = [(name,) for name in OPTIONS]
    for one, other in itertools.combinations(OPTIONS, 2):
        partners = OPTIONS[one].partners, OPTIONS[other].partners
        if all(p is None or q in p for p, q in zip(partners, (other, one), strict=True)):
            names.append((one, other))
    found = (case_of(*options) for options in (*names, *TRIPLES))
    return {case.name: case for case in found if case is not None}


# ------------------------------------------------------------------------------------- the tape


@dataclass(frozen=True)
class Sums:
    """Integers on their way to noise."""

    values: tuple
    scale: float
    law: str  # "gaussian" or "laplace"


@dataclass(frozen=True)
class Losses:
    """Losses on their way to a choice."""

    values: tuple
    scale: float
    flips: bool  # permute-and-flip
    taken: int

    @property
    def chances(self):
        """Return the probability of each candidate."""
        worse = [(v - min(self.values)) / self.scale for v in self.values]
        if self.flips:
            return _flipped(tuple(math.exp(-w) for w in worse))
        weights = [math.exp(-w) for w in worse]
        return [weight / math.fsum(weights) for weight in weights]


def _flipped(heads):
    """Permute-and-flip: candidates in random order, the first whose coin shows heads is taken."""
    chances = [0.0] * len(heads)
    orders = list(itertools.permutations(range(len(heads))))
    for order in orders:
        left = 1.0 / len(orders)
        for i in order:
            chances[i] += left * heads[i]
            left *= 1.0 - heads[i]
    return chances


class Tape:
    """What the core hands to OpenDP in one run; the answers are those of earlier runs.

    ``path`` says what choices take, in order; ``answers`` are shared by the runs of a case.
    """

    def __init__(self, path=(), answers=None):
        self.path, self.answers = path, {} if answers is None else answers
        self.draws = []

    @property
    def choices(self):
        return [draw for draw in self.draws if isinstance(draw, Losses)]

    @property
    def sums(self):
        return [draw for draw in self.draws if isinstance(draw, Sums)]

    def make_gaussian(self, domain, metric, scale, **_):
        assert "L2Distance" in str(metric), metric
        return partial(self._add, "gaussian", scale)

    def make_laplace(self, domain, metric, scale, **_):
        assert "L1Distance" in str(metric), metric
        return partial(self._add, "laplace", scale)

    def _add(self, law, scale, values):
        key = (*(c.taken for c in self.choices), "sums", len(self.sums))
        noise = np.random.default_rng(len(self.sums)).standard_normal(len(values))
        answer = [v + round(scale * z) for v, z in zip(values, noise.tolist(), strict=True)]
        self.draws.append(Sums(tuple(values), scale, law))
        return self.answers.setdefault(key, answer)

    def make_noisy_max(self, domain, metric, measure, scale, negate=False, **_):
        def choose(values):
            assert negate, "losses are to be small"
            number = len(self.choices)
            taken = self.path[number] if number < len(self.path) else 0
            flips = "Max" in str(measure)  # and else zero-concentrated
            self.draws.append(Losses(tuple(values), scale, flips, taken))
            return taken

        return choose

    @contextmanager
    def recording(self):
        """Put the tape wherever cloakgp has a measurement of OpenDP; an unknown one fails."""
        with pytest.MonkeyPatch.context() as patch:
            for module, attribute, name in _doors():
                patch.setattr(module, attribute, getattr(self, name, _unknown))
            # Totals of several spends take a moment, and runs of a case ask for the same ones.
            for module, attribute in _totals():
                patch.setattr(module, attribute, _total_once)
            # So does what a first entry leaves of a cap, which nobody reaches here.
            patch.setattr(accounts, "allowance", lambda *_: 1e9)
            yield


@contextmanager
def same_lots():
    """Let the lots that decide which rows of a person count fall alike for neighbours."""
    with pytest.MonkeyPatch.context() as patch:
        lots = SimpleNamespace(token_bytes=lambda count: np.random.default_rng(1).bytes(count))
        patch.setattr(whole_rows, "secrets", lots)
        yield


@cache
def _doors():
    """Return where cloakgp has imported a measurement of OpenDP: module, name there, own name."""
    made = {v: k for k, v in vars(opendp.measurements).items() if k.startswith("make_")}
    found = [(m, a, made[v]) for m, a, v in _functions() if v in made]
    laws = {"make_gaussian", "make_laplace", "make_noisy_max"}
    assert {name for *_, name in found} == laws, found
    return found


@cache
def _totals():
    return [(m, a) for m, a, v in _functions() if v is total_guarantee]


def _functions():
    modules = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "cloakgp"]
    return [(m, a, v) for m in modules for a, v in vars(m).items() if inspect.isfunction(v)]


@cache
def _total_of(spends, delta):
    return total_guarantee(spends, delta)


def _total_once(spends, delta):
    return _total_of(tuple(spends), delta)


def _unknown(*_, **__):
    raise AssertionError("a measurement of OpenDP that Tape has no law for: teach it")


# ------------------------------------------------------------------------------------- one run


@dataclass(frozen=True)
class Run:
    """What one run left: the tape, what anybody may see, and what was promised."""

    tape: Tape
    seen: dict
    statements: tuple  # (who says so, ε, δ)
    releases: tuple = ()
    private: bool = True
    before: int = 0  # what was on the tape before the fit
    ledger: Ledger | None = None
    error: Exception | None = None


class Runner:
    """Runs a case on tables, in a folder of its own."""

    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        self.answers, self.plans, self.count = {}, {}, 0

    def run(self, levels, path=(), quieter=1.0):
        """Fit everything that the case asks for; errors of ours are kept."""
        case, self.count = self.case, self.count + 1
        forget()
        y, order = case.values(levels), np.arange(N)
        if case.ways.get("sorted"):
            order = np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable")
        table, y = PEOPLE.iloc[order].reset_index(drop=True), y[order]
        tape, before, ledger = Tape(path, self.answers), 0, None
        if case.ways.get("ledger"):
            ledger = Ledger(self.folder / f"{self.count}.ledger")
            ledger.open("people", 50.0, DELTA, create=True)
        with tape.recording(), same_lots(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                settings = self._settings(table, y, ledger)
                before = len(tape.draws)
                rounds = 2 if "combine" in case.ways else 1
                models = [self._fit(settings, table, y, ledger, i) for i in range(rounds)]
                found = [m.release_ for m in models if hasattr(m, "release_")]
                if rounds == 2:
                    found = [Release.combine(found, people=case.ways["combine"])]
            except ValueError as error:
                return Run(tape, {}, (), before=before, ledger=ledger, error=error)
            said = [(type(r).__name__, r.total_epsilon, r.delta) for r in found]
            if "search" in case.ways and rounds == 1:
                promised = [*found, *self.plans.values()][0]
                said.append(("the search", models[0].total_epsilon_, promised.delta))
            if ledger is not None:
                said.append(("the ledger", ledger.spent("people"), DELTA))
        tape.draws = [replace(d, scale=quieter * d.scale) for d in tape.draws]
        loud = {str(w.message) for w in warned if w.category is not RepeatedSpendWarning}
        private = not any(w.category is NotPrivateWarning for w in warned)
        assert private == all(r.private for r in found) or not found, "stamp and warning differ"
        seen = {"warnings": sorted(loud), **_seen(models, found, ledger)}
        return Run(tape, seen, tuple(said), tuple(found), private, before, ledger)

    def _settings(self, table, y, ledger):
        """Return the settings of the estimator; bounds may have to be chosen first."""
        case = self.case
        # Where bounds are chosen before, theirs is the larger part of what is stated.
        small = case.sets.get("calibration") == "hall" or "bounds" in case.ways
        default = {"kernel": KERNEL, "mechanism": "laplace", "delta": DELTA}
        default["epsilon"] = 1.0 if small else 8.0
        settings = {**default, **case.task.settings, **case.sets}
        if "bounds" in case.ways:
            how = {"groups": True, "ledger": False, "random_state": None, **case.ways["bounds"]}
            X, outputs = self._data(table, y if y.ndim == 1 else y[:, 0])
            account = {"ledger": ledger, "dataset": "people"} if how["ledger"] else {}
            settings["bounds"] = private_bounds(
                outputs,
                GRID,
                BOUNDS_EPSILON,
                groups=self._arguments(table).get("groups") if how["groups"] else None,
                inputs=X,
                columns=case.sets.get("columns"),
                random_state=how["random_state"],
                **account,
            )
        return settings

    def _data(self, table, y):
        """Return X and y in memory or in blocks: as the estimators take them."""
        if not self.case.ways.get("blocks"):
            X = table[self.case.inputs]
            if "protect" in self.case.sets:
                return X, y
            return (X if "columns" in self.case.sets else X.to_numpy()), y
        path, names = self._write(table, y)
        how = {"columns": self.case.sets.get("columns")}
        how["protect"] = self.case.sets.get("protect", "outputs")
        output = names if len(names) > 1 else names[0]
        return scan(path, inputs=self.case.inputs, output=output, **how)

    def _write(self, table, y):
        names = [f"y{i}" for i in range(y.shape[1] if y.ndim == 2 else 1)]
        path = self.folder / f"{self.count}.parquet"
        whole = table.assign(**dict(zip(names, np.reshape(y, (N, -1)).T, strict=True)))
        whole.to_parquet(path, row_group_size=7)
        return path, names

    def _arguments(self, table):
        told = "protect" in self.case.sets and "search" not in self.case.ways
        found = {"people": N} if told else {}
        for name, value in self.case.fits.items():
            if isinstance(value, pd.DataFrame):
                value = value[self.case.inputs]
                found[name] = value if "columns" in self.case.sets else value.to_numpy()
            else:
                found[name] = table[value].to_numpy() if isinstance(value, str) else value
        if self.case.ways.get("blocks") and "exposure" in found:
            found["exposure"] = scan(self.folder / f"{self.count}.parquet", inputs=["years"])[0]
        return found

    def _fit(self, settings, table, y, ledger, number):
        case, ways = self.case, self.case.ways
        own = {} if ledger is None else {"ledger": ledger, "dataset": "people"}
        (X, outputs), settings = self._data(table, y), dict(settings)
        if "random_state" in settings:
            settings["random_state"] += number
        if "search" in ways:
            own["random_state"] = settings.pop("random_state", None)
            inner = case.task.estimator(**settings)
            means = {"prior_mean": list(case.task.means)}
            how = {"cv": 2, "epsilon": 2.0, **ways["search"]}
            if "split" in how:
                how["epsilon"] = 8.0
            model = PrivateGridSearch(inner, means, **how, **own)
        else:
            model = case.task.estimator(**settings, **own)
        arguments = self._arguments(table)
        if ways.get("plan") or ("search" in ways and not ways.get("sorted")):
            # A plan reads no y, and that of a search takes long: the same one for all neighbours.
            planned = {**arguments, **ways.get("planned with", {})}
            key = str(getattr(settings.get("bounds"), "choice_id", None))
            if key not in self.plans or ways.get("sorted"):
                self.plans[key] = model.plan(X, **planned)
            arguments["plan"] = self.plans[key]
        return model.fit(X, outputs, **arguments)


#: Facts of a release or of an entry that name it and say when it was made.
NAMES = ("release_id", "created", "when", "choice_id")


def _nameless(facts):
    """Return facts without what differs between any two releases."""
    if isinstance(facts, dict):
        return {key: _nameless(value) for key, value in facts.items() if key not in NAMES}
    return [_nameless(value) for value in facts] if isinstance(facts, list | tuple) else facts


def _seen(models, releases, ledger):
    """Return all that anybody may see, by name; noisy values are answers of the tape.

    Statements, predictions and pages follow from the contents of a release.
    """
    seen = {}
    for number, release in enumerate(releases):
        manifest, arrays = release.contents()
        seen |= {f"array {name} {number}": a.tobytes() for name, a in arrays.items()}
        seen |= {f"{key} {number}": repr(v) for key, v in _nameless(manifest).items()}
    for model in models:
        if hasattr(model, "cv_results_"):
            seen["search"] = repr((model.cv_results_, model.best_index_, model.total_epsilon_))
    if ledger is not None:
        entries = [_nameless(entry.facts) for entry in ledger.history("people")]
        # The fingerprint of the inputs has a key of each ledger's own.
        seen["ledger"] = repr([{**entry, "inputs": None} for entry in entries])
    return seen


# ------------------------------------------------------------------------------------ the audit


class AuditError(AssertionError):
    """What is promised is not kept."""


@dataclass(frozen=True)
class Finding:
    """How close an audit came: the largest δ and the largest ε, over those that are stated.

    Where no δ is stated, the ratio is that of ε: exact, if nothing was chosen.
    """

    ratio: float | Fraction = 0.0
    share: float = 0.0
    said: str = ""


#: Everybody's values lie in the middle, but for those of the person who is looked at.
START = np.zeros(N, dtype=int)


def audit(case, folder, quieter=1.0):
    """Check all that a case promises, for the people who can be told most easily."""
    runner, cached = Runner(case, folder), {}

    def runs_of(levels):
        if levels.tobytes() not in cached:
            cached[levels.tobytes()] = dict(_paths(runner, levels, quieter))
        return cached[levels.tobytes()]

    # The sketch is public, and tells who is worst off.
    first = runner.run(START, quieter=quieter)
    if first.error is not None:
        raise first.error
    if not case.stated:
        return _not_private(case, first)
    found = Finding()
    for rows, signs in _worst_people(case, first):
        one, other = START.copy(), START.copy()
        one[rows], other[rows] = signs, -signs
        ours, theirs = runs_of(one), runs_of(other)
        _same_public_facts(ours, theirs)
        for a, b in ((ours, theirs), (theirs, ours)):
            losses, most = _losses(a, b), _largest_loss(a, b)
            for who, epsilon, delta in first.statements:
                if delta:
                    reached = delta_of(losses, epsilon)
                    ratio = reached / delta / (1.0 + 1e-9)
                    said = f"{who}: δ={reached:.6g} at ε={epsilon:.6g}"
                    share = epsilon_of(losses, delta) / epsilon
                else:
                    ratio = most / Fraction(epsilon)
                    said = f"{who}: a loss of {float(most):.6g} at ε={epsilon:.6g} without δ"
                    share = float(ratio)
                share = max(found.share, share)
                worse = ratio > found.ratio
                found = Finding(ratio, share, said) if worse else replace(found, share=share)
    if found.ratio > 1:
        times = float(found.ratio)
        raise AuditError(f"{case.name}: {found.said}, {times:.6g} times what is stated")
    for run in (run for runs in cached.values() for run in runs.values()):
        if run.statements != first.statements:
            raise AuditError(f"{case.name}: what is stated depends on what was chosen")
        _counted(run)
    with first.tape.recording():
        reports = [release.verify() for release in first.releases]
    if not all(reports):
        raise AuditError(f"{case.name}: {reports}")
    return found


def _paths(runner, levels, quieter):
    """Run a table once for every outcome of its choices, in order."""
    path = []
    while True:
        run = runner.run(levels, path, quieter)
        if run.error is not None:
            raise run.error
        taken = [choice.taken for choice in run.tape.choices]
        yield tuple(taken), run
        sizes = [len(choice.values) for choice in run.tape.choices]
        path = taken
        while path and path[-1] + 1 == sizes[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1


def _worst_people(case, run):
    """Return rows and signs of people: whom a release tells most of, and an owner of most rows."""
    owners = case.owners
    columns = _columns(case, run)
    norm = 2 if {draw.law for draw in run.tape.sums} == {"gaussian"} else 1
    best = []
    for owner in dict.fromkeys(owners.tolist()):
        rows = np.flatnonzero(owners == owner)
        signs = [np.array([1, *s]) for s in itertools.product((1, -1), repeat=len(rows) - 1)]
        moved = [sum(np.sum(np.abs(T[:, rows] @ s) ** norm) for T in columns) for s in signs]
        best.append((max(moved), len(rows), rows, signs[int(np.argmax(moved))]))
    worst = [max(best, key=lambda b: b[0])]
    if "groups" in case.fits:
        most = max(best, key=lambda b: (b[1], b[0]))
        # Bounds notice a person most who is at one end with all rows.
        worst.append((*most[:3], np.ones_like(most[3])) if run.tape.choices else most)
    return list({(*b[2], *b[3]): b[2:] for b in worst}.values())


def _columns(case, run):
    """Return the columns of every sketch, one for each row of PEOPLE; zero if it was left out."""
    found = []
    for release in run.releases:
        for member in release.members:
            arrays = member.contents()[1]
            X = PEOPLE[case.inputs]
            if "protect" in case.sets:  # every bin counts as much as any other
                found.append(np.ones((1, N)))
                continue
            rows = member.check_points(X if "columns" in case.sets else X.to_numpy())
            apart = np.abs(rows[:, None] - arrays["X"][None]).max(axis=2)
            for name in (n for n in arrays if n.partition("_")[0] == "sketch"):
                T = np.where(apart.min(axis=1) < 1e-9, arrays[name][:, apart.argmin(axis=1)], 0.0)
                found.append(T)
    return found or [np.zeros((1, N))]


def _same_public_facts(ours, theirs):
    """Neighbours differ in what is on the tape, and in nothing that anybody sees."""
    if ours.keys() != theirs.keys():
        raise AuditError("neighbours have other choices")
    for path in ours:
        one, other = ours[path], theirs[path]
        shapes = [
            [(type(d), len(d.values), replace(d, values=())) for d in run.tape.draws]
            for run in (one, other)
        ]
        if shapes[0] != shapes[1]:
            raise AuditError("neighbours have other noise")
        names = one.seen.keys() | other.seen.keys()
        differ = sorted(n for n in names if one.seen.get(n) != other.seen.get(n))
        if differ or one.statements != other.statements:
            raise AuditError(f"what anybody sees depends on y: {differ}")


def _moves(ours, theirs):
    """Yield for every outcome of the choices its probabilities p and q, and how sums move then.

    Moves are whole numbers, each with the law and the scale of its noise.
    """
    for path in ours:
        p, q, moves = 1.0, 1.0, []
        for one, other in zip(ours[path].tape.draws, theirs[path].tape.draws, strict=True):
            if isinstance(one, Losses):
                p *= one.chances[one.taken]
                q *= other.chances[other.taken]
            else:
                pairs = zip(one.values, other.values, strict=True)
                moves += [(one.law, abs(a - b), one.scale) for a, b in pairs if a != b]
        yield p, q, moves


def _losses(ours, theirs):
    """Return what every outcome tells: its probabilities p and q, and μ after it."""
    found, chances = [], []
    for p, q, moves in _moves(ours, theirs):
        chances.append((p, q))
        squares = math.fsum((m / scale) ** 2 for law, m, scale in moves if law == "gaussian")
        ours_too, theirs_too = laplace_outcomes(
            tuple((m, scale) for law, m, scale in moves if law == "laplace")
        )
        mu = np.full(len(ours_too), math.sqrt(squares))
        found.append(np.column_stack([p * ours_too, q * theirs_too, mu]))
    for each in zip(*chances, strict=True):
        assert math.isclose(math.fsum(each), 1.0, rel_tol=1e-9), "outcomes are missing"
    return np.concatenate(found)


def _largest_loss(ours, theirs):
    """Return the largest ln(P/Q) of all outcomes, exactly but for the logarithms of choices.

    Laplace noise reaches Σ|move|/scale, where all of it is beyond both; Gaussian noise has no end.
    """
    largest = Fraction(0)
    for p, q, moves in _moves(ours, theirs):
        if any(law == "gaussian" for law, *_ in moves):
            return math.inf
        loss = sum((Fraction(m) / Fraction(scale) for _, m, scale in moves), start=Fraction(0))
        if p != q:
            loss += Fraction(math.log(p / q)) / Fraction(1.0 + 1e-9)
        largest = max(largest, loss)
    return largest


#: Outcomes of Laplace noise are gathered in this many: of one number, and of several together.
SINGLE, TOGETHER = 256, 2048


@cache
def laplace_outcomes(moves):
    """Return the probabilities under two data sets of what discrete Laplace numbers show.

    ``moves`` are whole numbers with their scales.  Outcomes are gathered, which is post-processing:
    their δ is never above the true one.
    """
    P, Q = np.ones(1), np.ones(1)
    for moved, scale in moves:
        p, q = _laplace_number(moved, scale)
        P, Q = np.outer(P, p).ravel(), np.outer(Q, q).ravel()
        loss = np.log(P / Q)
        if len(P) > TOGETHER:
            # The largest loss has a place of its own.
            place = np.floor((loss / loss.max() + 1.0) * (0.5 - 1e-12) * TOGETHER).astype(int)
            place[loss > loss.max() * (1.0 - 1e-12)] = TOGETHER
            P, Q = (np.bincount(place, law, TOGETHER + 1) for law in (P, Q))
            P, Q = P[P > 0.0], Q[P > 0.0]
    return P, Q


def _laplace_number(moved, scale):
    """Return P and Q of x ≤ 0, of intervals between, and of x ≥ moved, where P is around 0.

    With r = e^(−1/scale), P of a < x ≤ b is r^(a+1) (1 − r^(b−a))/(1 + r), for 0 ≤ a < b < moved.
    """
    total = 1.0 + math.exp(-1.0 / scale)
    cuts = np.unique(np.linspace(0, moved - 1, SINGLE).astype(np.int64))
    a, b = cuts[:-1], cuts[1:]
    ours = np.exp(-(a + 1) / scale) * -np.expm1((a - b) / scale)
    theirs = np.exp(-(moved - b) / scale) * -np.expm1((a - b) / scale)
    end = math.exp(-moved / scale)
    return np.r_[1.0, ours, end] / total, np.r_[end, theirs, 1.0] / total


def delta_of(losses, epsilon):
    """Return the exact δ of a person's two data sets at ε: Σ (p Φ(a) − e^ε q Φ(b)), by outcomes.

    That is Σ p δ_μ(ε − ln p/q) with the textbook's δ_μ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
    """
    p, q, mu = np.transpose(losses)
    return math.fsum(p * gaussian_delta(epsilon - np.log(p / q), mu))


def gaussian_delta(epsilon, mu):
    """δ(ε) of N(μ, 1) against N(0, 1), for ε of either sign."""
    some = np.where(mu == 0.0, 1.0, mu)
    low, high = -some / 2 - epsilon / some, some / 2 - epsilon / some
    moved = _normal(high) - np.exp(epsilon) * _normal(low)
    return np.where(mu == 0.0, np.maximum(0.0, -np.expm1(epsilon)), moved)


def _normal(x):
    return 0.5 * erfc(-x / math.sqrt(2.0))


def epsilon_of(losses, delta):
    """Return the smallest ε at which a person's two data sets have this δ, to four digits."""
    low, high = 0.0, 64.0
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta_of(losses, middle) <= delta else (middle, high)
    return low


def _counted(run):
    """Nothing that was drawn may be missing from what is stated, whatever these data tell."""
    for release in run.releases:
        if len(release.choices) < len(run.tape.choices):
            raise AuditError(f"{len(release.choices)} of {len(run.tape.choices)} choices stated")
    # A combination counts bounds for each of its members, and a ledger counts them once.
    said = [(e, delta) for who, e, delta in run.statements if who == "the search"]
    members = [member for release in run.releases for member in release.members]
    said += [(member.total_epsilon, member.delta) for member in members]
    if run.ledger is None:
        return
    entries = [e.facts for e in run.ledger.history("people") if e.facts["event"] == "spent"]
    spends = tuple(Spend(**spend) for entry in entries for spend in entry["spends"])
    counted = next(epsilon for who, epsilon, _ in run.statements if who == "the ledger")
    if counted < _total_once(spends, DELTA) * (1.0 - 1e-9):
        raise AuditError("the ledger has spends that it does not count")
    for epsilon, delta in said:
        recorded = _total_once(spends, delta)
        if recorded < epsilon * (1.0 - 1e-3):  # totals are rounded up
            raise AuditError(f"the ledger has ε={recorded:.6g} where {said} are stated")


def _not_private(case, run):
    """A trial promises nothing: it warns, it says so, and nothing is drawn or recorded for it."""
    if run.private or any(r.private for r in run.releases) or run.ledger is not None:
        raise AuditError(f"{case.name}: a trial is called private")
    if len(run.tape.draws) > run.before:
        raise AuditError(f"{case.name}: a trial draws noise")
    for release in run.releases:
        if "not private" not in release.statement().lower():
            raise AuditError(f"{case.name}: the statement of a trial does not say what it is")
    return Finding()


def refusal(case, folder):
    """Return the words with which a case is refused; nothing may be spent before."""
    runner = Runner(case, folder)
    run = runner.run(START)
    if run.error is None:
        raise AuditError(f"{case.name}: is not refused")
    if len(run.tape.draws) > run.before or (run.ledger and run.ledger.spent("people") > 0.0):
        raise AuditError(f"{case.name}: is refused after something was spent")
    return str(run.error)
