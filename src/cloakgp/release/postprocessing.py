"""Post-processing: what anybody may compute from a release, any number of times, at no cost.

Predictions, intervals, samples, tables and checks follow from the published numbers and public
facts alone.  Here is what each is called and what its parameters mean; the posterior that answers
is in ``posterior``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cloakgp.release.cells import published_numbers
from cloakgp.release.decoder import Uncertainty, decoding
from cloakgp.release.diagnostics import FitCheck, can_be_checked, check_fit, hyperparameters
from cloakgp.release.posterior import (
    PREDICTORS,
    Clip,
    Of,
    Posterior,
    Predictor,
    check_clip,
    check_interval,
    check_spread,
    people_density,
)
from cloakgp.threads import single_threaded

if TYPE_CHECKING:
    from cloakgp.release.release import Release

Array = NDArray[np.float64]


@single_threaded
class PostProcessing:
    """What can be asked of a ``Release``, and of nothing else."""

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        exposure: ArrayLike | None = None,
        clip: Clip | None = None,
    ) -> NDArray[Any]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[True],
        *,
        exposure: ArrayLike | None = None,
        clip: Clip | None = None,
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        exposure: ArrayLike | None = None,
        clip: Clip | None = None,
    ) -> Any: ...

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        exposure: ArrayLike | None = None,
        clip: Clip | None = None,
    ) -> NDArray[Any] | tuple[Array, Array]:
        """Predict at X: f of numbers, the most probable class, the expected count.  Free.

        An expected count is the median of what it may be: it is as likely to be larger as to be
        smaller.  The mean is larger, by a factor of about e^(v/2) where v is the variance of the
        log rate; releases that 0.1.0 and 0.2.0 have made predict that mean.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return the standard deviation of f or of the expected count, the DP noise included;
            not that of single outputs.  Of classes see ``predict_proba``.
        return_cov : bool, default=False
            Also return the covariance of f, the DP noise included; not with ``return_std``.
        exposure : float or array of shape (P,), default=None
            Of counts: how long or how large each point is watched.  None: 1.
        clip : {"bounds", None}, default=None
            f may leave the public bounds far from people; "bounds" keeps predictions within them,
            and leaves spreads as they are.  Classes and counts never leave theirs.

        Returns
        -------
        mean : array of shape (P,) or (P, D)
            The prediction at each point.
        spread : array
            With ``return_std`` the standard deviation, shaped as the mean; with ``return_cov`` the
            covariance, (P, P) or (P, P, D).
        """
        check_clip(clip)
        check_spread(return_std, return_cov)
        points = self.check_points(X)
        return self._predictor.predict(points, return_std, return_cov, exposure, clip)

    @overload
    def latent(
        self, X: ArrayLike, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> Array: ...

    @overload
    def latent(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def latent(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any: ...

    def latent(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the posterior of f at X: its mean and, if asked for, its spread.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return the standard deviation of f, the DP noise included.
        return_cov : bool, default=False
            Also return the covariance of f, the DP noise included; not with ``return_std``.

        Returns
        -------
        mean : array of shape (P,) or (P, D)
            The mean of f, for classes of the log-odds and for counts of the log rate.
        spread : array
            With ``return_std`` the standard deviation, shaped as the mean; with ``return_cov`` the
            covariance, (P, P) or (P, P, D).
        """
        check_spread(return_std, return_cov)
        return Posterior(self._itself).latent(self.check_points(X), return_std, return_cov)

    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        of: Of = "curve",
        exposure: ArrayLike | None = None,
        clip: Clip | None = None,
    ) -> tuple[Array, Array]:
        """Return the lower and the upper end of an interval at X.

        Whether a new person is of a class is yes or no: the upper end is 1 for the classes of the
        smallest set that holds the label of that share of new people, the lower end is 1 if that
        set is this class alone; else they are 0.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        of : {"curve", "person"}, default="curve"
            Of what people share (f, the probability of the second class or of each of more against
            the rest, the rate), or of the output of one more person, which scatters around it.
        exposure : float or array of shape (P,), default=None
            Of counts: how long or how large each point is watched.  None: 1.
        clip : {"bounds", None}, default=None
            "bounds" keeps both ends within the public bounds, as numbers are; the cap of counts
            limits what one row adds to the release, not how many incidents there are.

        Returns
        -------
        low, high : arrays of shape (P,), (P, D) or (P, K)
            The ends of the interval at each point.
        """
        check_clip(clip)
        points = self.check_points(X)
        return self._predictor.interval(points, coverage, of, exposure, clip)

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation of f at X into its parts: of classes, of the log-odds.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        parts : Uncertainty
            Standard deviations ``latent`` (what would remain without privacy), ``dp`` (what privacy
            adds), ``observation`` (how outputs scatter around f; for classes that of the logistic
            distribution, for counts that of the logarithm of one count for exposure 1, 1/√rate) and
            ``hyperparameters`` (what not knowing them adds); ``curve`` is that of f, ``total`` that
            of one new output.
        """
        return self._predictor.uncertainty(self.check_points(X))

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.Generator | None = 0
    ) -> Array:
        """Draw functions from the posterior at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        n_samples : int, default=1
            How many functions are drawn.
        random_state : int, Generator or None, default=0
            Seed of the draws, which spend nothing and may be repeated.

        Returns
        -------
        samples : array of shape (P, n_samples) or (P, D, n_samples)
            The values of each function at the points.
        """
        points, rng = self.check_points(X), np.random.default_rng(random_state)
        return Posterior(self._itself).draw(points, n_samples, rng)

    @property
    def hyperparameters(self) -> pd.DataFrame:
        """The settings of the prior and how much each counts: learnt from what was published.

        One row for each setting, with its weight before and after the release; one weight for each
        output.  A fixed prior is one row.
        """
        return hyperparameters(self._itself)

    @property
    def can_be_checked(self) -> bool:
        """Whether ``check`` has an answer: it needs noise, and ``decode="bayes"``."""
        return can_be_checked(self._itself)

    def check(self) -> FitCheck:
        """Say whether the published numbers are as the model expects.  Free, for anybody.

        Returns
        -------
        check : FitCheck
            A p-value and whether it is alarming; false if the model is probably wrong.

        Raises
        ------
        ValueError
            If there is no answer: see ``can_be_checked``.
        """
        with decoding():
            return check_fit(self._itself)

    def published(self) -> pd.DataFrame:
        """Return the numbers that were published, with what each of them is.

        Returns
        -------
        table : DataFrame
            For sums over cells: between which inputs the people of a cell are, how many they are,
            the noisy sum and the noisy mean of their outputs, and the noise in the mean.  For other
            designs, whose numbers mean nothing by themselves: each with its noise.

        Examples
        --------
        >>> from cloakgp import PrivateGPRegressor
        >>> from cloakgp.datasets import make_heights
        >>> people = make_heights(500)
        >>> model = PrivateGPRegressor(bounds=(40, 200)).fit(people[["age"]], people["height_cm"])
        >>> list(model.release_.published())[:4]
        ['cell', 'age_from', 'age_to', 'people']
        """
        return published_numbers(self._itself)

    def density(self, where: ArrayLike | None = None, coverage: float = 0.95) -> pd.DataFrame:
        """Return where people are, of a release that protects whole rows.  Free, and repeatable.

        Parameters
        ----------
        where : array or data frame of shape (P, L), default=None
            Places to look at.  None: the workload.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.

        Returns
        -------
        table : DataFrame
            The inputs of each point, and how many people there are for each unit of the numbers and
            for each day of the dates among them: the median, and both ends of the band.

        Raises
        ------
        ValueError
            If inputs are public: then everybody knows where people are.

        Examples
        --------
        >>> from cloakgp import PrivateGPRegressor
        >>> from cloakgp.datasets import make_heights
        >>> people = make_heights(500)
        >>> model = PrivateGPRegressor(bounds=(40, 200), protect="rows", box={"age": (0, 90)})
        >>> model = model.fit(people[["age"]], people["height_cm"])
        >>> list(model.release_.density([[20], [40]]))
        ['age', 'people', 'people_low95', 'people_high95']
        """
        tail = check_interval(coverage, "curve")
        if self._itself.spec.rows is None:
            raise ValueError(
                "a density is for releases that protect whole rows (protect='rows'); here the "
                "inputs are public, and in the release"
            )
        rows = self._itself.spec.points if where is None else self.check_points(where)
        return people_density(self._itself, np.asarray(rows), tail)

    def to_frame(self, X: ArrayLike | None = None, *, clip: Clip | None = None) -> pd.DataFrame:
        """Return predictions with their standard deviations as a table.

        Parameters
        ----------
        X : array or data frame of shape (P, L), default=None
            Points to predict at.  None: the workload.
        clip : {"bounds", None}, default=None
            "bounds" keeps predictions and intervals within the public bounds.

        Returns
        -------
        table : DataFrame
            The inputs of each point, predictions, standard deviations and 95 % intervals.

        Raises
        ------
        ValueError
            If two columns would have one name.
        """
        spec = self._itself.spec
        codes = spec.codes_of(spec.points if X is None else self.check_points(X))
        frame = spec.encoding.frame(codes)
        for name, values in self.columns_at(spec.at_codes(codes), clip).items():
            if name in frame:
                raise ValueError(
                    f"two columns of the table would be called {name!r}; rename the inputs or "
                    "outputs of the release"
                )
            frame[name] = values
        return frame

    def to_xarray(self, X: Any = None, *, clip: Clip | None = None) -> Any:
        """Return predictions as an xarray Dataset: means, bands and noise with coordinates.

        Parameters
        ----------
        X : mapping of names to values, array or data frame of shape (P, L), default=None
            The values along each dimension of a grid, other inputs at their median; or points,
            along one dimension.  None: a grid over one or two inputs.
        clip : {"bounds", None}, default=None
            "bounds" keeps predictions and intervals within the public bounds.

        Returns
        -------
        dataset : xarray.Dataset
            The columns of ``to_frame``; the guarantee is among the attributes.
        """
        from cloakgp.report.exchange import to_xarray

        return to_xarray(self._itself, X, clip)

    def to_arviz(
        self,
        X: ArrayLike,
        draws: int = 1000,
        random_state: int | np.random.Generator | None = 0,
    ) -> Any:
        """Return samples of f at X as ArviZ takes them: chain, draw, point.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to sample at.
        draws : int, default=1000
            How many functions are drawn.
        random_state : int, Generator or None, default=0
            Seed of the draws, which spend nothing and may be repeated.

        Returns
        -------
        samples : xarray.Dataset
            For ``arviz.summary`` or ``arviz.convert_to_inference_data``.
        """
        from cloakgp.report.exchange import to_arviz

        return to_arviz(self._itself, X, draws, random_state)

    def to_geojson(self, X: Any = None, *, clip: Clip | None = None) -> dict[str, Any]:
        """Return a map as GeoJSON, with means, bands and noise.

        One input is the longitude and one the latitude: they are known by their names, such as
        ``lon`` and ``lat``.

        Parameters
        ----------
        X : array or data frame of shape (P, L), default=None
            Points.  None: a grid of rectangles, other inputs at their median.
        clip : {"bounds", None}, default=None
            "bounds" keeps predictions and intervals within the public bounds.

        Returns
        -------
        collection : dict
            For ``json.dump``.
        """
        from cloakgp.report.exchange import to_geojson

        return to_geojson(self._itself, X, clip)

    def to_geopandas(self, X: Any = None, *, clip: Clip | None = None) -> Any:
        """Return the same as a GeoDataFrame, if GeoPandas is installed.

        Parameters
        ----------
        X : array or data frame of shape (P, L), default=None
            Points.  None: a grid of rectangles, other inputs at their median.
        clip : {"bounds", None}, default=None
            "bounds" keeps predictions and intervals within the public bounds.

        Returns
        -------
        frame : geopandas.GeoDataFrame
            In longitude and latitude (EPSG:4326).
        """
        from cloakgp.report.exchange import to_geopandas

        return to_geopandas(self._itself, X, clip)

    def columns_at(self, points: Array, clip: Clip | None = None) -> dict[str, Any]:
        """Return what a table of predictions has beside the inputs, column by column.

        Parameters
        ----------
        points : array of shape (P, L)
            Rows of the model to predict at.
        clip : {"bounds", None}, default=None
            "bounds" keeps predictions and intervals within the public bounds.

        Returns
        -------
        columns : dict
            Values by name.
        """
        check_clip(clip)
        outcome = self._itself.spec.outcome
        names = outcome.table_names(self._itself.named_targets, outcome.classes or ())
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"two columns of the table would be called {twice!r}; rename the inputs, outputs "
                "or classes of the release"
            )
        values = self._predictor.columns(self.check_points(points), clip)
        return dict(zip(names, values, strict=True))

    def check_points(self, X: Any) -> Array:
        """Return X as rows of the model, by name if it has names.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points as people have them.

        Returns
        -------
        rows : array
            The same as numbers, in the columns of the model.
        """
        return self._itself.spec.rows_of(X)

    @property
    def _predictor(self) -> Predictor:
        """What is predicted of outputs of this kind, from the posterior of f."""
        return PREDICTORS[self._itself.spec.outcome.task](Posterior(self._itself))

    @property
    def _itself(self) -> Release:
        """The same object, as what it is."""
        return cast("Release", self)
