"""What was released, as an object and as a file that strangers can check.

A ``Release`` holds the noisy sketch and every public fact needed to predict from it and to check
its guarantee again, and nothing else.  The file is a plain zip of JSON and .npy arrays.
"""

from __future__ import annotations

import datetime
import math
import os
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cloakgp._version import __version__
from cloakgp.archive import ReleaseFileError, read_archive, write_archive
from cloakgp.decode import Decoder, Uncertainty
from cloakgp.gp.codec import kernel_from_json, kernel_to_json
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernels import check_rows
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import SparseModel
from cloakgp.plan import Blueprint
from cloakgp.privacy import NoisySketch, Sketch, gaussian_sigma, squared_sensitivity
from cloakgp.privacy.sketch import grid_is_fine_enough

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Check:
    """One thing that was checked again."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class VerificationReport:
    """Every check of a release, repeated from its public contents alone."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        marks = ("FAILED", "passed")
        return "\n".join(f"{marks[c.passed]}  {c.name}: {c.detail}" for c in self.checks)


@dataclass(frozen=True)
class Release:
    """A published sketch: predicts anywhere, can be saved, loaded and verified."""

    blueprint: Blueprint
    sketch: Sketch
    noisy: NoisySketch
    gap: float
    status: str
    target_names: tuple[str, ...] | None = None
    release_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: str = field(default_factory=lambda: _now())
    version: str = __version__

    @property
    def epsilon(self) -> float:
        """The ε that was spent."""
        return self.noisy.epsilon

    @property
    def delta(self) -> float:
        """The δ that was spent."""
        return self.noisy.delta

    @property
    def private(self) -> bool:
        """Whether this carries a guarantee: False for repeatable noise and for none."""
        return self.noisy.private

    @property
    def outputs(self) -> int:
        """Number of output columns."""
        return len(self.blueprint.lo)

    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Predict f at X: (P,), or (P, D) for several outputs.  Free, and repeatable.

        ``return_std`` adds the standard deviation of f, the DP noise included; ``return_cov`` the
        covariance, (P, P) or (P, P, D).
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be true; ask for one")
        points = self.check_points(X)
        s = self.noisy.s.reshape(len(self.sketch.matrix), self.outputs)
        decoders = self._decoders()
        mean = self._stack([d.mean(points, s[:, c]) for c, d in enumerate(decoders)])
        if return_std:
            return mean, self._stack([_std(d, points) for d in decoders])
        if return_cov:
            return mean, self._stack([d.covariance(points) for d in decoders])
        return mean

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation at X into latent, DP and observation parts."""
        points = self.check_points(X)
        parts = [d.uncertainty(points) for d in self._decoders()]
        return Uncertainty(
            latent=self._stack([p.latent for p in parts]),
            dp=self._stack([p.dp for p in parts]),
            observation=self._stack([p.observation for p in parts]),
        )

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.Generator | None = 0
    ) -> Array:
        """Draw functions from the posterior at X: (P, n_samples) or (P, D, n_samples)."""
        points = self.check_points(X)
        rng = np.random.default_rng(random_state)
        mean = np.asarray(self.predict(points)).reshape(len(points), -1)
        draws = []
        for c, decoder in enumerate(self._decoders()):
            value, vector = np.linalg.eigh(decoder.covariance(points))
            root = vector * np.sqrt(np.maximum(value, 0.0))
            z = rng.standard_normal((len(points), n_samples))
            draws.append(mean[:, [c]] + root @ z)
        return draws[0] if self.outputs == 1 and self.noisy.values.ndim == 1 else np.stack(draws, 1)

    def check_points(self, X: Any) -> Array:
        """Return X as a table with the columns of the training inputs, by name if it has names."""
        names = self.blueprint.feature_names
        if names is not None and hasattr(X, "columns"):
            missing = [name for name in names if name not in list(X.columns)]
            if missing:
                raise ValueError(f"X lacks the columns {missing}; the release needs {list(names)}")
            X = X[list(names)]
        points = check_rows(X)
        wanted = self.blueprint.model.X.shape[1]
        if points.shape[1] != wanted:
            raise ValueError(f"X has {points.shape[1]} columns, but the release needs {wanted}")
        return points

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file, whole or not at all."""
        manifest, arrays = self._to_archive()
        write_archive(path, manifest, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, check: bool = True) -> Release:
        """Read a release from a file.

        A file that is damaged, or whose guarantee does not hold when it is checked again, is
        refused.  ``check=False`` skips the second part, for those who want the report of
        ``verify`` instead of an error.
        """
        manifest, arrays = read_archive(path)
        release = _from_archive(manifest, arrays)
        if check:
            failed = [c for c in release.verify().checks if not c.passed and c.name != "privacy"]
            if failed:
                raise ReleaseFileError(
                    "the release does not hold what it promises: "
                    + "; ".join(f"{c.name}: {c.detail}" for c in failed)
                )
        return release

    def verify(self) -> VerificationReport:
        """Repeat every public step of the guarantee, in exact arithmetic where it counts."""
        return VerificationReport(tuple(_checks(self)))

    def statement(self) -> str:
        """Return the guarantee in plain words, as Markdown."""
        from cloakgp.statement import statement

        return statement(self)

    def plot(self, **kwargs: Any) -> Figure:
        """Draw the prediction with its bands, for one or two input dimensions.  Never y."""
        from cloakgp.plot import plot_release

        return plot_release(self, **kwargs)

    def to_frame(self, X: ArrayLike | None = None) -> pd.DataFrame:
        """Return predictions with their standard deviations at X, by default at the workload."""
        points = self.blueprint.points if X is None else self.check_points(X)
        names = self.blueprint.feature_names or tuple(f"x{i}" for i in range(points.shape[1]))
        frame = pd.DataFrame(points, columns=list(names))
        mean = np.asarray(self.predict(points)).reshape(len(points), -1)
        parts = self.uncertainty(points)
        total = np.hypot(parts.latent, parts.dp).reshape(mean.shape)
        dp = parts.dp.reshape(mean.shape)
        targets = self.target_names or tuple(f"y{i}" for i in range(mean.shape[1]))
        for c, target in enumerate(targets):
            frame[f"{target}"] = mean[:, c]
            frame[f"{target}_std"] = total[:, c]
            frame[f"{target}_noise_std"] = dp[:, c]
        return frame

    def _decoders(self) -> list[Decoder]:
        if "decoders" not in self.__dict__:
            T = self.sketch.rounded
            decoders = [self.blueprint.decoder(T, c) for c in range(self.outputs)]
            self.__dict__["decoders"] = decoders
        found: list[Decoder] = self.__dict__["decoders"]
        return found

    def _stack(self, columns: list[Array]) -> Array:
        return columns[0] if self.noisy.values.ndim == 1 else np.stack(columns, axis=-1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "decoders"}

    def __repr__(self) -> str:
        kind = "private" if self.private else "NOT PRIVATE"
        return (
            f"Release({len(self.blueprint.model.X)} people, {self.noisy.values.size} values, "
            f"epsilon={self.epsilon:g}, delta={self.delta:g}, {kind})"
        )

    def _to_archive(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        b, model = self.blueprint, self.blueprint.model
        kernel, arrays = kernel_to_json(model.kernel)
        manifest: dict[str, Any] = {
            "task": "regression",
            "cloakgp_version": self.version,
            "release_id": self.release_id,
            "created": self.created,
            "guarantee": {
                "epsilon": _number(self.noisy.epsilon),
                "delta": self.noisy.delta,
                "sigma": self.noisy.sigma,
                "sensitivity": self.noisy.sensitivity,
                "calibration": self.noisy.calibration,
                "private": self.noisy.private,
                "neighbours": "same inputs, one person's outputs replaced",
            },
            "grid": {"sketch_bits": self.sketch.bits, "noisy_bits": self.noisy.bits},
            "bounds": {"lo": b.lo.tolist(), "hi": b.hi.tolist()},
            "prior": {
                "kernel": kernel,
                "mean": b.prior_mean.tolist(),
                "unit": b.unit.tolist(),
                "noise_variance": model.noise_variance,
                "approximation": getattr(model, "approximation", "exact"),
            },
            "design": {
                "name": b.design,
                "decode": b.decode,
                "rank": b.rank,
                "gap": self.gap,
                "status": self.status,
            },
            "feature_names": list(b.feature_names) if b.feature_names else None,
            "target_names": list(self.target_names) if self.target_names else None,
        }
        arrays |= {
            "X": model.X,
            "points": b.points,
            "weights": b.weights,
            "sketch": self.sketch.matrix,
            "noisy": self.noisy.values,
        }
        if isinstance(model, SparseModel):
            arrays["inducing"] = model.inducing
        if b.groups is not None:
            arrays["groups"] = b.groups
        return manifest, arrays


def _std(decoder: Decoder, points: Array) -> Array:
    parts = decoder.uncertainty(points)
    return np.hypot(parts.latent, parts.dp)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return "inf" if math.isinf(value) else value


def _from_archive(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Release:
    """Build a release from parsed contents, trusting none of them."""
    try:
        return _build(manifest, arrays)
    except ReleaseFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ReleaseFileError(
            f"the release file lacks something or holds a value of the wrong kind ({error}); it "
            "was not written by this version of cloakgp, or it was changed"
        ) from error


def _build(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Release:
    if manifest["task"] != "regression":
        raise ReleaseFileError(f"this release holds a {manifest['task']!r}, not a regression")
    guarantee, prior, design = manifest["guarantee"], manifest["prior"], manifest["design"]
    X = check_rows(arrays["X"])
    noise_variance = float(prior["noise_variance"])
    if not (math.isfinite(noise_variance) and noise_variance >= 0):
        raise ReleaseFileError(f"noise_variance={noise_variance!r} is not a variance")
    kernel = kernel_from_json(prior["kernel"], dict(arrays))
    model: LinearModel
    if prior["approximation"] == "exact":
        model = ExactModel(kernel, X, noise_variance)
    else:
        inducing = check_rows(arrays["inducing"], "inducing")
        model = SparseModel(kernel, X, noise_variance, inducing, prior["approximation"])
    names, targets = manifest["feature_names"], manifest["target_names"]
    lo, hi = (np.asarray(manifest["bounds"][side], dtype=np.float64) for side in ("lo", "hi"))
    blueprint = Blueprint(
        model=model,
        points=check_rows(arrays["points"], "points"),
        weights=np.asarray(arrays["weights"], dtype=np.float64),
        lo=lo,
        hi=hi,
        prior_mean=np.asarray(prior["mean"], dtype=np.float64),
        unit=np.asarray(prior["unit"], dtype=np.float64),
        epsilon=float(guarantee["epsilon"]),
        delta=float(guarantee["delta"]),
        calibration=guarantee["calibration"],
        design=design["name"],
        decode=design["decode"],
        rank=design["rank"],
        groups=arrays.get("groups"),
        feature_names=tuple(map(str, names)) if names else None,
    )
    noisy = NoisySketch(
        values=arrays["noisy"],
        bits=int(manifest["grid"]["noisy_bits"]),
        sigma=float(guarantee["sigma"]),
        sensitivity=float(guarantee["sensitivity"]),
        epsilon=float(guarantee["epsilon"]),
        delta=float(guarantee["delta"]),
        calibration=guarantee["calibration"],
        private=guarantee["private"] is True,
    )
    return Release(
        blueprint=blueprint,
        sketch=Sketch(arrays["sketch"], int(manifest["grid"]["sketch_bits"])),
        noisy=noisy,
        gap=float(design["gap"]),
        status=str(design["status"]),
        target_names=tuple(map(str, targets)) if targets else None,
        release_id=str(manifest["release_id"]),
        created=str(manifest["created"]),
        version=str(manifest["cloakgp_version"]),
    )


def _checks(release: Release) -> list[Check]:
    """Run every check; none of them relies on another having passed."""
    b, noisy = release.blueprint, release.noisy
    checks = [_check_shapes(release)]
    try:
        squared = squared_sensitivity(release.sketch, b.groups)
        length = math.sqrt(squared) / 2**release.sketch.bits
        detail = f"one person can move the sketch by at most {length:.9f}"
        passed = squared <= 1 << (2 * release.sketch.bits)
        if not passed:
            detail += ", more than 1: the noise is too small for that"
    except ValueError as error:
        passed, detail = False, str(error)
    checks.append(Check("sensitivity", passed, detail))

    if math.isfinite(noisy.epsilon):
        needed = gaussian_sigma(noisy.epsilon, noisy.delta, noisy.calibration)
        passed = noisy.sigma >= needed
        relation = "at least" if passed else "but needs"
        detail = (
            f"noise of {noisy.sigma:.9g} for each unit of sensitivity, {relation} {needed:.9g} for "
            f"epsilon={noisy.epsilon:g}, delta={noisy.delta:g}"
        )
    else:
        passed, detail = False, "no noise was added (epsilon is infinite)"
    checks.append(Check("noise", passed or not noisy.private, detail))

    root = math.sqrt(len(b.lo))
    checks.append(
        Check(
            "outputs",
            noisy.sensitivity == root,
            f"{len(b.lo)} output column(s) need a noise factor of {root:.9g}, "
            f"{noisy.sensitivity:.9g} was used",
        )
    )
    scale = math.ldexp(noisy.noise_std, noisy.bits)
    count = noisy.values.size * noisy.parts
    fine = not noisy.private or grid_is_fine_enough(scale, count, noisy.epsilon)
    checks.append(
        Check("grid", fine, f"the discrete noise has a scale of {scale:.3g} steps of its grid")
    )
    checks.append(
        Check(
            "privacy",
            noisy.private,
            "noise from OpenDP, drawn once"
            if noisy.private
            else "made with repeatable noise, or with none: it carries no guarantee",
        )
    )
    return checks


def _check_shapes(release: Release) -> Check:
    b, noisy, matrix = release.blueprint, release.noisy, release.sketch.matrix
    N, D = len(b.model.X), len(b.lo)
    problems = []
    if matrix.ndim != 2 or matrix.shape[1] != N:
        problems.append(f"the sketch has shape {matrix.shape} for {N} people")
    elif noisy.values.dtype != np.int64 or noisy.values.shape not in (
        (len(matrix), D),
        *([(len(matrix),)] if D == 1 else []),
    ):
        problems.append(f"{noisy.values.shape} values for a sketch of {len(matrix)} rows")
    if not (b.hi.shape == b.prior_mean.shape == b.unit.shape == (D,) and np.all(b.hi > b.lo)):
        problems.append("bounds and prior mean do not fit together")
    if b.weights.shape != (len(b.points),) or b.points.shape[1] != b.model.X.shape[1]:
        problems.append("workload points, weights and inputs do not fit together")
    if b.groups is not None and b.groups.shape != (N,):
        problems.append("groups do not name an owner for each person's row")
    if not release.sketch.bits < noisy.bits <= 62:
        problems.append(f"grids of {release.sketch.bits} and {noisy.bits} bits")
    if release.version.split(".")[0] != __version__.split(".")[0]:
        problems.append(f"written by version {release.version}, this is {__version__}")
    return Check("contents", not problems, "; ".join(problems) or "all parts fit together")
