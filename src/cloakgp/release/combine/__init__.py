"""Several releases as one predictor: their sketches are decoded together, with one prior for all.

All of it is post-processing of what was published, so it costs nothing.  ``pooled`` has the common
specification, and what a person has paid who is in several of the releases; ``contents`` is the
file, ``verify`` and ``statement`` are those of all together.
"""
