"""What pictures of a release show, whoever draws them: views, predictions, limits, ticks, colours.

``views`` choose where to look, ``predictions`` what is there, ``panels`` put both together with
``axes``, ``marks``, ``contours`` and ``colours``.  ``report`` draws these panels as SVG for a page,
``plot`` with matplotlib; neither decides what is shown.  Nothing here knows a renderer, and y is
never drawn: only public inputs and what follows from the release.
"""
