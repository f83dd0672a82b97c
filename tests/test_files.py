"""The one writer of files: whole or not at all, and errors that say what to do."""

import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys

import pytest

from cloakgp.files import write_file


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "table.csv"
    target.write_bytes(b"old")
    return target


def unchanged(path):
    return path.read_bytes() == b"old" and list(path.parent.iterdir()) == [path]


def fail_with(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize("content", [b"new", [b"n", memoryview(b"e"), b"w"], iter([b"new"])])
def test_content_is_written_at_once_or_in_chunks(path, content):
    write_file(path, content)
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_appears(tmp_path):
    write_file(str(tmp_path / "new"), b"")
    assert (tmp_path / "new").read_bytes() == b""


def test_a_file_gets_the_permissions_of_an_ordinary_one(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    write_file(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == ordinary.stat().st_mode


def test_the_file_and_its_folder_are_synced(path, monkeypatch):
    synced, real = [], os.fsync

    def record(descriptor):
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    write_file(path, b"new")
    assert synced == [False, True]


# ------------------------------------------------------------------------------------- what fails


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, step, error):
    monkeypatch.setattr(os, step, fail_with(error))
    with pytest.raises(type(error)) as caught:
        write_file(path, b"new", "table")
    assert unchanged(path)
    if isinstance(error, OSError):
        assert caught.value.errno == errno.ENOSPC
        reason = "could not be written .No space left.*nothing was changed.*disk is full: free"
        assert re.search(f"table {str(path)!r} {reason}", str(caught.value))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), ValueError()]
)
def test_chunks_that_fail_half_way_leave_the_old_file(path, error):
    def chunks():
        yield b"half"
        raise error

    with pytest.raises(type(error)):
        write_file(path, chunks())
    assert unchanged(path)


def test_a_disk_that_is_full_half_way_leaves_the_old_file(path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(
            OSError, match=r"could not be written.*too large for this disk"
        ) as caught:
            write_file(path, bytes(400_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert unchanged(path)


def test_a_ctrl_c_of_the_terminal_leaves_the_old_file(path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def chunks():
        yield b"half"
        os.kill(os.getpid(), signal.SIGINT)
        yield b"whole"

    try:
        with pytest.raises(KeyboardInterrupt):
            write_file(path, chunks())
    finally:
        signal.signal(signal.SIGINT, before)
    assert unchanged(path)


# The file is loaded without its package, whose other modules would take seconds to load.
KILLED = """
import os, runpy, sys, time

def wait():
    print("here", flush=True)
    time.sleep(60)

def chunks():
    yield bytes(2_000_000)
    if sys.argv[3] == "while writing":
        wait()

if sys.argv[3] == "before replacing":
    os.replace = lambda *_: wait()
runpy.run_path(sys.argv[1])["write_file"](sys.argv[2], chunks())
"""


@pytest.mark.parametrize("moment", ["while writing", "before replacing"])
def test_a_killed_process_leaves_the_old_file(path, moment):
    module = sys.modules[write_file.__module__].__file__
    command = [sys.executable, "-c", KILLED, module, path, moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"here\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    # The kill came in the middle: part of the new file lies beside the old one.
    (left,) = set(path.parent.iterdir()) - {path}
    assert re.fullmatch(r"\.cloakgp-[0-9a-f]{16}\.tmp", left.name)
    assert left.stat().st_size > 1_000_000


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EIO])
def test_a_folder_that_fails_to_sync_is_told_from_one_that_cannot(path, monkeypatch, code):
    real = os.fsync

    def fail_for_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, "sync")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    if code == errno.EINVAL:
        write_file(path, b"new")
    else:
        with pytest.raises(OSError, match="was written, but its folder could not be synced"):
            write_file(path, b"new")
    assert path.read_bytes() == b"new"


# ---------------------------------------------------------------------------------- what is refused


def test_a_missing_folder_is_named(tmp_path):
    missing = tmp_path / "missing" / "file"
    with pytest.raises(FileNotFoundError, match=f"{missing}.*does not exist: make it first"):
        write_file(missing, b"new")


def test_a_folder_in_place_of_the_file_stays(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match="a folder has its name: choose another name"):
        write_file(tmp_path / "folder", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_file_in_place_of_the_folder_stays(path):
    with pytest.raises(NotADirectoryError, match="its folder is a file: choose another folder"):
        write_file(path / "inner", b"new")
    assert unchanged(path)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_may_not_be_written_says_so(path, monkeypatch, code):
    monkeypatch.setattr("builtins.open", fail_with(OSError(code, os.strerror(code))))
    with pytest.raises(OSError, match=r"may not write there|disk is read-only") as caught:
        write_file(path, b"new")
    monkeypatch.undo()
    assert caught.value.errno == code
    assert unchanged(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_says_so(path):
    path.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="you may not write there"):
            write_file(path, b"new")
    finally:
        path.parent.chmod(0o700)
    assert unchanged(path)


def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="device or a pipe, not a regular file"):
        write_file(tmp_path / "pipe", b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_name_that_is_too_long_says_so(tmp_path):
    with pytest.raises(OSError, match="its name is too long"):
        write_file(tmp_path / ("a" * 300), b"new")
    assert list(tmp_path.iterdir()) == []
