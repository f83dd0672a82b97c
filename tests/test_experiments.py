"""The experiments: what is stored, what is kept, and that draws are what releases are."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from reference import release_numbers as release_sketch
from scipy.special import ndtr

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cloakgp import (  # noqa: E402
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
)
from cloakgp.datasets import make_heights  # noqa: E402
from cloakgp.privacy import (  # noqa: E402
    Counted,
    Labelled,
    Query,
    Rows,
    gaussian_sigma,
)
from cloakgp.privacy import release as release_query  # noqa: E402
from cloakgp.release.decode import decoder_for  # noqa: E402
from experiments import (  # noqa: E402
    compare,
    confirm,
    measured,
    others,
    outcomes,
    page,
    registry,
    rivals,
    store,
    words,
)
from experiments.__main__ import main  # noqa: E402
from experiments.draw import (  # noqa: E402
    Drawer,
    order_of,
    rehearsed,
    releases,
    rmse,
    sketch_noise,
    without_privacy,
)
from experiments.item import Item, Result, Run  # noqa: E402
from experiments.items import figure_4, noise  # noqa: E402
from experiments.scores import interval_score, mixture_quantile  # noqa: E402

NAMES = sorted(registry.find())


def tiny(run):
    value = run.keep("a part", lambda: float(run.rng("x").standard_normal()))
    figure = Figure()
    figure.subplots().plot([0, 1], [0, value])
    return Result(
        "1",
        "2",
        "3",
        f"it is {value:.3f}",
        {"t": pd.DataFrame({"v": [value]})},
        {"f": figure},
        ("t",),
    )


ITEM = Item("tiny", title="Tiny", place="nowhere", compute=tiny)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "SCRATCH", tmp_path / "scratch")
    return tmp_path


# ----------------------------------------------------------------------------------- the framework


def test_every_item_has_its_own_name_title_and_place():
    for name, item in registry.find().items():
        assert item.name == name
        assert item.title
        assert item.place
    assert len({item.title for item in registry.find().values()}) == len(NAMES)


def test_a_stored_item_is_kept_until_something_it_was_made_from_changes(scratch, monkeypatch):
    results = scratch / "results"
    assert not store.fresh(ITEM, results, quick=True)
    run = Run(True, store.checkpoints(ITEM, True))
    store.write(ITEM, tiny(run), results, True, 0.1)
    assert store.fresh(ITEM, results, quick=True)
    assert not store.fresh(ITEM, results, quick=False)
    assert not store.fresh(replace(ITEM, uses=("numpy",)), results, quick=True)
    other = scratch / "package"
    other.mkdir()
    (other / "a.py").write_text("1")
    monkeypatch.setattr(store, "PACKAGE", other)
    assert not store.fresh(ITEM, results, quick=True)


def test_words_and_rooms_that_compute_nothing_do_not_make_results_old(scratch, monkeypatch):
    package = scratch / "package"
    (package / "web").mkdir(parents=True)
    monkeypatch.setattr(store, "PACKAGE", package)
    file = package / "a.py"
    file.write_text('"""One."""\nx = 1  # so\n\n\ndef f():\n    """Two."""\n    return x\n')
    before = store.fingerprint(ITEM)
    file.write_text('"""Three."""\nx = 1\ndef f():\n    return x\n')
    (package / "web" / "page.py").write_text("y = 2")
    assert store.fingerprint(ITEM) == before
    (package / "b.py").write_text("def f():\n    return x\n")
    file.write_text(
        "from package.b import f\n__all__ = ['f', 'x']\nx = 1\n"
    )  # moved, and imported from there
    assert store.fingerprint(ITEM) == before
    (package / "b.py").write_text("def f():\n    return x + 1\n")
    assert store.fingerprint(ITEM) != before


@pytest.mark.parametrize("now", ["v\n1\n", "v\n2\n"])
def test_old_results_are_confirmed_by_short_runs_with_the_same_numbers_alone(
    now, scratch, monkeypatch
):
    results, said = scratch / "results", []
    store.write(ITEM, tiny(Run(False, scratch / "run")), results, False, 0.1, {"seed": "0"})
    record = results / ITEM.name / store.RECORD
    record.write_text(json.dumps(json.loads(record.read_text()) | {"commit": "abc"}))

    def run(source, names, out):
        folder = out / names[0]
        folder.mkdir(parents=True)
        (folder / "t.csv").write_text(now if source == store.ROOT else "v\n1\n")

    calls = []
    monkeypatch.setattr(confirm, "_run", run)
    monkeypatch.setattr(confirm, "_git", lambda *words: calls.append(words[1]))
    same = now == "v\n1\n"
    assert confirm.confirm([ITEM], results, said.append) is same
    assert store.confirmed(ITEM, results) is same
    assert not store.fresh(ITEM, results, quick=False)
    assert calls == ["add", "remove"]
    monkeypatch.setattr(page, "find", lambda: {ITEM.name: ITEM})
    text = page.assemble(results).read_text()
    assert ("without changing these numbers" in text) is same


def test_results_of_code_that_no_commit_holds_cannot_be_confirmed(scratch):
    results, said = scratch / "results", []
    store.write(ITEM, tiny(Run(False, scratch / "run")), results, False, 0.1, {"seed": "0"})
    record = results / ITEM.name / store.RECORD
    record.write_text(json.dumps(json.loads(record.read_text()) | {"commit": "abc+changes"}))
    assert not confirm.confirm([ITEM], results, said.append)
    assert "run them again" in said[0]


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ("v,w\n1.0000001,a\n", True),
        ("v,w\n1.0001,a\n", False),
        ("v,w\n1,b\n", False),
        ("v\n1\n", False),
    ],
)
def test_short_runs_agree_in_words_and_to_five_digits(tmp_path, now, same):
    for name, text in (("then", "v,w\n1,a\n"), ("now", now)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(text)
    assert (confirm.compared(tmp_path / "then", tmp_path / "now") == confirm.SAME) is same


def test_a_short_run_without_tables_confirms_nothing(tmp_path):
    assert confirm.compared(tmp_path / "then", tmp_path / "now") == "a short run failed"


def test_what_is_stored_has_numbers_picture_code_version_and_seed(scratch):
    run = Run(True, store.checkpoints(ITEM, True))
    store.write(ITEM, tiny(run), scratch, True, 0.1)
    folder = scratch / "tiny"
    assert sorted(p.name for p in folder.iterdir()) == ["f.png", "result.json", "t.csv"]
    record = json.loads((folder / "result.json").read_text())
    assert record["mode"] == "quick"
    assert set(record["made_from"]) == {"package", "module", "uses", "seed"}
    assert {"version", "commit", "seconds"} <= set(record)
    assert not [p for p in scratch.iterdir() if p.name.startswith(".")]


def test_a_write_that_fails_leaves_the_old_result_as_it_was(scratch):
    run = Run(True, store.checkpoints(ITEM, True))
    good = tiny(run)
    store.write(ITEM, good, scratch, True, 0.1)
    before = (scratch / "tiny" / "result.json").read_text()
    with pytest.raises(AttributeError):
        store.write(ITEM, replace(good, figures={"f": None}), scratch, True, 0.1)
    assert (scratch / "tiny" / "result.json").read_text() == before
    store.write(ITEM, good, scratch, True, 0.1)


def test_a_finished_part_is_not_computed_again(tmp_path):
    calls = []

    def part():
        calls.append(1)
        return [1.5, "x"]

    run = Run(False, tmp_path)
    assert run.keep("part, with a name/that is odd", part) == [1.5, "x"]
    assert Run(False, tmp_path).keep("part, with a name/that is odd", part) == [1.5, "x"]
    assert len(calls) == 1


def test_the_module_hash_covers_what_an_item_imports():
    sources = {path.name for path in store._sources("experiments.items.figure_1")}
    assert {"figure_1.py", "heights.py", "draw.py"} <= sources
    assert not {"store.py", "page.py", "runner.py"} & sources


def test_the_same_labels_give_the_same_numbers_and_others_do_not(tmp_path):
    run = Run(True, tmp_path)
    a, b, c = (run.rng(*labels).standard_normal() for labels in (("a", 1), ("a", 1), ("a", 2)))
    assert a == b != c


def test_the_page_says_what_is_missing_and_what_is_stale(scratch, monkeypatch):
    expected = (("tiny", "Tiny", "nowhere"), ("absent", "Absent", "figure 9"))
    monkeypatch.setattr(page, "EXPECTED", expected)
    monkeypatch.setattr(page, "find", lambda: {"tiny": ITEM})
    store.write(ITEM, tiny(Run(True, store.checkpoints(ITEM, True))), scratch, True, 0.1)
    text = page.assemble(scratch).read_text()
    assert "## Absent" in text
    assert "has not been written yet" in text
    assert "has changed since" not in text
    record = json.loads((scratch / "tiny" / "result.json").read_text())
    record["made_from"]["package"] = "other"
    (scratch / "tiny" / "result.json").write_text(json.dumps(record))
    assert "has changed since" in page.assemble(scratch).read_text()


def test_sentences_say_when_ours_is_not_better():
    assert "not better" in words.compare(2.0, 1.0, "it")
    assert words.compare(1.0, 2.0, "it") == "2.0 times less than it"
    assert words.compare(1.0, 1.01, "it") == "about the same as it"


# --------------------------------------------------------------------------------------- the draws


@pytest.fixture(params=["gaussian", "laplace"])
def plan_and_data(request):
    people = make_heights(80)
    X, y = people[["age"]].to_numpy(float), people["height_cm"].to_numpy(float)
    settings = {"bounds": (40, 200), "epsilon": 1.0, "delta": 1e-3}
    plan = PrivateGPRegressor(mechanism=request.param, **settings).plan(X)
    assert plan.spec.mechanism == request.param
    return plan, X, y


class Silent:
    """A generator that has nothing to say."""

    def standard_normal(self, shape):
        return np.zeros(shape)

    standard_exponential = standard_normal


def test_a_draw_without_noise_is_what_the_core_would_publish(plan_and_data):
    plan, X, y = plan_and_data
    silent = Silent()
    drawn = releases(plan, X, y, X, 1, silent)[0]
    wanted = rehearsed(plan, X, y, silent).predict(X)
    np.testing.assert_allclose(drawn, wanted, atol=0.02)


def test_draws_have_the_spread_of_real_releases(plan_and_data):
    # 4000 draws know a standard deviation to 1.1 %; 6 % is more than five of those.
    given, X, y = plan_and_data
    settings = {"bounds": (40, 200), "delta": 0.001, "mechanism": given.spec.mechanism}
    plan = PrivateGPRegressor(learn=False, **settings).plan(X)
    at = X[:3]
    decoder = decoder_for(plan.facts, plan.sketch.rounded)
    std = plan.facts.noise_std * np.linalg.norm(decoder.weights(at), axis=1)
    drawn = releases(plan, X, y, at, 4000, np.random.default_rng(0)).std(axis=0)
    np.testing.assert_allclose(drawn, std, rtol=0.06)
    assert not np.allclose(drawn, 1.1 * std, rtol=0.03)


def test_drawn_and_rehearsed_numbers_are_those_of_real_releases(plan_and_data):
    """Mean size, spread and tails of the noise are those of OpenDP's, in one published number.

    Samples of 4,000 know a mean size to 1.6 %, a spread to 1.8 % and a share to 0.004.
    """
    plan, X, y = plan_and_data
    rng, count = np.random.default_rng(0), 4000
    silent = rehearsed(plan, X, y, Silent()).noisy.s

    def of_many(one):
        each = len(silent)
        return np.concatenate([one() - silent for _ in range(count // each + 1)])[:count]

    query = (plan.sketch, y[order_of(X)], (40, 200), plan.spec.budget)
    real = of_many(lambda: release_sketch(*query).s)
    found = {
        "rehearsed": of_many(lambda: rehearsed(plan, X, y, rng).noisy.s),
        "drawn": sketch_noise(plan.spec, (count,), rng),
    }
    std = plan.spec.noise_std
    for drawn in (real, *found.values()):
        assert np.std(drawn) == pytest.approx(std, rel=0.1)
        assert np.mean(np.abs(drawn)) == pytest.approx(np.mean(np.abs(real)), rel=0.1)
        beyond = np.mean(np.abs(drawn) > 3.0 * std)  # 0.0027 if Gaussian, 0.0144 if Laplace
        assert (beyond > 0.007) == (plan.spec.mechanism == "laplace")


def test_without_privacy_is_the_estimator_without_noise(plan_and_data):
    plan, X, y = plan_and_data
    model = PrivateGPRegressor(bounds=(40, 200), epsilon=np.inf)
    with pytest.warns(UserWarning, match="not private"):
        model.fit(X, y)
    np.testing.assert_allclose(without_privacy(plan, X, y, X), model.predict(X), atol=0.05)


# ------------------------------------------------------------------------------------- two classes


def labelled(n=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (n, 1))
    return X, (X[:, 0] + rng.standard_normal(n) > 5).astype(float)


def test_draws_of_classes_have_the_spread_of_real_releases():
    # 2000 draws know a standard deviation to 1.6 %; 8 % is five of those.
    X, y = labelled()
    how = outcomes.PAPER | {"target": "points"}
    model = PrivateGPClassifier(classes=[0, 1], epsilon=1.0, delta=0.01, **how)
    at = np.array([[2.0], [8.0]])
    plan = model.plan(X, at=at)
    drawn = outcomes.scores(plan, X, y, at, 2000, np.random.default_rng(0)).std(axis=0)
    np.testing.assert_allclose(drawn, plan.noise_std, rtol=0.08)
    assert not np.allclose(drawn, 1.2 * plan.noise_std, rtol=0.08)


@pytest.mark.parametrize("kind", ["labels", "three labels", "counts"])
def test_whole_numbers_are_published_with_whole_noise_as_in_real_releases(kind):
    """On whole numbers a large budget leaves most sums as they are: shares of each step agree."""
    X, y = labelled()
    settings = {"epsilon": 2.0, "mechanism": "laplace"}
    if kind == "counts":
        y, model = 3.0 * y, PrivateGPCountRegressor(cap=3, **settings)
    elif kind == "labels":
        model = PrivateGPClassifier(classes=[0, 1], **settings)
    else:
        model = PrivateGPClassifier(classes=[0, 1, 2], **settings)
    plan, rng = model.plan(X), np.random.default_rng(0)
    silent = next(outcomes.releases(plan, X, y, 1, Silent())).noisy
    assert silent.whole == (3 if kind == "counts" else 1)
    assert silent.mechanism == "laplace"
    count = 2000 // silent.values.size + 1
    drawn = [r.noisy.values for r in outcomes.releases(plan, X, y, count, rng)]
    outputs = Counted(3.0) if kind == "counts" else Labelled(plan.spec.classes)
    query = Query(plan.sketch, outputs, Rows(y[order_of(X)]))
    real = [release_query(query, plan.spec.budget).values for _ in range(count)]
    drawn, real = (np.abs(np.array(values) - silent.values).ravel() for values in (drawn, real))
    # 2000 know a share to 0.011.
    for step in range(4):
        assert np.mean(drawn <= step) == pytest.approx(np.mean(real <= step), abs=0.08)
    steps = np.sqrt(np.mean(drawn**2.0)) / silent.whole
    assert steps == pytest.approx(plan.spec.noise_std, rel=0.15)
    assert silent.noise_std == pytest.approx(plan.spec.noise_std)


def test_two_steps_that_add_their_budgets_have_the_noise_of_half_a_budget_each():
    X, _ = labelled()
    half = gaussian_sigma(figure_4.EPSILON / 2, figure_4.DELTA / 2, "hall")
    added = figure_4.model(2, 1.0, outcomes.PAPER | figure_4.ADDED)
    gaussian = figure_4.model(2, 1.0, outcomes.PAPER)
    whole = gaussian_sigma(figure_4.EPSILON, figure_4.DELTA, "hall")
    X = np.hstack([X, X])
    assert np.isclose(added.plan(X).facts.noise_std, half)
    assert np.isclose(gaussian.plan(X).facts.noise_std, np.sqrt(2.0) * whole)


def test_methods_for_classes_learn_a_line_when_the_budget_is_large(tmp_path):
    methods = [
        others.Method("ours, all defaults", others.OUTPUTS, others.classifier()),
        others.Method("ours, scaled", others.OUTPUTS, others.classifier(others.one_lengthscale)),
        others.Method("paper", others.OUTPUTS, others.papers_classifier(8)),
        others.Method("turned", others.LOCAL, rivals.randomised_response, slow=True),
        others.Method("cells", others.PURE, variants=rivals.label_histograms((6,))),
        others.Method("floor", others.NOTHING, others.classifier_floor, private=False),
        others.Method("a coin, without data", others.EVERYTHING, others.coin, private=False),
    ]
    sets = [line(120, "classification")]
    errors = compare.run_all(Run(True, tmp_path), sets, methods, (10.0,), 1e-5, 1, 3, 2)
    mean = errors.groupby("method")["error"].mean()
    assert (mean.drop("a coin, without data") < 0.3).all()
    assert mean["a coin, without data"] == 0.5


def test_accuracies_are_compared_in_points():
    assert outcomes.versus(80.0, 70.0, "it") == "10 points more than it"
    assert "not better" in outcomes.versus(60.0, 70.0, "it")
    assert "same" in outcomes.versus(70.4, 70.0, "it")


# ---------------------------------------------------------------------------------- the comparison


def line(n=200, task="regression"):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (n, 1))
    y = 0.1 * X[:, 0] + 0.05 * rng.standard_normal(n)
    if task == "classification":
        return others.Data("line", X, (y > 0.5).astype(float), (0.0, 1.0), task=task)
    return others.Data("line", X, y, (0.0, 1.0))


METHODS = (
    others.Method("ours", others.OUTPUTS, others.ours),
    others.Method("histogram", others.PURE, variants=rivals.histograms((3, 9), ("equal counts",))),
    others.Method("local", others.LOCAL, rivals.local_laplace),
    others.Method("paper", others.OUTPUTS, others.papers_method(5)),
    others.Method("absent", others.OUTPUTS, others.ours, check=lambda: "it is not there"),
    others.Method("floor", others.NOTHING, rivals.without_privacy, private=False),
)


def test_the_comparison_has_a_row_for_everybody_and_says_who_could_not_be_run(tmp_path):
    run, sets = Run(True, tmp_path), [line()]
    errors = compare.run_all(run, sets, METHODS, (0.3, 10.0), splits=1, draws=20)
    table = compare.table(errors, sets, METHODS).set_index("method")
    assert "could not be run: it is not there" in table.loc["absent", "trust"]
    promised = ["trust", "neighbours differ in", "δ"]
    assert table.loc["ours", promised].tolist() == ["central", "output", "1e-05"]
    assert table.loc["local", promised].tolist() == ["local", "output", "0"]
    assert "±" in table.loc["ours", "ε = 10"]
    table = table.map(lambda cell: cell.split(" ±")[0])
    cell = {m: float(table.loc[m, "ε = 10"]) for m in ("ours", "histogram", "local", "paper")}
    assert cell["ours"] < 0.1
    for method, value in cell.items():
        assert value >= 0.9 * float(table.loc["floor", "ε = 10"]), method
        assert value <= float(table.loc[method, "ε = 0.3"]) * 1.05
    assert "of 2 cases" in compare.conclusion(errors, sets, METHODS)
    assert len(compare.figure(errors, sets, METHODS).axes) == 3


def trial(data, epsilon, draws=2):
    train = np.arange(len(data.y)) % 4 != 0
    return others.Trial(data, train, epsilon, 1e-5, draws, np.random.default_rng(0))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("method", [others.linear, others.boosting])
def test_other_libraries_learn_a_line_when_the_budget_is_large(task, method):
    library = "diffprivlib" if method is others.linear else "interpret"
    why = getattr(others, f"why_not_{library}")()
    if why:
        pytest.skip(why)
    t = trial(line(800, task), 50.0)
    found = method(t)
    assert found.shape == (2, len(t.at))
    limit = 0.12 if task == "regression" else 0.15
    assert compare.errors_of(t.data, found, t.truth).mean() < limit


# ------------------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_the_command_makes_a_page_and_keeps_what_it_made(tmp_path, monkeypatch, capsys):
    words = ["--quick", "--only", "limits", "--out", str(tmp_path)]
    first = subprocess.run(
        [sys.executable, "-m", "experiments", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert first.returncode == 0, first.stdout + first.stderr
    text = (tmp_path / "README.md").read_text()
    assert "certified gap" in text
    assert "quick run" in text
    assert (tmp_path / "limits" / "limits.png").is_file()
    assert not pd.read_csv(tmp_path / "limits" / "limits.csv").empty
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert main(words) == 0
    assert "kept" in capsys.readouterr().out


def made(name, folder):
    """Make an item as a process of the command does, in this one."""
    item = registry.find()[name]
    result = item.compute(Run(True, store.checkpoints(item, True)))
    store.write(item, result, folder, True, 0.0)
    return folder / name


@pytest.mark.skipif("CLOAKGP_DATA" not in os.environ, reason="needs the paper's data")
def test_a_figure_of_the_paper_can_be_made_again(scratch):
    table = pd.read_csv(made("figure-1", scratch) / "noise.csv").set_index("noise in cm")
    assert (table > 0).all(axis=None)


@pytest.mark.skipif("CLOAKGP_DATA" not in os.environ, reason="needs the paper's data")
def test_the_loans_are_drawn_again(scratch):
    folder = made("figure-3", scratch)
    table = pd.read_csv(folder / "distance.csv").set_index("distance of probabilities")
    assert table["0 to 14"].between(0, 0.5).all()
    assert (folder / "loans.png").is_file()
    assert "leaks" in page.assemble(scratch).read_text()


@pytest.mark.skipif("CLOAKGP_DATA" not in os.environ, reason="needs the paper's data")
def test_the_two_mechanisms_are_compared(scratch):
    folder = made("noise", scratch)
    truths = pd.read_csv(folder / "all-truths.csv")
    chosen = truths.groupby("mechanism")["noise"].unique().map(list)
    assert chosen[noise.GAUSSIAN] == ["gaussian"]
    assert chosen[noise.CHOSEN] == ["laplace"]
    assert truths["coverage"].between(0.0, 1.0).all()
    assert pd.read_csv(folder / "truths.csv")["error ÷ Gaussian"].iloc[-1] < 1.0
    assert "→" in pd.read_csv(folder / "data.csv")["ε = 1"].iloc[0]


def test_interval_scores_are_widths_and_what_bands_miss():
    low, high, f = np.array([-1.0, -1.0]), np.array([1.0, 1.0]), np.array([0.0, 1.5])
    assert interval_score(low, high, f) == pytest.approx(2.0 + 0.5 * 40.0 * 0.5)


def test_quantiles_of_mixtures_have_that_much_below():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), 3)
    weights[:, 2] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    means, stds = rng.normal(0.0, 3.0, (4, 3, 5)), rng.uniform(0.2, 2.0, (4, 5))
    for q in (0.025, 0.5, 0.975):
        at = mixture_quantile(weights, means, stds, q)
        below = np.einsum("nk,knp->np", weights, ndtr((at - means) / stds[:, None]))
        np.testing.assert_allclose(below, q, atol=1e-9)


def stored(results, item, name, rows, mode="full"):
    (results / item).mkdir(parents=True, exist_ok=True)
    (results / item / "result.json").write_text(json.dumps({"mode": mode}))
    pd.DataFrame(rows).to_csv(results / item / f"{name}.csv", index=False)


def comparison(data, epsilon, ours, rival):
    errors = {measured.OURS: ours, "GP without privacy": 1e-9, "a rival": rival}
    return [
        {"data": data, "method": method, "epsilon": epsilon, "split": k, "error": error}
        for method, error in errors.items()
        for k in range(2)
    ]


def test_what_was_reached_is_told_beside_the_version_before(tmp_path):
    old = pd.read_csv(measured.PRINTED / "compare-0.2.0.csv")
    assert len(old) == 45
    name, epsilon, before = old.iloc[0]
    rows = comparison(name, epsilon, 0.5 * before, before) + comparison("new", 1.0, 2.0, 1.0)
    stored(tmp_path, "compare-regression", "by-split", rows)
    stored(tmp_path, "compare-classification", "by-split", rows[-6:])
    was = pd.read_csv(measured.PRINTED / "unexpected-0.2.0.csv")
    assert len(was) == 216
    truth = dict(was.iloc[0])
    mine = truth | {"method": measured.LEARNT, "rmse": 0.5 * truth["rmse"], "score": 1.0}
    best = mine | {"method": measured.HINDSIGHT, "rmse": 0.25 * truth["rmse"]}
    stored(tmp_path, "unexpected", "all", [mine, best])
    assert measured.error(tmp_path) == "0.50 (0.50 in 1 comparisons, 0.50 on 1 truths)"
    assert measured.wins(tmp_path) == "1 of 1; new data 0 of 1; within 5 % of it in 1 of 2"
    assert measured.hindsight(tmp_path) == "2.00"
    assert measured.coverage(tmp_path).endswith(f"({truth['truth']})")
    known = pd.read_csv(measured.PRINTED / "score-0.2.0.csv")
    first = known[(known[["truth", "N", "epsilon"]] == was.iloc[0][:3]).all(axis=1)]["score"].item()
    assert measured.score(tmp_path).startswith(f"{1.0 / first:.2f} ")
    folds = [{"inputs": "age", "method": measured.OURS, "private_cm": v} for v in (7.0, 8.0)]
    stored(tmp_path, "table-1", "by-fold", folds)
    assert measured.heights(tmp_path) == "7.5 cm"
    table = measured.table(tmp_path).set_index("")["now"]
    assert table.str.startswith("needs a full run of").sum() == 2  # digits and alarms


def test_quick_runs_are_not_measured_by_the_version_before(tmp_path):
    stored(tmp_path, "unexpected", "all", [{"truth": "flat"}], mode="quick")
    assert measured.table(tmp_path)["now"].str.startswith("needs a full run of").all()


def test_an_unknown_item_is_refused(monkeypatch):
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit, match="nonsense"):
        main(["--only", "nonsense"])


def test_errors_are_root_mean_squares():
    assert rmse(np.array([[1.0, -1.0], [0.0, 0.0]]), np.zeros(2)).tolist() == [1.0, 0.0]


def test_many_releases_at_once_are_single_ones():
    """Means and bands of many releases are those of each release's mixture."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (60, 1))
    y, at = 50.0 + 20.0 * np.sin(X[:, 0]), np.linspace(0.0, 10.0, 7)[:, None]
    plan = PrivateGPRegressor(bounds=(0.0, 100.0), epsilon=3.0).plan(X)
    drawer = Drawer(plan, X, at)
    means, (low, high) = drawer.bands(y, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(drawer.releases(y, 3, np.random.default_rng(1)), means)
    for k, one in enumerate(drawer.posteriors(y, 3, np.random.default_rng(1))):
        np.testing.assert_allclose(means[k], one.mean(at), rtol=1e-8)
        np.testing.assert_allclose(low[k], one.quantile(at, 0.025), rtol=1e-6)
        np.testing.assert_allclose(high[k], one.quantile(at, 0.975), rtol=1e-6)


def test_what_squares_say_is_what_a_release_makes_of_them():
    """Without noise, a draw is the release that the package makes."""
    rng, silent = np.random.default_rng(0), Silent()
    X = rng.uniform(0.0, 10.0, (60, 1))
    y, at = rng.uniform(20.0, 90.0, 60), np.linspace(0.0, 10.0, 7)[:, None]
    plan = PrivateGPRegressor(bounds=(0.0, 100.0), epsilon=3.0).plan(X)
    made = rehearsed(plan, X, y, silent)
    assert made.noisy.squares is not None
    drawn = next(Drawer(plan, X, at).posteriors(y, 1, silent))
    for of in ("curve", "person"):
        low = drawn.quantile(at, 0.025, of_people=of == "person")
        np.testing.assert_allclose(low, made.predict_interval(at, of=of)[0], rtol=1e-5)
