"""Ctrl-C, at whatever moment, ends a command quietly; the lightest call loads nothing heavy."""

import json
import os
import signal
import subprocess
import sys

import pytest

import cloakgp

#: A command that needs all of them, and no file.
PLAN = [
    "plan",
    "--protect",
    "rows",
    "--box",
    "age=0,90",
    "--people",
    "100",
    "--bounds",
    "40,200",
    "--no-compare",
]
#: Modules in the order in which they are loaded, from the door to the last of them.
MOMENTS = [
    "typer",
    "numpy",
    "scipy.linalg",
    "sklearn.base",
    "pandas",
    "cloakgp.release.plan",
]


def heeding():
    # Whoever runs the tests may ignore interrupts; a user at a terminal does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("module", MOMENTS)
def test_an_interrupt_during_start_up_prints_no_traceback(module):
    """The interpreter reports each module that it has loaded, so the moment needs no clock."""
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "cloakgp", *PLAN],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeding,
    )
    for line in process.stderr:
        if line.split("|")[-1].strip() == module:
            break
    else:
        pytest.fail(f"{module} is not loaded")
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    told = [line for line in rest.splitlines() if not line.startswith("import time:")]
    assert told == ["error: interrupted."]
    assert process.returncode == 130


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_command_in_the_background_goes_on_ignoring_interrupts():
    code = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "sys.argv[1:] = ['--version']; from cloakgp.__main__ import main; "
        "os.kill(os.getpid(), signal.SIGINT); main(); os.kill(os.getpid(), signal.SIGINT)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_told_without_loading_numpy():
    code = (
        "import sys, json; sys.argv[1:] = ['--version']; from cloakgp.__main__ import main; "
        "main(); print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version == f"cloakgp {cloakgp.__version__}"
    heavy = UNNEEDED | {"numpy", "scipy", "sklearn", "pandas", "rich"}
    assert not heavy & set(json.loads(modules))


#: What neither the version, nor the estimators, nor a ledger or a release needs before it is used.
UNNEEDED = {"matplotlib", "typer", "pooch", "dask", "distributed", "starlette", "uvicorn", "jinja2"}
UNNEEDED |= {"psycopg", "cryptography"}


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        ("import cloakgp", UNNEEDED | {"pandas", "numpy", "rich"}),
        ("from cloakgp import *; import cloakgp.datasets", UNNEEDED),
    ],
)
def test_libraries_are_loaded_where_they_are_used(code, unneeded):
    code += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not unneeded & set(done.stdout.split())


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_looked_for_after_loading_if_it_was_before(collecting):
    code = (
        f"import gc; gc.enable() if {collecting} else gc.disable(); count = gc.get_stats(); "
        "from cloakgp import privacy; "
        f"assert gc.isenabled() is {collecting}; "
        "assert gc.get_stats()[2]['collections'] == count[2]['collections']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(os.name == "nt", reason="needs a clock of child processes")
def test_the_version_takes_a_fraction_of_a_second():
    def seconds():
        spent = os.times()
        return spent.children_user + spent.children_system

    before = seconds()
    subprocess.run([sys.executable, "-m", "cloakgp", "--version"], capture_output=True, check=True)
    assert seconds() - before < 0.5


def test_every_public_name_is_there_although_nothing_is_loaded_beforehand():
    code = (
        "import cloakgp, sys; assert 'numpy' not in sys.modules; "
        "assert all(getattr(cloakgp, name) is not None for name in cloakgp.__all__); "
        "assert set(cloakgp.__all__) <= set(dir(cloakgp)); "
        "assert cloakgp.release.release.Release is cloakgp.Release; "
        "assert cloakgp.datasets.make_heights and cloakgp.gp and cloakgp.release.plan.Plan"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cloakgp.nonsense
