"""What a release file asks of its readers: memory and operations, from its sizes alone.

A few hundred kilobytes can describe a model of gigabytes.  ``check_cost`` counts the matrices that
loading, verifying and decoding make, and what they cost, before any of them is made, and refuses a
file that asks for more than a reader can be expected to give to a stranger.  Counts are rough, and
rather too high than too low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernel_features import MOST_PIVOTS, MOST_REMEMBERED_BY_FAMILY
from cloakgp.gp.linear import JITTERS
from cloakgp.release.mixture import MOST_SETTLED

#: What any file may ask for, and what more for each byte of its arrays.  Enough for all that a fit
#: makes by default, and for 8,000 people in an exact model; a core does 10^10 operations a second.
MOST_BYTES, BYTES_PER_BYTE = 4 << 30, 128
MOST_OPERATIONS, OPERATIONS_PER_BYTE = 2e13, 1e6
#: Operations of what Python does for one output, and for one kernel of one setting.
OUTPUT_OPERATIONS, CALL_OPERATIONS = 1e9, 5e5
#: Matrices that a kernel has in memory while it makes one, and operations for each entry.
KERNEL_MATRICES, ENTRY_OPERATIONS, INPUT_OPERATIONS = 5, 500, 20
#: The same for lengthscales that vary, and operations of a Bessel function.
GIBBS_MATRICES, BESSEL_OPERATIONS = 9, 20_000


class LoadingCost(NamedTuple):
    """What one model takes."""

    held: float  # numbers that stay in memory
    passing: float  # numbers beside those, at once, for a while
    work: float  # operations


class KernelCost(NamedTuple):
    """What a kernel takes, given the shape of its matrix."""

    matrices: float  # of that shape, in memory at once
    entry: float  # operations for each entry
    row: float  # operations for each row, beside
    wide: float  # numbers for each row, beside
    parts: int


@dataclass(frozen=True)
class Sizes:
    """Everything that decides what a model takes."""

    rows: int  # N: people, or nodes of places
    inputs: int  # L
    outputs: int  # D
    values: int  # r: rows of the sketch, all iterations together
    points: int  # P: the workload
    kernel: KernelCost
    inducing: int | None  # M; None: exact
    family: tuple[KernelCost, ...] = ()
    terms: tuple[int, ...] = ()  # kernels of each setting of the family
    latent: bool = False  # classes and counts
    direct: bool = False  # decoded as in the paper
    entries: int = 0  # numbers in the file; letters of its labels, all as long as the longest


def count_cost(sizes: Sizes) -> LoadingCost:
    """Return what loading and verifying a release takes, and decoding it once."""
    N, D, r, M = sizes.rows, sizes.outputs, sizes.values, sizes.inducing
    S, K, F = max(len(sizes.terms), 1), sizes.kernel, sizes.family
    inner = N if M is None else M
    features = min(N, MOST_PIVOTS) if M is None else M  # of one kernel of the family
    wide = max(sizes.terms, default=0) * features
    settled = D * min(S, MOST_SETTLED) if sizes.latent else 0
    points = max(sizes.points, 7 * sizes.inputs)  # a report looks along each input
    tallest = max(N, points)

    held = (
        2.0 * sizes.entries
        + 2.0 * N * inner  # the kernel's matrix and its factor
        + D * N * (2.0 * r + 12.0)  # T and numbers of everybody, for each output
        + 2.0 * r * r * (S + settled if sizes.latent else S * D)  # cov(s) and its factor
        + settled * (wide * r + 6.0 * N)
        + len(F) * N * (features + r)  # features of everybody, and what they tell s
        + 3.0 * S * N  # noise of each setting
        + min(S * wide * wide, MOST_REMEMBERED_BY_FAMILY)  # what the settings share room for
    )
    passing = [
        max(k.matrices * tallest * inner + k.wide * tallest for k in (K, *F)),
        4.0 * inner * inner,  # a factorisation
        3.0 * N * wide + 3.0 * wide * wide + points * wide,
        4.0 * points * (sizes.inputs + S + r),
        5.0 * points * N if sizes.direct else 0.0,
    ]
    told = 4.0 * N * inner * r + 2.0 * N * r * r  # operations of T cov(y) Tᵀ
    factorise = len(JITTERS) / 3.0  # times n³, if all are tried
    work = (
        D * (OUTPUT_OPERATIONS + 2.0 * told)
        + 4.0 * _evaluate(K, tallest, inner)
        + factorise * inner**3
    )
    work += sum(D * (_evaluate(k, tallest, inner) + told) + inner**3 / 3.0 for k in F)
    work += D * S * (factorise * r**3 + 2.0 * r * N) + D * sum(sizes.terms) * (
        CALL_OPERATIONS + r * r
    )
    if not sizes.latent and F:  # what a picture asks of each setting: the band without privacy
        work += 2.0 * D * S * N * wide**2
    return LoadingCost(held, max(passing), work)


def _evaluate(kernel: KernelCost, rows: float, columns: float) -> float:
    """Return the operations of one matrix."""
    return (
        rows * columns * kernel.entry
        + (rows + columns) * kernel.row
        + kernel.parts * CALL_OPERATIONS
    )


def kernel_cost(spec: Any, inputs: int, arrays: Mapping[str, NDArray[Any]]) -> KernelCost:
    """Return what a kernel takes, or a function inside it; whether it is one is checked later."""
    params = spec.get("params") if isinstance(spec, dict) else None
    params = params if isinstance(params, dict) else {}
    inner = [
        kernel_cost(value, inputs, arrays)
        for value in params.values()
        if isinstance(value, dict) and "class" in value
    ]
    table = sum(_rows(params.get(name), arrays) for name in ("X", "centres"))
    own, matrices = float(ENTRY_OPERATIONS + INPUT_OPERATIONS * inputs), float(KERNEL_MATRICES)
    if "lengthscale" in params:  # of Gibbs, for each input
        own, matrices = own * inputs, float(GIBBS_MATRICES)
    if params.get("nu", 0.5) not in (0.5, 1.5, 2.5, "inf"):
        own += BESSEL_OPERATIONS
    looks = 1.0  # places whose density is looked at: on shells of points, see KDELengthscaleNearby
    if "radius" in params:
        shells = min(4.0 * _ratio(params["radius"], params.get("bandwidth")) + 1.0, 32.0)
        looks += 4.0 * shells * (shells if inputs == 2 else inputs)
    return KernelCost(
        # While a part is made, the matrices of those before it are there.
        max([matrices, *(one.matrices + place for place, one in enumerate(inner))]),
        own + sum(one.entry for one in inner),
        looks * table * own + sum(one.row for one in inner),
        max([table if "centres" in params else 2.0 * inputs, *(one.wide for one in inner)]),
        1 + sum(one.parts for one in inner),
    )


def _rows(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return how many rows a table has that a kernel names, or holds."""
    if isinstance(spec, dict) and isinstance(name := spec.get("array"), str):
        return len(arrays[name]) if name in arrays and arrays[name].ndim else 0
    values = spec.get("values") if isinstance(spec, dict) else spec
    return len(values) if isinstance(values, list) else 0


