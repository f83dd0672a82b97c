"""``volume``, ``total`` and ``worst``: convex programs for M alone, solved in their duals.

``volume`` and ``nuclear`` hold the programs, ``interior`` solves one for given people, and
``column_generation`` chooses the people, so that N may be large.
"""
