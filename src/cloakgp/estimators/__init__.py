"""The estimators: they wire the stages together and do little else.

Public inputs go to a model, a model to a plan, the plan and y to the trusted core, and the noisy
sketch to predictions.  y is handed on; nothing of it may be kept, looked at or printed here.

``base`` has the one ``plan`` and the one ``fit``; ``regression``, ``classification`` and ``counts``
say what their outputs are, ``priors`` chooses the model, ``steps`` goes from a plan to a release,
and ``search`` chooses settings privately first.
"""
