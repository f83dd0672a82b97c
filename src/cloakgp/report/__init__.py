"""A release as one HTML page: a picture, a way to ask it for predictions, and its guarantee.

``page`` puts it together from ``figures`` (SVG), ``model`` (what its script predicts from) and
``evaluation``; ``registry``, ``settings_toml`` and ``exchange`` are a release in other forms.
Everything is in the one file: drawings, style, a small script and the release itself.  Whatever a
stranger may have written, such as the name of a column, is shown as it is and never obeyed.
"""
