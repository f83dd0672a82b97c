"""Predictions in the forms of other tools: xarray, ArviZ, GeoJSON and GeoPandas.

Everything here follows from a release, so it costs nothing.  The libraries are loaded when they are
asked for, and named if they are not there.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.columns import Number
from cloakgp.drawing.views import Input, describe_inputs
from cloakgp.errors import ParameterError
from cloakgp.release.posterior import Clip
from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: Places along each input of a grid: a curve, or a map.
CURVE_PLACES, GRID_PLACES = 181, 50


def to_xarray(release: Release, X: Any = None, clip: Clip | None = None) -> Any:
    """Return predictions as a Dataset: over a grid of the inputs, or at given points."""
    xarray = _library("xarray", "xarray")
    if X is not None and not isinstance(X, Mapping):
        frame = release.to_frame(X, clip=clip)
        names = list(release.spec.names)
        coordinates = {name: ("point", _values(frame[name])) for name in names}
        columns = {n: ("point", _values(frame[n])) for n in frame.columns if n not in names}
        return xarray.Dataset(columns, coordinates, _attributes(release))
    axes = _axes(release, X)
    frame = release.to_frame(_product(release, axes), clip=clip)
    shape = [len(values) for values in axes.values()]
    over: dict[str, Any] = {
        name: (list(axes), _values(frame[name]).reshape(shape))
        for name in frame.columns
        if name not in release.spec.names
    }
    fixed = {n: frame[n].iloc[0] for n in release.spec.names if n not in axes}
    sides = {n: _values(pd.Series(v)) for n, v in axes.items()}
    return xarray.Dataset(over, {**sides, **fixed}, _attributes(release))


def to_arviz(release: Release, X: Any, draws: int, random_state: Any) -> Any:
    """Return samples of f as a Dataset of one chain, which ArviZ takes as it is."""
    xarray = _library("xarray", "xarray")
    points = release.check_points(X)
    samples = release.sample_y(points, draws, random_state).reshape(len(points), -1, draws)
    frame = release.spec.encoding.frame(release.spec.codes_of(points))
    coordinates: dict[str, Any] = {name: ("point", _values(frame[name])) for name in frame.columns}
    names = _latent_names(release, samples.shape[1])
    drawn = {
        name: (("chain", "draw", "point"), samples[:, c].T[None]) for c, name in enumerate(names)
    }
    coordinates |= {"chain": [0], "draw": np.arange(draws)}
    return xarray.Dataset(drawn, coordinates, _attributes(release))


def to_geojson(release: Release, X: Any = None, clip: Clip | None = None) -> dict[str, Any]:
    """Return a map as GeoJSON: a rectangle for each place of a grid, or a point for each of X."""
    inputs = describe_inputs(release.spec)
    east, north = (_degrees(inputs, which) for which in ("longitude", "latitude"))
    if X is None:
        axes = {inputs[at].name: _side(inputs[at], GRID_PLACES) for at in (north, east)}
        X = _product(release, axes)
        half = [
            0.5 * float(axes[inputs[at].name][1] - axes[inputs[at].name][0]) for at in (east, north)
        ]
    else:
        half = []
    frame = release.to_frame(X, clip=clip)
    across, up = (frame[inputs[at].name].to_numpy(dtype=float) for at in (east, north))
    others = frame.drop(columns=[inputs[east].name, inputs[north].name])
    rows = release.spec.encoding.readable(frame)[list(others)].to_dict("records")
    features = [
        {"type": "Feature", "geometry": _shape(x, y, half), "properties": _plain(row)}
        for x, y, row in zip(across.tolist(), up.tolist(), rows, strict=True)
    ]
    return {"type": "FeatureCollection", "features": features, **_attributes(release)}


def to_geopandas(release: Release, X: Any = None, clip: Clip | None = None) -> Any:
    """Return the same as a GeoDataFrame in longitude and latitude (WGS 84)."""
    geopandas = _library("geopandas", "geopandas")
    features = to_geojson(release, X, clip)["features"]
    return geopandas.GeoDataFrame.from_features(features, crs="EPSG:4326")


def _library(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"{package} is needed: pip install {package}") from None


def _axes(release: Release, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values along each dimension of a grid."""
    inputs = {each.name: each for each in describe_inputs(release.spec)}
    if given is not None:
        if unknown := [name for name in given if name not in inputs]:
            raise ParameterError(
                "{X} names {!r}, and the inputs are {}", unknown[0], ", ".join(inputs)
            )
        return {name: np.atleast_1d(np.asarray(values)) for name, values in given.items()}
    if len(inputs) > 2:
        raise ParameterError(
            "{X} is missing: of {} inputs, name the values of those that make the grid, for "
            "instance {X:{}}, or give points",
            len(inputs),
            f"{{{next(iter(inputs))!r}: [...]}}",
        )
    count = CURVE_PLACES if len(inputs) == 1 else GRID_PLACES
    return {name: _side(each, count) for name, each in inputs.items()}


