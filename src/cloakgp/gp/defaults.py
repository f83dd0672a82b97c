"""The default prior: a family of settings, from public inputs and public scales alone.

Lengthscales go from far rougher to far smoother than the spread of the inputs, alone and with a
rough part added to a smooth one (of numbers also with a very small one, for sharp bends); with
several inputs also with one that counts far more than the others, with many inputs with a number
for each of a few cells.  A category is one input, whose levels are equally far apart however many
people have them.  Variances, noise and an unknown level are in units of the range of the outputs,
or of the latent scale of classes and counts.  Chosen by measurement: docs/theory.md says what was
tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern

from cloakgp.gp.family import Belief, Family, Setting, sum_kernels
from cloakgp.gp.inducing import find_centres
from cloakgp.gp.kernels.cells import Cells
from cloakgp.gp.linear import Array, Kernel

#: Inputs that differ by less are taken for constant: no release file holds lengthscales that are a
#: small share of their spread.
SMALLEST_WIDTH = 1e-140

Kind = Literal["smooth", "both", "rough"]
#: Of each input the spreads of its columns; None: that of X.
Spreads = tuple[tuple[float | None, ...], ...]

#: Lengthscales in units of the default one: of smooth functions (RBF), and of ragged ones
#: (Matérn with ν = 1/2).
SMOOTH: Belief = (
    (8.0, 0.3),
    (4.0, 0.3),
    (2.0, 1.0),
    (1.0, 2.6),
    (0.5, 0.2),
    (0.25, 0.15),
    (0.125, 0.3),
    (0.0625, 0.3),
)
RAGGED: Belief = ((2.0, 0.1), (0.5, 0.09))
#: Smooth functions with a smaller rough one on top: lengthscales (a negative one is ragged), the
#: share of the rough one in the variance, and how much that is believed in.
TwoScales = tuple[tuple[float, float, float, float], ...]
TWO_SCALES: TwoScales = ((1.0, 0.125, 0.1, 0.8), (1.0, -0.5, 0.1, 0.8), (1.0, 0.0625, 0.03, 0.8))
#: Of numbers, for which there is often so little noise that a sharp bend shows.  Shares of 0.01 and
#: less are for bends: with them a curve is nearly smooth, and bands are not sure that it is.
WITH_BENDS: TwoScales = (
    (1.0, 0.125, 0.1, 0.8),
    (1.0, 0.0625, 0.03, 0.8),
    (1.0, 0.25, 0.01, 1.2),
    (1.0, -0.5, 0.003, 0.4),
)
#: Waves that come again, on a long trend, for one input: periods in units of the default
#: lengthscale.  A rough function leaves traces in broad averages and waves leave none, so a sketch
#: of broad averages speaks against the former and not against the latter.  Below: how smooth one
#: wave is, for how long waves stay alike, in the same units, and their share of the variance.
WAVES: Belief = ((2.0, 0.07), (1.0, 0.07), (0.5, 0.07), (0.25, 0.07))
WAVE_SHAPE, WAVE_LENGTH, WAVE_SHARE = 0.7, 2.0, 0.8
#: One input counts, with these lengthscales; the others have a long one.  For a few inputs only.
ONE_INPUT: Belief = ((1.0, 1.0), (0.5, 0.3), (0.25, 0.1))
LONG_LENGTH, MOST_INPUTS = 4.0, 8
#: All inputs count, each for itself, with these lengthscales: an additive function.  For many
#: private inputs, whose bins are coarse.
ADDITIVE: Belief = ((1.0, 2.0), (0.5, 1.0))
#: Many inputs, such as pixels: smooth functions alone.
MANY_INPUTS: Belief = ((2.0, 1.0), (1.0, 2.0), (0.5, 0.8), (0.25, 0.2))
#: With a function of their lengthscale 1 on top, cells: how many, their share of the variance, and
#: how much that is believed in.
CELLS = ((12, 0.5, 1.5), (30, 0.5, 0.5))
#: Lengthscales up to this are rough, in units of the default one.
ROUGH_LENGTH = 0.25
#: What a sketch is designed for: shares of smooth and of ragged kernels, beside one input that
#: counts.  Less rough than what is believed in, or rough functions that may not be there would
#: take the budget of smooth ones; not less than this, since no decoding finds what a sketch omits.
DESIGN_SMOOTH: Belief = (
    (4.0, 0.3),
    (2.0, 1.0),
    (1.0, 2.83),
    (0.5, 0.2),
    (0.25, 0.105),
    (0.125, 0.165),
    (0.0625, 0.115),
)
DESIGN_RAGGED: Belief = ((2.0, 0.05), (0.5, 0.075))


@dataclass(frozen=True)
class Scales:
    """How far f and outputs may go, as standard deviations."""

    smooth: Belief  # of f around its level, if it is smooth
    both: Belief  # if it is smooth with something rough on top
    rough: Belief  # if it is rough: bounds leave it less room than a slope that crosses them
    level: float  # of the level
    noise: Belief  # of outputs around f, or of latent values
    design: tuple[float, float]  # of f and of the noise, for which the sketch is designed
    trend: float = 0.0  # of a function of the default lengthscale that the design adds to f
    roughness: float = 1.0  # belief in rough functions, as a multiple of what the tables say
    additive: bool = False  # whether functions may be additive
    two_scales: TwoScales = TWO_SCALES
    one_kind: bool = False  # whether many inputs of one kind share a lengthscale
    design_cells: Belief = ((12, 0.5),)  # of many inputs: their shares in the design's variance

    def of(self, kind: Kind) -> Belief:
        """Return how far a function of one kind may go."""
        return {"smooth": self.smooth, "both": self.both, "rough": self.rough}[kind]


#: For numbers, in units of hi − lo.
NUMBERS = Scales(
    smooth=((0.025, 0.2), (0.05, 0.2), (0.1, 0.4), (0.2, 0.8), (0.4, 1.0), (0.8, 0.6)),
    both=((0.1, 0.1), (0.2, 0.3), (0.4, 1.0)),
    rough=((0.05, 0.2), (0.1, 0.7), (0.2, 0.6)),
    level=0.3,
    noise=((0.03, 0.3), (0.06, 0.7), (0.1, 1.0), (0.17, 0.8), (0.28, 0.4)),
    design=(0.15, 0.1),
    trend=0.3,
    two_scales=WITH_BENDS,
)
#: For the log-odds of classes.
LOG_ODDS = Scales(
    smooth=((2.0, 0.4), (4.0, 1.0), (8.0, 0.6)),
    both=((2.0, 0.4), (4.0, 1.0), (8.0, 0.6)),
    rough=((2.0, 0.4), (4.0, 1.0), (8.0, 0.6)),
    level=1.0,
    noise=((0.0, 1.0),),
    design=(3.0, 0.0),
    roughness=0.3,
    one_kind=True,
)
#: Of more classes than so many: a sketch that is designed for 12 cells alone has no more than those
#: at nearly any budget, and in each of them there are then several classes.
FEW_CLASSES = 4
MANY_LOG_ODDS = replace(LOG_ODDS, design_cells=((12, 0.25), (30, 0.25)))
#: For logarithms of rates.
LOG_RATES = Scales(
    smooth=((0.3, 0.1), (0.7, 1.0), (1.5, 0.5)),
    both=((0.3, 0.1), (0.7, 1.0), (1.5, 0.5)),
    rough=((0.3, 0.1), (0.7, 1.0), (1.5, 0.5)),
    level=1.25,
    noise=((0.0, 1.0), (0.4, 0.5)),
    design=(1.0, 0.0),
)


def default_lengths(X: Array, counts: Array | None = None, spreads: Spreads | None = None) -> Array:
    """Return the default lengthscale of each column of X: its spread, times √(inputs).

    ``counts`` says how often each row of X counts, if not once; ``spreads`` which columns make up
    an input, and the spread of those where it is not that of X.
    """
    width = np.ptp(X, axis=0)
    width = np.where(width > SMALLEST_WIDTH, width, 0.0)
    unit = np.where(width > 0, width, 1.0)
    # In units of the width: squares of tiny numbers would vanish.
    spread = np.where(width > 0, unit * np.sqrt(_variance((X - X.min(axis=0)) / unit, counts)), 1.0)
    # √L: distances between people grow like that with the number of inputs.
    lengths: Array = _replace_stated(spread, spreads) * np.sqrt(len(_input_slices(X, spreads)))
    return lengths


def family_lengths(
    X: Array, scales: Scales, counts: Array | None = None, spreads: Spreads | None = None
) -> Array:
    """Return the default lengthscales; inputs of one kind have one for all, if ``scales`` say so.

    Otherwise a pixel that is nearly always empty would count as much as those that draw a digit.
    """
    lengths = default_lengths(X, counts, spreads)
    plain = spreads is None or all(of_input == (None,) for of_input in spreads)
    if not (scales.one_kind and plain and are_of_one_kind(X)):
        return lengths
    varies = np.ptp(X, axis=0) > SMALLEST_WIDTH
    return np.full(len(lengths), np.sqrt(np.square(np.where(varies, lengths, 0.0)).mean()))


def are_of_one_kind(X: Array) -> bool:
    """Tell whether inputs are many and alike, as pixels are, or answers from 1 to 5.

    They begin at the same number, and most of those that vary reach at least half as far as any.
    """
    if X.shape[1] <= MOST_INPUTS or np.ptp(X.min(axis=0)) > 0.0:
        return False
    widths = np.ptp(X, axis=0)
    return bool(np.median(widths[widths > 0.0]) >= 0.5 * widths.max()) if widths.any() else False


def _input_slices(X: Array, spreads: Spreads | None) -> list[slice]:
    """Return the columns of each input: a category is one input, whatever columns it takes."""
    widths = [1] * X.shape[1] if spreads is None else [len(each) for each in spreads]
    return [slice(*pair) for pair in pairwise(np.cumsum([0, *widths]).tolist())]


def _replace_stated(found: Array, spreads: Spreads | None) -> Array:
    """Return spreads as they were found, or as they are stated."""
    if spreads is None:
        return found
    told = [each for of_input in spreads for each in of_input]
    return np.array([f if t is None else t for f, t in zip(found, told, strict=True)])


def _variance(X: Array, counts: Array | None) -> Array:
    """Return the variance of each column."""
    if counts is None:
        return X.var(axis=0)
    shares = counts / counts.sum()
    variance: Array = shares @ (X - shares @ X) ** 2
    return variance


def default_kernel(
    X: Array, std: float, counts: Array | None = None, spreads: Spreads | None = None
) -> Kernel:
    """Return a constant times RBF: lengthscales from the spread of X, the variance ``std``²."""
    lengths = default_lengths(X, counts, spreads)
    return ConstantKernel(std**2, "fixed") * RBF(_scalar_or_array(lengths), "fixed")


def default_family(
    X: Array,
    scales: Scales,
    unit: float = 1.0,
    counts: Array | None = None,
    spreads: Spreads | None = None,
) -> Family:
    """Return the family of the default prior; ``unit`` is what ``scales`` are multiplied with."""
    kernels = _Kernels(X, scales, counts, spreads)
    settings = [
        Setting(
            tuple((number, share * (std * unit) ** 2) for number, share in mix.shares),
            (scales.level * unit) ** 2,
            (noise * unit) ** 2,
            mix.belief * (1.0 if mix.kind == "smooth" else scales.roughness) * of_std * of_noise,
        )
        for mix in _mixes(kernels, scales) + (_additive_mixes(kernels) if scales.additive else [])
        for std, of_std in _normalised(scales.of(mix.kind))
        for noise, of_noise in scales.noise
    ]
    total = sum(setting.weight for setting in settings)
    return Family(
        tuple(kernels.made),
        tuple(replace(setting, weight=setting.weight / total) for setting in settings),
    )


def design_kernel(
    X: Array,
    scales: Scales,
    unit: float = 1.0,
    counts: Array | None = None,
    spreads: Spreads | None = None,
) -> Kernel:
    """Return the kernel that a sketch for the default family is designed for: a mean of many.

    A trend comes on top: at small budgets a mean of many alone has too little variance to be worth
    more than a number or two.
    """
    kernels, std = _Kernels(X, scales, counts, spreads), scales.design[0] * unit
    mixes = _design_mixes(kernels, scales)
    shares = np.zeros(len(kernels.made))
    for mix in mixes:
        for number, share in mix.shares:
            shares[number] += share * mix.belief
    variances = std**2 * shares / shares.sum()
    ((trend, _),) = kernels.smooth(1.0)
    variances[trend] += (scales.trend * unit) ** 2
    return sum_kernels(kernels.made, variances, (scales.level * unit) ** 2)


Shares = tuple[tuple[int, float], ...]  # kernels by number, and their shares of the variance


@dataclass(frozen=True)
class _Mix:
    shares: Shares
    belief: float
    kind: Kind = "smooth"


def _mixes(kernels: _Kernels, scales: Scales) -> list[_Mix]:
    """Return the kernels of the default family and mixes of them, from smooth to rough."""
    if len(kernels.inputs) > MOST_INPUTS:
        smooth = [_Mix(kernels.smooth(f), belief) for f, belief in MANY_INPUTS]
        cells = [
            _Mix(_both(kernels.smooth(1.0), kernels.cells(count), share), belief)
            for count, share, belief in CELLS
        ]
        return smooth + cells
    mixes = [
        _Mix(kernels.smooth(f), belief, "rough" if f <= ROUGH_LENGTH else "smooth")
        for f, belief in SMOOTH
    ]
    mixes += [_Mix(kernels.ragged(f), belief, "rough") for f, belief in RAGGED]
    for long, short, share, belief in scales.two_scales:
        rough = kernels.smooth(short) if short > 0 else kernels.ragged(-short)
        mixes.append(_Mix(_both(kernels.smooth(long), rough, share), belief, "both"))
    if len(kernels.lengths) == 1:
        trend = kernels.smooth(LONG_LENGTH)
        mixes += [
            _Mix(_both(trend, kernels.waves(f), WAVE_SHARE), belief, "rough") for f, belief in WAVES
        ]
    return mixes + _one_input_mixes(kernels)


def _design_mixes(kernels: _Kernels, scales: Scales) -> list[_Mix]:
    """Return the kernels that a sketch is designed for, with their shares."""
    if len(kernels.inputs) > MOST_INPUTS:
        rest = 1.0 - sum(share for _, share in scales.design_cells)
        whole = sum(belief for _, belief in MANY_INPUTS)
        smooth = [_Mix(kernels.smooth(f), rest * b / whole) for f, b in MANY_INPUTS]
        cells = [_Mix(kernels.cells(int(n)), share) for n, share in scales.design_cells]
        return smooth + cells
    smooth = [_Mix(kernels.smooth(f), share) for f, share in DESIGN_SMOOTH]
    ragged = [_Mix(kernels.ragged(f), share) for f, share in DESIGN_RAGGED]
    return smooth + ragged + _one_input_mixes(kernels)


def _one_input_mixes(kernels: _Kernels) -> list[_Mix]:
    """Return kernels in which one of several inputs counts far more than the others."""
    inputs = len(kernels.inputs)
    if inputs == 1:
        return []
    return [
        _Mix(kernels.one_input(i, f), belief / inputs)
        for i in range(inputs)
        for f, belief in ONE_INPUT
    ]


def _additive_mixes(kernels: _Kernels) -> list[_Mix]:
    """Return sums of functions of one input each, which share the variance."""
    inputs = len(kernels.inputs)
    each = [([kernels.one_input(i, f) for i in range(inputs)], belief) for f, belief in ADDITIVE]
    return [
        _Mix(tuple((number, 1.0 / inputs) for ((number, _),) in parts), belief)
        for parts, belief in each
    ]


class _Kernels:
    """The kernels of a family, each once; those of one name are found by their lengthscales."""

    def __init__(
        self, X: Array, scales: Scales, counts: Array | None, spreads: Spreads | None
    ) -> None:
        self.X, self.counts = X, counts
        self.lengths = family_lengths(X, scales, counts, spreads)
        self.inputs = _input_slices(X, spreads)
        self.made: list[Any] = []
        self._numbers: dict[tuple[str, tuple[float, ...]], int] = {}

    def smooth(self, factor: float) -> Shares:
        return self._one("smooth", factor * self.lengths)

    def ragged(self, factor: float) -> Shares:
        return self._one("ragged", factor * self.lengths)

    def one_input(self, number: int, factor: float) -> Shares:
        factors = np.full(len(self.lengths), LONG_LENGTH)
        factors[self.inputs[number]] = factor
        return self._one("smooth", factors * self.lengths)

    def waves(self, factor: float) -> Shares:
        length = float(self.lengths[0])
        wave = ExpSineSquared(WAVE_SHAPE, factor * length, "fixed", "fixed")
        made = wave * RBF(WAVE_LENGTH * length, "fixed")
        return self._once(("waves", (factor,)), made)

    def cells(self, count: int) -> Shares:
        made = find_centres(self.X, count, self.lengths, self.counts)
        return self._once(("cells", (float(count),)), Cells(made, _scalar_or_array(self.lengths)))

    def _one(self, kind: str, lengths: Array) -> Shares:
        plain = _scalar_or_array(lengths)
        made = RBF(plain, "fixed") if kind == "smooth" else Matern(plain, "fixed", nu=0.5)
        return self._once((kind, tuple(lengths.tolist())), made)

    def _once(self, key: tuple[str, tuple[float, ...]], made: Kernel) -> Shares:
        if key not in self._numbers:
            self._numbers[key] = len(self.made)
            self.made.append(made)
        return ((self._numbers[key], 1.0),)


def _normalised(belief: Belief) -> Belief:
    total = sum(weight for _, weight in belief)
    return tuple((value, weight / total) for value, weight in belief)


def _both(first: Shares, second: Shares, share: float) -> Shares:
    """Return a mix of two, in which the second has this share."""
    mixed = ((first, 1.0 - share), (second, share))
    return tuple((number, whole * part) for mix, whole in mixed for number, part in mix)


def _scalar_or_array(lengths: Array) -> Any:
    return float(lengths[0]) if len(lengths) == 1 else lengths
