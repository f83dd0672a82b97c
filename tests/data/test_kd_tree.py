"""A tree of splits sends people who are alike to the same leaf."""

import numpy as np
import pytest

from cloakgp.data.kd_tree import Tree, grow

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(2, 400))


def walked(tree, features):
    """Send people down the tree one by one."""
    found = []
    for person in features.T:
        node = 0
        while tree.children[node, 0] >= 0:
            node = tree.children[node, int(person[tree.which[node]] > tree.at[node])]
        found.append(node)
    return found


def looked_up(tree, features):
    """Find everybody by their ranks."""
    return tree._leaf_by_ranks.ravel()[tree._ranks_of(features)].tolist()


def variation(tree, features, weights=(1.0, 1.0)):
    """The mean squared distance from the means of the leaves."""
    leaf = tree.leaves(features)
    left = 0.0
    for number in np.unique(leaf):
        inside = features[:, leaf == number]
        left += float(weights @ ((inside - inside.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))
    return left / features.shape[1]


def test_everybody_walks_as_one_by_one():
    tree = grow(FEATURES, 37)
    assert tree.leaves(FEATURES).tolist() == walked(tree, FEATURES)
    others = RNG.normal(size=(2, 50)) * 3.0
    assert tree.leaves(others).tolist() == walked(tree, others)


@pytest.mark.parametrize("leaves", [1, 2, 37, 400, 1000])
def test_it_has_as_many_leaves_as_it_may(leaves):
    tree = grow(FEATURES, leaves)
    assert np.sum(tree.children[:, 0] < 0) == min(leaves, 400)
    assert sorted(tree.numbers[tree.numbers >= 0]) == list(range(min(leaves, 400)))


def test_it_ends_when_everybody_is_near():
    weights = np.array([1.0, 4.0])
    tree = grow(FEATURES, 400, weights, tolerance=0.05)
    count = int(np.sum(tree.children[:, 0] < 0))
    assert variation(tree, FEATURES, weights) <= 0.05
    assert variation(grow(FEATURES, count - 1, weights), FEATURES, weights) > 0.05


def test_weights_say_which_feature_counts():
    tree = grow(FEATURES, 10, np.array([1.0, 0.0]))
    assert set(tree.which[tree.children[:, 0] >= 0].tolist()) == {0}


def test_equal_people_are_never_parted():
    ages = RNG.integers(0, 30, (1, 500)).astype(float) + 1e6
    tree = grow(ages, 100)
    assert np.sum(tree.children[:, 0] < 0) == 30
    leaf = tree.leaves(ages)
    assert all(len(np.unique(ages[0, leaf == number])) == 1 for number in np.unique(leaf))


def test_it_comes_back_from_numbers():
    tree = grow(FEATURES, 20)
    back = Tree.from_array(tree.to_array())
    for name in ("which", "at", "children", "numbers"):
        np.testing.assert_array_equal(getattr(back, name), getattr(tree, name))
    assert np.all(np.isfinite(tree.to_array()))


def edges(tree):
    """Numbers at and next to every threshold, and far away, in every combination of features."""
    at = np.unique(tree.at[tree.children[:, 0] >= 0])
    near = [at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)]
    return np.concatenate([*near, [-1e308, 1e308, 0.0, -0.0]])


@pytest.mark.parametrize(
    "x",
    [
        RNG.normal(size=400),
        RNG.gamma(0.1, size=400),
        np.repeat(np.arange(30.0), 4),
        1e300 * RNG.normal(size=400),
        np.concatenate([RNG.normal(size=300), [1e12]]),
        np.array([1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-51, 5.0]),
        np.zeros(5),
    ],
    ids=["normal", "crowded", "whole numbers", "huge", "far away", "neighbours", "one point"],
)
@pytest.mark.parametrize("leaves", [1, 2, 40, 300])
def test_one_feature_is_looked_up_and_ends_at_the_same_leaves(x, leaves):
    tree = grow(x[None], leaves)
    for features in (x[None], edges(tree)[None]):
        assert looked_up(tree, features) == walked(tree, features)


@pytest.mark.parametrize("features", [2, 3])
@pytest.mark.parametrize("leaves", [2, 9, 40])
def test_several_features_are_looked_up_and_end_at_the_same_leaves(features, leaves):
    x = np.vstack([RNG.normal(size=400), RNG.integers(0, 5, 400), 1e9 * RNG.gamma(0.1, size=400)])
    tree = grow(x[:features], leaves, np.array([1.0, 1.0, 1e-18])[:features])
    near = RNG.choice(edges(tree), (features, 400))
    for each in (x[:features], near):
        assert looked_up(tree, each) == walked(tree, each)


def test_many_people_are_looked_up_where_thresholds_are_few(monkeypatch):
    tree = grow(FEATURES, 20)
    many = RNG.normal(size=(2, 20_000))
    expected = tree._walk(many)
    assert tree._leaf_by_ranks.shape == tree._ways
    with monkeypatch.context() as patch:
        patch.setattr(Tree, "_walk", None)
        assert tree.leaves(many).tolist() == expected.tolist()
    wide = grow(RNG.normal(size=(6, 400)), 300)
    assert np.prod([float(way) for way in wide._ways]) > 1 << 16
    some = RNG.normal(size=(6, 500))
    assert wide.leaves(some).tolist() == walked(wide, some)


def test_thresholds_are_ranked_by_cells_or_searched():
    even = grow(np.linspace(0.0, 1.0, 999)[None], 300)
    crowded = grow(RNG.gamma(0.01, size=(1, 400)), 99)
    assert even._ranks[0]._cells is not None
    assert crowded._ranks[0]._cells is None
