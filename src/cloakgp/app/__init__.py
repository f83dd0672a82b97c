"""What the command line and the pages share: settings, tables, a job and its outputs.

``settings`` are read and checked, ``tables`` opened, ``job`` makes plans of them, and ``publish``
goes from a plan that was agreed to to the files of its release (``outputs``, ``spending``).
Nothing here speaks to a terminal or to a browser.
"""
