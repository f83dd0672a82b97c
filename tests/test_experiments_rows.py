"""Rivals that protect whole rows: they publish as much noise as their relation needs, and learn."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_experiments import stored, tiny, trial

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cloakgp.privacy import gaussian_sigma  # noqa: E402
from experiments import (  # noqa: E402
    compare,
    glance,
    measured,
    others,
    page,
    store,
    whole_rows,
)
from experiments.item import Item, Run  # noqa: E402
from experiments.items import compare_rows  # noqa: E402
from experiments.whole_rows import RELATIONS, Boxed  # noqa: E402

RNG = np.random.default_rng(3)


def boxed(n=240, inputs=2, classes=0):
    """People in a box of which they fill a part; the output follows the first input."""
    X = np.random.default_rng(0).uniform(0.5, 7.0, (n, inputs))
    y = 0.1 * X[:, 0] + 0.02 * np.random.default_rng(1).standard_normal(n)
    if classes:
        y = np.minimum(X[:, 0] // (7.0 / classes), classes - 1.0)
    task = "classification" if classes else "regression"
    name = f"line, {inputs} inputs, {classes} classes"
    data = others.Data(name, X, y, (0.0, 1.0), task=task, classes=classes or 2)
    return Boxed.of(data, [(0.0, 8.0)] * inputs)


def test_a_box_does_not_come_from_the_data_and_clips_them():
    data = boxed()
    lo, hi = data.ranges
    assert lo.tolist() == [0.0, 0.0]
    assert hi.tolist() == [8.0, 8.0]
    small = Boxed.of(data, [(1.0, 2.0), (0.0, 8.0)], few=[1])
    assert np.ptp(small.X[:, 0]) == 1.0
    narrow = whole_rows.narrow(trial(small, 1.0))
    np.testing.assert_array_equal(narrow.data.X, data.X[:, 1:])
    assert narrow.data.box == ((0.0, 8.0),)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("classes", [0, 3])
def test_a_histogram_has_the_noise_that_a_row_needs(relation, classes):
    """What a row moves, over the scales of the noise, is ε at most; 2,000 draws know 2 %."""
    t = trial(boxed(classes=classes), 0.7)
    K = classes or 1
    drawn = [
        whole_rows._publish(t, np.zeros((4, K)), np.zeros(4), relation, 1.0) for _ in range(500)
    ]
    sums, counts = (np.array([d[k] for d in drawn]) for k in range(2))
    noise = drawn[0][2]
    assert np.isclose(np.std(sums), noise[0], rtol=0.1)
    assert np.isclose(np.std(counts), noise[1], rtol=0.1)
    scales = np.std(sums) / np.sqrt(2.0), np.std(counts) / np.sqrt(2.0)
    times = 2.0 if relation == "replace" else 1.0
    spent = times / scales[0] if classes else times * (0.5 / scales[0] + 1.0 / scales[1])
    assert np.isclose(spent, 0.7, rtol=0.1)


@pytest.mark.parametrize("inputs", [1, 3])
@pytest.mark.parametrize("name", whole_rows.FEATURES)
def test_features_are_at_most_one_long(name, inputs):
    U = np.vstack([RNG.uniform(size=(40, inputs)), np.eye(inputs), np.zeros((1, inputs))])
    length = np.linalg.norm(whole_rows.FEATURES[name](U), axis=1)
    assert length.max() <= 1.0 + 1e-9
    assert length.max() > 0.8


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_row_moves_the_products_of_adassp_by_more_than_is_said(relation, outputs):
    def row():
        x = RNG.standard_normal(3)
        y = np.eye(3)[RNG.integers(3)] if outputs == 3 else RNG.choice([-0.5, 0.5], 1)
        return x / np.linalg.norm(x), y

    most = [0.0, 0.0]
    for _ in range(3000):
        (x, y), (z, w) = row(), row()
        gone = relation == "replace"
        moved = np.outer(x, x) - gone * np.outer(z, z), np.outer(x, y) - gone * np.outer(z, w)
        most = [max(m, np.linalg.norm(one)) for m, one in zip(most, moved, strict=True)]
    said = [np.sqrt(2.0) if relation == "replace" else 1.0, whole_rows._reach(outputs, relation)]
    assert np.all(np.array(most) <= np.array(said) + 1e-9)
    assert np.all(np.array(most) >= 0.9 * np.array(said))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_zcdp_is_private_and_not_much_stricter_than_the_exact_noise(epsilon):
    sigma = 1.0 / np.sqrt(2.0 * whole_rows.zcdp(epsilon, 1e-5))
    exact = gaussian_sigma(epsilon, 1e-5)
    assert exact <= sigma <= 1.2 * exact


class Quiet:
    """A generator without noise."""

    def standard_normal(self, size):
        return np.zeros(size)

    def gumbel(self, size):
        return np.zeros(size)


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_row_moves_each_table_of_mst_by_as_much_as_its_noise_is_for(relation):
    rho, sizes = 0.5, (3, 3, 4)
    rows = RNG.integers(0, 3, (30, 3))
    other = rows[1:] if relation == "add-remove" else np.vstack([[2, 2, 3], rows[1:]])
    rows[0] = 0
    for tree in ("found", "around the output"):
        made = [
            whole_rows._tables(table, sizes, tree, rho, relation, Quiet())
            for table in (rows, other)
        ]
        spent = 0.0
        for (columns, a, std), (same, b, _) in zip(*made, strict=True):
            if columns == same:
                spent += np.sum(np.square(a - b)) / (2.0 * std**2)
        assert spent <= rho + 1e-9
        assert spent > (0.3 if tree == "found" else 0.99) * rho


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_row_moves_the_scores_of_pairs_by_more_than_two(relation):
    shares = [RNG.dirichlet(np.ones(3)) for _ in range(2)]
    expected = np.outer(*shares).ravel()
    for _ in range(200):
        table = RNG.integers(0, 9, (20, 1))
        other = table[1:] if relation == "add-remove" else np.vstack([[RNG.integers(9)], table[1:]])
        score = [
            np.abs(np.bincount(one[:, 0], minlength=9) - len(one) * expected).sum()
            for one in (table, other)
        ]
        assert abs(score[0] - score[1]) <= 2.0 + 1e-9


def some(relation, classes):
    yield whole_rows.histogram((0,), 8, "mean", relation)
    yield whole_rows.histogram((0, 1), 5, "GP", relation)
    yield whole_rows.additive(8, 1.0, relation)
    if classes != 3:
        yield whole_rows.adassp(whole_rows.polynomial(1), "linear", 1.0, relation)
    yield whole_rows.adassp(whole_rows.nystroem(4, 0.4), "grid", 1.0, relation)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("relation", RELATIONS)
def test_rivals_learn_a_line_when_the_budget_is_large(relation, classes):
    t = trial(boxed(classes=classes), 30.0)
    for predict in some(relation, classes):
        found = predict(t)
        assert found.shape == (2, len(t.at))
        assert compare.errors_of(t.data, found, t.truth).mean() < (0.2 if classes else 0.08)


@pytest.mark.skipif(bool(whole_rows.why_not_mbi()), reason="needs mbi")
@pytest.mark.parametrize("classes", [0, 2])
def test_made_up_rows_are_like_the_people_when_the_budget_is_large(classes):
    t = trial(boxed(classes=classes, inputs=1), 30.0, draws=1)
    found = whole_rows.synthetic(6, "around the output", "forest", "replace")(t)
    assert compare.errors_of(t.data, found, t.truth).mean() < 0.12


@pytest.mark.parametrize("relation", RELATIONS)
def test_ours_learns_a_line_without_a_look_at_the_number_of_people(relation, monkeypatch):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 16)
    t = trial(boxed(inputs=1), 10.0, draws=1)
    found = whole_rows.ours(relation)(t)
    assert compare.errors_of(t.data, found, t.truth).mean() < 0.1
    assert whole_rows.about(180) == 200


# ---------------------------------------------------------------------------------- the sentences


def some_errors():
    """Return errors as a run stores them: rivals win one case of four, by luck another."""
    rows = []
    ours, added = compare_rows.OURS, compare_rows.ADDED
    for epsilon in (0.3, 3.0):
        for data in ("a", "b"):
            errors = {ours: 2.0, "histogram": 3.0, "diffprivlib": 9.0, ours + added: 1.0}
            errors |= {f"histogram{added}": 2.5, compare_rows.OUTPUTS: 1.0, "GP without": 0.1}
            if (data, epsilon) == ("b", 3.0):
                errors["histogram"] = 1.0
            for method, error in errors.items():
                least = 1.5 if (data, epsilon, method) == ("a", 0.3, "histogram") else error
                rows.append([data, method, epsilon, 0, error, 0.0, "", least])
    columns = ["data", "method", "epsilon", "split", "error", "std_error", "setting", "least"]
    return pd.DataFrame(rows, columns=columns)


def test_cases_are_counted_for_each_relation_and_costs_beside_public_inputs():
    text = compare_rows.conclusion(some_errors())
    assert "in 3 of 4 cases (2 if the best variant" in text
    assert "b at ε = 3 (histogram, by 100 %)" in text
    assert "in 4 of 4 cases (4 if" in text
    assert "2.00 times (replaced; the aim was 1.4) and 1.00 times" in text
    table = compare_rows.cost_table(some_errors())
    assert table["ε = 3"].tolist()[1] == "2.00; 2.00 (histogram)"
    assert table["ε = 3"].tolist()[3] == "1.00; 0.40 (histogram)"


def test_rivals_of_a_relation_are_those_that_promise_it_and_both_libraries():
    names = [m.name for m in compare_rows.methods(boxed(), quick=True)]
    found = compare_rows.rivals_of(names, "replace")
    assert found == ["histogram", "AdaSSP", "MST and a model", "diffprivlib", "interpret, DP-EBM"]
    others_ = compare_rows.rivals_of(names, "add-remove")
    assert others_[:2] == ["diffprivlib", "interpret, DP-EBM"]
    assert all(name.endswith(compare_rows.ADDED) for name in others_[2:])


def test_methods_with_many_inputs_may_choose_between_all_and_a_few():
    data = replace(boxed(inputs=4), few=(0, 1))
    by_name = {m.name: m for m in compare_rows.methods(data)}
    assert [name for name, _ in by_name["diffprivlib"].variants] == ["all inputs", "few inputs"]
    assert any("all inputs" in name for name, _ in by_name["AdaSSP"].variants)
    names = [name for name, _ in by_name["histogram"].variants]
    assert len(set(names)) == len(names)


# ---------------------------------------------------------------------------------- at a glance


def test_a_curve_is_as_low_as_an_error_between_the_places_that_were_measured():
    curve = pd.Series([8.0, 4.0, 2.0], index=[0.1, 1.0, 10.0])
    assert np.isclose(glance.needed(curve, 4.0 * np.sqrt(2.0)), np.sqrt(0.1))
    assert glance.needed(curve, 9.0) == pytest.approx(0.1)
    assert glance.needed(curve, 1.0) == float("inf")


def everything_stored(results):
    """Store made-up errors of the three comparisons: theirs are three times ours."""
    old = pd.read_csv(measured.PRINTED / "compare-0.2.0.csv")
    for shown in glance.SHOWN:
        before = old[old["data"] == shown.data].set_index("epsilon")["error"]
        rows = {shown.item: glance.OURS, "compare-rows": glance.ROWS}
        for item, ours in rows.items():
            made = {ours: 1.0, "a rival": 3.0, glance.FLOOR: 0.1, "a guess, without data": 9.0}
            made |= {ours + glance.ADDED: 0.5} if item == "compare-rows" else {}
            for epsilon in (0.3, 1.0, 3.0):
                unit = before.get(2.0 * epsilon, 1.0 / epsilon)
                for method, error in made.items():
                    yield item, [shown.data, method, epsilon, error * unit]


def test_one_page_shows_everybody_and_says_what_less_error_is_worth(tmp_path, monkeypatch):
    monkeypatch.setattr(glance, "SHOWN", glance.SHOWN[::3])
    assert glance.make(tmp_path) is None
    rows = list(everything_stored(tmp_path))
    for item in {item for item, _ in rows}:
        frame = pd.DataFrame(
            [row for name, row in rows if name == item],
            columns=["data", "method", "epsilon", "error"],
        )
        stored(tmp_path, item, "by-split", frame)
    text = glance.make(tmp_path).read_text()
    assert "| Three cultivars, 178 wines, share of wrong ones |  | **1** | 3 (a rival) |" in text
    assert "needs a full run of noise" in text
    truths = [
        {"truth": "t", "epsilon": 1.0, "mechanism": name, "N": n, "rmse": rmse}
        for name, n, rmse in (
            (glance.MECHANISMS[0], 300, 4.0),
            (glance.MECHANISMS[0], 1200, 2.0),
            (glance.MECHANISMS[1], 300, 2.0),
            (glance.MECHANISMS[1], 1200, 1.0),
        )
    ]
    stored(tmp_path, "noise", "all-truths", truths)
    assert "4.0 times as many at ε = 1" in glance.people(tmp_path)
    assert (tmp_path / "at-a-glance.png").is_file()


def test_what_is_large_has_a_page_of_its_own(tmp_path, monkeypatch):
    item = Item("compare-rows", title="Rows", place="nowhere", compute=tiny)
    monkeypatch.setattr(store, "SCRATCH", tmp_path / "scratch")
    monkeypatch.setattr(page, "EXPECTED", (("compare-rows", "Rows", "nowhere"),))
    monkeypatch.setattr(page, "find", lambda: {"compare-rows": item})
    store.write(item, tiny(Run(True, tmp_path / "run")), tmp_path, True, 0.1)
    text = page.assemble(tmp_path).read_text()
    assert "[Rows](compare-rows.md)" in text
    assert "## Rows" not in text
    assert (tmp_path / "compare-rows.md").read_text().startswith("# Rows\n")
