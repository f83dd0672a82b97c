"""The command line: commands, settings, tables on disk, and what is printed.

A plan reads only public columns; the private column is opened once, after the user has agreed.  No
message may show a private value, and each says what became of the budget.
"""
