"""Pictures of plans and releases, made of public facts and published numbers.

``draw`` makes them, of ``curves`` and ``maps``; what is shown is decided in ``cloakgp.drawing``.
y may never be drawn, and no picture may show more than the release says.
"""
