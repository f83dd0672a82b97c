"""What spends on the same people cost together.

A ``spends`` event says what one release or choice may reveal; ``profiles`` gives δ(ε) of several,
``totals`` their guarantee if kinds and sizes were fixed in advance, ``filter`` a cap that holds if
they were chosen by what was seen, and ``shares`` splits a budget between a choice and a release.
Nothing here sees data, and whatever is returned lies on the private side.
"""
