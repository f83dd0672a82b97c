"""A release as a file: a plain zip of JSON and arrays, read without trust.

Whatever a file says is checked for its kind, range and size before anything is computed with it.
The container is ``archive`` (zip), of ``npy`` (arrays) and ``canonical`` (JSON).
What is in it has a codec for each object, in the language of ``schema``: ``inputs``, ``model`` and
``guarantee``.  ``manifest`` lists them in order, and ``cost`` counts what a file asks for.
"""
