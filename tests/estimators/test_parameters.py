"""Shared descriptions of parameters, filled into docstrings."""

import inspect
import subprocess
import sys

import pytest

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)
from cloakgp.estimators.parameters import SHARED, documented

CLASSES = (PrivateGPRegressor, PrivateGPClassifier, PrivateGPCountRegressor, PrivateGridSearch)


@pytest.mark.parametrize("cls", CLASSES)
def test_no_placeholder_is_left(cls):
    for value in (cls, *(getattr(cls, name) for name in dir(cls) if name[0] != "_")):
        assert "{shared}" not in (inspect.getdoc(value) or "")


def test_shared_and_own_parameters_come_in_the_order_of_the_signature_with_its_defaults():
    @documented
    def fit(self, rank=3, own=None, decode="direct", *args, **more):
        """Do it.

        Parameters
        ----------
        own : int, default=None
            A number: of its own.
        **more : dict
            More.
        *args : tuple
            Others.
        {shared}

        Returns
        -------
        nothing : None
        """

    rank, decode = SHARED["rank"].splitlines(), SHARED["decode"].splitlines()
    assert fit.__doc__.splitlines() == [
        *("Do it.", "", "Parameters", "----------"),
        *(f"{rank[0]}, default=3", *rank[1:]),
        *("own : int, default=None", "    A number: of its own."),
        *(f'{decode[0]}, default="direct"', *decode[1:]),
        *("*args : tuple", "    Others.", "**more : dict", "    More."),
        *("", "Returns", "-------", "nothing : None"),
    ]


def test_a_parameter_that_nobody_describes_is_noticed_on_import():
    def fit(self, unheard_of):
        """Do it.

        Parameters
        ----------
        {shared}
        """

    with pytest.raises(KeyError, match="unheard_of"):
        documented(fit)


def test_without_docstrings_nothing_is_filled_in():
    code = "import cloakgp; assert cloakgp.PrivateGPRegressor.fit.__doc__ is None"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True)
