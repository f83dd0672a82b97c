"""How often something is called, wherever its name was imported to."""

from __future__ import annotations

import sys

from cloakgp.release import mechanism, plan


def count_calls(monkeypatch, module, name):
    """Wrap a function in every module of the package that holds it; return the list of calls."""
    original, calls = getattr(sys.modules[module], name), []

    def counted(*args, **options):
        calls.append(args)
        return original(*args, **options)

    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("cloakgp") and (
            vars(other).get(name) is original
        ):
            monkeypatch.setattr(other, name, counted)
    return calls


def count_designs(monkeypatch):
    """Count the designs that are solved, by whatever solver, roughly or not."""
    original, rough, calls = plan.choose_design, mechanism.rough_bayes, []

    def counted(spec, **options):
        calls.append(spec.design)
        return original(spec, **options)

    def counted_rough(*args, **options):
        calls.append("bayes")
        return rough(*args, **options)

    for module in (plan, mechanism):
        monkeypatch.setattr(module, "choose_design", counted)
    monkeypatch.setattr(mechanism, "rough_bayes", counted_rough)
    return calls
