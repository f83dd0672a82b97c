"""A private choice among candidates: trusted only by those who choose privately.

``selection`` chooses by integer losses, ``utility`` makes them of cross-validation (its ``folds``
and ``losses``), ``bounds`` chooses bounds from a public grid.  Losses are computed from y and leave
only through a choice; nothing here makes a release.
"""
