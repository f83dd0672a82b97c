"""The command line: commands, settings, tables on disk, and what is printed.

``app`` finds the commands, each a module of ``commands``; what they do is in ``cloakgp.app``, and
what they say in ``reports`` and ``terminal``.  A plan reads only public columns; the private column
is opened once, after the user has agreed (``consent``).  No message may show a private value, and
each says what became of the budget.
"""
