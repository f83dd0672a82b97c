"""``predict`` and ``verify``: free, marked if not private, and nothing is claimed too much."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from command_line import fails, people, run, start
from rehearsal import restamped
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPRegressor, Release
from cloakgp.privacy import Sketch
from cloakgp.privacy.mechanism.release import value_bits_for
from cloakgp.release.verify import NOT_AUTHORSHIP


def test_predictions_at_a_grid_are_those_of_the_release(saved, tmp_path):
    out = tmp_path / "p.csv"
    assert run("predict", saved, "--at", "age=0:70:15", "--out", out).exit_code == 0
    table = pd.read_csv(out)
    at = np.linspace(0, 70, 15)[:, None]
    mean, std = Release.load(saved).predict(at, return_std=True, clip="bounds")
    np.testing.assert_allclose(table["height"], mean, rtol=1e-8)
    np.testing.assert_allclose(table["height_std"], std, rtol=1e-8)
    fails(run("predict", saved, "--at", "age=1", "--out", out), "exists", "--force")
    fails(run("predict", saved, "--at", "age=1", "--out", tmp_path / "p.txt"), ".csv")


def test_predictions_leave_the_bounds_only_if_asked_to(tmp_path):
    """Far from everybody the band of this prior, ± 196, reaches beyond the bounds."""
    ages = pd.DataFrame({"age": np.linspace(0.0, 70.0, 30)})
    model = PrivateGPRegressor(100.0**2 * RBF(20.0), bounds=(40.0, 200.0))
    release = model.fit(ages, pd.Series(np.full(30, 150.0), name="height")).release_
    saved, at = tmp_path / "wide.cloakgp", "age=-900:900:3"
    release.save(saved)
    points = np.array([[-900.0], [0.0], [900.0]])
    for words, clip in (
        ((), "bounds"),
        (("--clip", "bounds"), "bounds"),
        (("--clip", "none"), None),
    ):
        table = pd.read_csv(io.StringIO(run("predict", saved, "--at", at, *words).stdout))
        told = json.loads(run("predict", saved, "--at", at, *words, "--json").stdout)
        wanted = release.to_frame(points, clip=clip)
        np.testing.assert_allclose(table, wanted, rtol=1e-8)
        np.testing.assert_allclose(pd.DataFrame(told["predictions"]), wanted, rtol=1e-8)
        assert told["clip"] == clip
        ends = table[[name for name in table if name.endswith("95")]]
        inside = 40.0 <= ends.min().min() <= ends.max().max() <= 200.0
        assert inside == (clip is not None)
    fails(run("predict", saved, "--at", at, "--clip", "cap"), "--clip must be one of bounds, none")


def test_predictions_at_a_file_read_its_inputs_only(saved, data):
    piped = run("predict", saved, "--at", data).stdout
    assert piped.splitlines()[0] == ",".join(COLUMNS)
    assert len(piped.splitlines()) == 41


def test_verify_ends_with_0_1_or_2(saved, tmp_path):
    good = run("verify", saved)
    assert good.exit_code == 0
    assert "The guarantee holds" in good.stdout
    release, weak = Release.load(saved), tmp_path / "weak.cloakgp"
    replace(release, noisy=replace(release.noisy, sigma=release.noisy.sigma / 2)).save(weak)
    bad = run("verify", weak)
    assert bad.exit_code == 1
    assert "does NOT hold (noise" in bad.stdout
    assert json.loads(run("verify", weak, "--json").stdout)["ok"] is False
    weak.write_bytes(b"garbage")
    fails(run("verify", weak), "refused")
    fails(run("verify"), "RELEASE")


def test_a_rehearsal_does_not_verify(tmp_path):
    frame = people()
    model = PrivateGPRegressor(bounds=(40, 200), random_state=0)
    with pytest.warns(UserWarning, match="NOT private"):
        model.fit(frame[["age"]], frame["height"])
    model.release_.save(tmp_path / "r.cloakgp")
    assert run("verify", tmp_path / "r.cloakgp").exit_code == 1
    assert "NOT private" in run("predict", tmp_path / "r.cloakgp", "--at", "age=3").stderr


def test_a_release_without_a_selection_states_its_own_epsilon(saved):
    words = " ".join(run("verify", saved).stdout.split())
    assert "no more than epsilon = 1 allows. That" in words


def test_a_reader_that_leaves_early_is_no_error(saved):
    process = start("predict", saved, "--at", "age=0:70:20000")
    assert process.stdout.readline().startswith("age,")
    process.stdout.close()
    shown = process.stderr.read()
    process.wait(timeout=300)
    assert "Traceback" not in shown


def test_a_table_of_predictions_that_cannot_be_written_is_found_before_the_release_is_read(
    tmp_path,
):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("precious")
    for name, part in (
        ("no/p.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
        ("p.txt", "must end in .csv"),
        ("there.csv", "--force"),
    ):
        out = ("--out", tmp_path / name)
        fails(run("predict", tmp_path / "none.cloakgp", "--at", "age=1", *out), part)


pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")

X = pd.DataFrame({"age": np.linspace(0.0, 70.0, 30)})
Y = pd.Series(100.0 + X["age"], name="height")
COLUMNS = ["age", "height", "height_std", "height_noise_std", "height_low95", "height_high95"]
COLUMNS += ["height_person_low95", "height_person_high95"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def private(folder):
    PrivateGPRegressor(bounds=(40, 200)).fit(X, Y).release_.save(folder / "private.cloakgp")
    return folder / "private.cloakgp"


@pytest.fixture(scope="module", params=[{"random_state": 0}, {"epsilon": math.inf}], ids=str)
def trial(request, folder):
    path = folder / "trial.cloakgp"
    PrivateGPRegressor(bounds=(40, 200), **request.param).fit(X, Y).release_.save(path)
    return path


def test_predictions_of_a_private_release_say_so_in_json_and_have_no_other_column(private):
    words = ("predict", private, "--at", "age=0:70:3")
    assert json.loads(run(*words, "--json").stdout)["private"] is True
    assert list(pd.read_csv(io.StringIO(run(*words).stdout))) == COLUMNS


def test_predictions_of_one_that_is_not_private_are_marked_in_json_and_csv(trial):
    words = ("predict", trial, "--at", "age=0:70:3")
    assert json.loads(run(*words, "--json").stdout)["private"] is False
    table = pd.read_csv(io.StringIO(run(*words).stdout))
    assert list(table) == [*COLUMNS, "private"]
    assert table["private"].dtype == bool
    assert not table["private"].any()
    assert "NOT private" in run(*words).stderr


def test_a_file_from_one_that_is_not_private_takes_a_flag_that_the_error_spells(trial, tmp_path):
    out = tmp_path / "p.csv"
    words = ("predict", trial, "--at", "age=0:70:3", "--out", out)
    refused = run(*words)
    assert refused.exit_code == 2
    assert "--not-private" in refused.stderr
    assert not out.exists()
    assert run(*words, "--not-private").exit_code == 0
    assert not pd.read_csv(out)["private"].any()


def test_a_private_release_is_written_without_the_flag_and_not_marked_with_it(private, tmp_path):
    for number, flags in enumerate(((), ("--not-private",))):
        out = tmp_path / f"{number}.csv"
        assert run("predict", private, "--at", "age=3", "--out", out, *flags).exit_code == 0
        assert list(pd.read_csv(out)) == COLUMNS


def test_a_mark_never_replaces_a_column(folder):
    model = PrivateGPRegressor(bounds=(40, 200), random_state=0)
    model.fit(X, Y.rename("private")).release_.save(folder / "named.cloakgp")
    refused = run("predict", folder / "named.cloakgp", "--at", "age=3")
    assert refused.exit_code == 2
    assert "rename" in refused.stderr


def test_predictions_that_cannot_be_computed_are_one_clear_error(folder):
    release = PrivateGPRegressor(bounds=(40, 200), decode="direct").fit(X, Y).release_
    same = np.repeat(release.sketch.matrix[:1], len(release.sketch.matrix), axis=0) // 2
    path = folder / "dependent.cloakgp"
    sketch, noisy = Sketch(same, release.sketch.bits), release.noisy
    # On the grid that such a sketch has, or that would be what is wrong with it.
    bits = sketch.bits + value_bits_for(sketch, noisy.noise_std, mechanism=noisy.mechanism)
    noisy = replace(noisy, bits=bits, values=noisy.values << (bits - noisy.bits))
    replace(release, sketch=sketch, noisy=noisy).save(path)
    assert len(same) > 1
    report = run("verify", path)
    assert report.exit_code == 1
    assert "decoding" in report.stdout
    refused = run("predict", path, "--at", "age=3")
    assert refused.exit_code == 2
    assert "rows are independent" in refused.stderr


def test_verify_ends_by_saying_that_it_shows_consistency_and_not_authorship(private, trial):
    for path, code in ((private, 0), (trial, 1)):
        shown = run("verify", path)
        assert shown.exit_code == code
        last = shown.stdout.strip().splitlines()[-1]
        assert last == NOT_AUTHORSHIP
        for word in ("not who made it", "inputs", "bounds", "owners of rows", "stamp", "custodian"):
            assert word in last
        assert json.loads(run("verify", path, "--json").stdout)["note"] == NOT_AUTHORSHIP


def test_a_report_ends_by_saying_so_too():
    release = PrivateGPRegressor(bounds=(40, 200)).fit(X, Y).release_
    assert str(release.verify()).splitlines()[-1] == NOT_AUTHORSHIP
    broken = replace(release, noisy=replace(release.noisy, bits=2000))
    assert str(broken.verify()).splitlines()[-1] == NOT_AUTHORSHIP


def test_verify_warns_of_values_that_are_too_quiet_and_still_says_what_holds(folder, private):
    made = PrivateGPRegressor(bounds=(40, 200), epsilon=math.inf).fit(X, Y).release_
    restamped(made).save(folder / "forged.cloakgp")
    shown = run("verify", folder / "forged.cloakgp")
    assert shown.exit_code == 0
    assert "WARNING plausibility" in shown.stdout
    assert shown.stdout.strip().splitlines()[-1] == NOT_AUTHORSHIP
    report = json.loads(run("verify", folder / "forged.cloakgp", "--json").stdout)
    assert report["ok"] is True
    assert "too quiet" in report["warnings"][0]
    assert "too quiet" in run("predict", folder / "forged.cloakgp", "--at", "age=3").stderr
    assert "WARNING" not in run("verify", private).stdout
    assert json.loads(run("verify", private, "--json").stdout)["warnings"] == []
