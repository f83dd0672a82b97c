"""A private choice among candidates: trusted only by those who choose privately.

Losses are computed from y and leave only through a choice; nothing here makes a release.
"""
