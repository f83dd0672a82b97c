"""Workers of joblib as a module of the core asks for them: watched, or silent."""

import multiprocessing

import joblib


def watched_workers(monkeypatch, module):
    """Return a list that fills with the workers that a module makes, and their options."""
    made = []

    class Workers(joblib.Parallel):
        def __init__(self, **options):
            made.append((self, options))
            super().__init__(**options)

    monkeypatch.setattr(module, "Parallel", Workers)
    return made


def silent_workers(monkeypatch, module, error=multiprocessing.TimeoutError):
    """Give a module workers that never answer, or that are lost in another way."""

    class Silent:
        n_jobs = 2

        def __init__(self, **_):
            pass

        def __call__(self, tasks):
            raise error

    monkeypatch.setattr(module, "Parallel", Silent)
