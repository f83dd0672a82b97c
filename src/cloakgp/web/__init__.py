"""Pages for a custodian, served on this machine alone: plan a release, publish it, look at one.

Loaded when ``cloakgp web`` runs, and only then: Starlette, uvicorn and Jinja come with
``cloakgp[web]``.  Settings, plans and spending are those of the command line.
"""
