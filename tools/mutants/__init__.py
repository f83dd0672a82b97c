"""Mutation testing of the trusted core: is every small change of the code noticed by a test?

``python -m tools.mutants calibration utility`` (or ``make mutants ONLY="calibration utility"``)
tests the mutants of these modules, ``python -m tools.mutants`` those of all.  A run can be
interrupted and goes on where it stopped.  mutmut makes and runs the mutants of functions
(``operators.py`` adds some kinds to its own), ``constants.py`` those of module constants.  Mutants
that survive must be listed, with the reason, in ``tests/privacy/mutants.toml``.  ``record.py``
keeps what a complete run found, for SECURITY.md.
"""
