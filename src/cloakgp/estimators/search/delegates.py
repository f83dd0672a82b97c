"""What a fitted search passes on to the release that it has made."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cloakgp.release.release import Release


def _delegated(name: str) -> Any:
    def check(search: Any) -> bool:
        # Raises an AttributeError that names the method.
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


class Delegates:
    """Predictions and tags of the estimator that was chosen."""

    estimator: Any
    best_estimator_: Any

    @property
    def release_(self) -> Release:
        """The release of the chosen candidate, which states what both cost together."""
        release: Release = self._best().release_
        return release

    @property
    def best_score_(self) -> float:
        """There is none: a score of private outputs without noise would leak."""
        raise AttributeError(
            "a private search shows no scores, because they would leak; scoring other people with "
            "score(X, y) costs nothing"
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The public classes."""
        classes: NDArray[Any] = self.best_estimator_.classes_
        return classes

    @_delegated("predict")
    def predict(self, X: ArrayLike, **options: Any) -> Any:
        """Predict with the chosen candidate: nothing is spent.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        **options : dict
            Those of the estimator's ``predict``, such as ``return_std``.

        Returns
        -------
        prediction : array or tuple of arrays
            What ``predict`` of the estimator returns.
        """
        return self._best().predict(X, **options)

    @_delegated("predict_proba")
    def predict_proba(self, X: ArrayLike) -> Any:
        """Return the probability of each class at X with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        probabilities : array of shape (P, K)
            One column for each class, in the order of ``classes_``.
        """
        return self._best().predict_proba(X)

    @_delegated("decision_function")
    def decision_function(self, X: ArrayLike) -> Any:
        """Return the log-odds of the probability at X with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        log_odds : array of shape (P,)
            Of the second class.
        """
        return self._best().decision_function(X)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95, **options: Any) -> Any:
        """Return the lower and the upper end of an interval at X with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        **options : dict
            Those of the estimator's ``predict_interval``: ``of`` and ``clip``.

        Returns
        -------
        low, high : arrays of shape (P,)
            The ends of the interval at each point.
        """
        return self._best().predict_interval(X, coverage, **options)

    def uncertainty(self, X: ArrayLike) -> Any:
        """Split the standard deviation at X into its parts, with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        parts : Uncertainty
            Standard deviations ``latent`` (what would remain without privacy), ``dp`` (what privacy
            adds), ``observation`` (how outputs scatter around f) and ``hyperparameters`` (what not
            knowing them adds); ``curve`` is that of f, ``total`` that of one new output.
        """
        return self._best().uncertainty(X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the score of the chosen candidate on other people; **not private**.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Inputs of people who were not in the fit.
        y : array or series of shape (P,)
            Their outputs.  What is done with the score is not covered by the guarantee.

        Returns
        -------
        score : float
            R² of a regressor, accuracy of a classifier.
        """
        return float(self._best().score(X, y))

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("there is no release to predict from (refit=False)")
        return self.best_estimator_
