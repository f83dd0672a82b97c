"""Pages for a custodian, served on this machine alone: plan a release, publish it, look at one.

``server`` starts, ``routes`` answers, ``planner`` does what was asked for, and ``form`` reads it.
Loaded when ``cloakgp web`` runs, and only then: Starlette, uvicorn and Jinja come with
``cloakgp[web]``.
"""
