"""The command line: commands, settings, tables on disk, and what is printed.

A plan reads public columns only; the private column is opened once, after somebody agreed.  No
message may show a private value, and each says what became of the budget.
"""
