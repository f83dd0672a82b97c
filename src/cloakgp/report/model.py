"""How the script of the page predicts: the posterior of a release as kernels, blocks and columns.

For each setting of the prior, cov(f(x), s) is a sum of k(x, anchors) times matrices, and cov(s) a
mix of a few triangles; from these the script computes what Python does.  Whether it really does is
checked here, on the numbers that the page would hold: where it does not, a page has no model, and
a fine grid of predictions stands in for it.

As JSON, a kernel is a tree of lists: a leaf is ``[name, number or numbers, …]``, a branch ``["+" or
"*", kernel, kernel]``, and None one that the script does not know.  An array is its shape and its
bytes, as few as hold it exactly, and each is written once.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.gaussian_process import kernels as sk

from cloakgp.data.columns import Category, Date, Number
from cloakgp.drawing.predictions import NORMAL_95, Predictions, Series
from cloakgp.drawing.views import Input
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernel_features import ScaledModel
from cloakgp.gp.kernels.registry import KERNELS, Tree
from cloakgp.gp.linear import Kernel, evaluate, jittered_cholesky
from cloakgp.gp.sparse import SparseModel
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS
from cloakgp.release.decode import posterior_mixtures
from cloakgp.release.decoder import Decoder
from cloakgp.release.mixture import Mixture
from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: Characters that numbers for predictions may take in a page, and multiplications that the script
#: may need before its first prediction; beyond, the page has a grid.
MAX_CHARACTERS, MAX_MULTIPLICATIONS = 6_000_000, 3e8
#: The page must agree with Python to this share of the spread of f before anything is known.
AGREEMENT_RTOL = 1e-10
#: Singular values below this share of the largest are rounding.
_RANK_RTOL = 1e-15


@dataclass(frozen=True)
class KernelBlock:
    """k(x, anchors) times a matrix (m, r): what s is told of f(x) through one kernel."""

    kernel: int
    anchors: Array
    matrix: Array


@dataclass(frozen=True)
class OutputPosterior:
    """The posterior of one output column: a row of each array for each setting that has a say."""

    level: float  # m, in units of the output
    unit: float
    weights: Array  # (K,)
    noise: Array  # (K,): variance of single outputs around f, in units of the output
    terms: list[list[tuple[int, float]]]  # (block, factor) of cov(f(x), s)
    constant: Array  # (K, r): what is added to that everywhere
    variances: list[list[tuple[int, float]]]  # (kernel, factor) of k(x, x)
    flat: Array  # (K,): what is added to that everywhere
    mixed: Array  # (K, q): how cov(s) is mixed
    basis: Array  # (q, r (r + 1)/2): from these lower triangles, row by row
    white: Array  # (K, r)


@dataclass
class PageModel:
    """Kernels, blocks and columns of one release."""

    kernels: list[Kernel] = field(default_factory=list)
    blocks: list[KernelBlock] = field(default_factory=list)
    columns: list[OutputPosterior] = field(default_factory=list)

    def moments(self, column: OutputPosterior, points: Array) -> tuple[Array, Array]:
        """Return mean and variance of f under each setting, (K, P), as the script finds them."""
        told = [evaluate(self.kernels[b.kernel], points, b.anchors) @ b.matrix for b in self.blocks]
        own = [np.asarray(kernel.diag(points)) for kernel in self.kernels]
        size = column.white.shape[1]
        means, variances = [], []
        for k in range(len(column.weights)):
            cross = sum(v * told[b] for b, v in column.terms[k]) + column.constant[k]
            cov = np.zeros((size, size))
            cov[np.tril_indices(size)] = column.mixed[k] @ column.basis
            root = np.linalg.cholesky(cov + np.tril(cov, -1).T) if size else cov
            half = solve_triangular(root, cross.T, lower=True)
            prior = sum(v * own[j] for j, v in column.variances[k]) + column.flat[k]
            means.append(column.level + column.unit * (column.white[k] @ half))
            left = np.maximum(prior - np.einsum("rp,rp->p", half, half), 0.0)
            variances.append(column.unit**2 * left)
        return np.array(means), np.array(variances)

    def written(self) -> dict[str, Any] | None:
        """Return the model as JSON holds it, or None if it is too large for a page."""
        arrays = Arrays()
        written = {
            "kernels": [kernel_tree(kernel) for kernel in self.kernels],
            "blocks": [
                [b.kernel, arrays.add(b.anchors), arrays.add(b.matrix)] for b in self.blocks
            ],
            "columns": [
                {
                    "level": c.level,
                    "unit": c.unit,
                    "terms": c.terms,
                    "variances": c.variances,
                    **{
                        name: arrays.add(getattr(c, name))
                        for name in (
                            *("weights", "noise", "constant", "flat"),
                            *("mixed", "basis", "white"),
                        )
                    },
                }
                for c in self.columns
            ],
            "arrays": arrays.written,
        }
        return None if arrays.size > MAX_CHARACTERS else written


def page_model(release: Release) -> PageModel | None:
    """Return the model of a release, or None if the script could not predict from it."""
    spec, mixtures = release.spec, posterior_mixtures(release)
    work = sum(len(m.decoders) * len(m.s) ** 3 / 6.0 for m in mixtures)
    if spec.decode != "bayes" or work > MAX_MULTIPLICATIONS:
        return None
    builder = Builder(direct=spec.likelihood is None)
    for mixture in mixtures:
        builder.add(mixture, _scatter(release, mixture))
    model = builder.model
    if any(kernel_tree(kernel) is None for kernel in model.kernels):
        return None
    return model if _agrees(model, release) else None


def _scatter(release: Release, mixture: Mixture) -> Array:
    """Return the variance of outputs, or of latent values, around f under each setting, (K,)."""
    spec = release.spec
    if spec.likelihood is None:
        return mixture.scatters
    if spec.family is None:
        return np.zeros(len(mixture.decoders))
    return np.array([spec.family.settings[k].noise_variance for k in mixture.settings])


def _agrees(model: PageModel, release: Release) -> bool:
    """Tell whether the model predicts as the release does, among people and far from them."""
    points = release.spec.points[:: -(-len(release.spec.points) // 4)]
    spread = np.ptp(release.spec.X, axis=0)
    places = np.vstack([points, release.spec.X[:1] - 0.3 * spread])
    for column, mixture in zip(model.columns, posterior_mixtures(release), strict=True):
        scale = float(np.sqrt(np.max(mixture.variances(places), initial=0.0))) + 1e-300
        means, variances = model.moments(column, places)
        off = np.abs(means - mixture.means(places)).max() / scale
        off = max(off, float(np.abs(variances - mixture.variances(places)).max()) / scale**2)
        if not off <= AGREEMENT_RTOL:
            return False
    return True


class Builder:
    """Gathers kernels and blocks, each once."""

    def __init__(self, direct: bool) -> None:
        self.model = PageModel()
        self.direct = direct  # whether cov(f(x), s) goes through all people, not through features
        self._kernels: dict[int, int] = {}
        self._blocks: dict[tuple[Any, ...], int] = {}

    def add(self, mixture: Mixture, noise: Array) -> None:
        """Add the posterior of one output column."""
        terms, variances, constants, flats, covs, whites = [], [], [], [], [], []
        for decoder in mixture.decoders:
            one, own, constant, flat = self.setting(decoder)
            terms.append(one)
            variances.append(own)
            constants.append(constant)
            flats.append(flat)
            cov = decoder.sketch_covariance()
            if len(cov):
                cov = cov + jittered_cholesky(cov)[1] * np.eye(len(cov))
            covs.append(cov[np.tril_indices(len(cov))])
            whites.append(decoder.whitened(mixture.s))
        mixed, basis = _low_rank(np.array(covs))
        first = mixture.decoders[0]
        self.model.columns.append(
            OutputPosterior(
                level=first.unit * first.prior_mean,
                unit=first.unit,
                weights=mixture.weights,
                noise=noise,
                terms=terms,
                constant=np.array(constants),
                variances=variances,
                flat=np.array(flats),
                mixed=mixed,
                basis=basis,
                white=np.array(whites),
            )
        )

    def setting(
        self, decoder: Decoder
    ) -> tuple[list[tuple[int, float]], list[tuple[int, float]], Array, float]:
        """Return terms of cov(f(x), s) and of k(x, x), and what is added to each everywhere."""
        model, B = decoder.model, decoder.T / decoder.width
        none = np.zeros(len(B))
        if isinstance(model, ScaledModel):
            terms, own = [], []
            for shape, v in model.parts:
                kernel = self.kernel(shape.kernel)
                own.append((kernel, v))
                if self.direct and shape.inducing is None:
                    terms.append(self.people(kernel, decoder, v))
                else:
                    F = shape.low_rank
                    terms.append((self.features(kernel, F.anchors, F.root, F.factor, B), v))
            return terms, own, model.level * B.sum(axis=1), model.level
        kernel = self.kernel(model.kernel)
        own = [(kernel, 1.0)]
        if isinstance(model, ExactModel):
            return [self.people(kernel, decoder, 1.0)], own, none, 0.0
        assert isinstance(model, SparseModel)
        root = jittered_cholesky(evaluate(model.kernel, model.inducing))[0]
        block = self.features(kernel, model.inducing, root, model.factor, B)
        return [(block, 1.0)], own, none, 0.0

    def kernel(self, kernel: Kernel) -> int:
        """Return the number of a kernel."""
        if id(kernel) not in self._kernels:
            self._kernels[id(kernel)] = len(self.model.kernels)
            self.model.kernels.append(kernel)
        return self._kernels[id(kernel)]

    def people(self, kernel: int, decoder: Decoder, v: float) -> tuple[int, float]:
        """Return the block of all people, those at one place together, and its factor."""
        X, width = decoder.model.X, decoder.width
        if np.ndim(width) == 0:
            # T as it is, on its grid, takes the least room; d goes into the factor.
            matrix, factor = decoder.T.T, v / float(width)
        else:
            matrix, factor = (decoder.T / width).T, v
        key = (kernel, id(decoder.T), np.asarray(width).tobytes() if np.ndim(width) else b"")
        if key not in self._blocks:
            places, which = np.unique(X, axis=0, return_inverse=True)
            together = np.zeros((len(places), matrix.shape[1]))
            np.add.at(together, which.reshape(-1), matrix)
            self._blocks[key] = self._block(KernelBlock(kernel, places, together))
        return self._blocks[key], factor

    def features(self, kernel: int, anchors: Array, root: Array, factor: Array, B: Array) -> int:
        """Return the block of features: k(x, A) K_AA⁻¹ K_AN Bᵀ, all but the first in one matrix."""
        told = solve_triangular(root, factor.T @ B.T, lower=True, trans="T")
        return self._block(KernelBlock(kernel, anchors, told))

    def _block(self, block: KernelBlock) -> int:
        for number, known in enumerate(self.model.blocks):
            if (
                known.kernel == block.kernel
                and np.array_equal(known.anchors, block.anchors)
                and np.array_equal(known.matrix, block.matrix)
            ):
                return number
        self.model.blocks.append(block)
        return len(self.model.blocks) - 1


def _low_rank(rows: Array) -> tuple[Array, Array]:
    """Return factors (K, q) and (q, R) of rows (K, R), with q as small as rounding allows."""
    if len(rows) == 1 or not rows.size:
        return np.eye(len(rows)), rows
    U, size, V = np.linalg.svd(rows, full_matrices=False)
    keep = size > _RANK_RTOL * size[0]
    return U[:, keep] * size[keep], V[keep]


# ----------------------------------------------------- kernels and arrays, as the script reads them

#: Numbers may be multiples of a power of 1/2, as ages and sketches are: its exponents.
_GRID_BITS = (0, SKETCH_BITS)
#: Whole numbers, from the shortest.
_WHOLE = (("i1", np.int8), ("i2", np.int16), ("i4", np.int32))


def kernel_tree(kernel: sk.Kernel) -> Tree | None:
    """Return a kernel as a tree, or None if the script does not know all of its parts."""
    entry = KERNELS.get(type(kernel))
    found = entry.page(kernel) if entry is not None and entry.page is not None else None
    if found is None:
        return None
    tree = [kernel_tree(part) if isinstance(part, sk.Kernel) else part for part in found]
    return None if None in tree else tree


class Arrays:
    """The arrays of one page: each is kept once and known by its number."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self._known: dict[tuple[tuple[int, ...], bytes], int] = {}

    def add(self, array: Array) -> int:
        """Return the number of an array."""
        whole = np.ascontiguousarray(array, dtype="<f8")
        key = (whole.shape, whole.tobytes())
        if key not in self._known:
            self._known[key] = len(self.written)
            self.written.append(_encoded(whole))
        return self._known[key]

    @property
    def size(self) -> int:
        """How many characters of the page all of them take."""
        return sum(len(each["data"]) for each in self.written)


