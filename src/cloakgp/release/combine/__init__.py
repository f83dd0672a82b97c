"""Several releases as one predictor: their sketches are decoded together, with one prior for all.

All of it is post-processing of what was published, so it costs nothing.  A person who is in several
of the releases has paid for each: ``guarantee`` says what that comes to.
"""