def _ratio(one: Any, other: Any) -> float:
    numbers = isinstance(one, int | float) and isinstance(other, int | float) and other > 0
    return one / other if numbers else 1e9


def check_cost(models: Sequence[Sizes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a file whose models, all of which are kept, ask for too much memory or work."""
    size = sum(array.nbytes for array in arrays.values())
    costs = [count_cost(sizes) for sizes in models]
    memory = 8.0 * (sum(cost.held for cost in costs) + max(cost.passing for cost in costs))
    work = sum(cost.work for cost in costs)
    most_memory, most_work = (
        MOST_BYTES + BYTES_PER_BYTE * size,
        MOST_OPERATIONS + OPERATIONS_PER_BYTE * size,
    )
    if memory <= most_memory and work <= most_work:
        return
    taken = (
        f"{memory / 2**30:.3g} GiB of memory, and the limit is {most_memory / 2**30:.3g} GiB"
        if memory > most_memory
        else f"{work:.2g} operations, and the limit is {most_work:.2g}"
    )
    most = models[max(range(len(models)), key=lambda k: (sum(costs[k][:2]), costs[k].work))]
    kind = "an exact model" if most.inducing is None else f"{most.inducing} inducing inputs"
    raise ReleaseFileError(
        f"reading it would take about {taken} for {size / 1e6:.3g} MB of arrays: it claims "
        f"{most.rows} rows in {kind}, {most.inputs} inputs, {most.outputs} outputs, {most.values} "
        f"published rows, {most.points} points, {max(len(most.family), 1)} kernels of up to "
        f"{max(k.parts for k in (most.kernel, *most.family))} parts and {max(len(most.terms), 1)} "
        "settings; if you trust its publisher and have the memory, Release.load(path, large=True) "
        "reads it"
    )
