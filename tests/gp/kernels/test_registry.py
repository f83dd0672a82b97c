"""One entry says everything of a kernel, and text, release file and page all follow it."""

import inspect

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from cloakgp import kernels as own
from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernels import grammar, json, registry
from cloakgp.gp.kernels.registry import BOUNDS, FUNCTIONS, KERNELS, SCALES, KernelEntry
from cloakgp.report.model import kernel_tree

ENTRIES = [*KERNELS.values(), *FUNCTIONS.values()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.cls.__name__)
def test_an_entry_has_the_parameters_of_the_constructor_in_its_order(entry):
    assert list(entry.parameters) == list(inspect.signature(entry.cls).parameters)
    assert entry.defaults.keys() <= entry.parameters.keys()
    bounds = [name for name, kind in entry.parameters.items() if kind is BOUNDS]
    assert {name.removesuffix("_bounds") for name in bounds} <= entry.parameters.keys()


def test_names_are_unique():
    for entries in (KERNELS, FUNCTIONS):
        lines = [entry.line for entry in entries.values() if entry.line]
        assert len({*lines}) == len(lines)
        assert len({cls.__name__ for cls in entries}) == len(entries)


def test_all_our_kernels_have_an_entry():
    assert {getattr(own, name) for name in own.__all__} <= {entry.cls for entry in ENTRIES}


class Linear(sk.RBF):
    """A kernel that nobody knows yet."""


def test_a_new_kernel_is_one_entry(monkeypatch):
    kernel = 2.0 * Linear(3.0, "fixed")
    with pytest.raises(ReleaseFileError, match="k2 is a Linear"):
        json.kernel_to_json(kernel)
    assert kernel_tree(kernel) is None
    parameters = {"length_scale": SCALES, "length_scale_bounds": BOUNDS}
    new = KernelEntry(
        Linear, parameters, line="Line", page=lambda k: ["line", float(k.length_scale)]
    )
    monkeypatch.setitem(registry.KERNELS, Linear, new)
    again = json.kernel_from_json(*json.kernel_to_json(kernel))
    assert type(again.k2) is Linear
    assert again == kernel
    assert kernel_tree(kernel) == ["*", ["constant", 2.0], ["line", 3.0]]
    assert grammar.kernel_string(kernel) == "2*Line(3)"
    read = grammar.parse_kernel("2*Line(3)")
    np.testing.assert_array_equal(read([[0.0], [1.0]]), kernel([[0.0], [1.0]]))
