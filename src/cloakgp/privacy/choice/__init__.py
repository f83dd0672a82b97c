"""A private choice among candidates: trusted by those who choose privately, and by nobody else.

Losses are computed from y and leave only through a choice; nothing here makes a release.
"""
