"""Public names are documented as users of scikit-learn expect, and their examples run.

Names are found by walking ``__all__``, so that a new one is held to the same: a summary, every
parameter of its signature in order, what it returns, and an example.
"""

import dataclasses
import doctest
import inspect
import re
import subprocess
import sys
import warnings
from abc import ABC, abstractmethod
from functools import cached_property

import pytest
from numpydoc.docscrape import NumpyDocString

import cloakgp
from cloakgp import privacy
from cloakgp.data.partition import MOST_BINS
from cloakgp.data.table import MOST_EXACT
from cloakgp.estimators.base import PrivateGP
from cloakgp.estimators.bounds import PrivateBounds
from cloakgp.privacy.ledger import Balance, Entry, Receipt
from cloakgp.privacy.mechanism.calibration import (
    LARGEST_DELTA,
    LARGEST_EPSILON,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
)
from cloakgp.release import CountRelease, LabelRelease, SignatureCheck
from cloakgp.release.bounds_plan import BoundsPlan
from cloakgp.release.decoder import Uncertainty
from cloakgp.release.diagnostics import FitCheck
from cloakgp.release.search_plan import Forecast, SearchPlan
from cloakgp.release.verify import Check

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "Examples")
FACTS = (property, cached_property)
#: What public functions return; users make none of these themselves.
RETURNED = (
    Balance,
    BoundsPlan,
    Check,
    CountRelease,
    Entry,
    FitCheck,
    Forecast,
    LabelRelease,
    PrivateBounds,
    Receipt,
    SearchPlan,
    SignatureCheck,
    Uncertainty,
)


def public(module=cloakgp):
    """Return the public names below a module, with what they stand for."""
    found = {}
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value):
            found |= {n: v for n, v in public(value).items() if v not in found.values()}
        elif name != "__version__":
            found[f"{module.__name__}.{name}"] = value
    return found


PUBLIC = public() | {f"{cls.__module__}.{cls.__name__}": cls for cls in RETURNED}


def members(cls):
    """Return the public methods and properties of a class that are ours, inherited or not."""
    found = {}
    for name in dir(cls):
        raw = inspect.getattr_static(cls, name)
        inner = [getattr(raw, part, None) for part in ("fget", "func", "__func__", "fn")]
        code = next((part for part in inner if part is not None), raw)
        ours = getattr(code, "__module__", None) or ""
        if not name.startswith("_") and callable(code) and ours.startswith("cloakgp"):
            found[name] = raw if isinstance(raw, FACTS) else getattr(cls, name)
    return found


def parsed(value):
    """Return a docstring in its sections; numpydoc warns of those that it does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return NumpyDocString(inspect.getdoc(value) or "")


def described(section):
    """Return names with their type and description; "low, high" are two names."""
    return {
        name.strip(): (entry.type, " ".join(" ".join(entry.desc).split()))
        for entry in section
        for name in entry.name.split(",")
    }


def wanted_parameters(function):
    """Return the parameters that a docstring has to name, in order, with their defaults."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(function).parameters.values()
    return {
        stars.get(p.kind, "") + p.name: p.default
        for p in parameters
        if p.name not in ("self", "cls")
    }


def general_problems(value):
    """Return what is wrong with a docstring whatever it is about."""
    text = inspect.getdoc(value) or ""
    if not text:
        return ["has no docstring"]
    doc, problems = parsed(value), []
    if len(doc["Summary"]) != 1 or not doc["Summary"][0].endswith((".", "?", "**.")):
        problems.append("has no summary of one line that ends in a full stop")
    headings = re.findall(r"^(\w[\w ]*)\n-{3,}$", text, re.M)
    if headings != [name for name in SECTIONS if name in headings]:
        problems.append(f"has sections {headings}, not in the order {SECTIONS}")
    for section in ("Parameters", "Attributes", "Returns"):
        for name, (_, words) in described(doc[section]).items():
            if not words.endswith((".", "**.")):
                problems.append(f"says nothing in a full sentence of {name}")
    return problems


def parameter_problems(doc, parameters, section="Parameters"):
    """Return parameters that are absent, unknown, out of order or have another default."""
    told = described(doc[section])
    if list(told) != list(parameters):
        return [f"names {list(told)} as {section}, and its signature has {list(parameters)}"]
    problems = [f"does not say what {name} is" for name, (kind, _) in told.items() if not kind]
    if section == "Parameters":
        for name, default in parameters.items():
            stated = re.search(r"default=(.*)$", told[name][0])
            known = {repr(default), f'"{default}"', getattr(default, "status", None)}
            if (default is not inspect.Parameter.empty) != bool(stated) and "*" not in name:
                problems.append(f"states no default of {name}, or one that it has not")
            elif stated and stated[1] not in known:
                problems.append(f"states the default {stated[1]} of {name}, which is {default!r}")
    return problems


