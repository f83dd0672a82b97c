"""Data sets that are not shipped: fetched once, and checked against a fixed sha256.

If the environment variable CLOAKGP_DATA names a folder that holds the files, nothing is downloaded.
"""

import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

DATA_FOLDER_VARIABLE = "CLOAKGP_DATA"


@dataclass(frozen=True)
class _File:
    """A file to fetch: its name, where it comes from, and the only content that is accepted."""

    name: str
    url: str
    sha256: str  # of what is at the address
    tidy_sha256: str | None = None  # of the same with every line once, which a folder may hold


_KUNG = _File(
    "Howell1.csv",
    "https://raw.githubusercontent.com/rmcelreath/rethinking/master/data/Howell1.csv",
    "768d2fb53d44490b35260903f58955548b26f587e7afaf4e00b2603715279bbd",
)
_HOME_EQUITY = _File(
    "hmeq.csv",
    "https://raw.githubusercontent.com/Owerre/Home-Equity-Loan/master/data/hmeq.csv",
    "dfdbc2b7cdf728a15b53e323cde6127995715dfa6b178bd3c1e3d9916d0367aa",
)
_CALIFORNIA_HOUSING = _File(
    "california_housing.csv",
    "https://raw.githubusercontent.com/Consolelives/California-Housing-Prices/"
    "ad846a0766870431348f382040edf12944ff3eb6/housing.csv",
    "aa17d6f46c90583ca11f8b0fe4c1b9f4490eca8257aa42a9e300a1486349eb15",
    "97eb68509f777355ae5e9377dfe60d3def994092bf6936b8d2846f987eb0bb75",
)
_ABALONE = _File(
    "abalone.csv",
    "https://raw.githubusercontent.com/kosicsd12176/abalone/"
    "864492147da3862bbb6c94d8c970abd48c088b61/abalone.data",
    "de5a08b918475d6f045c36adaf74f989aebdf47e7c2601531865ee54663c7c5a",
    "add76d88a9dd9c7a9f147dd005725ce19dbfdf352877df9d28703486742d35a2",
)
#: A line that a merge has left between two copies of the same rows.
_LEFT_BY_A_MERGE = "======="


def fetch_kung(women: bool = True, *, url: str | None = None) -> "pd.DataFrame":
    """Fetch the !Kung San heights that Nancy Howell collected.

    Parameters
    ----------
    women : bool, default=True
        Only the 287 women, as in the paper.  False: all 544 people.
    url : str, default=None
        Another address to download from; the sha256 stays the same.

    Returns
    -------
    people : DataFrame
        Columns age (years), weight (kg), height (cm) and male (0 or 1).

    Raises
    ------
    OSError
        If the file is neither in the folder ``CLOAKGP_DATA`` nor can be downloaded.

    Examples
    --------
    >>> from cloakgp.datasets import fetch_kung
    >>> fetch_kung().shape  # doctest: +SKIP
    (287, 4)
    """
    import pandas as pd

    people = pd.read_csv(_path(_KUNG, url), sep=";")[["age", "weight", "height", "male"]]
    return people[people["male"] == 0].reset_index(drop=True) if women else people


def fetch_home_equity(*, url: str | None = None) -> "pd.DataFrame":
    """Fetch home equity loans, 5960 rows, from Scheule et al. 2017.

    Parameters
    ----------
    url : str, default=None
        Another address to download from; the sha256 stays the same.

    Returns
    -------
    loans : DataFrame
        BAD is default (0 or 1), DELINQ the delinquent credit lines, which 580 rows lack.

    Raises
    ------
    OSError
        If the file is neither in the folder ``CLOAKGP_DATA`` nor can be downloaded.

    Examples
    --------
    >>> from cloakgp.datasets import fetch_home_equity
    >>> len(fetch_home_equity())  # doctest: +SKIP
    5960
    """
    import pandas as pd

    return pd.read_csv(_path(_HOME_EQUITY, url))


def fetch_california_housing(*, url: str | None = None) -> "pd.DataFrame":
    """Fetch California's census blocks of 1990, 20640 rows, from Pace and Barry 1997.

    Parameters
    ----------
    url : str, default=None
        Another address to download from; the sha256 stays the same.

    Returns
    -------
    blocks : DataFrame
        The place, the age of the houses, rooms, people and households, the median income (in
        10,000 dollars), median_house_value (dollars, cut at 500,001) and ocean_proximity (a
        category); 207 rows lack total_bedrooms.

    Raises
    ------
    OSError
        If the file is neither in the folder ``CLOAKGP_DATA`` nor can be downloaded.

    Examples
    --------
    >>> from cloakgp.datasets import fetch_california_housing
    >>> fetch_california_housing().shape  # doctest: +SKIP
    (20640, 10)
    """
    return _distinct_rows(_path(_CALIFORNIA_HOUSING, url))


def fetch_abalone(*, url: str | None = None) -> "pd.DataFrame":
    """Fetch abalones, 4177 rows, from Nash et al. 1994.

    Parameters
    ----------
    url : str, default=None
        Another address to download from; the sha256 stays the same.

    Returns
    -------
    abalones : DataFrame
        Sex (M, F, or I for an infant), sizes (in 200 mm), weights (in 200 g), and Rings, by which
        the age is known.

    Raises
    ------
    OSError
        If the file is neither in the folder ``CLOAKGP_DATA`` nor can be downloaded.

    Examples
    --------
    >>> from cloakgp.datasets import fetch_abalone
    >>> fetch_abalone().shape  # doctest: +SKIP
    (4177, 9)
    """
    return _distinct_rows(_path(_ABALONE, url))


def _distinct_rows(path: Path) -> "pd.DataFrame":
    """Read a table whose file repeats some of its rows."""
    import pandas as pd

    lines = dict.fromkeys(path.read_text().splitlines())
    kept = [line for line in lines if not line.startswith(_LEFT_BY_A_MERGE)]
    return pd.read_csv(io.StringIO("\n".join(kept)))


def _path(file: _File, url: str | None = None) -> Path:
    """Path of a verified copy: in the folder CLOAKGP_DATA if that is set, else downloaded."""
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    if folder:
        return _verified(Path(folder) / file.name, file)
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"fetching {file.name} needs the package pooch; install it with: "
            f"pip install 'cloakgp[data]', or set {DATA_FOLDER_VARIABLE} to a folder that holds it"
        ) from error

    address = url or file.url
    try:
        found = pooch.retrieve(
            address,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=pooch.os_cache("cloakgp"),
        )
    except OSError as error:
        raise OSError(
            f"could not download {address} ({error}); get {file.name} some other way and set "
            f"{DATA_FOLDER_VARIABLE} to its folder"
        ) from error
    return Path(found)


def _verified(path: Path, file: _File) -> Path:
    """Return path if it holds exactly the expected content."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist; {DATA_FOLDER_VARIABLE}={str(path.parent)!r} must be a folder "
            f"that holds {file.name} (from {file.url}), or unset it to download the file"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found not in (file.sha256, file.tidy_sha256):
        raise ValueError(
            f"{path} has sha256 {found} but {file.sha256} is expected; replace it with the file "
            f"from {file.url}, or unset {DATA_FOLDER_VARIABLE} to download it"
        )
    return path
