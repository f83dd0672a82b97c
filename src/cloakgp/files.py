"""Files are written whole or not at all, whatever fails in between: the project's only writer."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

#: What to do about an error of the system, beside trying again elsewhere.
_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space or choose another folder",
    errno.EDQUOT: "your disk quota is used up: free some space or choose another folder",
    errno.EFBIG: "it is too large for this disk or for your limits: choose another folder",
    errno.ENOENT: "its folder does not exist: make it first, or choose another folder",
    errno.ENOTDIR: "its folder is a file: choose another folder",
    errno.EISDIR: "a folder has its name: choose another name",
    errno.EACCES: "you may not write there: ask for permission or choose another folder",
    errno.EPERM: "you may not write there: ask for permission or choose another folder",
    errno.EROFS: "the disk is read-only: choose another folder",
    errno.ENAMETOOLONG: "its name is too long: choose a shorter one",
}


def write_file(
    path: str | os.PathLike[str],
    content: bytes | Iterable[bytes | memoryview],
    what: str = "file",
) -> None:
    """Write a file in one step: at its path is the old file or the new one, never half of it.

    The content, at once or in chunks, is written beside the target and takes its name when it is on
    the disk.  What was half written is removed after every error, Ctrl-C included; a process that
    is killed leaves a file `.cloakgp-*.tmp` in the folder, which may be deleted.  An ``OSError``
    says what to do; ``what`` names the file in it.
    """
    target = Path(path)
    temporary = target.parent / f".cloakgp-{secrets.token_hex(8)}.tmp"
    try:
        _check_target(target)
        with open(temporary, "xb") as file:
            for chunk in (content,) if isinstance(content, bytes) else content:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        # Also for an interrupt: what is half written may not stay behind.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _not_written(target, error, what) from error
        raise
    _sync_folder(target, what)


def _check_target(target: Path) -> None:
    """Refuse to put a file in the place of a folder, a device or a pipe."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a device or a pipe, not a regular file")


def _not_written(target: Path, error: OSError, what: str) -> OSError:
    code = error.errno or errno.EIO
    advice = _ADVICE.get(code, "choose another folder")
    # Python turns the number into the matching subclass, such as FileNotFoundError.
    return OSError(
        code,
        f"{what} {str(target)!r} could not be written ({error.strerror or error}); "
        f"nothing was changed at that path: {advice}",
    )


def _sync_folder(target: Path, what: str) -> None:
    """Make the new name survive a power cut, where the file system can."""
    if os.name == "nt":
        return
    try:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        # Some file systems cannot sync a folder, and some folders may be written but not opened.
        if error.errno in {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM}:
            return
        raise OSError(
            error.errno or errno.EIO,
            f"{what} {str(target)!r} was written, but its folder could not be synced "
            f"({error.strerror or error}); check the disk and save it again",
        ) from error