def function_problems(function):
    """Return what is wrong with the docstring of a function or method."""
    problems = general_problems(function)
    if problems == ["has no docstring"]:
        return problems
    doc = parsed(function)
    problems += parameter_problems(doc, wanted_parameters(function))
    returned = inspect.signature(function).return_annotation
    if (returned not in (None, "None", inspect.Signature.empty)) != bool(doc["Returns"]):
        problems.append(f"returns {returned} and says otherwise")
    return problems


def class_problems(cls):
    """Return what is wrong with the docstring of a class: a result lists what it has instead."""
    problems = general_problems(cls)
    if problems == ["has no docstring"]:
        return problems
    doc = parsed(cls)
    if "__init__" in vars(cls) or "_fields" in vars(cls):
        result = not doc["Parameters"]
        section = "Attributes" if result else "Parameters"
        problems += parameter_problems(doc, wanted_parameters(cls), section)
    return problems


def problems_of(value):
    """Return what is wrong with the docstrings of a public name, and of its members."""
    if not inspect.isclass(value):
        return function_problems(value)
    problems = class_problems(value)
    for name, member in members(value).items():
        check = general_problems if isinstance(member, FACTS) else function_problems
        found = check(member)
        problems += [f"{name}: {problem}" for problem in found]
    return problems


def needs_example(value):
    """Tell whether users call it: not errors, base classes, and what is returned."""
    if not inspect.isclass(value):
        return True
    if issubclass(value, Exception) or inspect.isabstract(value):
        return False
    return bool(parsed(value)["Parameters"])


def documents(value):
    """Return all docstrings of a public name, by where they are."""
    found = {"": inspect.getdoc(value)}
    if inspect.isclass(value):
        found |= {f".{name}": inspect.getdoc(member) for name, member in members(value).items()}
    return found


def failures(name, value):
    """Run all examples of a public name, and return what differs."""
    said = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for where, text in documents(value).items():
        test = doctest.DocTestParser().get_doctest(text, {}, name + where, None, 0)
        doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=said.append)
    return "".join(said)


def test_only_public_names_are_shown():
    names = {name for name in dir(cloakgp) if not (name[:2] == name[-2:] == "__")}
    assert names == set(cloakgp.__all__) - {"__version__"}
    assert cloakgp.__all__ == sorted(cloakgp.__all__)
    modules = {name for name in names if inspect.ismodule(getattr(cloakgp, name))}
    assert modules == {"columns", "datasets", "design", "kernels", "privacy"}
    for name in modules:
        listed = getattr(cloakgp, name).__all__
        assert listed == sorted(listed)
        assert not [entry for entry in listed if entry.startswith("_")]