def _encoded(array: Array) -> dict[str, Any]:
    kind, steps, stored = "f8", 0, array
    for step in _GRID_BITS:
        scaled = np.ldexp(array, step)
        if array.size and np.all(scaled == np.rint(scaled)):
            fits = [(name, t) for name, t in _WHOLE if np.abs(scaled).max() <= np.iinfo(t).max]
            if fits:
                kind, steps, stored = fits[0][0], step, scaled.astype(fits[0][1])
                break
    data = base64.b64encode(stored.astype(f"<{kind}").tobytes()).decode()
    return {"shape": list(array.shape), "kind": kind, "steps": steps, "data": data}


# ------------------------------------------------------------------------- what the script is given

#: Places of a grid along one input, or along each of two, and how far beyond the people it goes, as
#: a share of their range.
LINE_PLACES, SIDE_PLACES, BEYOND_SHARE = 1601, 121, 0.25
#: Nodes of the integral over rates, as many as Python uses for quantiles of counts.
NODES = 40
#: Digits of the numbers of a grid.
DIGITS = 7


def page_data(predictions: Predictions, inputs: list[Input]) -> dict[str, Any]:
    """Return everything the script needs; ``model`` is exact, ``grid`` stands in for it."""
    release = predictions.release
    model = page_model(release)
    written = None if model is None else model.written()
    data: dict[str, Any] = {
        "kind": predictions.script,
        "inputs": [_input(each) for each in inputs],
        "names": predictions.names,
        "people": release.spec.privacy_unit.many,
        "bounds": [predictions.bounds(number) for number in range(len(predictions.names))],
        "classes": predictions.classes,
        "tail": -NORMAL_95,
        "model": written,
        "grid": _grid(predictions, inputs) if written is None and len(inputs) <= 2 else None,
    }
    if predictions.script == "count":
        node, weight = np.polynomial.hermite_e.hermegauss(NODES)
        data["rate"] = release.rate
        data["hermite"] = {"node": node.tolist(), "weight": (weight / weight.sum()).tolist()}
    return data