def _side(each: Input, count: int) -> Any:
    """Return places along one input, as people have them."""
    if each.levels is not None:
        return each.column.raw(np.arange(len(each.levels), dtype=float)).to_numpy()
    places = np.linspace(each.lo, each.hi, count)
    return (
        places if isinstance(each.column, Number) else each.column.raw(np.rint(places)).to_numpy()
    )


def _product(release: Release, axes: Mapping[str, Any]) -> pd.DataFrame:
    """Return every combination of values as rows; other inputs stay at their median."""
    inputs = describe_inputs(release.spec)
    index = pd.MultiIndex.from_product(list(axes.values()), names=list(axes))
    frame = index.to_frame(index=False)
    for each in inputs:
        if each.name not in frame:
            frame[each.name] = each.column.raw(np.full(len(frame), each.median))
    return frame[[each.name for each in inputs]]


def _values(column: pd.Series) -> Any:
    """Return a column as an array that xarray takes: levels as strings."""
    plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    if plain.dtype == object or pd.api.types.is_string_dtype(plain.dtype):
        return plain.to_numpy(dtype=str)
    return plain.to_numpy()


def _attributes(release: Release) -> dict[str, Any]:
    """Return what a file should still say of the release, once it is elsewhere."""
    return {
        "about": release.spec.counted,
        "epsilon": release.total_epsilon,
        "delta": release.delta,
        "private": "yes" if release.private else "NOT PRIVATE",
        "release_id": release.release_id if len(release.members) == 1 else "several releases",
    }


def _latent_names(release: Release, columns: int) -> list[str]:
    scale, targets = release.spec.outcome.scale, release.named_targets
    ending = f"_{scale.replace(' ', '_').replace('-', '_')}" if scale else ""
    if len(targets) == columns:
        return [name + ending for name in targets]
    classes = release.spec.classes or range(columns)
    return [f"{targets[0]}{ending}_{label}" for label in classes]


def _degrees(inputs: list[Input], which: str) -> int:
    found = [at for at, each in enumerate(inputs) if each.degrees == which]
    if len(found) != 1:
        raise ParameterError(
            "GeoJSON is in degrees of longitude and latitude, and no single input is a {} by its "
            "name and range; {X} needs columns called lon and lat",
            which,
        )
    return found[0]


def _shape(x: float, y: float, half: list[float]) -> dict[str, Any]:
    if not half:
        return {"type": "Point", "coordinates": [x, y]}
    w, e, s, n = x - half[0], x + half[0], max(y - half[1], -90.0), min(y + half[1], 90.0)
    ring = [[w, s], [e, s], [e, n], [w, n], [w, s]]
    return {"type": "Polygon", "coordinates": [ring]}


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    """Return properties as JSON has them."""
    return {
        str(name): value.item() if isinstance(value, np.generic) else value
        for name, value in row.items()
    }