def test_only_public_names_are_shown_before_anything_is_used():
    code = (
        "import cloakgp; names = {n for n in dir(cloakgp) if n[:2] != '__'}; "
        "assert names == set(cloakgp.__all__) - {'__version__'}, names"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    assert problems_of(PUBLIC[name]) == []


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_are_there_and_run(name):
    value = PUBLIC[name]
    if needs_example(value):
        assert parsed(value)["Examples"], "has no example"
    with warnings.catch_warnings():
        # Examples are read one by one, and here they run in one process.
        warnings.simplefilter("ignore", cloakgp.RepeatedSpendWarning)
        assert failures(name, value) == ""


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_named_beside_a_name_is_there(name):
    known = {path.rsplit(".", 1)[1]: value for path, value in PUBLIC.items()}
    for entries, _ in parsed(PUBLIC[name])["See Also"]:
        for other, _ in entries:
            first, _, member = other.partition(".")
            assert first in known, other
            assert not member or hasattr(known[first], member), other


ESTIMATORS = (
    cloakgp.PrivateGPRegressor,
    cloakgp.PrivateGPClassifier,
    cloakgp.PrivateGPCountRegressor,
)
#: What shares parameters, and those for which one of them has its own words all the same.
FAMILIES = {
    "estimators": (
        (*ESTIMATORS, cloakgp.PrivateGridSearch),
        {
            *("kernel", "prior_mean", "y", "of", "clip", "plan", "return_std"),
            *(
                "groups of compare_max_contributions",
                "random_state of sample_y",
                "X of score",
            ),
            *("epsilon of PrivateGridSearch", "ledger of PrivateGridSearch"),
            *("random_state of PrivateGridSearch", "**options of PrivateGridSearch"),
            "mechanism of PrivateGridSearch",
        },
    ),
    "releases": (
        (cloakgp.Release, LabelRelease, CountRelease),
        {
            *("clip", "of", "return_std", "path", "signature"),
            *("X of check_points", "X of to_frame", "inputs of with_inputs"),
            *("X of to_xarray", "X of to_arviz", "X of to_geojson", "X of to_geopandas"),
        },
    ),
    "kernels": ((cloakgp.kernels.KDELengthscale, cloakgp.kernels.KDELengthscaleNearby), set()),
    "designs": (tuple(getattr(cloakgp.design, n) for n in ("total", "volume", "worst")), set()),
    "choices": ((privacy.select, privacy.select_labels, privacy.utility_sensitivity), set()),
    "shares": ((privacy.split_budget, privacy.recommend_split), set()),
    "totals": ((privacy.total_guarantee, privacy.total_delta), set()),
}


def told_of_parameters(value):
    """Yield the parameters of a name and of its methods, where they are, and what is said of them.

    Points to predict at are another thing than the inputs of people.
    """
    own = f" of {value.__name__}"
    everything = {own: value}
    if inspect.isclass(value):
        everything |= {f" of {name}": member for name, member in members(value).items()}
    for where, each in everything.items():
        if not isinstance(each, FACTS):
            for name, (kind, words) in described(parsed(each)["Parameters"]).items():
                yield (name, "(P," in kind), {name, name + where, name + own}, words


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_shared_is_described_in_the_same_words(family):
    words = {}
    values, own_words = FAMILIES[family]
    for value in values:
        for name, ways, text in told_of_parameters(value):
            if not ways & own_words:
                words.setdefault(name, []).append(text)
    assert {name: set(texts) for name, texts in words.items() if len(set(texts)) > 1} == {}
    assert max(len(texts) for texts in words.values()) >= len(values)


def test_limits_are_told_as_they_are():
    limits = f'"auto": all of up to {MOST_EXACT:,}; more are gathered at up to {MOST_BINS} public'
    for cls in ESTIMATORS:
        assert limits in described(parsed(cls)["Parameters"])["inducing"][1]
    told = described(parsed(privacy.gaussian_sigma)["Parameters"])
    for name, low, high in (
        ("epsilon", SMALLEST_EPSILON, LARGEST_EPSILON),
        ("delta", SMALLEST_DELTA, LARGEST_DELTA),
    ):
        [found] = re.findall(r"from (\S+) to (\S+?)\.$", told[name][1])
        assert tuple(map(float, found)) == (low, high)


def test_methods_of_the_base_class_are_documented_on_every_estimator():
    ours = {name for name in members(PrivateGP) if name != "ledger"}
    for cls in ESTIMATORS:
        assert {*ours, "plan", "fit", "predict"} <= set(members(cls))
        for name in members(cls):
            assert inspect.getdoc(getattr(cls, name))


class TestChecks:
    """Every check can fail."""

    @staticmethod
    def good(a: int, b: str = "x") -> int:
        """Return a number.

        Parameters
        ----------
        a : int
            A number.
        b : str, default="x"
            A word.

        Returns
        -------
        number : int
            The number.
        """

    @pytest.mark.parametrize(
        ("old", "new", "problem"),
        [
            ("Return a number.", "Return a number", "no summary"),
            ("b : str", "c : str", "its signature has"),
            ("a : int\n    A number.\n", "", "its signature has"),
            ('default="x"', 'default="y"', "states the default"),
            (', default="x"', "", "states no default of b"),
            ("a : int", "a", "does not say what a is"),
            ("    A word.", "    ", "says nothing"),
            ("\nReturns\n-------\nnumber : int\n    The number.", "", "says otherwise"),
            ("Parameters\n----------", "Notes\n-----", "its signature has"),
        ],
    )
    def test_an_incomplete_docstring_is_noticed(self, old, new, problem):
        def spoilt(a: int, b: str = "x") -> int: ...

        text = inspect.getdoc(self.good)
        spoilt.__doc__ = text
        assert function_problems(spoilt) == []
        assert old in text
        spoilt.__doc__ = text.replace(old, new)
        assert any(problem in found for found in function_problems(spoilt))

    def test_sections_in_another_order_are_noticed(self):
        def spoilt() -> None: ...

        spoilt.__doc__ = "Do it.\n\nExamples\n--------\n>>> 1\n1\n\nNotes\n-----\nNone.\n"
        assert any("not in the order" in found for found in function_problems(spoilt))

    def test_a_member_without_a_docstring_is_noticed(self):
        class Thing:
            """A thing."""

            def method(self): ...

            @property
            def fact(self): ...

        Thing.method.__module__ = Thing.fact.fget.__module__ = "cloakgp.made_up"
        assert problems_of(Thing) == ["fact: has no docstring", "method: has no docstring"]

    def test_a_field_that_is_not_described_is_noticed(self):
        @dataclasses.dataclass
        class Thing:
            """A thing."""

            size: int

        assert "its signature has ['size']" in problems_of(Thing)[0]

    def test_a_wrong_example_is_noticed(self):
        def wrong():
            """Do it.

            >>> 1 + 1
            3
            """

        assert "Expected:" in failures("wrong", wrong)

    def test_base_classes_errors_and_results_need_no_example(self):
        class Base(ABC):
            """A base class."""

            @abstractmethod
            def method(self): ...

        assert not needs_example(Base)
        assert not needs_example(cloakgp.NotPrivateWarning)
        assert not needs_example(cloakgp.Plan)
        assert needs_example(cloakgp.Ledger)
        assert needs_example(cloakgp.scan)
