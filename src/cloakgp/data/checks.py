"""What a fit is given, checked before anything is done with it: y apart from X, owners, shapes.

X and owners are public and may be looked at.  Of y only names, index, shape and memory are asked;
its values are not looked at.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from cloakgp.data.frames import (
    column_labels,
    column_names,
    names_of,
    select,
    series_label,
    series_name,
)
from cloakgp.errors import ParameterError, brief, warn_user
from cloakgp.privacy.mechanism.contributions import owner_codes as core_codes

#: Words for somebody who may own several rows, in English and in some other languages of Europe,
#: without their accents.  A word that is missing costs a hint, and nothing else.
_PERSON = "|".join(
    (
        "patient|person|proband|household|family|owner|subject|participant|respondent|user",
        "customer|client|member|employee|worker|student|pupil|individual|donor",
        "patientin|kunde|kundin|haushalt|familie|mitglied|mitarbeiter|teilnehmer|schuler",
        "schueler|versicherter|eigentumer|eigentuemer|spender",
        "patiente|personne|cliente|foyer|menage|famille|membre|salarie|eleve|etudiant|assure",
        "paciente|persona|hogar|familia|miembro|empleado|alumno|estudiante|usuario|socio",
        "paziente|famiglia|utente|dipendente|alunno|studente|pessoa|aluno",
        "persoon|klant|huishouden|gezin|deelnemer|medewerker|leerling",
        "pacjent|osoba|klient|pasient|kund|hushall|husholdning|elev|medlem",
    )
)
#: Words for a number that stands for somebody.
_NUMBER = (
    "id|no|nr|num|number|code|key|ref|hash|name|nummer|numero|numer|kennung|schluessel|schlussel"
)
#: A column of so many different values is no column of owners: "member" may be yes or no.
MAX_FLAG_VALUES = 2
#: Names of columns that say whose a row is, in small letters with underscores between words.
_OF_PEOPLE = re.compile(
    rf"(^|_)({_PERSON})((e?s|e?n)?_?({_NUMBER}))?$"
    r"|(^|_)(id|uid|uuid|guid|pid|mrn|ssn|e_?mail|pseudonym|surname)$"
    r"|^((first|last|full)_?)?name$"
)


def check_apart(y: Any, X: Any, at: Any = None, **others: Any) -> None:
    """Refuse y among the public inputs, which are published as they are: by name and shared memory.

    ``others`` are further public things, by the name of their parameter.  No value is read, so a
    copy of y under another name is not recognised.
    """
    names = column_names(X)
    # Of points with names, only the columns of X are taken.
    points = select(at, names, "at") if names is not None and at is not None else at
    private = names_of(y)
    for what, public in {"X": X, "at": points, **others}.items():
        if public is None:
            continue
        if public is y:
            raise ParameterError(
                "{!p} is {y} itself, and {!p} is published as it is; {y} must not be part of it",
                what,
                what,
            )
        _check_names(what, public, private)
        found = shared_column(public, y)
        if found is not None:
            where = "" if found[0] is None else f" in its column {brief(repr(found[0]))}"
            raise ParameterError(
                "{!p} shares memory with {y}{}, and {!p} is published as it is, so private values "
                "would be published; pass {!p} without the private column",
                *(what, where, what, what),
            )


def _check_names(what: str, public: Any, private: set[Any]) -> None:
    labels = column_labels(public)
    both = [label for label in labels if label in private]
    if both:
        raise ParameterError(
            "{!p} has the column {}, and so has {y}: {!p} is published as it is, so private values "
            "would be published. Pass {!p} without that column; if the two are different things, "
            "rename one of them",
            *(what, brief(repr(both[0])), what, what),
        )
    if not labels and series_label(public) in private:
        raise ParameterError(
            "{!p} is called {}, and so is {y}: {!p} is published, so private values would be "
            "published. Pass another column as {!p}; if the two are different things, rename one "
            "of them",
            *(what, brief(repr(series_label(public))), what, what),
        )


def warn_if_reordered(X: Any, y: Any) -> None:
    """Warn if the rows of X and y are those of one table in different orders."""
    if not (isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame)):
        return
    ours, theirs = X.index, y.index
    if len(ours) != len(theirs) or ours.equals(theirs) or not ours.is_unique:
        return
    if theirs.is_unique and len(ours.intersection(theirs)) == len(ours):
        warn_user(
            "X and y have the same row labels in different orders; rows are taken as they come, so "
            "y = y.loc[X.index] is probably what you want",
        )


def names_people(name: str) -> bool:
    """Tell whether a column is called like one that says whose a row is: patient_id, Élève."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", plain).strip("_").lower()
    return _OF_PEOPLE.search(words) is not None


