"""``PrivateGPClassifier``: Gaussian process classification whose training labels are private."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from cloakgp.data.blocks.table import BlockColumn
from cloakgp.data.checks import one_column
from cloakgp.data.columns import Column
from cloakgp.data.table import Table
from cloakgp.errors import ParameterError
from cloakgp.estimators.base import Array, PrivateGP
from cloakgp.estimators.parameters import documented
from cloakgp.estimators.priors import Fixed, choose_prior
from cloakgp.estimators.whole_rows import refuse_rows
from cloakgp.gp.defaults import FEW_CLASSES, LOG_ODDS, MANY_LOG_ODDS
from cloakgp.gp.sparse import Approximation
from cloakgp.privacy import Budget
from cloakgp.privacy.mechanism.outputs import found_classes
from cloakgp.release.kinds import LabelRelease
from cloakgp.release.outputs import Labels
from cloakgp.release.release import Release
from cloakgp.threads import single_threaded

#: Standard deviation of the log-odds before anything is known, if no kernel is given.
PRIOR_STD = 4.0


@documented
@single_threaded
class PrivateGPClassifier(ClassifierMixin, PrivateGP):
    """Gaussian process classification with differentially private training labels.

    Inputs X are public, labels y are private.  The Laplace approximation with the logistic link:
    the gradient of the log likelihood is linear in the labels, so a Newton step needs a noisy
    sketch of them and nothing else.  ``fit`` spends (ε, δ) once, however many iterations and
    classes; predicting never spends.

    Parameters
    ----------
    kernel : scikit-learn kernel, default=None
        Prior covariance of the log-odds.  None: learnt; see ``learn``.
    classes : sequence of labels, or "public", default=None
        Every possible label, a public fact.  Required: the set of labels that occur would leak.
        "public" declares that the labels found in y are public.
    prior_mean : float or array of shape (K,), default=None
        Mean of the log-odds before anything is known; of the second class, if there are two.
        None: the log-odds of equal chances.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (K,)
        The public classes, in order.
    release_ : LabelRelease
        What was published: it predicts, and can be saved, verified and combined with others.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : array of shape (L,)
        Names of the inputs, if X had names.

    See Also
    --------
    PrivateGPRegressor : Private numbers.
    PrivateGPCountRegressor : Private counts.
    PrivateGridSearch : Hyperparameters chosen privately, then a release (two classes).
    Release : What a fit publishes.

    Notes
    -----
    Neighbouring data sets have the same X and differ in the label of one person (with ``groups``,
    in the labels of all rows of one owner).  With more than two classes replacing a label moves
    two columns of indicators, so the noise is √2 times as large; the budget is the same.

    Examples
    --------
    >>> from cloakgp import PrivateGPClassifier
    >>> from cloakgp.datasets import make_diagnoses
    >>> people = make_diagnoses(100)
    >>> X, y = people[["age"]], people["diagnosis"]
    >>> model = PrivateGPClassifier(classes=["no", "yes"], epsilon=1.0).fit(X, y)
    >>> model.classes_
    array(['no', 'yes'], dtype='<U3')
    >>> probability = model.predict_proba(X.head(5))
    >>> probability.shape, bool((abs(probability.sum(axis=1) - 1) < 1e-9).all())
    ((5, 2), True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        classes: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        rho: float | None = None,
        mu: float | None = None,
        prior_mean: Any = None,
        learn: bool | Literal["auto"] = "auto",
        iterations: int = 1,
        inducing: Any = "auto",
        approximation: Approximation = "dtc",
        mechanism: str = "auto",
        design: str = "auto",
        target: Literal["auto", "points", "latents"] = "auto",
        decode: str = "bayes",
        calibration: str = "analytic",
        rank: int | None = None,
        columns: Mapping[str, Column] | None = None,
        protect: str = "outputs",
        box: Any = None,
        neighbours: str = "replace",
        unit: str | tuple[str, str] = "person",
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.classes = classes
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.mu = mu
        self.prior_mean = prior_mean
        self.learn = learn
        self.iterations = iterations
        self.inducing = inducing
        self.approximation = approximation
        self.mechanism = mechanism
        self.design = design
        self.target = target
        self.decode = decode
        self.calibration = calibration
        self.rank = rank
        self.columns = columns
        self.protect = protect
        self.box = box
        self.neighbours = neighbours
        self.unit = unit
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        labels : array of shape (P,)
            One of ``classes_`` for each point.
        """
        return self._labels().predict(self._points(X))

    @overload
    def predict_proba(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict_proba(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def predict_proba(self, X: ArrayLike, return_std: bool = False) -> Any: ...

    def predict_proba(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the probability of each class at X.

        Integrated over the uncertainty of the log-odds, the DP noise included: far from people, or
        with a lot of noise, probabilities approach those of the prior.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return how uncertain each probability is, the DP noise included.

        Returns
        -------
        probabilities : array of shape (P, K)
            One column for each class, in the order of ``classes_``.
        std : array of shape (P, K)
            With ``return_std``: the standard deviation of each probability, of more than two
            classes each against the rest.
        """
        return self._labels().predict_proba(self._points(X), return_std)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of the probability at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        log_odds : array of shape (P,) or (P, K)
            Of the second class, if there are two; else of each class against the rest.
        """
        return self._labels().decision_function(self._points(X))

    def public_classes(self) -> tuple[Any, ...]:
        """Return the classes that were named, in order.

        Returns
        -------
        classes : tuple
            The public labels.

        Raises
        ------
        ValueError
            If ``classes`` is missing, or "public", which only y can tell.
        """
        return self._classes(None)

    def selection_bounds(self) -> tuple[float, float]:
        refuse_rows(self, "a private search")
        if len(self.public_classes()) != 2:
            raise ValueError("a private search is for two classes")
        return -1.0, 1.0

    def _labels(self) -> LabelRelease:
        release = self._fitted()
        assert isinstance(release, LabelRelease)
        return release

    def _classes(self, y: Any) -> tuple[Any, ...]:
        """Return the public classes, in order; from y only if they were declared public."""
        if self.classes is None:
            raise ParameterError(
                '{classes} is missing: name every possible label, for instance {classes:["no", '
                '"yes"]}. They must not be taken from the data, where a rare label could give a '
                'person away; {classes:"public"} states that the labels in {y} are public.'
            )
        if isinstance(self.classes, str):
            if self.classes != "public":
                raise ParameterError(
                    '{classes} must be a list of labels or "public", got {!r}', self.classes
                )
            if isinstance(y, BlockColumn):
                raise ParameterError(
                    '{classes:"public"} takes the classes from {y}, which comes in blocks; name '
                    "the classes"
                )
            if y is None:
                raise ParameterError(
                    '{classes:"public"} takes the classes from {y}, but a plan does not read {y}; '
                    "name the classes to plan"
                )
            found = found_classes(y)
            if len(found) < 2:
                raise ParameterError(
                    "{y} has only one class, so there is nothing to tell apart; name every "
                    "possible class in {classes}"
                )
        else:
            given = self.classes if isinstance(self.classes, Iterable) else ()
            found = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        kinds = {_kind(label) for label in found}
        if len(kinds) != 1 or None in kinds or _different(found) < max(len(found), 2):
            raise ParameterError(
                "{classes} must name two or more different labels of one kind (strings, numbers "
                "or booleans), got {!r}",
                self.classes,
            )
        return tuple(sorted(found))

    def _declared(self, y: Any, rows: int) -> tuple[Any, ...]:
        if y is not None:
            one_column(y, rows)
        return self._classes(y)

    def _outputs(
        self, table: Table, declared: tuple[Any, ...], budget: Budget
    ) -> tuple[Any, dict[str, Any]]:
        columns, fixed = Labels(declared).columns, Fixed(PRIOR_STD, noise=1.0)
        scales = LOG_ODDS if len(declared) <= FEW_CLASSES else MANY_LOG_ODDS
        prior = choose_prior(self, table, scales, 1.0, fixed, noisy=budget.sigma > 0.0)
        return prior, {
            "lo": np.zeros(columns),
            "hi": np.ones(columns),
            "unit": np.ones(columns),
            "prior_mean": self._prior_mean(columns, len(declared)),
            "outcome": Labels(declared),
        }

    def _keep(self, release: Release) -> None:
        self.release_ = release
        self.classes_ = np.array(release.spec.classes)

    def _prior_mean(self, columns: int, classes: int) -> Array:
        given = -np.log(classes - 1.0) if self.prior_mean is None else self.prior_mean
        try:
            mean = np.broadcast_to(np.asarray(given, dtype=np.float64), (columns,)).copy()
        except (TypeError, ValueError):
            mean = np.array([np.nan])
        if not np.all(np.abs(mean) <= 30.0):
            raise ParameterError(
                "{prior_mean} must be log-odds between -30 and 30, one number or one for each of "
                "{} column(s), got {!r}",
                columns,
                self.prior_mean,
            )
        return mean


def _different(labels: Iterable[Any]) -> int:
    """Return how many labels of one kind differ; numbers that are the same float do not."""
    return len({one if isinstance(one, str) else float(one) for one in labels})


def _kind(label: Any) -> type | None:
    """Return what kind of label this is; labels of one kind can be put in order."""
    if isinstance(label, str | bool):
        return type(label)
    number = isinstance(label, int | float) and abs(label) <= sys.float_info.max
    return float if number else None
