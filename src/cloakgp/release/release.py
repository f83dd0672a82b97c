"""What was released, as an object and as a file that strangers can check.

A ``Release`` holds the noisy sketch and every public fact needed to predict from it and to check
its guarantee again, and nothing else.  The file is a plain zip of JSON and .npy arrays.
"""

from __future__ import annotations

import datetime
import math
import os
import uuid
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakgp._version import __version__
from cloakgp.data.columns import Columns, columns_of_scaler
from cloakgp.errors import ImplausibleNoiseWarning, ReleaseFileError, public_names
from cloakgp.files import write_file
from cloakgp.privacy import NoisySketch, Sketch, Spend
from cloakgp.release.card import card
from cloakgp.release.combine.contents import (
    combined_from_archive,
    is_combined,
    members_from_archive,
)
from cloakgp.release.combine.pooled import (
    Overlap,
    check_overlap,
    gathered_members,
    pooled_spec,
    shared_prior,
)
from cloakgp.release.file.archive import compute_digests, read_archive, write_archive
from cloakgp.release.file.cost import Sizes, check_cost
from cloakgp.release.file.manifest import check_fields, count_sizes, from_archive, to_archive
from cloakgp.release.meaning import guarantee_words, protected_words, units_of
from cloakgp.release.outputs import Outcome
from cloakgp.release.posterior import Clip
from cloakgp.release.postprocessing import PostProcessing
from cloakgp.release.signature.check import (
    NOT_CHECKED,
    SignatureCheck,
    check_signature,
    trusted,
)
from cloakgp.release.spec import Chosen, ChosenBounds, Part, ReleaseSpec
from cloakgp.release.statement import statement
from cloakgp.release.verify import VerificationReport, verify
from cloakgp.threads import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@single_threaded
@dataclass(frozen=True)
class Release(PostProcessing):
    """A published sketch: predicts anywhere, can be saved, loaded and verified.

    ``fit`` of an estimator makes it (``release_``), ``Release.load`` reads it from a file.  It
    holds the noisy sketch and every public fact that is needed to predict from it and to check its
    guarantee again, and nothing else: it may be given to anybody.

    Attributes
    ----------
    spec : ReleaseSpec
        The public facts: model, workload, bounds, budget and settings.
    sketch : Sketch
        The sketch matrix T on its grid.
    noisy : NoisySketch
        What was published of y: s = T u + σ z.
    gap : float
        The certificate of the design.
    status : str
        How the design was found, in words.
    target_names : tuple of str or None
        Names of the private columns.
    release_id : str
        By which a ledger knows the release.
    created : str
        When it was made, in UTC.
    version : str
        The version of cloakgp that made it.
    later : tuple of Part
        What further iterations published, from the same budget.
    selection : Chosen or None
        How its settings were chosen, if privately.
    bounds_choice : ChosenBounds or None
        How its bounds were chosen, if privately.

    See Also
    --------
    PrivateGPRegressor : Makes releases; so do the other estimators.
    VerificationReport : What ``verify`` returns.

    Notes
    -----
    Everything here is post-processing of what was published: it costs no budget, and may be
    repeated and published at will.

    Examples
    --------
    >>> import os, tempfile
    >>> from cloakgp import PrivateGPRegressor, Release
    >>> from cloakgp.datasets import make_heights
    >>> people = make_heights(90)
    >>> model = PrivateGPRegressor(bounds=(40, 200)).fit(people[["age"]], people["height_cm"])
    >>> model.release_
    Release(90 rows, 5 values, epsilon=1, delta=0, private)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "heights.cloakgp")
    ...     model.release_.save(path)
    ...     release = Release.load(path)
    >>> release.verify().ok
    True
    >>> list(release.to_frame([[10], [40]]).columns[:3])
    ['age', 'height_cm', 'height_cm_std']
    """

    spec: ReleaseSpec
    sketch: Sketch
    noisy: NoisySketch
    gap: float
    status: str
    target_names: tuple[str, ...] | None = None
    release_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: str = field(default_factory=_now)
    version: str = __version__
    later: tuple[Part, ...] = ()  # of further iterations, which share the budget
    selection: Chosen | None = None  # how its settings were chosen, if privately
    bounds_choice: ChosenBounds | None = None  # how its bounds were chosen, if privately
    #: Hashes of the file that this was loaded from; a copy with other contents does not inherit it.
    digests: dict[str, bytes] | None = field(default=None, init=False, compare=False, repr=False)
    #: What follows from all this and takes a while, by name; neither copied nor saved.
    found: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    #: The class of a release of each kind of output, and of several releases combined; those of
    #: other modules enter themselves.
    kinds: ClassVar[dict[tuple[type[Outcome], bool], type[Release]]] = {}

    def __init_subclass__(cls, of: type[Outcome] | None = None, several: bool = False) -> None:
        if of is not None:
            Release.kinds[of, several] = cls

    @staticmethod
    def of(**fields: Any) -> Release:
        """Return a release of the kind that its outputs ask for.

        Parameters
        ----------
        **fields : dict
            The fields of a release, by name.

        Returns
        -------
        release : Release
            A ``LabelRelease`` for classes, a ``CountRelease`` for counts, a ``Combination`` of
            several.
        """
        kind = type(fields["spec"].outcome), "members" in fields
        return Release.kinds.get(kind, Release)(**fields)

    @staticmethod
    def combine(
        releases: Iterable[Release], *, people: Overlap = "unknown", learn: bool = False
    ) -> Release:
        """Return one predictor from several releases about the same inputs and outputs.

        All sketches are decoded together, which is exact and costs nothing; learnt hyperparameters
        are shared.  Combinations are combined release by release, and ``members`` are all of them.

        Parameters
        ----------
        releases : iterable of Release
            About the same inputs and outputs; people, bounds and budgets may differ.
        people : {"unknown", "disjoint"}, default="unknown"
            A person may be in several of the releases, unless "disjoint" says that nobody is:
            ``total_epsilon`` is what holds for everybody.
        learn : bool, default=False
            Decode with the default family of priors, whatever priors the releases had.

        Returns
        -------
        release : Combination
            Predicts, and is saved, verified and reported as any release.

        Examples
        --------
        >>> from cloakgp import PrivateGPRegressor, Release
        >>> from cloakgp.datasets import make_heights
        >>> north, south = make_heights(80, random_state=1), make_heights(70, random_state=2)
        >>> releases = [
        ...     PrivateGPRegressor(bounds=(40, 200)).fit(t[["age"]], t["height_cm"]).release_
        ...     for t in (north, south)
        ... ]
        >>> both = Release.combine(releases, people="disjoint")
        >>> both.spec.people, both.total_epsilon
        (150, 1.0)
        """
        given = [releases] if isinstance(releases, Release) else list(releases)
        for each in given:
            if not isinstance(each, Release):
                raise TypeError(
                    "releases must be releases, such as those of Release.load(path) or of a fitted "
                    f"estimator's release_, got a {type(each).__name__}"
                )
        overlap, members = check_overlap(people), gathered_members(given)
        spec = pooled_spec(members, shared_prior(members, learn))
        names = members[0].target_names
        return Release.of(spec=spec, members=members, overlap=overlap, target_names=names)

    @property
    def facts(self) -> ReleaseSpec:
        """The former name of ``spec``."""
        return self.spec

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything that was published, iteration by iteration."""
        return (Part(self.sketch, self.noisy), *self.later)

    @property
    def members(self) -> tuple[Release, ...]:
        """The releases that are decoded together: this one, or those that it combines."""
        return (self,)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What it cost each person in it, in the order in which it was spent.

        Counted as a ledger does: where one person is replaced, whatever ``neighbours`` are.
        """
        return (*self.choices, self._drawn.replacing(self.spec.neighbours))

    @property
    def _drawn(self) -> Spend:
        """What its noise is for: its own neighbours."""
        if self.noisy.mechanism == "laplace":
            return Spend("pure", self.noisy.epsilon)
        # Parts of a budget have √k times the noise, and together tell as much as one without that.
        return Spend.gaussian(self.noisy.sigma / math.sqrt(self.noisy.parts))

    @property
    def published_values(self) -> int:
        """How many numbers were published."""
        squares = [part.noisy.squares for part in self.parts if part.noisy.squares is not None]
        return sum(part.noisy.values.size for part in self.parts) + sum(map(len, squares))

    @property
    def epsilon(self) -> float:
        """The ε that was spent."""
        return self.noisy.epsilon

    @property
    def delta(self) -> float:
        """The δ that was spent."""
        return self.noisy.delta

    @property
    def total_epsilon(self) -> float:
        """The ε that was spent at ``delta``, private choices of settings and bounds included."""
        if self.bounds_choice is not None:
            return self.bounds_choice.total_epsilon
        return self.epsilon if self.selection is None else self.selection.total_epsilon

    @property
    def choices(self) -> tuple[Spend, ...]:
        """What private choices before the release have spent, in order."""
        bounds = () if self.bounds_choice is None else self.bounds_choice.spends
        return bounds if self.selection is None else (*bounds, self.selection.spend)

    @property
    def chosen(self) -> str:
        """What was chosen privately, in words; empty if nothing was."""
        named = ("bounds", self.bounds_choice), ("settings", self.selection)
        return " and ".join(name for name, choice in named if choice is not None)

    @property
    def private(self) -> bool:
        """Whether this carries a guarantee: False for repeatable noise and for none."""
        return all(part.noisy.private and part.noisy.epsilon < math.inf for part in self.parts)

    @property
    def cases(self) -> tuple[tuple[Spend, ...], ...]:
        """What one person has paid, in each case that there may be, for the own neighbours."""
        return ((*self.choices, self._drawn),)

    @property
    def plain(self) -> bool:
        """Whether the one output was given as a plain column, and so are predictions."""
        if self.spec.rows is not None:  # these have a column for each share
            return self.outputs == 1
        return all(part.noisy.values.ndim == 1 for part in self.parts)

    @property
    def outputs(self) -> int:
        """Number of output columns."""
        return len(self.spec.lo)

    @property
    def named_targets(self) -> list[str]:
        """Names of the private columns, invented where there are none."""
        invented = self.spec.outcome.names(self.outputs)
        given = self.target_names or ()
        return [*given] if len(given) == len(invented) else invented

    def with_inputs(self, inputs: Any) -> Release:
        """Return the same release, asked in the original units of its inputs.

        What was published stays as it is.  That it is the right scaler is for the publisher to
        know: the release cannot tell.

        Parameters
        ----------
        inputs : scaler or Columns
            The scaler that the release was made behind, such as the StandardScaler of a Pipeline,
            or ``Columns``.  Its numbers go into the file, so they must be public: the scaler must
            have seen X alone.

        Returns
        -------
        release : Release
            A release that scales what it is asked.
        """
        spec = self.spec
        if spec.rows is not None:
            raise ValueError("the release has a public box, in the units of its inputs already")
        if spec.inputs is not None:
            raise ValueError("the release knows its inputs already: ask it in their own units")
        columns = inputs
        if not isinstance(inputs, Columns):
            columns = columns_of_scaler(inputs, spec.X)
        if columns.width != spec.X.shape[1]:
            raise ValueError(
                f"inputs take {columns.width} columns of the model, which has {spec.X.shape[1]}"
            )
        names = columns.names or spec.feature_names
        columns = replace(columns, names=names)
        told = None if columns.plain else columns
        return replace(self, spec=replace(spec, inputs=told, feature_names=names))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file: a plain zip of JSON and .npy arrays, never a pickle.

        Raises
        ------
        ReleaseFileError
            If a file cannot hold it, for instance a kernel of another library.

        Notes
        -----
        A warning says if it is so large that readers need ``Release.load(path, large=True)``.
        """
        manifest, arrays = self.contents()
        models = self._models(manifest, arrays)  # what would not be read is not written
        try:
            check_cost(models, arrays)
        except ReleaseFileError as error:
            warnings.warn(f"readers will refuse this file at first: {error}", stacklevel=2)
        write_archive(path, manifest, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, check: bool = True, large: bool = False
    ) -> Release:
        """Read a release from a file.

        Parameters
        ----------
        path : str or path
            A file that ``save`` or the command line has written.
        check : bool, default=True
            Check the guarantee again.  False is for those who want the report of ``verify`` instead
            of an error.  What an older file does not say is no error; ``verify`` names it.
        large : bool, default=False
            Read also a file that asks for far more memory or work than its size suggests: more
            than 4 GiB, or half an hour.  For those who trust its publisher.

        Returns
        -------
        release : Release
            The release, of the kind that its outputs ask for.

        Raises
        ------
        ReleaseFileError
            If the file is damaged, asks for too much memory or work, or its guarantee does not
            hold when it is checked again.
        """
        manifest, arrays = read_archive(path)
        if is_combined(manifest):
            read = members_from_archive(manifest, arrays, large=large)
            members = [cls.of(**fields) for fields in read]
            release = cls.of(**combined_from_archive(manifest, arrays, members))
        else:
            release = cls.of(**from_archive(manifest, arrays, large=large))
        object.__setattr__(release, "digests", compute_digests(manifest, arrays))
        if check:
            report = release._checked_hastily()
            failed = [c for c in report.checks if not (c.passed or c.unknown)]
            if failed := [c for c in failed if c.name != "privacy"]:
                raise ReleaseFileError(
                    "the release does not hold what it promises: "
                    + "; ".join(f"{c.name}: {c.detail}" for c in failed)
                )
            for warning in report.warnings:
                warnings.warn(warning, ImplausibleNoiseWarning, stacklevel=3)
        return release

    def verify(
        self,
        inputs: Any = None,
        exposure: Any = None,
        *,
        signature: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        allowed_signers: str | os.PathLike[str] | None = None,
        identity: str | None = None,
    ) -> VerificationReport:
        """Repeat every public step of the guarantee, in exact arithmetic where it counts.

        Whoever has the ``inputs`` of everybody also learns whether they are those of the release: a
        release of many people holds only how many are at each place.  A ``signature`` counts if it
        was made by ``key``, or by a key that ``allowed_signers`` lists for ``identity``.  Get these
        from somewhere else than the release.

        Parameters
        ----------
        inputs : array, data frame or blocks of shape (N, L), default=None
            The inputs of everybody, to compare with.
        exposure : float, array of shape (N,) or blocks, default=None
            Of counts, their exposure.
        signature : str or path, default=None
            The file beside the release that ``cloakgp sign`` wrote.
        key : str or path, default=None
            A file with one public key.
        allowed_signers : str or path, default=None
            A file of allowed signers, as OpenSSH has them.
        identity : str, default=None
            Who should have signed, as the file of allowed signers names them.

        Returns
        -------
        report : VerificationReport
            Every check with its result; true if all passed.
        """
        trust = trusted(key, allowed_signers, identity)
        return self.checked(check_signature(self.digest, signature, trust), inputs, exposure)

    def checked(
        self, signature: SignatureCheck, inputs: Any = None, exposure: Any = None
    ) -> VerificationReport:
        """Return the report of ``verify``, with what was found of the signature.

        Parameters
        ----------
        signature : SignatureCheck
            What was found of it.
        inputs : array, data frame or blocks of shape (N, L), default=None
            The inputs of everybody, to compare with.
        exposure : float, array of shape (N,) or blocks, default=None
            Of counts, their exposure.

        Returns
        -------
        report : VerificationReport
            Every check with its result; true if all passed.
        """
        return verify(self, inputs, exposure, signature)

    def _checked_hastily(self) -> VerificationReport:
        """Return the report for a reader who takes no release that fails."""
        return verify(self, hasty=True)

    def digest(self, algorithm: str = "sha256") -> bytes:
        """Return a hash of the file of this release.

        That is the file it was loaded from, else the file that ``save`` would write.

        Parameters
        ----------
        algorithm : {"sha256", "sha512"}, default="sha256"
            Which hash.

        Returns
        -------
        digest : bytes
            The hash.
        """
        digests = self.digests or compute_digests(*self.contents())
        if algorithm not in digests:
            raise ValueError(f"algorithm must be one of {list(digests)}, not {algorithm!r}")
        return digests[algorithm]

    def statement(self) -> str:
        """Return the guarantee in plain words.

        Returns
        -------
        text : str
            Markdown.
        """
        return statement(self)

    def report(self, path: str | os.PathLike[str], signature: SignatureCheck = NOT_CHECKED) -> None:
        """Write the release as one HTML page that needs nothing else.

        Parameters
        ----------
        path : str or path
            The file to write.
        signature : SignatureCheck, default=not checked
            What the page says of the signature: that of a report of ``verify``.
        """
        from cloakgp.report.page import report_page

        write_file(path, report_page(self, signature).encode(), "report")

    def plot(self, ax: Any = None, *, clip: Clip | None = "bounds") -> Figure:
        """Draw the prediction with its bands, over one input, two, or each of more.  Never y.

        Of a release of whole rows, it also draws where people are, as ``density`` tells.

        Parameters
        ----------
        ax : Axes or array of Axes, default=None
            Where to draw: a panel, or several in their order (a map, and how sure it is; one for
            each of more inputs; as many for where people are).  None: a new figure.
        clip : {"bounds", None}, default="bounds"
            Pictures end at the public bounds; None draws what lies beyond, too.

        Returns
        -------
        figure : matplotlib Figure
            The picture.
        """
        # Matplotlib takes a second to load, so only those who want a picture wait for it.
        from cloakgp.plot.draw import plot_release

        return plot_release(self, ax, clip=clip)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        spec = self.spec
        check = self.check() if self.can_be_checked else None
        facts = [
            ("of", ", ".join(self.named_targets)),
            ("by", ", ".join(spec.names)),
            ("about", spec.counted),
            ("guarantee", guarantee_words(self.total_epsilon, self.delta, self.private)),
            ("protects", protected_words(spec.rows)),
            *([("the same as", units_of(self) or "no other unit")] if self.private else []),
            ("published", f"{self.published_values} numbers, with {spec.mechanism} noise"),
            *([] if check is None else [("does the model fit?", str(check))]),
            ("what next", ".plot()  .predict(X)  .statement()  .save(path)  .report(path)"),
        ]
        return card("Release", facts, good=self.private and (check is None or bool(check)))

    def __dir__(self) -> list[str]:
        """Return the names that are for users."""
        return public_names(set(super().__dir__()) - {"found"})

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"found": {}}

    def __repr__(self) -> str:
        kind = "private" if self.private else "NOT PRIVATE"
        if self.spec.rows is not None:
            return (
                f"Release(whole rows, {self.spec.rows.neighbours}, {self.published_values} values, "
                f"epsilon={self.total_epsilon:g}, delta={self.delta:g}, {kind})"
            )
        rows = "rows" if self.spec.groups is None else self.spec.privacy_unit.many
        return (
            f"Release({self.spec.people} {rows}, {self.published_values} values, "
            f"epsilon={self.total_epsilon:g}, delta={self.delta:g}, {kind})"
        )

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what its file holds.

        Returns
        -------
        manifest : dict
            The facts, as JSON can hold them.
        arrays : dict
            The arrays, by name.
        """
        return to_archive(self)

    def _models(self, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> list[Sizes]:
        """Return the sizes of all models of a file, or refuse contents that would not be read."""
        return [count_sizes(check_fields(manifest, arrays), arrays)]