def warn_if_owners_repeat(X: Any) -> None:
    """Warn if a column of X is called like the owner of a row, and some owners have several."""
    if not isinstance(X, pd.DataFrame):
        return
    for name in [name for name in X.columns if isinstance(name, str) and names_people(name)]:
        owners = X[name].dropna()
        if not isinstance(owners, pd.Series):  # two columns of one name
            continue
        if MAX_FLAG_VALUES < (different := owners.nunique()) < len(owners):
            warn_user(
                f"column {name!r} of X repeats: {different:,} different in {len(owners):,} rows. "
                "Without groups each row is taken to be another person's; if these rows belong to "
                f"the same people, give groups=X[{name!r}]",
            )
            return


def owner_codes(groups: Any, rows: int, X: Any = None) -> NDArray[np.int64] | None:
    """Return owners as numbers; their names are not needed for the guarantee.

    ``groups`` must have the index of ``X``, the table that the rows come from.
    """
    if groups is None:
        return None
    check_same_index(groups, X)
    return np.asarray(core_codes(groups, rows), dtype=np.int64)


def check_same_index(groups: Any, X: Any) -> None:
    """Refuse owners whose index is not that of the rows: who owns which would not be known."""
    indexed = isinstance(groups, pd.Series | pd.DataFrame) and isinstance(X, pd.DataFrame)
    if indexed and not groups.index.equals(X.index):
        raise ParameterError(
            "{groups} has another index than {X}, so it is not known which owner belongs to which "
            "row; pass groups.loc[X.index] to match them by index, or groups.to_numpy() if the "
            "order is right already"
        )


def shape_of(y: Any, rows: int) -> tuple[int, ...]:
    """Return the shape of y, a public fact, without looking at its values."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    shape = getattr(y, "shape", None)
    if not isinstance(shape, tuple):
        try:
            shape = np.asarray(y).shape
        except Exception:
            shape = None  # raise below, outside: the message of others may quote a value
    if shape is None:
        raise ParameterError(
            "{y} must be an array with one row for each of the {} rows of {X}", rows
        )
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise ParameterError(
            "{y} must have one row for each of the {} rows of {X}, got an array of shape {}",
            rows,
            shape,
        )
    return shape


def one_column(y: Any, rows: int) -> None:
    """Refuse y that is not one output for each row, without looking at its values."""
    shape = shape_of(y, rows)
    if len(shape) == 2 and shape[1] != 1:
        raise ParameterError("{y} must be one column, got an array of shape {}", shape)
    if len(shape) == 2:
        warn_user(
            "A column-vector y was passed when a 1d array was expected",
            DataConversionWarning,
        )


def as_float(name: str, value: Any) -> float:
    """Return a parameter that must be a number."""
    if isinstance(value, Real):
        with contextlib.suppress(OverflowError):  # 10^400 has no float
            return float(value)
    raise ParameterError("{!p} must be a number, got {!r}", name, value)


def target_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of y, which are public."""
    name = series_name(y)
    return column_names(y) if name is None else (name,)


# ------------------------------------------------------------------- does y lie in the memory of X?
# A view of a private column must not be published by mistake.  Columns of tables of any library are
# compared by their addresses, and no value is read.

Buffers = list[NDArray[Any]]

#: Steps of the search for a common address.  One column against another takes a few.
MAX_SEARCH_STEPS = 100_000


