"""Predictions in the forms of other tools, taken by the real libraries."""

import json

import arviz
import geopandas
import numpy as np
import pandas as pd
import pytest
import xarray

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.datasets import make_heights

RNG = np.random.default_rng(0)
PEOPLE = make_heights(150)
CURVE = PrivateGPRegressor(bounds=(40, 200)).fit(PEOPLE[["age"]], PEOPLE["height_cm"]).release_
PLACES = pd.DataFrame(
    {
        "lat": RNG.uniform(50, 55, 80),
        "lon": RNG.uniform(-3, 1, 80),
        "kind": pd.Categorical(RNG.choice(["flat", "house"], 80)),
    }
)
RENTS = pd.Series(RNG.uniform(5, 15, 80), name="rent")
MAP = PrivateGPRegressor(bounds=(0, 20)).fit(PLACES[["lat", "lon"]], RENTS).release_
THREE = PrivateGPRegressor(bounds=(0, 20), rank=2).fit(PLACES, RENTS).release_


def test_a_curve_in_xarray_is_what_predict_says(tmp_path):
    found = CURVE.to_xarray()
    assert isinstance(found, xarray.Dataset)
    assert dict(found.sizes) == {"age": 181}
    at = found.sel(age=30.0, method="nearest")
    mean, std = CURVE.predict([[float(at.age)]], return_std=True)
    np.testing.assert_allclose([at.height_cm, at.height_cm_std], [mean[0], std[0]])
    assert found.attrs["epsilon"] == 1.0
    found.to_netcdf(tmp_path / "curve.nc", engine="h5netcdf")
    again = xarray.open_dataset(tmp_path / "curve.nc", engine="h5netcdf")
    np.testing.assert_array_equal(again.height_cm, found.height_cm)


def test_a_grid_in_xarray_has_each_input_along_its_own_dimension():
    axes = {"lon": [-2.0, 0.0, 1.0], "lat": [51.0, 54.0]}
    found = MAP.to_xarray(axes)
    assert found.rent.dims == ("lon", "lat")
    for lon in axes["lon"]:
        for lat in axes["lat"]:
            assert found.rent.sel(lon=lon, lat=lat) == pytest.approx(MAP.predict([[lat, lon]])[0])
    assert set(MAP.to_xarray().sizes) == {"lat", "lon"}


def test_other_inputs_stay_where_they_are_and_levels_are_words():
    with pytest.raises(ValueError, match="of 3 inputs, name the values"):
        THREE.to_xarray()
    found = THREE.to_xarray({"kind": ["house", "flat"], "lat": [51.0]})
    lon = float(found.coords["lon"])
    assert lon == pytest.approx(np.median(PLACES.lon), rel=1e-3)
    row = pd.DataFrame({"lat": [51.0], "lon": [lon], "kind": ["flat"]})
    assert found.rent.sel(kind="flat", lat=51.0) == pytest.approx(THREE.predict(row)[0])
    with pytest.raises(ValueError, match="names 'size', and the inputs are lat, lon, kind"):
        THREE.to_xarray({"size": [1]})


def test_points_in_xarray_have_their_inputs_as_coordinates():
    found = THREE.to_xarray(PLACES.head(4))
    assert dict(found.sizes) == {"point": 4}
    np.testing.assert_allclose(found.rent, THREE.predict(PLACES.head(4)))
    assert found.kind.values.tolist() == PLACES.kind.head(4).tolist()


def test_arviz_takes_samples_as_they_are():
    samples = CURVE.to_arviz([[10.0], [40.0]], draws=4000)
    table = arviz.summary(samples, hdi_prob=0.95, round_to="none", kind="stats")
    mean, std = CURVE.predict([[10.0], [40.0]], return_std=True)
    assert np.all(np.abs(table["mean"] - mean) < 5 * std / np.sqrt(4000))
    np.testing.assert_allclose(table["sd"], std, rtol=0.1)  # nine standard errors
    assert arviz.convert_to_inference_data(samples).posterior.sizes["draw"] == 4000


def test_samples_of_classes_are_named_for_their_scale():
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "c", "a"]
    release = PrivateGPClassifier(classes=["a", "b", "c"]).fit(X, y).release_
    names = set(release.to_arviz(X, draws=3).data_vars)
    assert names == {"label_log_odds_a", "label_log_odds_b", "label_log_odds_c"}


def test_geojson_is_a_map_of_rectangles_that_touch(tmp_path):
    path = tmp_path / "rent.geojson"
    path.write_text(json.dumps(MAP.to_geojson()))
    read = geopandas.read_file(path)
    assert len(read) == 2500
    assert read.crs == "EPSG:4326"
    read = read.set_crs(None, allow_override=True)  # areas and middles in degrees will do
    middle = read.geometry.centroid
    np.testing.assert_allclose(
        read.rent, MAP.predict(np.column_stack([middle.y, middle.x])), atol=1e-9
    )
    west, south, east, north = read.total_bounds
    assert read.geometry.area.sum() == pytest.approx((east - west) * (north - south))
    assert {"rent", "rent_std", "rent_noise_std", "rent_low95", "rent_high95"} <= set(read)


def test_geopandas_takes_points_and_levels():
    found = THREE.to_geopandas(PLACES.head(5))
    assert isinstance(found, geopandas.GeoDataFrame)
    np.testing.assert_allclose(found.geometry.x, PLACES.lon.head(5))
    np.testing.assert_allclose(found.geometry.y, PLACES.lat.head(5))
    np.testing.assert_allclose(found.rent, THREE.predict(PLACES.head(5)))
    assert found.kind.tolist() == PLACES.kind.head(5).tolist()


def test_a_map_without_degrees_is_refused():
    with pytest.raises(ValueError, match="no single input is a longitude"):
        CURVE.to_geojson()


def test_a_library_that_is_not_there_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install geopandas"):
        MAP.to_geopandas()
