"""Data sets of the paper that are not shipped: fetched once, and checked against a fixed sha256.

If the environment variable CLOAKGP_DATA names a folder that holds the files, nothing is downloaded.
"""

import hashlib
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
    sha256: str


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
    if found != file.sha256:
        raise ValueError(
            f"{path} has sha256 {found} but {file.sha256} is expected; replace it with the file "
            f"from {file.url}, or unset {DATA_FOLDER_VARIABLE} to download it"
        )
    return path