def shared_column(public: Any, private: Any) -> tuple[Any] | None:
    """Return the label of a column of ``public`` that lies where ``private`` does, in a tuple.

    Columns that only lie in turn in one array, such as A[:, 0] and A[:, 1], share nothing.
    """
    theirs = [buffer for _, buffers in column_buffers(private) for buffer in buffers]
    for label, buffers in column_buffers(public):
        if any(_share(ours, other) for ours in buffers for other in theirs):
            return (label,)
    return None


def _share(one: NDArray[Any], other: NDArray[Any]) -> bool:
    try:
        return bool(np.shares_memory(one, other, max_work=MAX_SEARCH_STEPS))  # type: ignore[arg-type]
    except Exception:  # too hard to tell: as good as yes
        return True


def column_buffers(data: Any) -> Iterator[tuple[Any, Buffers]]:
    """Yield the label and the memory of each column, for arrays and frames of any library."""
    library = type(data).__module__.partition(".")[0]
    if isinstance(data, np.ndarray):
        plain = np.asarray(data)
        if plain.ndim == 2:
            yield from ((place, [plain[:, place]]) for place in range(plain.shape[1]))
        else:
            yield None, [plain]
    elif isinstance(data, pd.DataFrame):
        for place, label in enumerate(data.columns):
            yield label, _series(data.iloc[:, place])
    elif isinstance(data, pd.Series | pd.Index):
        yield data.name, _series(data)
    elif isinstance(data, pd.api.extensions.ExtensionArray):  # a series without its name
        yield None, _series(pd.Series(data, copy=False))
    elif library == "polars" and hasattr(data, "get_columns"):
        yield from ((column.name, _polars(column)) for column in data.get_columns())
    elif library == "polars" and hasattr(data, "get_chunks"):
        yield data.name, _polars(data)
    elif library == "pyarrow" and hasattr(data, "column_names"):
        for label, column in zip(data.column_names, data.columns, strict=True):
            yield label, _arrow(column)
    elif library == "pyarrow":
        yield None, _arrow(data)
    elif isinstance(data, list | tuple):
        yield None, [row for row in data if isinstance(row, np.ndarray)]
    else:
        yield None, _foreign(data)


def _series(series: pd.Series | pd.Index) -> Buffers:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return [series.to_numpy(copy=False)]
    if isinstance(dtype, pd.CategoricalDtype):
        return [np.asarray(series.array.codes)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return [series.array.asi8]
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow(series.array.__arrow_array__())
    if hasattr(dtype, "numpy_dtype"):  # numbers with a mask beside them
        with contextlib.suppress(Exception):
            return [series.to_numpy(dtype=dtype.numpy_dtype, copy=False)]
    return []


def _polars(series: Any) -> Buffers:
    found: Buffers = []
    for chunk in series.get_chunks():
        with contextlib.suppress(Exception):  # missing values, or no numbers
            # Booleans are bits, which NumPy cannot show without a copy, and Arrow can.
            bits = str(chunk.dtype) == "Boolean"
            found += _arrow(chunk.to_arrow()) if bits else [chunk.to_numpy(allow_copy=False)]
    return found


def _arrow(column: Any) -> Buffers:
    """Return the bytes of each piece; only its own slice, if values are of one width."""
    found = []
    for piece in getattr(column, "chunks", [column]):
        buffers: list[Any] = getattr(piece, "buffers", list)()
        for buffer in buffers[1:]:  # the first tells what is missing
            if buffer is None:
                continue
            memory = np.frombuffer(buffer, dtype=np.uint8)
            with contextlib.suppress(Exception):
                width, end = piece.type.bit_width, piece.offset + len(piece)
                memory = memory[piece.offset * width // 8 : -(-end * width // 8)]
            found.append(memory)
    return found


def _foreign(data: Any) -> Buffers:
    """Return the memory of arrays of other libraries, as far as they lend it."""
    if hasattr(data, "__dlpack__"):
        with contextlib.suppress(Exception):
            return [np.from_dlpack(data)]
    with contextlib.suppress(TypeError, ValueError):
        return [np.asarray(memoryview(data))]
    return []