def as_json(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a page: no ``<`` of it can end its element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _input(one: Input) -> dict[str, Any]:
    """Return an input, and how the script makes columns of the model of a place along it."""
    found: dict[str, Any] = {"name": one.name, "lo": one.lo, "hi": one.hi, "at": one.median}
    column = one.column
    if one.levels is not None:
        found["levels"] = one.levels
    if isinstance(column, Category):
        found["encode"] = {"levels": len(column.levels)}
    elif column != Number():
        shift, scale = getattr(column, "shift", 0.0), getattr(column, "scale", 1.0)
        found["encode"] = {"shift": shift, "scale": scale, "flag": column.width > 1}
    if isinstance(column, Date):
        found["origin"] = column.origin
    return found


def _grid(predictions: Predictions, inputs: list[Input]) -> dict[str, Any]:
    """Return predictions on a grid, over the inputs and a little beyond."""
    count = LINE_PLACES if len(inputs) == 1 else SIDE_PLACES
    sides = []
    for each in inputs:
        spare = BEYOND_SHARE * (each.hi - each.lo)
        sides.append(np.linspace(each.lo - spare, each.hi + spare, count))
    if len(sides) == 1:
        points = sides[0][:, None]
    else:
        points = np.column_stack([np.tile(sides[0], count), np.repeat(sides[1], count)])
    series = predictions.with_all_classes(predictions.at(points, person=True))
    return {"sides": [s.tolist() for s in sides], "series": [_written(one) for one in series]}


def _written(one: Series) -> dict[str, Any]:
    def digits(values: Array) -> list[float]:
        return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]

    found: dict[str, Any] = {"name": one.name}
    found |= {name: digits(getattr(one, name)) for name in ("value", "low", "high")}
    if one.person is not None:
        found["person"] = [digits(end) for end in one.person]
    return found
