"""Passes over rows: whoever watches is told their names and how many rows were read."""

from cloakgp.data.blocks.progress import passes, watched


class Watcher:
    def __init__(self):
        self.told = []

    def __call__(self, name, rows):
        self.told.append((name, rows))
        return self.told.append


def test_each_pass_begins_when_the_one_before_has_ended():
    watch = Watcher()
    with watched(watch):
        done = passes(5, "one", "two")
        assert watch.told == [("one", 5)]
        done(2)
        done(3)
        assert watch.told == [("one", 5), 2, 3, ("two", 5)]
        done(4)
        done(1)
    assert watch.told == [("one", 5), 2, 3, ("two", 5), 4, 1]


def test_rows_beyond_the_last_pass_are_told_of_as_well():
    watch = Watcher()
    with watched(watch):
        done = passes(1, "one")
        done(1)
        done(1)
    assert watch.told == [("one", 1), 1, 1]


def test_nobody_is_told_outside():
    watch = Watcher()
    with watched(watch):
        pass
    passes(5, "one", "two")(3)
    assert watch.told == []


def test_the_innermost_watches():
    outer, inner = Watcher(), Watcher()
    with watched(outer):
        with watched(inner):
            passes(1, "one")
        passes(2, "two")
    assert (inner.told, outer.told) == ([("one", 1)], [("two", 2)])
