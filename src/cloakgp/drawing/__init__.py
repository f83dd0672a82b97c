"""What pictures of a release show, whoever draws them: views, predictions, limits, ticks, colours.

``report`` draws these panels as SVG for a page, ``plot`` with matplotlib; neither decides what is
shown.  Nothing here knows a renderer, and y is never drawn: only public inputs and what follows
from the release.
"""
