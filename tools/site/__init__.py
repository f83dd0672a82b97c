"""The documentation site: ``python -m tools.site`` builds it into build/site, offline.

Pages stay where their readers look for them on a code host, as plain Markdown: docs/, SECURITY.md,
the proofs beside the core.  ``pages`` copies them into the layout of the site, ``commands`` makes a
page of the command line's help, and Sphinx does the rest, with the settings of docs/conf.py.
"""
